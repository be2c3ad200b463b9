# `make` alone lists the targets.
VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= python3
UV     := $(shell command -v uv)
# What the module and the tools are compiled with; tests/gate.py says `gate` (Cargo.toml).
PROFILE ?= release
BUILT  := $(VENV)/.built-$(PROFILE)
# In the place of the console scripts of the same names, which load Python first.
SCREAM_TOOL = $(addprefix $(or $(CARGO_TARGET_DIR),target)/$(PROFILE)/scream-bw-test-,tx rx)
SOURCES := $(shell find crates -type f) Cargo.toml Cargo.lock pyproject.toml
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX

.PHONY: help build demo test lint fuzz check soak bench bench-check bench-peers pgo report docs web site dist clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-11s %s\n", $$1, $$2 }'

build: $(BUILT) ## .venv with the sojourn command (release build)

demo: build ## run the 59 L4S runs of ect1 and write report.html beside measured data
	$(BIN)/sojourn run '^ect1/l4s' --out results/demo --fresh
	$(BIN)/sojourn compare results/demo --report report.html
	@echo "open report.html"

test: build ## all Rust and Python tests, with their counts
	@$(BIN)/python tests/gate.py compile rust python

lint: build ## formatting, clippy, ruff, mypy, known answers, laws, places of tests, man pages, table of documents
	cargo fmt --all --check
	cargo clippy --profile gate --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python tests/kat.py --check
	$(BIN)/python tests/laws.py --check
	$(BIN)/python tests/layout.py
	$(BIN)/python tests/man.py --check
	$(BIN)/python tests/documents.py --check
	@if command -v cargo-deny >/dev/null; then cargo deny --offline check licenses bans sources; \
	 else echo "skipped: cargo deny (not installed)"; fi

fuzz: ## ten million hostile datagrams, and a minute of random texts for every parser
	cargo build -q --profile gate --locked --workspace --example fuzz
	$(or $(CARGO_TARGET_DIR),target)/gate/examples/fuzz 60

check: ## everything that CI does, with the seconds of each stage
	@$(PYTHON) tests/gate.py

soak: ## hours of drawn cases, of fuzzing by coverage, of AddressSanitizer and Miri (STAGES=, COUNT=, FROM=, SECONDS=)
	@$(PYTHON) tests/soak.py $(STAGES)

bench: build ## speed of the engine, of every queue, of the SCReAM tool, of captures, of the middlebox and of the lab
	cargo bench --locked -p sojourn-sim --bench engine
	cargo bench --locked -p sojourn-queue --bench qdisc
	cargo bench --locked -p sojourn-scream-tool --bench scream_tool
	cargo bench --locked -p sojourn-inspect --bench captures
	$(BIN)/python benches/live.py cost
	$(BIN)/python benches/lab_speed.py

bench-check: ## instructions per packet beside benches/baseline.json, with valgrind (BLESS=1 records them anew)
	@$(PYTHON) benches/check.py $(if $(BLESS),--bless)

bench-peers: ## CPU time per packet beside other simulators (SOJOURN_HTSIM=, SOJOURN_SCIM=, SOJOURN_PICO_SIM=, SOJOURN_NS3=)
	@$(PYTHON) benches/peers.py

pgo: build ## a wheel compiled with a profile of runs, and what that gains
	$(BIN)/python benches/pgo.py

report: build ## report.html of the latest results
	$(BIN)/sojourn report --output report.html

docs: build ## draw the validation figures of docs/ anew
	PYTHONPATH=docs $(BIN)/python -m plots

web: build ## the lab's page in web/dist and for `sojourn serve`: the engine as WebAssembly, scripts, scenarios
	@$(BIN)/python web/make.py

site: build ## the documentation as a site below build/site, with search and live figures; fails on a broken link
	$(if $(UV),uv pip install -q,$(BIN)/python -m pip install -q --disable-pip-version-check) --group site
	PYTHONPATH=docs $(BIN)/python -m website

dist: build ## sdist, wheels and SHA256SUMS in dist/, each installed and tried; publishes nothing
	$(if $(UV),uv pip install -q,$(BIN)/python -m pip install -q --disable-pip-version-check) --group dist
	$(BIN)/python tests/dist.py

clean: ## remove what was built; results stay
	rm -rf target dist build/site web/dist web/node_modules web/src/wasm python/sojourn/lab $(VENV) report.html .mypy_cache .ruff_cache .pytest_cache

# Dependency groups need pip 25.1.
$(BIN)/maturin:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sojourn needs Python 3.11 or newer; choose one with PYTHON=")'
	$(if $(UV),uv venv -q --allow-existing --python $(PYTHON),$(PYTHON) -m venv) $(VENV)
	$(if $(UV),uv pip install -q,$(BIN)/python -m pip install -q --disable-pip-version-check 'pip>=25.1') 'maturin>=1.9,<2'

# Both packages are named, since features of what they depend on would be others for one alone, and all compiled again.
$(BUILT): $(SOURCES) | $(BIN)/maturin
	$(BIN)/maturin develop --profile $(PROFILE) --locked --group dev $(if $(UV),--uv)
	cargo build --profile $(PROFILE) --locked -p sojourn-scream-tool -p sojourn-py --bins
	install $(SCREAM_TOOL) $(BIN)
	@rm -f $(VENV)/.built-* && touch $@
