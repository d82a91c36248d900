# Two commands do everything, on a machine that has only Python >= 3.11, make and a compiler:
#   make demo    find a robust insulin setting for a virtual patient and write a report
#   make test    lint, types, unit, statistical, reference and browser tests
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
KERNELS := $(VENV)/.compiled
WORKERS ?= 2
# Tests run as on one kind of processor: the last digit of a sum, and with it what an adaptive run
# pulls next, depends on the instructions that numerical libraries choose. `make chaos` tries others.
PINNED := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell NUMBA_CPU_NAME=haswell \
  NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR"
# a machine may say that no compiled Python is to be kept: then every process compiles all it imports
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint unit test-oldest test-executors chaos flakes mutants bench tables docs clean chromium ngspice

demo: $(READY)
	$(BIN)/surefoot bolus 'adult#001' --out results

# one core compiles while the other reads
test: $(READY)
	+@$(MAKE) --no-print-directory -j 2 lint $(KERNELS)
	+@$(MAKE) --no-print-directory unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(KERNELS) chromium ngspice
	$(PINNED) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

# The core of the suite with the lowest versions that pyproject.toml permits, in an environment apart.
test-oldest:
	$(PYTHON) tests/oldest.py

# A study on MPI's and Ray's executors, in an environment apart.
test-executors:
	$(PYTHON) tests/executors_apart.py

# Kills, torn and crafted files, mutated input, signals, clusters and load: less than 25 minutes.
chaos: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED))

# Small changes to the kernel that no test notices: half an hour.
mutants: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.certify.mutants --sample 200

bench: $(KERNELS)
	$(BIN)/python -m benchmarks

# Every published table whose code has changed, printed anew, in an hour of two cores. It goes on
# where it was stopped; `make tables MINUTES=30` stops by itself.
tables: $(KERNELS)
	$(BIN)/python -m benchmarks.tables $(MINUTES)

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

chromium:
	@command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	       && echo "installing Chromium for the browser tests" \
	       && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
	  || { echo "no Chromium, and no right to install it: the browser tests will be skipped"; [ -z "$$CI" ]; }

ngspice:
	@command -v ngspice >/dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 \
	       && echo "installing ngspice for an example" \
	       && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ngspice >/dev/null; } \
	  || { echo "no ngspice, and no right to install it: its example will be skipped"; [ -z "$$CI" ]; }

# Python's own compilation is left to the first import: most of what is installed is never imported
$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a minute or two, once)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt -e '.[all,dev]'
	@touch $(READY)

$(KERNELS): $(READY)
	@echo "compiling the numerical kernels (half a minute, once; Numba keeps them on disk)"
	@$(PINNED) $(BIN)/python examples/quickstart.py > /dev/null 2>&1
	@$(PINNED) $(BIN)/python -c "from surefoot.paper import glucose; glucose.simulate('adult#001', glucose.Calculator.baseline('adult#001'), glucose.diet('low'), 0, statistics=['magni_risk', 'lbgi', 'hbgi'])" > /dev/null 2>&1
	@touch $(KERNELS)

clean:
	rm -rf $(VENV) results docs/_build .pytest_cache .mypy_cache .ruff_cache
