# Everything a user or a developer does, one target each. `make demo` and `make test` need nothing but
# Python 3.11 or newer and a package index.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test fast check bench clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: setup
	$(BIN)/tseval run --model bundled:lstm

test: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pytest --numprocesses auto

fast: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pytest -m "not slow"

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: setup
	$(BIN)/python benchmarks/score.py
	$(BIN)/python benchmarks/score.py --vocabulary 50000

clean:
	rm -rf .venv dist build
