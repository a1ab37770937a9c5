# Every target needs only Python 3.11+ and make: it builds .venv and installs what it uses.
# On Windows make runs in Git Bash, which has the programs that recipes call.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
else
PYTHON ?= python3
SCRIPTS := bin
endif
VENV := .venv
BIN := $(VENV)/$(SCRIPTS)
WHEEL := $(VENV)-wheel
SDIST := $(VENV)-sdist
PIP_FLAGS := --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -q -n 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-unit test-slow test-browser browser coverage bench bench-large accuracy paper fuzz chaos soak \
  lint types \
  format hooks docs build test-wheel conda image clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --upgrade pip

# One stamp per set of extras: it is renewed when pyproject.toml changes, so nothing is installed twice.
$(VENV)/.installed-%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[$*]"
	@touch $@

demo: $(VENV)/.installed-all  ## find actions and cluster tensors, on data it makes itself, and draw the results
	$(BIN)/homothety demo -o demo-output

test: lint types $(VENV)/.installed-dev  ## lint, types and the tests CI runs
	$(PYTEST) -m "not slow"

test-unit: $(VENV)/.installed-dev  ## tests of single modules and of properties: what CI runs on macOS and Windows
	$(PYTEST) -m "not slow" tests/unit tests/property tests/test_imports.py

coverage: $(VENV)/.installed-dev  ## which lines the tests run: a table, and pages in htmlcov
	$(PYTEST) -m "not slow" --cov --cov-report=term --cov-report=html

test-slow: $(VENV)/.installed-dev  ## the long statistical tests and the accuracy table
	$(PYTEST) -m slow

test-browser: $(VENV)/.installed-browser browser  ## open reports in a browser; skips where none can be had
	$(BIN)/python -m pytest -q tests/browser

# Debian's Chromium, if there is no browser yet and we may install one. Without one the tests say so and are skipped.
browser:
	@if ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null \
	  && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null 2>&1 \
	  || echo "No browser could be installed."; fi

bench: $(VENV)/.installed-bench  ## measure speed as ratios in one run; writes benchmarks/results and docs/cost.md
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.segmentation
	$(BIN)/python -m benchmarks.cost
	$(BIN)/python -m benchmarks.action_speed
	$(BIN)/python -m benchmarks.body_worn
	$(BIN)/python -m benchmarks.pages

bench-large: $(VENV)/.installed-bench  ## a million matrices, five million steps; writes results/large.md
	$(BIN)/python -m benchmarks.large

accuracy: $(VENV)/.installed-bench  ## score the defaults on the paper's data; writes benchmarks/results
	$(BIN)/python -m benchmarks.accuracy
	$(BIN)/python -m benchmarks.ablation
	$(BIN)/python -m benchmarks.segmentation_accuracy
	$(BIN)/python -m benchmarks.action_accuracy
	$(BIN)/python -m benchmarks.made_up_tasks
	$(BIN)/python -m benchmarks.action_invariance
	$(BIN)/python -m benchmarks.action_new_frames
	$(BIN)/python -m benchmarks.action_frames
	$(BIN)/python -m benchmarks.calibration
	$(BIN)/python -m benchmarks.clusters
	$(BIN)/python -m benchmarks.chain_agreement
	$(BIN)/python -m benchmarks.pages

paper: $(VENV)/.installed-dev  ## the paper's tables and figures, many hours; writes paper/results.md
	$(BIN)/python -m paper

fuzz: $(VENV)/.installed-dev  ## attack with 10,000 damaged files and hostile arrays: ten minutes; see SECURITY.md
	$(BIN)/python -m hardening fuzz

chaos: $(VENV)/.installed-dev  ## kill 200 runs at any moment, fill their disk, and compare what resume makes of them
	$(BIN)/python -m hardening chaos

soak: $(VENV)/.installed-dev  ## 100,000 sweeps of each kind of chain: memory stays flat, states are what they say
	$(BIN)/python -m hardening soak

lint: $(VENV)/.installed-dev  ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev  ## mypy, strict
	$(BIN)/mypy

format: $(VENV)/.installed-dev  ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(VENV)/.installed-dev  ## let git run make lint before every commit
	$(BIN)/pre-commit install

docs: $(VENV)/.installed-docs  ## build the documentation, warnings as errors
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The wheel is built from the sdist, so that both are complete, and imported where nothing of the repository is.
build: $(VENV)/.installed-dev  ## build wheel and sdist into dist, and try the wheel in an environment of its own
	rm -rf dist $(WHEEL)
	$(BIN)/python -m build
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/$(SCRIPTS)/python -m pip install $(PIP_FLAGS) dist/*.whl
	$(WHEEL)/$(SCRIPTS)/python -I -c "import homothety; print(homothety.SPCMMixture())"
	$(WHEEL)/$(SCRIPTS)/homothety --version

# The tests come from the sdist, without its src: what they import is the installed wheel.
test-wheel: build  ## run the tests of the sdist against the installed wheel, with nothing of the repository in reach
	$(WHEEL)/$(SCRIPTS)/python -m pip install $(PIP_FLAGS) "$$(echo dist/*.whl)[dev]"
	rm -rf $(SDIST)
	mkdir $(SDIST)
	tar -xzf dist/*.tar.gz -C $(SDIST) --strip-components=1
	rm -rf $(SDIST)/src
	cd $(SDIST) && ../$(WHEEL)/$(SCRIPTS)/python -m pytest -q -n 2 -m "not slow" tests/unit tests/property tests/exact

conda:  ## build a conda package into dist/conda; needs conda-build
	conda build conda --channel conda-forge --override-channels --output-folder dist/conda

image:  ## build a container image whose default command is the demo; needs docker
	docker build --tag homothety .

clean:  ## remove everything make has built
	rm -rf $(VENV) $(WHEEL) $(SDIST) dist demo-output docs/_build docs/gallery docs/generated htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache
