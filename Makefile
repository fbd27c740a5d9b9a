# Every check that CI runs is a target here. `make` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
BENCH ?= short
CARDS ?= 100000
SECONDS ?= 60
PYTEST_ARGS ?=

VENV := .venv
DEMO_VENV := .venvs/demo
LOCK_VENV := .venvs/lock
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
DEPS := $(VENV)/.deps
INSTALLED := $(VENV)/.installed
WHEEL := dist/.built
ORACLE := .venvs/dynamo-1.6.1/.ready
CODE := python tests benches
BENCHES := $(basename $(notdir $(wildcard benches/bench_*.py)))

SOURCES := Cargo.toml Cargo.lock pyproject.toml README.md LICENSE \
	$(shell find rust python -type f ! -name '*.so' ! -name '*.pyc')
OTHERS := $(wildcard clippy.toml rustfmt.toml)

.PHONY: help demo test lint lint-rust lint-python test-rust test-python mutants bench fuzz fuzz-rust wheel fmt lock vectors clean

help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO_VENV)/.installed ## Build the wheel, install it by itself, run `workerset demo`.
	$(DEMO_VENV)/bin/workerset demo

test: lint test-rust test-python ## Run every check and every test.

lint: lint-rust lint-python ## Formatting, clippy, ruff, mypy, and the stub against the native module.

lint-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

lint-python: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(CODE)
	cd $(VENV) && bin/python -m mypy.stubtest workerset --mypy-config-file ../pyproject.toml --concise

test-rust: ## Rust unit and machine tests.
	cargo test --workspace --locked --quiet

test-python: $(INSTALLED) $(ORACLE) ## Python tests, interop and documentation snippets included.
	$(BIN)/python -m pytest --no-skips $(PYTEST_ARGS)

mutants: ## Twelve faults, put into the core one at a time: every one must turn its tests red.
	$(PYTHON) -m tests.mutants.run

bench: $(INSTALLED) ## Benchmarks in short form; BENCH=full for every size.
	for name in $(BENCHES); do $(BIN)/python -m "benches.$$name" --$(BENCH); done

fuzz: $(INSTALLED) $(ORACLE) ## Compare random cards with the real wheel; CARDS=100000, a new seed each time.
	WORKERSET_FUZZ_CARDS=$(CARDS) WORKERSET_FUZZ_SEED=random $(BIN)/python -m pytest -s -q tests/interop/test_differential.py

fuzz-rust: ## Fuzz the record decoder and the controller with libFuzzer, SECONDS=60 each.
	cargo fmt --manifest-path rust/fuzz/Cargo.toml --check
	cargo clippy --manifest-path rust/fuzz/Cargo.toml --target-dir target/fuzz --locked --quiet -- -D warnings
	PYTHON=$(PYTHON) rust/fuzz/run.sh $(SECONDS)

wheel: $(WHEEL) ## Build the release wheel into dist/.

fmt: $(DEPS) ## Format all code.
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

lock: $(WHEEL) ## Write requirements/dev.txt anew from the newest releases.
	rm -rf $(LOCK_VENV)
	$(PYTHON) -m venv $(LOCK_VENV)
	$(LOCK_VENV)/bin/python $(PIP_INSTALL) -r requirements/dev.in "$$(ls dist/*.whl)[all]"
	{ echo '# Written by `make lock`.'; $(LOCK_VENV)/bin/python -m pip freeze --exclude workerset; } > requirements/dev.txt

vectors: $(DEPS) ## Ask the real Dynamo wheels for the card vectors anew.
	$(BIN)/python -m tests.interop.make_vectors

clean: ## Remove what the targets made.
	rm -rf target dist $(VENV) .venvs .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(DEPS): requirements/dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -r requirements/dev.txt
	touch $@

$(WHEEL): $(SOURCES) | $(DEPS)
	rm -rf dist
	$(BIN)/maturin build --release --locked --quiet --out dist
	touch $@

$(INSTALLED): $(WHEEL) $(DEPS)
	$(BIN)/python $(PIP_INSTALL) --force-reinstall --no-index --no-deps dist/*.whl
	touch $@

$(DEMO_VENV)/.installed: $(WHEEL)
	$(PYTHON) -m venv --clear $(DEMO_VENV)
	$(DEMO_VENV)/bin/python $(PIP_INSTALL) "$$(ls dist/*.whl)[file,cli]"
	touch $@

$(ORACLE): tests/interop/oracle.py | $(DEPS)
	$(BIN)/python -m tests.interop.oracle 1.6
	touch $@
