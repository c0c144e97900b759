# Needs Python >= 3.10 with pip and venv, and make. Everything is installed into .venv.
# Each target is complete in itself; stamp files (.venv/.base, .test, .lint, .docs) keep re-runs quick.

PYTHON ?= python3
ARGS   ?=

WORKERS := -n auto --maxprocesses 4

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test check lint format coverage accuracy bench-ingest docs clean distclean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.base ## install boundby and diagnose the recording it ships with
	@$(BIN)/boundby demo $(ARGS)

test: $(VENV)/.test ## run all tests (ARGS="-k queue" to choose)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(WORKERS) $(ARGS)

check: lint docs test ## everything a pull request must pass

lint: $(VENV)/.lint ## format, style, types, import direction, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell

format: $(VENV)/.lint ## rewrite the files in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: $(VENV)/.test ## run all tests and show the branches that none of them takes
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(WORKERS) --cov --cov-report=term $(ARGS)

accuracy: $(VENV)/.base ## measure boundby on labelled recordings (BOUNDBY_SHARED, or ../shared) and write docs/accuracy.md
	@$(BIN)/python -m tools.accuracy $(ARGS)

bench-ingest: $(VENV)/.base ## time and memory to read synthetic traces, beside json.load (ARGS="--mb 500")
	@$(BIN)/python -m tools.bench_ingest $(ARGS)

docs: $(VENV)/.docs ## build the documentation into site/ and check its links
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

clean: ## remove caches and build output
	rm -rf build dist site htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	@echo "installing boundby into $(VENV)" >&2
	@$(PIP) -e .
	@$(BIN)/python -m compileall -q src  # as pip does for an installed package
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.base
	@echo "installing the test extra (torch is large; once)" >&2
	@$(PIP) -e '.[test]'
	@touch $@

$(VENV)/.lint: pyproject.toml | $(VENV)/.base
	@echo "installing the lint extra" >&2
	@$(PIP) -e '.[lint]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.base
	@echo "installing the docs extra" >&2
	@$(PIP) -e '.[docs]'
	@touch $@
