# Everything runs in .venv; `make` works on a machine that has only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lines kernels lint browser howto r lowest package bench bench-scaling accuracy plan-surface coverage audit paper theory readme looks notebook docs clean

demo: .venv/.stamp-run
	$(BIN)/privreg demo

# Python keeps what it compiled, even where the environment forbids it: tests start hundreds of processes, and pytest
# takes longer to rewrite the assertions of all test files than to load them.
test lines: export PYTHONDONTWRITEBYTECODE :=

test: .venv/.stamp-test browser
	@$(MAKE) -j 2 lint kernels
	$(BIN)/pytest -n auto --dist worksteal

# The share of lines that the tests run; writes it into CONTRIBUTING.md.
lines: .venv/.stamp-test browser kernels
	$(BIN)/pytest -n auto --dist worksteal --cov=privreg --cov-report=term --cov-report=json:build/lines.json
	$(BIN)/python benchmarks/note_lines.py build/lines.json

# Machine code for the tests, compiled once and not by each of their processes.
kernels: .venv/.stamp-test
	@$(BIN)/python tests/helpers/compile_kernels.py

# Chromium, for the tests that look at pages. Where it is not there and cannot be installed, they are skipped.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	  { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "no Chromium: the tests of HTML pages are skipped"

# The code on the how-to pages, with that for R.
howto: .venv/.stamp-test r kernels
	$(BIN)/pytest tests/docs -k "howto or how_to" -rs

# R with jsonlite, for the page "From R". Where it is not there and cannot be installed, that page is skipped.
r:
	@Rscript -e 'invisible(loadNamespace("jsonlite"))' 2>/dev/null || \
	  { test "$$(id -u)" = 0 && apt-get update -qq && \
	    apt-get install -y -qq --no-install-recommends r-base-core r-cran-jsonlite >/dev/null; } || \
	  echo "no R with jsonlite: the page From R is skipped"

lint: .venv/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every test with the lowest version of each dependency that pyproject.toml allows. Needs the lowest Python, 3.11.
lowest: browser
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct -e '.[test]'
	.venv-lowest/bin/pytest -n auto --dist worksteal

# What users download, in build/dist: the wheel must run the demo in an empty environment, and the source archive its own
# tests in a folder where there is nothing else.
package:
	rm -rf build/dist build/tools
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check build
	build/tools/bin/python -m build --outdir build/dist
	set -e; away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; \
	mkdir "$$away/demo" "$$away/source"; \
	$(PYTHON) -m venv "$$away/user"; \
	"$$away/user/bin/python" -m pip install --quiet --disable-pip-version-check build/dist/*.whl; \
	(cd "$$away/demo" && ../user/bin/privreg demo); \
	tar -xzf build/dist/*.tar.gz -C "$$away/source" --strip-components 1; \
	cd "$$away/source"; \
	$(PYTHON) -m venv .venv; \
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]'; \
	.venv/bin/pytest -n auto --dist worksteal

# Ratios to peers measured in one run; writes benchmarks/{selection,regression,flagship_speed,command,reading,formats}.json.
bench: .venv/.stamp-test
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/regression.py
	$(BIN)/python benchmarks/flagship_speed.py
	$(BIN)/python benchmarks/command.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/formats.py

# Tables larger than memory; writes benchmarks/{scaling,sampling}.json: make bench-scaling DATA=folder with 25 GB of room
bench-scaling: .venv/.stamp-test
	$(BIN)/python benchmarks/scaling.py $(DATA) --most 50000000
	$(BIN)/python benchmarks/sampling.py

# The paper's evaluation (results/paper/), once more with its ridge and its perturbed data (results/paper-as-published/),
# and why signs differ: make paper DATA=folder of <task>_<name>.parquet files. What is there already is not run again.
paper: .venv/.stamp-test
	$(BIN)/privreg paper run --data $(DATA) --k 5 --k 10 --trials 10 --out results/paper
	$(BIN)/privreg paper run --data $(DATA) --k 5 --k 10 --trials 10 --methods all --out results/paper
	$(BIN)/privreg paper run --data $(DATA) --k 5 --trials 10 --epsilon ln3,0.1,0.3,1,3 --out results/paper
	$(BIN)/privreg paper report results/paper
	$(BIN)/privreg paper run --data $(DATA) --k 5 --k 10 --trials 10 --methods all --jitter --out results/paper-as-published
	$(BIN)/privreg paper report results/paper-as-published
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/paper_selection.py $(DATA)

# PrivateLinearRegression on the paper's data sets and its ablations (results/flagship/), on tables with text columns
# (results/text/), what public rows are worth (results/public/), and the study behind the strict Tukey settings:
# make accuracy DATA=folder of <task>_<name>.parquet files
accuracy: .venv/.stamp-test
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/flagship.py $(DATA)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/small_budgets.py $(DATA)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/text_columns.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/public_rows.py $(DATA)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/tukey_groups.py $(DATA)

# What `privreg plan` interpolates between, simulated anew; writes the file that is shipped. A quarter of an hour.
plan-surface: .venv/.stamp-test
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/plan_surface.py

# How often 95 % intervals hold what they are for, on these data sets and on simulated tables (results/coverage/):
# make coverage DATA=folder of <task>_<name>.parquet files
coverage: .venv/.stamp-test
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/coverage_study.py $(DATA)

# Whether the guarantee holds, on the whole program: record and replay, bugs put in on purpose, floating point, black-box
# audits, fuzzing. Writes results/audit/*.json and docs/verification.md. Less than an hour on two cores.
audit: .venv/.stamp-test
	$(BIN)/python -m audit

# The README's tables and pictures, from the files that the other targets wrote.
readme: .venv/.stamp-test
	$(BIN)/python benchmarks/results_charts.py
	$(BIN)/python benchmarks/readme.py

# The example notebook docs/notebooks/mothers.ipynb, run anew and written with its outputs.
notebook: .venv/.stamp-test
	$(BIN)/python benchmarks/example_notebook.py

# Pictures of the report, the documentation, a notebook and terminals, and facts about their pages; writes docs/looks/.
looks: .venv/.stamp-test browser
	$(BIN)/python benchmarks/looks.py
	$(BIN)/python benchmarks/readme.py --pages

# The documentation as a folder of pages: build/docs/index.html. A warning is an error.
docs: .venv/.stamp-docs
	$(BIN)/sphinx-build -E -W --keep-going -q -d build/doctrees -b html docs build/docs
	@echo "open build/docs/index.html"

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

.venv/.stamp-docs: .venv/.stamp-run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

clean:
	rm -rf .venv .venv-lowest build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov
