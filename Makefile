# Everything runs in .venv; `make` works on a machine that has only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench theory readme clean

demo: .venv/.stamp-run
	$(BIN)/privreg demo

test: lint
	$(BIN)/pytest

lint: .venv/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Ratios to peers measured in one run; writes benchmarks/selection.json.
bench: .venv/.stamp-test
	$(BIN)/python benchmarks/selection.py

# The README's tables and picture, from the files that the other targets wrote.
readme: .venv/.stamp-test
	$(BIN)/python benchmarks/readme.py

# Where the paper's recovery theorem sets in; writes benchmarks/theorem.json.
theory: .venv/.stamp-test
	$(BIN)/python benchmarks/theorem.py

.venv/.stamp-run: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/.stamp-test: .venv/.stamp-run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
