# Everything that people and CI run. Stamps in .venv keep `make` quick when nothing changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name '*.c' -o -name Cargo.toml) Cargo.toml Cargo.lock
EXTENSION := $(VENV)/.built
INSTALLED := $(VENV)/.installed
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
DEVELOP = VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --release $(KERNEL:%=--features %)

# A build by a profile of what runs do, from a program that is compiled with the very features of the extension:
# what has others has other names, and the profile would not be found. Of build scripts there are profiles too.
FAST := target/fast
PROFILE := $(FAST)/profile.profdata
ONCE = cargo build --release --locked --quiet --target-dir $(FAST) -p marqueue-py -p marqueue-once --bin once \
	$(KERNEL:%=--features marqueue-py/%)
BY_PROFILE = RUSTFLAGS=-Cprofile-use=$(CURDIR)/$(PROFILE)

# Programs for the kernel and their loader (crates/bpf) are built where that can be; without them the rest is.
CLANG ?= clang
KERNEL := $(shell printf '\043include <libelf.h>\n\043include <zlib.h>\n' | $(CLANG) -E -x c - >/dev/null 2>&1 \
	&& command -v pkg-config >/dev/null && echo kernel)

# No unsafe code is ours: debug assertions and overflow checks find what a sanitizer would, at a
# multiple of the speed, and any toolchain will do. What is found stays out of the tree: a crash
# becomes a test of the crate that it is about.
FUZZ_TARGETS := plan qdisc receiver sender
FUZZ_RUNS ?= 2000
FUZZ_SECONDS ?= 1800
fuzz = mkdir -p fuzz/corpus/$(1) fuzz/artifacts/$(1) && \
	cargo fuzz run --sanitizer none $(1) fuzz/corpus/$(1) fuzz/seeds/$(1) -- \
	-max_len=4096 -len_control=0 -timeout=60 -rss_limit_mb=3000 -verbosity=0 $(2)

.DEFAULT_GOAL := help
.PHONY: help setup system-packages build fast test test-rust test-python test-bare test-faults faults fuzz fuzz-long mutants lint format demo bench bench-events bench-peers bench-scale kernel-peers bench-small-buffer theory-data scenario-reference validate validate-ns2 lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(EXTENSION) $(INSTALLED) ## Make .venv, install the locked dependencies, build the extension

