# Everything that people and CI run. Stamps in .venv keep `make` quick when nothing changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name '*.[ch]' -o -name Cargo.toml) Cargo.toml Cargo.lock
EXTENSION := $(VENV)/.built
INSTALLED := $(VENV)/.installed
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
DEVELOP = VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --release $(KERNEL:%=--features %)

# Programs for the kernel and their loader (crates/bpf) are built where that can be; without them the rest is.
KERNEL := $(shell clang=$$(crates/bpf/clang.sh) && printf '\043include <libelf.h>\n\043include <zlib.h>\n' \
	| "$$clang" -E -x c - >/dev/null 2>&1 && command -v pkg-config >/dev/null && echo kernel)

# A build by a profile of what runs do, from a program that is compiled with the very features of the extension:
# what has others has other names, and the profile would not be found. Of build scripts there are profiles too.
# There is one for each compiler and set of features. It is kept while sources change: a function that is not as it
# was is compiled without.
FAST := target/fast
PROFILE := $(FAST)/$(shell { rustc -vV; echo $(KERNEL); } 2>/dev/null | cksum | cut -d ' ' -f 1).profdata
LLVM_PROFDATA := $(shell rustc --print target-libdir 2>/dev/null)/../bin/llvm-profdata
ONCE = cargo build --release --locked --quiet --target-dir $(FAST) -p marqueue-py -p marqueue-once --bin once \
	$(KERNEL:%=--features marqueue-py/%)
BY_PROFILE = RUSTFLAGS="-Cprofile-use=$(CURDIR)/$(PROFILE) -Cllvm-args=-no-pgo-warn-mismatch"
DEVELOP_BY_PROFILE = $(BY_PROFILE) $(DEVELOP) --target-dir $(FAST)

# Pages (web/), where node 20 or later is: each has a Vite configuration and a place in the package.
NODE := $(shell node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2>/dev/null && command -v npm)
CHROMIUM := $(shell command -v chromium)
# The lab needs Rust's target for WebAssembly: it is there, or rustup gets it.
WASM_TARGET := $(shell test -d "$$(rustc --target wasm32-unknown-unknown --print target-libdir 2>/dev/null)" && echo there \
	|| command -v rustup)
