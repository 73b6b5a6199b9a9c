# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Needs Python >= 3.11 and Go >= 1.26; everything else is installed or built here, pinned.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Built before the tests, where progress can be seen: without arguments what a control plane runs.
PROGRAMS := etcd kube-apiserver kube-controller-manager kube-scheduler kueue kwok jobset trainer helm promtool
# Where the environment forbids it, every program and every worker compiles all of it again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test lint bench fuzz chaos clean
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("$(PYTHON) is Python %d.%d, and 3.11 or later is needed: make PYTHON=/path/to/one" % v[:2])'
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## the first gang job, end to end, on a real control plane (under two minutes once built)
	@$(BIN)/python -m e2e.demo $(DEMO_ARGS)

lint: $(STAMP) ## ruff, mypy --strict, the layer contracts
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: lint ## lint, unit tests, then the scenarios on a real control plane
	@$(BIN)/python -m e2e.controlplane build $(PROGRAMS)
	$(BIN)/pytest tests -n auto $(PYTEST_ARGS)
	$(BIN)/pytest e2e -n 3 --dist loadscope --no-loadscope-reorder $(PYTEST_ARGS)

bench: $(STAMP) ## measure what the design bounds, beside what it is compared with (BENCHES="classification ...")
	@$(BIN)/python -m tests.bench $(BENCHES)

# Random graphs of objects, beyond those of the tests; FUZZ_ARGS="--seed N" repeats a run.
GRAPHS ?= 100000
REVIEWS ?= 1000000
WORLDS ?= 200000
fuzz: $(STAMP) ## 100,000 object graphs, 200,000 small worlds, 1,000,000 odd reviews (GRAPHS=, WORLDS=, REVIEWS=; an hour)
	@$(BIN)/python -m tests.fuzz graphs --count $(GRAPHS) $(FUZZ_ARGS)
	@$(BIN)/python -m tests.soundness --count $(WORLDS) $(FUZZ_ARGS)
	@$(BIN)/python -m tests.fuzz reviews --count $(REVIEWS) $(FUZZ_ARGS)

# Every state of larger worlds than the tests visit, random histories (CHAOS_ARGS="--seed N" repeats them), and bad
# weather on the real API server; MUSTER_CHAOS_SEED repeats that.
HISTORIES ?= 100000
ROUNDS ?= 10
WORKLOADS ?= 200
LIVES ?= 5000
chaos: $(STAMP) ## every interleaving within a larger bound, 100,000 random histories, 5,000 lives, 10 rounds of 200 Workloads (hours)
	@$(BIN)/python -m e2e.controlplane build $(PROGRAMS)
	MUSTER_CHAOS_ROUNDS=$(ROUNDS) MUSTER_CHAOS_WORKLOADS=$(WORKLOADS) $(BIN)/pytest e2e/test_chaos_rounds.py -v
	MUSTER_LIVES=$(LIVES) $(BIN)/pytest tests/unit/test_clock_histories.py --timeout=0 -q
	@$(BIN)/python -m tests.exploration --histories $(HISTORIES) $(CHAOS_ARGS)

clean: ## remove what these targets made here (the built control plane stays in its cache)
	rm -rf $(VENV) .run .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist *.egg-info