system-packages: ## Install the Debian packages that tests use and the machine lacks (root, apt)
	@missing=$$(while read -r what package; do case $$what in \
		\#*|'') ;; \
		/*) test -e $$what || echo $$package ;; \
		*) command -v $$what >/dev/null || echo $$package ;; \
	esac; done < requirements/system.txt); \
	test -z "$$missing" || { apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; }

build: $(EXTENSION) ## Build the extension in release mode, if a source changed

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
	$(DEVELOP)
	touch $@

fast: $(PROFILE) ## Build the extension again, by a profile of runs: 5 to 7 % faster (4 minutes)
	$(BY_PROFILE) $(DEVELOP) --target-dir $(FAST)
	touch $(EXTENSION)

$(PROFILE): $(RUST) $(wildcard benches/once/*.toml benches/once/src/*.rs scenarios/*.toml) | $(EXTENSION)
	rustup component add llvm-tools
	RUSTFLAGS=-Cprofile-generate=$(CURDIR)/$(FAST)/runs $(ONCE)
	rm -rf $(FAST)/runs
	$(BIN)/python -m benches.here $(FAST)/release/once $(filter scenarios/%,$^)
	$$(rustc --print target-libdir)/../bin/llvm-profdata merge -o $@.part $(FAST)/runs && mv $@.part $@

test: test-rust test-python test-faults ## Run every test

test-rust: ## Run the tests in Rust
	cargo test --workspace --locked $(KERNEL:%=--features marqueue-bpf/%)
	cargo test -p marqueue-bpf --locked --test unavailable

# The same cases each time: a failure is of the change, not of the day. Without the seed, pytest tries others.
test-python: $(EXTENSION) $(INSTALLED) ## Run the tests in Python
	$(BIN)/pytest -n auto --dist loadfile --hypothesis-seed=0

# One process, because it forks.
test-faults: $(EXTENSION) $(INSTALLED) ## Kill runs, damage files and fill disks, a few times each
	$(BIN)/pytest tests/faults

faults: $(EXTENSION) $(INSTALLED) ## The same 200 times each (an hour or two)
	MARQUEUE_FAULT_TRIALS=200 $(BIN)/pytest tests/faults --durations=0

# Programs that a machine with Rust, Python and a C compiler need not have. The tests that use them are skipped then.
HIDDEN := tshark clang ns iperf3 nft
BARE := target/bare

test-bare: $(EXTENSION) $(INSTALLED) ## Run the tests that use other programs as a machine without these does
	rm -rf $(BARE) && mkdir -p $(BARE)
	IFS=:; for each in $$PATH; do ln -s "$$each"/* $(BARE) 2>/dev/null; done; true
	rm -f $(HIDDEN:%=$(BARE)/%)
	PATH=$(CURDIR)/$(BARE) $(MAKE) --no-print-directory bare-rust bare-python

.PHONY: bare-python bare-rust
bare-rust:
	cargo test -p marqueue-bpf --locked $(KERNEL:%=--features marqueue-bpf/%)

bare-python:
	$(BIN)/pytest --collect-only --quiet --quiet
	$(BIN)/pytest --hypothesis-seed=0 $(shell grep -l '^from live_requirements import' tests/python/test_*.py)

fuzz: ## Fuzz every target for a fixed number of runs
	cargo fuzz build --sanitizer none
	$(foreach target,$(FUZZ_TARGETS),$(call fuzz,$(target),-runs=$(FUZZ_RUNS) -seed=1) &&) true

fuzz-long: ## Fuzz every target for FUZZ_SECONDS, from where the last time ended
	cargo fuzz build --sanitizer none
	$(foreach target,$(FUZZ_TARGETS),$(call fuzz,$(target),-max_total_time=$(FUZZ_SECONDS) -print_final_stats=1) &&) true

# Changes to the code, one at a time, that a test should notice. What it finds: docs/mutants.md.
MUTANTS := target/mutants
MUTATED := core aqm cc
mutants: mutants-rust mutants-python ## Change the code in thousands of places and count what tests notice (hours)

.PHONY: mutants-rust mutants-python
mutants-rust:
	command -v cargo-mutants >/dev/null || cargo install --locked cargo-mutants
	mkdir -p $(MUTANTS)
	@# Codes 2 and 3: mutants survived, or ran out of time.
	$(foreach crate,$(MUTATED),{ cargo mutants -p marqueue-$(crate) -o $(MUTANTS)/$(crate) $(SHARD) || \
		{ code=$$?; test $$code -eq 2 || test $$code -eq 3; }; } &&) true

mutants-python: $(EXTENSION) $(INSTALLED)
	$(PIP) -r requirements/mutants.txt
	rm -rf $(MUTANTS)/python && mkdir -p $(MUTANTS)/python
	cp -rL python $(MUTANTS)/python/src && cp -rL tests scenarios docs requirements pyproject.toml $(MUTANTS)/python
	cd $(MUTANTS)/python && PYTHONDONTWRITEBYTECODE=1 $(CURDIR)/$(BIN)/mutmut run && $(CURDIR)/$(BIN)/mutmut results

lint: $(EXTENSION) $(INSTALLED) ## Check formats, clippy, ruff and types
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked $(KERNEL:%=--features marqueue-bpf/%) -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: $(INSTALLED) ## Format every source
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff check --fix --select I
	$(BIN)/ruff format

demo: $(EXTENSION) ## Reproduce Experiment 2 of the AVQ paper, in its quick form
	@echo "Simulating Experiment 2 of the AVQ paper: seven AQMs, 20 to 180 long TCP flows, 900 s, four times each"
	$(BIN)/marqueue paper run avq 2 --quick --force

bench: ## Time queues, event lists and whole runs
	cargo bench --workspace

bench-events: $(EXTENSION) ## Time sets of 10^2 to 10^6 pending events
	$(BIN)/python -m benches.events

bench-peers: $(PROFILE) ## Time whole runs side by side with ns-2 and ns-3
	$(BY_PROFILE) $(ONCE)
	$(BIN)/python -m benches.peers $(BENCH)

bench-scale: $(EXTENSION) ## Time and memory from 10^2 to 10^6 flows, beside the floor (10 minutes)
	$(BIN)/python -m benches.scale $(BENCH)

bench-small-buffer: $(EXTENSION) ## The small-buffer paper's dumbbell with 10^4 to 10^6 flows (half an hour)
	$(BIN)/python -m benches.small_buffer

kernel-peers: $(EXTENSION) ## Run two flows through Linux's AQMs in user-mode Linux, and through ours (10 minutes)
	$(BIN)/python -m benches.kernel

# Into place only once it is whole.
kept = $(BIN)/marqueue $(1) --json > $(2).part && mv $(2).part $(2)

theory-data: $(EXTENSION) ## Remake the data and figures of docs/theory/chain and docs/theory/buffer (10 minutes)
	$(BIN)/marqueue theory chain phases docs/theory/chain
	$(BIN)/marqueue theory chain packets docs/theory/chain
	$(call kept,theory chain between,docs/theory/chain/between.json)
	$(call kept,validate --only buffers,docs/theory/buffer/grid.json)
	$(foreach aqm,droptail red avq codel scaled,$(call kept,theory buffer --capacity "100 Mbit/s" --flows 100 \
		--rtt "240 ms" --loss 0.01 --aqm $(aqm) --check,docs/theory/buffer/$(aqm).json) &&) true

scenario-reference: $(EXTENSION) ## Remake docs/scenario.md from the schema
	$(BIN)/marqueue help --markdown > docs/scenario.md.part && mv docs/scenario.md.part docs/scenario.md

validate: $(EXTENSION) ## Check the simulator against theory and ns-2, in the quick form
	$(BIN)/marqueue validate --quick

validate-ns2: $(EXTENSION) ## Check all dumbbells against ns-2, with ns-2 installed
	$(BIN)/marqueue validate --only ns2

lock: ## Pin the newest versions of all dependencies (needs uv)
	uv pip compile --upgrade --quiet --no-header --no-annotate --python-version 3.11 \
		--extra all pyproject.toml -o requirements/user.txt
	uv pip compile --upgrade --quiet --no-header --no-annotate --python-version 3.11 \
		--extra all --group pyproject.toml:develop pyproject.toml -c requirements/user.txt -o requirements/develop.txt
	cargo update

clean: ## Remove whatever was built
	rm -rf $(VENV) target fuzz/target python/marqueue/_core*.so