PAGES := report notebook $(if $(WASM_TARGET),lab)
PLACE_report := python/marqueue/reports/built
PLACE_lab := python/marqueue/lab/built
PLACE_notebook := python/marqueue/notebook/built
WEB := $(shell find web/src -type f) $(wildcard web/*.json web/*.ts)
BUILT := $(if $(NODE),$(PAGES:%=web/built/%.stamp))
NO_NODE := no node 20 or later and npm (Debian: nodejs, npm)

# Of the code tested, crates/uml alone has unsafe code, on mappings of which a sanitizer knows
# nothing: targets device and rings look at their edges instead. Debug assertions and overflow checks
# find what a sanitizer would, at a multiple of the speed, and any toolchain will do. What is found
# stays out of the tree: a crash becomes a test of the crate that it is about.
FUZZ_TARGETS := device measuring plan qdisc receiver rings sender threads
# Both draw plans in the same way.
SEEDS_measuring := threads
FUZZ_RUNS ?= 2000
FUZZ_SECONDS ?= 1800
fuzz = mkdir -p fuzz/corpus/$(1) fuzz/artifacts/$(1) && \
	cargo fuzz run --sanitizer none $(1) fuzz/corpus/$(1) fuzz/seeds/$(or $(SEEDS_$(1)),$(1)) -- \
	-max_len=4096 -len_control=0 -timeout=60 -rss_limit_mb=3000 -verbosity=0 $(2)

.DEFAULT_GOAL := help
# Every target with a description is a command, not a file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(EXTENSION) $(INSTALLED) web ## Make .venv, install the locked dependencies, build the extension and the pages

# Installs what of a list the machine lacks: a command or a file, and the Debian package that has it.
installed = missing=$$(while read -r what package; do case $$what in \
		[\#]*|'') ;; \
		/*) test -e $$what || echo $$package ;; \
		*) command -v $$what >/dev/null || echo $$package ;; \
	esac; done < $(1)); \
	test -z "$$missing" || { apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; }

system-packages: ## Install the Debian packages that tests use and the machine lacks (root, apt)
	@$(call installed,requirements/system.txt)

kernels: $(EXTENSION) ## Build Linux 6.1 and 7.3 as processes, for hosts and routers (10 to 20 minutes once)
	@$(call installed,requirements/kernels.txt)
	$(BIN)/marqueue kernel build linux-6.1 linux-7.3
	$(BIN)/marqueue kernel verify linux-7.3
	$(BIN)/marqueue kernel verify linux-6.1

build: $(EXTENSION) $(if $(wildcard $(LLVM_PROFDATA)),$(PROFILE)) ## Build the extension in release mode, if a source changed; by a profile where LLVM's tools are there

# What the extension is made of, less the parts that depend on Python.
CRATES = cargo build --release --locked --quiet -p marqueue-live -p marqueue-pcap -p marqueue-theory -p marqueue-bpf \
	$(KERNEL:%=--features marqueue-bpf/%)

# What runs marqueue and builds its extension: all that the demonstration needs.
$(VENV)/.user: requirements/user.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked Python packages in $(VENV); compiling Rust packages meanwhile"
	$(CRATES) & $(PIP) -r requirements/user.txt -c requirements/develop.txt maturin; \
		installed=$$?; wait $$! && exit $$installed
	touch $@

# What checks and tests it besides.
$(INSTALLED): requirements/develop.txt | $(VENV)/.user
	@echo "Installing what lints, type-checks and tests"
	$(PIP) -r requirements/develop.txt
	touch $@

# maturin writes the shared object beside the Python sources and installs the package as editable.
$(EXTENSION): $(VENV)/.user pyproject.toml $(RUST)
	@echo "Compiling the simulator: a minute or two the first time"
	$(if $(wildcard $(PROFILE)),$(DEVELOP_BY_PROFILE),$(DEVELOP))
	touch $@

web: $(BUILT) ## Build what reports show in a browser, if a source changed and node is there
	$(if $(NODE),,@echo "Pages are not built: $(NO_NODE). Reports have their tables and a static picture.")
	$(if $(WASM_TARGET),,@echo "The lab is not built: no rustup, and rustc has no target wasm32-unknown-unknown.")

web/node_modules/.package-lock.json: web/package-lock.json
	@echo "Installing the locked npm packages in web/node_modules"
	cd web && npm ci --no-audit --no-fund --loglevel=error
	touch $@

# Into the package only once it is whole. The stamp is beside the folder, which Vite empties.
web/built/%.stamp: $(WEB) web/node_modules/.package-lock.json
	cd web && npx vite build --logLevel warn --config vite.$*.config.ts
	rm -rf $(PLACE_$*) && cp -r web/built/$* $(PLACE_$*)
	touch $@

fast: ## Build the extension by a new profile of runs: 5 to 7 % faster, as are later builds (4 minutes, rustup)
	rm -f $(FAST)/*.profdata
	@$(MAKE) --no-print-directory $(PROFILE)

# The stamp of the extension goes before the profile gets its name. If this is interrupted, the next build is by the profile.
$(PROFILE): | $(EXTENSION)
	test -x $(LLVM_PROFDATA) || rustup component add llvm-tools
	@echo "Running the examples for a profile of the simulator: four minutes, once"
	RUSTFLAGS=-Cprofile-generate=$(CURDIR)/$(FAST)/runs $(ONCE)
	rm -rf $(FAST)/runs
	$(BIN)/python -m benches.here $(FAST)/release/once $(wildcard scenarios/*.toml)
	$(LLVM_PROFDATA) merge -o $@.part $(FAST)/runs
	rm $(EXTENSION) && mv $@.part $@
	$(DEVELOP_BY_PROFILE)
	touch $(EXTENSION)

# The simulator (crates/wasm) and the scenario compiler (the package marqueue.scenario under Pyodide) for a browser.
WASM := web/built/engine/marqueue_wasm_bg.wasm
COMPILER := web/built/compiler/packages.zip
WHEELS := web/built/wheels
# Its version is that of the crate wasm-bindgen.
BINDGEN := $(shell sed -n 's/^wasm-bindgen = "=\(.*\)"/\1/p' Cargo.toml)
BINDGEN_CLI := target/tools/wasm-bindgen-$(BINDGEN)
PYODIDE := --platform pyemscripten_2026_0_wasm32 --python-version 3.14 --implementation cp --abi cp314

web-engine: $(WASM) $(COMPILER) ## Build the simulator and the scenario compiler for a browser (web/built)

$(BINDGEN_CLI):
	mkdir -p $(@D)
	@if wasm-bindgen --version 2>/dev/null | grep -qxF 'wasm-bindgen $(BINDGEN)'; \
		then ln -sf "$$(command -v wasm-bindgen)" $@; \
		else cargo install --locked --quiet --root $@.root --version $(BINDGEN) wasm-bindgen-cli && \
			ln -sf $(CURDIR)/$@.root/bin/wasm-bindgen $@; fi

$(WASM): $(RUST) .cargo/config.toml | $(BINDGEN_CLI)
	test -d "$$(rustc --target wasm32-unknown-unknown --print target-libdir)" || rustup target add wasm32-unknown-unknown
	cargo build --profile web --locked --quiet --lib -p marqueue-wasm --target wasm32-unknown-unknown
	$(BINDGEN_CLI) --target web --out-dir $(@D) $${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/web/marqueue_wasm.wasm

$(WHEELS)/.fetched: requirements/lab.txt | $(VENV)/.user
	rm -rf $(@D)
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
		$(PYODIDE) -r $< -d $(@D)
	touch $@

$(COMPILER): $(WASM) $(WHEELS)/.fetched web/node_modules/.package-lock.json $(wildcard web/compiler/*) $(shell find python/marqueue -name '*.py') $(wildcard scenarios/*.toml)
	node web/compiler/pack.mjs $(WHEELS) python/marqueue $(dir $(WASM)) $(@D)

# The page by which tests and benchmarks use the engine without the lab.
ENGINE_PAGE := web/built/engine-page.stamp
$(ENGINE_PAGE): $(WEB) $(COMPILER) $(wildcard web/tests/engine/*) web/node_modules/.package-lock.json
	cd web && npx vite build --logLevel warn --config vite.engine.config.ts
	touch $@

# What the lab is made of besides its sources: the engine, the compiler, and the scenarios to start from with their plans.
GALLERY := web/built/lab-data/gallery/gallery.json
web/built/lab.stamp: $(COMPILER) $(GALLERY)

$(GALLERY): $(EXTENSION) $(shell find python/marqueue -name '*.py') $(wildcard scenarios/*.toml python/marqueue/papers/*/scenarios/*.toml)
	$(BIN)/python -m marqueue.lab.gallery $(@D)

OUT ?= dist/lab-site
packed = $$(find $(1) -type f -exec gzip -9 -c {} + | wc -c | awk '{ printf "%.1f MB", $$1 / 1e6 }')

lab-site: web/built/lab.stamp ## Build the lab as files for any web server (OUT=dist/lab-site)
	rm -rf $(OUT) && mkdir -p $(dir $(OUT)) && cp -r web/built/lab $(OUT)
	@echo "$(OUT): $(call packed,$(OUT)) compressed, of which the compiler, loaded after the first picture, takes $(call packed,$(OUT)/compiler)"

test: test-rust test-python test-faults test-qemu test-web ## Run every test

test-rust: ## Run the tests in Rust
	cargo test --workspace --locked $(KERNEL:%=--features marqueue-bpf/%)
	cargo test -p marqueue-bpf --locked --test unavailable

# Ten million in all: through the programs for the kernel, and through links with three AQMs.
FRAMES ?= 1250000
frames: $(EXTENSION) $(INSTALLED) ## Random and mutated frames through links and programs for the kernel (root; minutes)
	$(if $(KERNEL),MARQUEUE_FRAMES=$(FRAMES) cargo test --release --locked -p marqueue-bpf --features marqueue-bpf/kernel --test frames)
	MARQUEUE_FRAMES=$(FRAMES) $(BIN)/pytest tests/python/test_live_frames.py

# The same cases each time: a failure is of the change, not of the day. Without the seed, pytest tries others.
test-python: $(EXTENSION) $(INSTALLED) $(BUILT) ## Run the tests in Python
	$(BIN)/pytest -n auto --dist loadfile --hypothesis-seed=0 --durations=30

# Not part of CI: on a machine that other work slows down they are skipped at best.
test-timing: $(EXTENSION) $(INSTALLED) ## Tests with real packets whose outcome depends on the machine's speed (root; minutes)
	$(BIN)/pytest -m real_time

test-web: $(EXTENSION) $(BUILT) $(if $(NODE),$(if $(WASM_TARGET),$(ENGINE_PAGE))) ## Try the pages in Chromium
	$(if $(NODE),$(if $(CHROMIUM),cd web && npx playwright test $(if $(WASM_TARGET),,tests/report.spec.ts tests/notebook.spec.ts),@echo "Skipped: no chromium"),@echo "Skipped: $(NO_NODE)")

# In virtual time: QEMU_SECONDS is that of each measurement. The kernel is Debian's newest, which this gets once.
QEMU_SECONDS ?= 4
test-qemu: $(EXTENSION) $(INSTALLED) ## Try qdiscs in BPF in a kernel that takes them, in a virtual machine (qemu; QEMU_SECONDS=4)
	$(if $(KERNEL),cargo build --quiet --locked -p marqueue-bpf --features kernel --example attach)
	-$(BIN)/python tests/qemu/machine.py
	MARQUEUE_QEMU_SECONDS=$(QEMU_SECONDS) $(BIN)/pytest tests/qemu/test_qdisc.py

test-qemu-full: $(EXTENSION) $(INSTALLED) ## The same, attach and detach killed at each step, two machines beside each other, links with a processor of their own (10 minutes)
	$(if $(KERNEL),cargo build --quiet --locked -p marqueue-bpf --features kernel --example attach)
	-$(BIN)/python tests/qemu/machine.py
	MARQUEUE_QEMU_SECONDS=$(QEMU_SECONDS) $(BIN)/pytest -n auto --dist loadfile tests/qemu

# One process, because it forks.
test-faults: $(EXTENSION) $(INSTALLED) ## Kill runs, damage files and fill disks, a few times each
	$(BIN)/pytest tests/faults

faults: $(EXTENSION) $(INSTALLED) ## The same 200 times each (an hour or two)
	MARQUEUE_FAULT_TRIALS=200 $(BIN)/pytest tests/faults tests/python/test_attach_killed.py --durations=0

# Programs that a machine with Rust, Python and a C compiler need not have. The tests that use them are skipped then.
HIDDEN := tshark clang ns iperf3 nft
BARE := target/bare

test-bare: $(EXTENSION) $(INSTALLED) ## Run the tests that use other programs as a machine without these does
	rm -rf $(BARE) && mkdir -p $(BARE)
	IFS=:; for each in $$PATH; do ln -s "$$each"/* $(BARE) 2>/dev/null; done; true
	rm -f $(HIDDEN:%=$(BARE)/%) $(BARE)/clang-[0-9]*
	PATH=$(CURDIR)/$(BARE) $(MAKE) --no-print-directory bare-rust bare-python

.PHONY: bare-python bare-rust
bare-rust:
	cargo test -p marqueue-bpf --locked $(KERNEL:%=--features marqueue-bpf/%)

bare-python:
	$(BIN)/pytest --collect-only --quiet --quiet
	$(BIN)/pytest --hypothesis-seed=0 $(shell grep -l '^from live_requirements import' tests/python/test_*.py)

# Crates for other programs, in the order in which they are published. All others say `publish = false`.
PUBLISHED := -p marqueue-core -p marqueue-aqm
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' crates/aqm/Cargo.toml)
BARE_METAL := thumbv7em-none-eabihf
SEMVER_CHECKS := target/tools/semver-checks-0.51.0

publishable: ## Package the crates for crates.io and build the packages; check the oldest Rust and a target without std (needs rustup)
	rustup toolchain install $(MSRV).0 --profile minimal
	rustup target add $(BARE_METAL)
	cargo +$(MSRV).0 check --locked --quiet --target-dir target/msrv -p marqueue-aqm
	cargo check --locked --quiet -p marqueue-aqm --no-default-features --target $(BARE_METAL)
	cargo publish --dry-run --locked $(PUBLISHED)

$(SEMVER_CHECKS):
	cargo install --locked --quiet --root $@.root --version 0.51.0 cargo-semver-checks
	ln -sf $(CURDIR)/$@.root/bin/cargo-semver-checks $@

semver: $(SEMVER_CHECKS) ## Compare the published crates' interfaces with those of a commit (BASE=HEAD)
	$(SEMVER_CHECKS) semver-checks $(PUBLISHED) --baseline-rev $(or $(BASE),HEAD)

test-embed: ## Build and try the examples that use AQMs as a library: a UDP socket, a QUIC connection (embed/)
	cd embed && cargo fmt --check && cargo clippy --locked --all-targets --quiet -- -D warnings && cargo test --locked --quiet

# The library for programs in C (crates/capi): header, shared and static library, pkg-config file.
PREFIX ?= /usr/local
CAPI := crates/capi
CAPI_PROFILE ?= release
CAPI_BUILT = $${CARGO_TARGET_DIR:-target}/$(CAPI_PROFILE:dev=debug)
CAPI_VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
CAPI_SO = libmarqueue.so.$(basename $(CAPI_VERSION))
NATIVE := -lm -lpthread -ldl
INSTALL_TO = $(DESTDIR)$(PREFIX)

# Debian's Slurm with one node, this machine; ends what it started.
SLURM_NODE := target/slurm
test-slurm: $(EXTENSION) $(INSTALLED) ## Try sweeps on a Slurm of this machine (root; Debian: slurm-wlm, munge) and, where it is installed, on Ray
	tests/slurm/node.sh start $(SLURM_NODE)
	SLURM_CONF=$(CURDIR)/$(SLURM_NODE)/slurm.conf $(BIN)/pytest tests/slurm tests/python/test_sweep_cluster.py; \
		tried=$$?; tests/slurm/node.sh stop $(SLURM_NODE); exit $$tried

install-c: ## Install libmarqueue, its header and its pkg-config file (PREFIX=/usr/local; DESTDIR)
	cargo build --profile $(CAPI_PROFILE) --locked --quiet -p marqueue-capi
	install -d $(INSTALL_TO)/include $(INSTALL_TO)/lib/pkgconfig
	install -m 644 $(CAPI)/include/marqueue.h $(INSTALL_TO)/include
	install -m 644 $(CAPI_BUILT)/libmarqueue.a $(INSTALL_TO)/lib
	install -m 755 $(CAPI_BUILT)/libmarqueue.so $(INSTALL_TO)/lib/$(CAPI_SO)
	ln -sf $(CAPI_SO) $(INSTALL_TO)/lib/libmarqueue.so
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(CAPI_VERSION)|; s|@NATIVE@|$(NATIVE)|' $(CAPI)/marqueue.pc.in \
		> $(INSTALL_TO)/lib/pkgconfig/marqueue.pc

header: ## Remake crates/capi/include/marqueue.h
	UPDATE=1 cargo test --locked --quiet -p marqueue-capi --test header

# From an installation of the profile with assertions and overflow checks: the test, statically, with gcc's sanitizers and
# under valgrind, and the example, which finds the shared library as its comment says.
C_TESTS := $(CURDIR)/target/c
C_FLAGS := -std=c11 -Wall -Wextra -Wpedantic -Werror -g -I$(C_TESTS)/include
C_TEST := $(CAPI)/tests/c/test.c $(C_TESTS)/lib/libmarqueue.a $(NATIVE)

test-c: ## Try libmarqueue from C: gcc's sanitizers, valgrind, and the example with an installation
	@$(MAKE) --no-print-directory install-c CAPI_PROFILE=dev PREFIX=$(C_TESTS) DESTDIR=
	$(CC) $(C_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all $(C_TEST) -o $(C_TESTS)/sanitized
	$(C_TESTS)/sanitized
	$(CC) $(C_FLAGS) $(C_TEST) -o $(C_TESTS)/plain
	$(if $(shell command -v valgrind),valgrind --quiet --leak-check=full --error-exitcode=1 $(C_TESTS)/plain,@echo "Skipped: no valgrind")
	$(CC) $(C_FLAGS) embed/c/link.c $$(PKG_CONFIG_PATH=$(C_TESTS)/lib/pkgconfig pkg-config --cflags --libs marqueue) \
		-Wl,-rpath,$(C_TESTS)/lib -o $(C_TESTS)/link
	$(C_TESTS)/link | diff - embed/c/link.txt

fuzz: ## Fuzz every target for a fixed number of runs
	cargo fuzz build --sanitizer none
	$(foreach target,$(FUZZ_TARGETS),$(call fuzz,$(target),-runs=$(FUZZ_RUNS) -seed=1) &&) true

fuzz-long: ## Fuzz every target for FUZZ_SECONDS, from where the last time ended
	cargo fuzz build --sanitizer none
	$(foreach target,$(FUZZ_TARGETS),$(call fuzz,$(target),-max_total_time=$(FUZZ_SECONDS) -print_final_stats=1) &&) true

# Full forms, with at most 20 replications: those of docs/papers.
PAPERS := avq chokew drq mkc small-buffer
papers: $(EXTENSION) $(INSTALLED) ## Reproduce the five papers and write docs/papers with its figures (half an hour)
	for paper in $(PAPERS); do $(BIN)/marqueue paper run $$paper --most-replications 20 --force || exit; done
	$(BIN)/python benches/paper_pages.py $(PAPERS:%=results/paper-%)

# Quick forms, with at most 16 replications of what is not decided: verdicts under each alternative are to show what
# turns, not to decide what is near a bound. At most four times what one look costs; MOST=4 for one look.
MOST ?= 16
papers-readings: $(EXTENSION) $(INSTALLED) ## The five papers under each reading of what they leave open: docs/papers/readings
	for paper in $(PAPERS); do \
		$(BIN)/marqueue paper run $$paper --quick --readings all --most-replications $(MOST) --force --out results/paper-$$paper-readings || exit; \
	done
	$(BIN)/python benches/paper_pages.py $(PAPERS:%=results/paper-%-readings)

# Changes to the code, one at a time, that a test should notice. What it finds: docs/mutants.md.
MUTANTS := target/mutants
MUTATED := core aqm cc
mutants: mutants-rust mutants-python ## Change the code in thousands of places and count what tests notice (hours)

.PHONY: mutants-rust mutants-python
mutants-rust:
	command -v cargo-mutants >/dev/null || cargo install --locked cargo-mutants
	rm -rf $(MUTANTS)/rust && mkdir -p $(MUTANTS)/rust
	git ls-files -z | xargs -0 cp -d --parents -t $(MUTANTS)/rust
	@# cargo-mutants finds files by their `mod` lines. In the copy, files that a macro declares get a line that compiles to nothing.
	cd $(MUTANTS)/rust/crates && for list in aqm/src/algo cc/src/algo; do \
		for file in $$list/*.rs; do echo "#[cfg(any())] mod $$(basename $$file .rs);"; done | grep -v ' mod;' >> $$list/mod.rs; \
	done
	@# Codes 2 and 3: mutants survived, or ran out of time.
	$(foreach crate,$(MUTATED),{ cargo mutants -d $(MUTANTS)/rust --in-place -p marqueue-$(crate) -o $(MUTANTS)/$(crate) $(SHARD) || \
		{ code=$$?; test $$code -eq 2 || test $$code -eq 3; }; } &&) true

mutants-python: $(EXTENSION) $(INSTALLED)
	$(PIP) -r requirements/mutants.txt
	rm -rf $(MUTANTS)/python && mkdir -p $(MUTANTS)/python
	cp -rL python $(MUTANTS)/python/src && cp -rL tests scenarios docs requirements pyproject.toml $(MUTANTS)/python
	cd $(MUTANTS)/python && PYTHONDONTWRITEBYTECODE=1 $(CURDIR)/$(BIN)/mutmut run && $(CURDIR)/$(BIN)/mutmut results

lint: $(EXTENSION) $(INSTALLED) $(BUILT) ## Check formats, clippy, ruff, types, and that queues need no std
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked $(KERNEL:%=--features marqueue-bpf/%) -- -D warnings
	cargo check --quiet --locked -p marqueue-aqm --no-default-features
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(if $(NODE),$(if $(WASM_TARGET),cd web && npm run --silent check,@echo "Pages are not checked: the engine's types are not built"),@echo "Pages are not checked: $(NO_NODE)")

format: $(INSTALLED) ## Format every source
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff check --fix --select I
	$(BIN)/ruff format

demo: $(EXTENSION) ## Reproduce Experiment 2 of the AVQ paper, in its quick form
	@echo "Simulating Experiment 2 of the AVQ paper: seven AQMs, 20 to 180 long TCP flows, 900 s, four times each"
	$(BIN)/marqueue paper run avq 2 --quick --force

test-races: ## Look for data races of a run on several threads (5 minutes; needs nightly Rust with rust-src)
	RUSTFLAGS=-Zsanitizer=thread CARGO_TARGET_DIR=target/sanitizer cargo +nightly test --locked -Zbuild-std \
		--target $(shell rustc --print host-tuple) -p marqueue-sim --test threads --test threads_finite -- --skip random --test-threads 1

test-orders: ## Try every order in which the threads of a run can meet (a minute)
	RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom cargo test --release --locked -p marqueue-sim --lib mailboxes

bench: ## Time queues, event lists and whole runs
	cargo bench --workspace

bench-cli: $(EXTENSION) $(INSTALLED) ## Time the command beyond its simulations (5 minutes)
	$(BIN)/python -m benches.cli $(BENCH)

bench-link: $(EXTENSION) ## What a live link carries here: tables of docs/live.md (root; a minute; the machine must be idle)
	$(BIN)/python -m benches.live_link

bench-attach: ## Time a packet in each program for the kernel (root; a few seconds)
	cargo run --quiet --release --locked -p marqueue-bpf --features kernel --example cost

bench-events: $(EXTENSION) ## Time sets of 10^2 to 10^6 pending events
	$(BIN)/python -m benches.events

bench-queues: $(EXTENSION) ## Time a packet under each queue management (6 minutes; the machine must be idle)
	$(BIN)/python -m benches.queues

bench-linux: $(EXTENSION) ## Measure packets a CPU second with Linux kernels as end hosts
	$(BIN)/python -m benches.linux_hosts

bench-peers: $(PROFILE) ## Time whole runs side by side with ns-2 and ns-3
	$(BY_PROFILE) $(ONCE)
	$(BIN)/python -m benches.peers $(BENCH)

bench-regression: $(EXTENSION) ## Compare the engine with that of a commit and name what is 3 % slower: BASE=REV (3 minutes)
	$(BIN)/python -m benches.regression $(if $(BASE),--base $(BASE)) $(BENCH)

bench-store-stalls: $(EXTENSION) ## Count the loads of a run that wait for stores (2 minutes; valgrind)
	$(BIN)/python -m benches.store_stalls $(BENCH)

bench-minim: $(EXTENSION) ## Time the work of minim's benchmark, and minim beside it: MINIM=PROGRAM (two minutes)
	$(BIN)/python -m benches.minim $(if $(MINIM),--minim $(MINIM)) $(BENCH)

bench-lab: $(EXTENSION) $(ENGINE_PAGE) web/built/lab.stamp ## Time a run in Chromium beside the native one, and the lab's first picture (a minute)
	$(BIN)/python -m benches.lab $(BENCH)
	$(BIN)/python -m benches.lab_page

bench-threads: $(EXTENSION) ## Time one run on one thread and on all processors, forecast 16 (10 minutes; the machine must be idle)
	$(BIN)/python -m benches.threads $(BENCH)

bench-estimate: $(EXTENSION) ## Compare what --estimate predicts with what runs take (6 minutes; the machine must be idle)
	$(BIN)/python -m benches.estimate $(BENCH)

bench-memory: $(EXTENSION) ## Compare the memory that is predicted for the engine with what it takes (3 minutes)
	$(BIN)/python -m benches.memory

bench-hybrid: $(EXTENSION) ## Compare hybrid runs of networks with runs of all packets: errors and CPU time (5 minutes; the machine must be idle)
	$(BIN)/python -m benches.hybrid $(BENCH)

bench-hybrid-phases: $(EXTENSION) ## How much of the error of hybrid runs comes from constant delays (2 minutes)
	$(BIN)/python -m benches.hybrid_phases $(BENCH)

bench-hybrid-large: $(EXTENSION) ## The same for 10,000 links and up to a million flows (20 minutes)
	$(BIN)/python -m benches.hybrid_large $(BENCH)

bench-sweep: $(EXTENSION) ## Time a sweep of 500 short points with one job and with one a processor, and the start of a run (4 minutes; the machine must be idle)
	$(BIN)/python -m benches.sweep $(BENCH)

bench-scale: $(EXTENSION) ## Time and memory from 10^2 to 10^7 flows, beside the floor (20 minutes, 10 GB)
	$(BIN)/python -m benches.scale $(BENCH)

bench-programs: $(EXTENSION) $(INSTALLED) ## What an AQM costs in Python, with Numba and in Rust (a minute)
	$(BIN)/python -m benches.programs $(BENCH)

bench-round-trips: $(EXTENSION) ## Time 1000 flows with a round-trip time each beside ten classes; memory of 10^6 (10 minutes)
	$(BIN)/python -m benches.round_trips $(BENCH)

bench-small-buffer: $(EXTENSION) ## The small-buffer paper's theorems by packets to 10^7 flows, by the chain to 10^9 (3 hours)
	$(BIN)/python -m benches.small_buffer

media: $(EXTENSION) ## Remake the table of docs/media.md: video through queues and beside other flows (a minute)
	$(BIN)/python -m benches.media

mkc-live: $(EXTENSION) ## MKC's Figures 10 to 12 with real packets beside simulated ones: docs/live.md (root; 3 to 10 minutes; the machine must be idle)
	$(BIN)/python -m benches.mkc_live

linux-qdiscs: $(EXTENSION) ## Our AQMs beside a kernel's qdiscs: table and picture of docs/linux-hosts.md (3 minutes)
	$(BIN)/python -m benches.linux_qdiscs

linux-versions: $(EXTENSION) $(INSTALLED) ## What differs between kernels: table of docs/linux-differences.md (5 minutes; needs marqueue kernel build linux-6.12 linux-7.3)
	$(BIN)/python -m benches.linux_versions

quic-beside: $(EXTENSION) $(INSTALLED) ## quinn's QUIC beside our models: tables and picture of docs/quic.md (a minute)
	$(BIN)/python -m benches.quic_beside

kernel-peers: $(EXTENSION) ## Run two flows through Linux's AQMs in user-mode Linux, and through ours (10 minutes)
	$(BIN)/python -m benches.kernel

# Into place only once it is whole.
kept = $(BIN)/marqueue $(1) --json > $(2).part && mv $(2).part $(2)

evaluation: $(EXTENSION) ## Remake docs/evaluation: every AQM that TCP can use by RFC 7928 (15 minutes)
	$(BIN)/marqueue evaluate league docs/evaluation

coexistence: $(EXTENSION) $(INSTALLED) ## Remake docs/coexistence: five senders beside each other through seven AQMs (15 minutes)
	$(BIN)/python -m benches.coexistence

attacks: $(EXTENSION) $(INSTALLED) ## Remake docs/attack: the worst traffic for drop-tail and seven AQMs (10 minutes)
	$(BIN)/python -m benches.attacks

buffer-grid: $(EXTENSION) $(INSTALLED) ## Models of buffer sizes against packets at 40 points: docs/theory/buffer/grid (3 minutes)
	$(call kept,validate --only buffers,docs/theory/buffer/grid.json)
	$(BIN)/python -m benches.buffer_grid

theory-data: buffer-grid ## Remake the data and figures of docs/theory/chain and docs/theory/buffer (10 minutes)
	$(BIN)/marqueue theory chain phases docs/theory/chain
	$(BIN)/marqueue theory chain packets docs/theory/chain
	$(call kept,theory chain between,docs/theory/chain/between.json)
	$(foreach aqm,droptail red avq codel scaled,$(call kept,theory buffer --capacity "100 Mbit/s" --flows 100 \
		--rtt "240 ms" --loss 0.01 --aqm $(aqm) --check,docs/theory/buffer/$(aqm).json) &&) true

scenario-reference: $(EXTENSION) ## Remake docs/scenario.md from the schema
	$(BIN)/marqueue help --markdown > docs/scenario.md.part && mv docs/scenario.md.part docs/scenario.md

# What makes the documentation's site besides: not part of setup.
$(VENV)/.docs: requirements/docs.txt | $(INSTALLED)
	@echo "Installing what builds the documentation"
	$(PIP) -r requirements/docs.txt
	touch $@

# A warning is an error: a link that leads nowhere, an example in a notebook that fails.
# Pages are written anew, so that none is left of what was removed; what Sphinx has read is kept.
docs: $(EXTENSION) $(VENV)/.docs $(BUILT) ## Build the documentation as a site that works offline: target/site/index.html
	rm -rf target/site
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html -d target/site-read -c docs/site . target/site
	$(BIN)/python docs/site/offline.py target/site

test-docs: docs ## Try the documentation's pages in Chromium: width, accessibility, nothing from elsewhere
	$(if $(NODE),$(if $(CHROMIUM),cd web && npx playwright test --config playwright.docs.config.ts,@echo "Skipped: no chromium"),@echo "Skipped: $(NO_NODE)")

validate: $(EXTENSION) ## Check the simulator against theory, ns-2 and ns-3, in the quick form
	$(BIN)/marqueue validate --quick

validate-ns2: $(EXTENSION) ## Check all dumbbells against ns-2, with ns-2 installed
	$(BIN)/marqueue validate --only ns2

reference-ns3: $(EXTENSION) ## Remake what ns-3 measured, python/marqueue/ns3/measured.json (half an hour)
	$(BIN)/python -m benches.reference_ns3 $(CASES)

lock: ## Pin the newest versions of all dependencies (needs uv)
	uv pip compile --upgrade --quiet --no-header --no-annotate --python-version 3.11 \
		--extra all pyproject.toml -o requirements/user.txt
	uv pip compile --upgrade --quiet --no-header --no-annotate --python-version 3.11 \
		--extra all --group pyproject.toml:develop pyproject.toml -c requirements/user.txt -o requirements/develop.txt
	uv pip compile --upgrade --quiet --no-header --no-annotate --python-version 3.11 \
		--extra all --group pyproject.toml:docs pyproject.toml -c requirements/develop.txt -o requirements/docs.txt
	cargo update

clean: ## Remove whatever was built
	rm -rf $(VENV) target fuzz/target python/marqueue/_core*.so web/built web/node_modules $(foreach page,$(PAGES),$(PLACE_$(page)))
