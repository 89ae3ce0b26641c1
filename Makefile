# Everything runs in .venv; `make` works on a machine that has only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench accuracy theory readme clean

demo: .venv/.stamp-run
	$(BIN)/privreg demo

test: lint
	$(BIN)/pytest

lint: .venv/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Ratios to peers measured in one run; writes benchmarks/{selection,regression,flagship_speed}.json.
bench: .venv/.stamp-test
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/regression.py
	$(BIN)/python benchmarks/flagship_speed.py

# PrivateLinearRegression on the paper's data sets, its ablations and its intervals (results/flagship/), the paper's methods
# beside its published medians, and the study behind the strict Tukey settings:
# make accuracy DATA=folder of <task>_<name>.parquet files [PUBLISHED=the paper's table as CSV]
accuracy: .venv/.stamp-test
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/flagship.py $(DATA)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/coverage.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/paper_methods.py $(DATA) $(PUBLISHED)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/tukey_groups.py $(DATA)

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
