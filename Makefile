# Everything that people and CI run. Stamps in .venv keep `make` quick when nothing changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
EXTENSION := $(VENV)/.built

.DEFAULT_GOAL := help
.PHONY: help setup build test test-rust test-python lint format demo bench bench-peers validate validate-ns2 lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(EXTENSION) ## Make .venv, install the locked dependencies, build the extension
build: $(EXTENSION) ## Build the extension in release mode, if a source changed

$(VENV)/.installed: requirements/develop.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/develop.txt
	touch $@

# maturin writes the shared object beside the Python sources and installs the package as editable.
$(EXTENSION): $(VENV)/.installed pyproject.toml $(RUST)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	touch $@

test: test-rust test-python ## Run every test

test-rust: ## Run the tests in Rust
	cargo test --workspace --locked

test-python: $(EXTENSION) ## Run the tests in Python
	$(BIN)/pytest

lint: $(EXTENSION) ## Check formats, clippy, ruff and types
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: $(VENV)/.installed ## Format every source
	cargo fmt --all
	$(BIN)/ruff check --fix --select I
	$(BIN)/ruff format

demo: $(EXTENSION) ## Reproduce Experiment 2 of the AVQ paper, in its quick form
	$(BIN)/marqueue paper run avq 2 --quick --force

bench: ## Time queues, event lists and whole runs
	cargo bench --workspace

bench-peers: $(EXTENSION) ## Time whole runs side by side with ns-2
	$(BIN)/python -m benches.peers

validate: $(EXTENSION) ## Check the simulator against theory and ns-2, in the quick form
	$(BIN)/marqueue validate --quick

validate-ns2: $(EXTENSION) ## Check all dumbbells against ns-2, with ns-2 installed
	$(BIN)/marqueue validate --only ns2

lock: ## Pin the newest versions of all dependencies (needs uv)
	uv pip compile --upgrade --quiet --no-header --no-annotate --python-version 3.11 \
		--extra polars pyproject.toml -o requirements/user.txt
	uv pip compile --upgrade --quiet --no-header --no-annotate --python-version 3.11 \
		--extra polars --group pyproject.toml:develop pyproject.toml -c requirements/user.txt -o requirements/develop.txt
	cargo update

clean: ## Remove whatever was built
	rm -rf $(VENV) target python/marqueue/_core*.so
