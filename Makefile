# One command for people, hooks and CI. Needs only python3 >= 3.11 with venv, and a package index.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := 0.13.9
KILLS  ?= 300
MINUTES ?= 10
MESSAGES ?= 10000
WORKERS ?= 2
SHELL  := /bin/bash
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: run test test-web test-slow cases bench eval soak soak-kill lint types contracts check format lock clean help

help:            ## what can be made
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  +##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## ?/\t/' | sort

$(BIN)/.runtime: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --no-deps -e .
	touch $@

$(BIN)/.dev: requirements-dev.lock $(BIN)/.runtime
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements-dev.lock
	touch $@

run: $(BIN)/.runtime  ## set everything up and run the daemon on the embedded default
	$(BIN)/openexecutive run --link

test: $(BIN)/.dev  ## set everything up and pass the tests
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -m "not slow" --ignore=tests/browser -n $(WORKERS) --dist loadfile

test-web: $(BIN)/.dev  ## the console in a real browser (Debian's Chromium is installed if there is none)
	@command -v chromium >/dev/null || test -n "$$CHROMIUM" || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq chromium; }
	$(BIN)/python -m pytest tests/browser

test-slow: $(BIN)/.dev  ## the long forms that `make test` leaves out, kill series apart
	$(BIN)/python -m pytest -m slow --ignore=tests/e2e/test_soak_kill.py --ignore=tests/soak

cases: $(BIN)/.dev  ## how many of the collected field faults pass
	$(BIN)/python -m tests.cases

bench: $(BIN)/.dev  ## against a plain bot, as ratios
	$(BIN)/python -m tests.bench --all

eval: $(BIN)/.dev  ## how well notes, words and memories are found (DATA=folder of public conversations, JSON=file)
	$(BIN)/python -m tests.evaluation $(if $(DATA),--data $(DATA)) $(if $(JSON),--json $(JSON))

soak: $(BIN)/.dev  ## bad weather on all channels, counted (MINUTES=10 MESSAGES=10000)
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --messages $(MESSAGES)

soak-kill: $(BIN)/.dev  ## several hundred kills, counted at the far end (KILLS=300)
	mkdir -p .soak
	set -o pipefail; KILLS=$(KILLS) $(BIN)/python -m pytest -m slow tests/e2e/test_soak_kill.py -s | tee .soak/kills.txt

lint: $(BIN)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.dev
	$(BIN)/mypy

contracts: $(BIN)/.dev
	$(BIN)/lint-imports

check: lint types contracts test-web test  ## all that CI checks

format: $(BIN)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(BIN)/.runtime  ## pin what pyproject.toml asks for
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --group dev pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
