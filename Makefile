# Spinewise: everything a fresh checkout needs. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
OUT     ?= results
N       ?= 20000
SEED    ?= 1
JOBS    ?= $(shell nproc 2>/dev/null || echo 1)
CORE    := python/spinewise/_core.abi3.so
# One target directory for cargo and maturin: nothing is compiled twice.
export CARGO_TARGET_DIR ?= $(CURDIR)/target
# maturin installs into this environment and no other.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) \
	$(shell find crates/policy crates/sim crates/py -type f \( -path '*/src/*' -o -name 'Cargo.toml' -o -name 'build.rs' \) 2>/dev/null)

.PHONY: help install build quick agent demo demo-lbsp demo-selb test test-rust test-python test-tools test-browser test-lab test-lab-agents test-agent datapath-tools compiled compiled-agent fuzz site wheel check fmt lint bench docs clean tools

help: ## Show this list
	@echo "Targets:"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

# ---- what must be there -----------------------------------------------------------------------------------------

define CHECK_TOOLS
missing=0; \
say() { echo "missing: $$1" >&2; missing=1; }; \
version_ok() { [ "$$(printf '%s\n%s\n' "$$1" "$$2" | sort -V | head -n 1)" = "$$1" ]; }; \
if command -v cargo >/dev/null; then \
  have=$$(cargo --version 2>/dev/null | cut -d' ' -f2) || true; have=$${have:-none that runs}; \
  version_ok 1.95 "$$have" || say "cargo >= 1.95 (found $$have): https://rustup.rs"; \
else say "cargo >= 1.95: https://rustup.rs"; fi; \
if command -v $(PYTHON) >/dev/null; then \
  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || say "python3 >= 3.11 (found $$($(PYTHON) -V 2>&1)): name another one with PYTHON=..."; \
  $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || say "the venv module of $(PYTHON): apt-get install python3-venv"; \
else say "python3 >= 3.11: apt-get install python3 python3-venv"; fi; \
command -v cc >/dev/null || say "a C compiler (cc): apt-get install build-essential"; \
[ $$missing = 0 ] || { echo "install what is missing, then run make again" >&2; exit 1; }
endef

tools: ## Check that cargo, python3, venv and cc are there
	@$(CHECK_TOOLS)
	@echo "all tools are there"

# ---- set-up, each step behind a stamp so that a second call costs nothing -----------------------------------------

$(VENV)/.stamp-tools: Makefile
	@$(CHECK_TOOLS)
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@touch $@

$(VENV)/.stamp-packages: requirements-dev.txt | $(VENV)/.stamp-tools
	@echo "installing the pinned Python packages into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(VENV)/.stamp-package: pyproject.toml $(VENV)/.stamp-packages
	@echo "building the engine (release) and installing spinewise into $(VENV)"
	@PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	@touch $@ $(VENV)/.stamp-quick $(CORE)

$(CORE): $(RUST_SOURCES) | $(VENV)/.stamp-package
	@echo "building the engine (release)"
	@PIP_QUIET=1 $(BIN)/maturin develop --release --skip-install --quiet
	@touch $@

build: $(VENV)/.stamp-package $(CORE)

# The package is the same whatever the engine: it is installed with the first one that is built.
$(VENV)/.stamp-quick: pyproject.toml $(VENV)/.stamp-packages
	@echo "building the engine (quick profile) and installing spinewise into $(VENV)"
	@PIP_QUIET=1 $(BIN)/maturin develop --profile quick --quiet
	@touch $@

# A quick engine is older than any source, so that `make build` replaces it.
quick: $(VENV)/.stamp-quick ## Build the engine fast, for trying a change; `make install` builds the fast engine
	@echo "building the engine (quick profile)"
	@PIP_QUIET=1 $(BIN)/maturin develop --profile quick --skip-install --quiet
	@touch -t 200001010000 $(CORE)

# What compiles the data path.
datapath-tools: $(VENV)/.stamp-tools
	@command -v clang >/dev/null && [ -e /usr/include/libelf.h ] && [ -e /usr/include/zlib.h ] \
	  || { echo "missing: apt-get install clang libelf-dev zlib1g-dev" >&2; exit 1; }

agent: datapath-tools ## Build the agent for real hosts with its data path: needs clang, libelf and zlib
	cargo build --profile quick --quiet -p spinewise-agent --features datapath
	@echo "built: $(CARGO_TARGET_DIR)/quick/spinewise-agent"

install: build ## Make .venv, install the pinned packages, build the engine
	@echo "ready: $(BIN)/spinewise --help"

# ---- use ----------------------------------------------------------------------------------------------------------

