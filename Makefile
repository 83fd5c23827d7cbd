# Everything starts from `make setup`, which makes .venv in the checkout from the project's own files.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup check test test-all demo bench bench-peers mutants faults attacks docs clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tacit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade -c constraints.txt pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable '.[all]' --group dev
	touch $(READY)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)
	$(BIN)/pytest -n 2 -m 'not slow' -q

test-all: $(READY)
	$(BIN)/pytest -n 2 -q

demo: $(READY)
	$(BIN)/tacit demo

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group bench
	$(BIN)/python -m benchmarks

bench-peers: $(READY)
	$(BIN)/python -m benchmarks.peers

mutants: $(READY)
	cd tests && ../$(BIN)/python -m planted_bugs

faults: $(READY)
	cd tests && ../$(BIN)/python -m faults

attacks: $(READY)
	cd tests && ../$(BIN)/python -m attacks

docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
