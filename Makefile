# Everything a developer does, one word each. Needs make, Python 3.11 or newer and, for Spark, Java 17 or 21.

VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/lock.txt
READY := $(VENV)/.ready
# further arguments for pytest, as in: make test ARGS="-k jars"
ARGS ?=

# The first Python that will do; PYTHON=... on the command line overrides it.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& echo "$$python" && break; done)

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format docs crash faults faults-all faults-soak bench lock clean

help: ## Show this list
	@echo "Usage: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12

setup: $(READY) ## Create .venv and install the pinned requirements (done by the others as needed)

demo: $(READY) ## Show what Lazaretto does, on a generated day of a bank (left in build/demo-bank)
	@rm -rf build/demo-bank
	@$(BIN)/lazaretto demo --keep build/demo-bank

# Two processes, each with a Spark of its own: most tests wait for a driver, not for cores.
test: $(READY) ## Run the tests (ARGS="..." goes to pytest)
	@$(BIN)/python -m lazaretto.spark.startup >/dev/null
	$(BIN)/pytest --numprocesses 2 --dist loadfile $(ARGS)

check: $(READY) ## Check format, lint, types and architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code and mend what can be mended mechanically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(READY) ## Write the pages of docs/ that derive from the code
	$(BIN)/python tools/generate_docs.py

crash: $(READY) ## Kill a run at every point in every way (slow)
	LAZARETTO_CRASH=all $(BIN)/pytest tests/pipeline/test_crash.py tests/pipeline/test_batches.py \
		tests/pipeline/test_recycle_crash.py $(ARGS)

# where the table of results goes; docs/fault-matrix.md is such a page
PAGE ?= build/fault-matrix.md
faults: $(READY) ## Strike a stream in every pair of moment, fault and source (two hours)
	LAZARETTO_FAULTS=pairs LAZARETTO_FAULTS_PAGE=$(PAGE) $(BIN)/pytest -p no:randomly tests/faults $(ARGS)

faults-all: $(READY) ## The same in every combination (slow)
	LAZARETTO_FAULTS=all LAZARETTO_FAULTS_PAGE=$(PAGE) $(BIN)/pytest -p no:randomly tests/faults $(ARGS)

# the same SEED gives the same cells in the same order
N ?= 50
SEED ?= 1
faults-soak: $(READY) ## N random strikes: make faults-soak N=200 SEED=7
	LAZARETTO_FAULTS=soak:$(N):$(SEED) $(BIN)/pytest -p no:randomly tests/faults -k cell_of $(ARGS)

bench: $(READY) ## Measure what the gate costs
	$(BIN)/python benchmarks/run.py

# The header and the address options keep the paths of a machine and the addresses of an index out of the lock.
lock: $(READY) ## Pin the newest versions that pyproject.toml allows
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--custom-compile-command "make lock" --no-emit-index-url --no-emit-find-links --quiet --output-file $(LOCK)

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist htmlcov .coverage .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp makes a second call instant; a changed pin or pyproject installs again, into the same environment unless
# its Python is gone.
$(READY): $(LOCK) pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "error: Python 3.11 or newer with the venv module is missing." \
		"Run: apt-get install python3 python3-venv, or: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Installing into $(VENV) (the first time takes a few minutes: pyspark is large)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