demo: build ## Six schemes on an asymmetric leaf-spine, with today's transport and with the one that most papers assume
	$(BIN)/spinewise compare scenarios/demo_papers.toml --jobs $(JOBS) --out $(OUT)/demo-papers --force
	$(BIN)/spinewise compare scenarios/demo.toml --jobs $(JOBS) --out $(OUT)/demo --force

demo-lbsp: build ## LBSP in its own fabric, a fat-tree
	$(BIN)/spinewise compare scenarios/demo_lbsp.toml --jobs $(JOBS) --out $(OUT)/demo-lbsp --force

demo-selb: build ## SELB in its own fabric, RDMA: lossless, then with IRN
	$(BIN)/spinewise compare scenarios/demo_selb.toml --jobs $(JOBS) --out $(OUT)/demo-selb --force
	$(BIN)/spinewise compare scenarios/demo_selb.toml --set transport.recovery=irn --jobs $(JOBS) --out $(OUT)/demo-selb-irn --force

site: build ## The documentation as a site, in site/
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs . site
	@echo "site/index.html"

wheel: $(VENV)/.stamp-packages ## The wheel and the source distribution it is built from, in dist/, tried in an empty environment
	@# Files of a source distribution are old by their dates: what was compiled before would pass for theirs.
	rm -rf dist target/wheel
	@# The lock also has what the agent uses, which a source distribution leaves out: cargo drops that, and no more.
	cargo metadata --locked --format-version 1 >/dev/null
	@# Profile-guided where the toolchain has llvm-profdata: rustup component add llvm-tools.
	pgo=; [ ! -x "$$(rustc --print target-libdir)/../bin/llvm-profdata" ] || pgo=--pgo; \
	CARGO_TARGET_DIR=$(CURDIR)/target/wheel $(BIN)/maturin build --release --sdist --out dist $$pgo
	rm -rf target/wheel
	tests/wheel.sh dist

bench: build ## Packet-hops per second against a fixed reference loop
	$(BIN)/spinewise bench

docs: build ## Write the generated pages of docs/
	$(BIN)/python -m spinewise.docs

# ---- checks -------------------------------------------------------------------------------------------------------

test-rust: $(VENV)/.stamp-tools
	cargo test --workspace --quiet

test-python: build
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-tools: build ## What other tools read in files of ours; tshark must be there
	@command -v tshark >/dev/null || { echo "missing: tshark: apt-get install tshark" >&2; exit 1; }
	PYTHONPATH=tests/python $(BIN)/python -m pytest -n $(JOBS) tests/tools

test: test-rust test-python ## Every test, Rust and Python
	@echo "make test: all Rust and Python tests passed"

test-browser: build ## Pages of `report` in headless Chromium: needs chromium and chromedriver (apt-get install chromium-driver)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	  || { echo "missing: chromium and chromedriver: apt-get install chromium chromium-driver" >&2; exit 1; }
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/browser

test-lab: build ## Labs of network namespaces on this machine: needs root
	@unshare --net true 2>/dev/null || { echo "missing: the privilege to make network namespaces (root)" >&2; exit 1; }
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/lab/test_on_linux.py
	@if command -v clang >/dev/null; then $(MAKE) --no-print-directory test-lab-agents; \
	else echo "NOTE: no clang, so there is no agent, and its tests do not run" >&2; fi

# The agent of the development profile, which `cargo test` has compiled most of.
test-lab-agents: build datapath-tools
	cargo build --quiet -p spinewise-agent --features datapath
	SPINEWISE_AGENT=$(CARGO_TARGET_DIR)/debug/spinewise-agent \
	  $(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/lab/test_agents.py

test-agent: datapath-tools ## The agent between network namespaces and in the kernel: needs root
	@unshare --net true 2>/dev/null || { echo "missing: the privilege to make network namespaces (root)" >&2; exit 1; }
	cargo test --quiet -p spinewise-agent --features datapath --test fabric -- --test-threads=1

fuzz: build ## N specs at random (20000), each refused in words or run: make fuzz N=1000 SEED=2
	PYTHONPATH=tests/python $(BIN)/python -m fuzz --specs $(N) --seed $(SEED) --jobs $(JOBS) --keep $(OUT)/fuzz

compiled: $(VENV)/.stamp-tools
	cargo test --workspace --no-run --quiet
	cargo clippy --workspace --all-targets --quiet -- -D warnings

compiled-agent: datapath-tools
	cargo test --quiet -p spinewise-agent --features datapath --test fabric --no-run

lint: build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m spinewise.docs --check

check: lint test ## Formatting, lints, types, generated pages, all tests: what CI runs
	@echo "make check: everything passed"

fmt: $(VENV)/.stamp-packages ## Format Rust and Python sources
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove all that was built (not the results)
	rm -rf $(VENV) target dist site python/spinewise/_core*.so
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
