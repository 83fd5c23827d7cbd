# Everything starts from `make setup`, which makes .venv in the checkout from the project's own files.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Spark holds pandas back: an environment of its own.
SPARK := .venv-spark

.PHONY: setup check test test-all test-spark demo bench bench-peers mutants faults attacks docs clean

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

$(SPARK)/.ready: pyproject.toml constraints-spark.txt
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -c constraints-spark.txt pip
	$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-spark.txt --editable '.[spark]' --group spark
	touch $@

# A fleet on a local Spark; it needs Java 17 or newer.
test-spark: $(SPARK)/.ready
	java -version
	$(SPARK)/bin/pytest -q tests/spark

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
	rm -rf $(VENV) $(SPARK) build dist .mypy_cache .ruff_cache .pytest_cache
