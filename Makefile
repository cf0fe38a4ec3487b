# `make demo` and `make test` do everything on a fresh machine; the rest is for working on Scoretrace.
# Another interpreter: make demo PYTHON=/path/to/python3.12

SHELL := /bin/sh
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
endif
RUN := .venv/bin/python -m

.PHONY: help demo test setup setup-test check format wheel clean distclean python

help:
	@echo 'make demo       set up, then open the app on the embedded study and run it'
	@echo 'make test       set up, then run the whole suite'
	@echo 'make setup      only make .venv and install Scoretrace into it'
	@echo 'make check      lint, formatting, types and import contracts, without the tests'
	@echo 'make format     put the sources into the one format'
	@echo 'make wheel      build the wheel into dist/'
	@echo 'make clean      remove caches and build output; make distclean removes .venv and .wheels too'

demo: setup
	@.venv/bin/scoretrace demo

test: check
	@$(RUN) pytest

check: setup-test
	@$(RUN) ruff check
	@$(RUN) ruff format --check
	@$(RUN) mypy
	@$(RUN) mypy .ci/setup.py
	@.venv/bin/lint-imports --no-logo

format: setup-test
	@$(RUN) ruff format
	@$(RUN) ruff check --fix

wheel: setup-test
	@$(RUN) pip wheel -q --no-deps --no-build-isolation -w dist .

setup: python
	@$(PYTHON) .ci/setup.py

setup-test: python
	@$(PYTHON) .ci/setup.py --tests

python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Scoretrace needs Python 3.11 or newer, and '$(or $(PYTHON),python3)' here is" \
	    "$$($(or $(PYTHON),python3) --version 2>/dev/null || echo 'not there'):" \
	    "install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make demo PYTHON=/path/to/python3.12" >&2; \
	  exit 1; }

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

distclean: clean
	rm -rf .venv .wheels
