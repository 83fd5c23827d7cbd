# Everything starts from `make setup`, which makes .venv in the checkout from the project's own files.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Spark holds pandas back: an environment of its own.
SPARK := .venv-spark
# Builds of torch differ by platform: a version and no hash, in an environment of its own.
TORCH := .venv-torch

# Tests start many processes: each would compile the package anew where no bytecode is kept.
test test-numpy test-all: export PYTHONDONTWRITEBYTECODE :=

UV := $(BIN)/uv
# Every package at its pinned version and hash, as wheels: nothing of others is built here.
PINNED := --quiet --require-hashes --only-binary :all:

.PHONY: setup lock pins check test test-numpy test-all test-sdk test-spark test-torch demo bench bench-peers mutants faults attacks hostile docs wheel clean

setup: $(READY)

# The installer itself comes from the same lock, by pip, which every Python has.
$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tacit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps $(PINNED) --requirement $(VENV)/uv.txt

# Where the index is one that only pip is configured for, pip installs the same wheels, by the same hashes.
$(READY): pyproject.toml requirements.lock hatch_build.py src/tacit/_kernels.c | $(UV)
	$(UV) pip install --python $(BIN)/python $(PINNED) --requirement requirements.lock || \
	$(BIN)/python -m pip install --disable-pip-version-check $(PINNED) --requirement requirements.lock
	$(UV) pip install --python $(BIN)/python --quiet --offline --no-deps --no-build-isolation --editable .
	touch $(READY)

# Versions stay as they are unless pyproject.toml asks for others; delete a pin to let it move.
lock: | $(UV)
	$(UV) pip compile --quiet --no-progress --universal --python-version 3.11 --only-binary :all: --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --extra all --group dev --group bench --group docs --group build \
	--output-file requirements.lock pyproject.toml
	$(UV) pip compile --quiet --no-progress --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --extra spark --group spark \
	--output-file requirements-spark.lock pyproject.toml

pins: $(READY)
	$(BIN)/python scripts/check_pins.py

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)
	$(BIN)/pytest -n 2 -m 'not slow' -q

# What has loops in C, once more without them.
test-numpy: $(READY)
	TACIT_KERNELS=numpy $(BIN)/pytest -n 2 -m 'not slow' -q tests/test_kernels.py tests/algorithms/experts tests/algorithms/arms/test_tsallis_leader.py tests/noise

test-all: $(READY)
	$(BIN)/pytest -n 2 -q

# Both SDKs on the same vectors; the one in TypeScript needs node 18 or newer.
test-sdk: $(READY)
	cd sdk/typescript && npm ci --no-audit --no-fund && npm test
	$(BIN)/pytest -q tests/sdk

# Spark comes as source: setuptools, by its hash, builds it.
$(SPARK)/.ready: pyproject.toml requirements-spark.lock
	$(PYTHON) -m venv $(SPARK)
	sed -n '/^setuptools==/,/[^\\]$$/p' requirements-spark.lock > $(SPARK)/setuptools.txt
	$(SPARK)/bin/python -m pip install --disable-pip-version-check --no-deps $(PINNED) --requirement $(SPARK)/setuptools.txt
	$(SPARK)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes --no-build-isolation --requirement requirements-spark.lock
	$(SPARK)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	touch $@

# A fleet on a local Spark; it needs Java 17 or newer.
test-spark: $(SPARK)/.ready
	java -version
	$(SPARK)/bin/pytest -q tests/spark

$(TORCH)/.ready: pyproject.toml requirements.lock | $(UV)
	$(PYTHON) -m venv $(TORCH)
	$(UV) pip install --python $(TORCH)/bin/python $(PINNED) --requirement requirements.lock || \
	$(TORCH)/bin/python -m pip install --disable-pip-version-check $(PINNED) --requirement requirements.lock
	$(TORCH)/bin/python -m pip install --disable-pip-version-check --quiet torch==2.13.0
	$(TORCH)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	touch $@

# Private training of PyTorch models, on the CPU.
test-torch: $(TORCH)/.ready
	$(TORCH)/bin/pytest -q tests/training

demo: $(READY)
	$(BIN)/tacit demo

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-peers: $(READY)
	$(BIN)/python -m benchmarks.peers

mutants: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m planted_bugs

faults: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m faults

attacks: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m attacks

# Environments that break promises, tried for real: servers that fork below Python.
hostile: $(READY)
	.ci/hostile
	$(BIN)/pytest -q tests/hostile tests/test_process.py

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python -m scripts.docs.search

wheel: $(READY)
	$(BIN)/python scripts/check_wheel.py

clean:
	rm -rf $(VENV) $(SPARK) $(TORCH) build dist .mypy_cache .ruff_cache .pytest_cache
