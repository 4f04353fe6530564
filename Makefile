# Everything a user or a developer does, one target each. `make demo` and `make test` need nothing but
# Python 3.11 or newer and a package index.
# On Windows it wants the sh and the tools of git, and a checkout that kept its links (CONTRIBUTING.md).
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif

# Versions to install. `make CONSTRAINTS=` takes the newest that pyproject.toml allows.
CONSTRAINTS ?= constraints.txt
INSTALL = $(BIN)/python -m pip install --quiet $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

# Settings of `make zoo`: the folder of the training text, more texts, the recipe (`SMALL=1` is short for
# RECIPE=small), where models and runs go, and where to publish the tables, if anywhere.
CORPUS ?= ../shared/data/corpus
TRAIN ?=
RECIPE ?= $(if $(SMALL),small,paper)
ZOO ?= runs/zoo-$(notdir $(basename $(RECIPE)))
PUBLISH ?=
# A file of tests goes to one process, which makes once what its tests share; tests/conftest.py orders the files.
BY_FILE = --dist loadfile --no-loadscope-reorder

# Budget of `make formal`: small, cpu or full; how many models of each kind it trains.
BUDGET ?= cpu
SEEDS ?= 1

# Settings of `make campaign`: how many attacks of each kind, in how many minutes at most; ONLY and NUMBER repeat one.
SIZE ?= 2
SEED ?= 0
MINUTES ?=
ONLY ?=
NUMBER ?=

# Settings of `make agreement`: the folder of the tables of examples, where models and runs go.
EXAMPLES ?= ../shared/data/agreement
AGREEMENT ?= runs/agreement

.PHONY: setup demo test fast test-real check gpu-check docs dist bench campaign zoo formal \
	agreement agreement-parsed agreement-constructed agreement-hard coverage clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@echo "setup: an environment for developers, .venv, with every extra: 2.8 GB and some minutes"
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable ".[dev]"
	touch $@

# Compiled here, for the tests of n-gram models.
.venv/kenlm: .venv/ready
	$(INSTALL) kenlm || echo "kenlm cannot be built: its tests are skipped"
	touch $@

# The core alone, as a user installs it. What torch brings for its own tests and for C++ goes again: 0.2 GB.
DEMO = .venv-demo
DEMO_BIN = $(DEMO)/$(notdir $(BIN))
DEMO_INSTALL = $(DEMO_BIN)/python -m pip install --quiet --no-compile $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))
CPU_BUILDS = https://download.pytorch.org/whl/cpu

demo: $(DEMO)/ready
	@du -sh $(DEMO)
	@echo "demo: scoring the bundled model on Marvin & Linzen (2018)"
	@$(DEMO_BIN)/tseval run --model bundled:lstm
	@echo "      $(DEMO_BIN)/tseval pair --model bundled:lstm 'the authors laugh .' 'the authors laughs .'"

# For Linux the index has torch with the libraries of GPUs, several GB; where there is no GPU, its CPU build does.
$(DEMO)/torch: pyproject.toml constraints.txt
	@echo "demo: making an environment, $(DEMO)"
	@rm -rf $(DEMO)
	@$(PYTHON) -m venv $(DEMO)
	@echo "demo: installing torch"
	@if [ "$$(uname -s)" = Linux ] && ! command -v nvidia-smi > /dev/null; then \
		$(DEMO_INSTALL) --no-deps --index-url $(CPU_BUILDS) --timeout 5 --retries 0 torch 2> /dev/null || \
		echo "demo: no CPU build from $(CPU_BUILDS): taking the usual one, 4 GB more"; \
	fi
	@$(DEMO_INSTALL) torch
	@for torch in $(DEMO)/[Ll]ib/site-packages/torch $(DEMO)/lib/python3*/site-packages/torch; do \
		rm -rf "$$torch"/include "$$torch"/test "$$torch"/bin/test_* "$$torch"/bin/protoc*; \
	done
	@touch $@

$(DEMO)/ready: $(DEMO)/torch $(wildcard tseval/*.py tseval/*/*.py tseval/*/*/*.py tseval/*/*/*/*.py templates/*/*.jinja)
	@echo "demo: installing tseval and the rest that it needs"
	@$(DEMO_INSTALL) .
	@touch $@

test: setup .venv/kenlm
	@echo "test: all tests, on all cores; make fast runs the quick ones alone"
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/pytest --numprocesses auto $(BY_FILE) -m "not real"

# Tests read what they wrote without naming an encoding, which Windows would choose by country.
fast: export PYTHONUTF8 = 1
fast: setup
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/pytest --numprocesses auto $(BY_FILE) -m "not slow and not real"

# What is tested at real size, with real weights too, which the first line brings into the cache: 330 MB.
test-real: setup
	$(BIN)/python benchmarks/real_weights.py
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/pytest -m real

check: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# On a machine with a GPU: equality with the CPU, speed, memory, training; writes docs/gpu.
gpu-check: setup
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python benchmarks/gpu_check.py

# The source distribution, the wheel built from it, both checked: what a release uploads (docs/releasing.md).
dist: setup
	rm -f dist/tseval-*
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/tseval-*

# Warnings, a broken link among them, are errors. Open build/docs/index.html.
docs: setup
	@echo "docs: building the site, a minute or two"
	rm -rf build/docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs . build/docs

bench: setup
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/score.py
	$(BIN)/python benchmarks/score.py --vocabulary 50000
	$(BIN)/python benchmarks/products.py
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/urn.py
	$(BIN)/python benchmarks/formal.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/pairs.py
	$(BIN)/python benchmarks/sweep.py

# Attacks on runs, trainings and files, drawn from SEED: SIZE of each kind, and ten times as many of the cheap ones
# (docs/reliability.md).
campaign: setup .venv/kenlm
	$(BIN)/python benchmarks/campaign.py --size $(SIZE) --seed $(SEED) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only "$(ONLY)") $(if $(NUMBER),--number $(NUMBER))

# Every architecture, trained, scored and ranked. Run again, it goes on where it was stopped.
zoo: setup
	$(BIN)/tseval train zoo --corpus $(CORPUS) $(TRAIN:%=--train %) --recipe $(RECIPE) --out $(ZOO) $(if $(PUBLISH),--publish $(PUBLISH))

# Recurrent cells on formal languages, trained, evaluated and drawn. Run again, it goes on where it was stopped.
formal: setup
	$(BIN)/python benchmarks/learn_formal.py --budget $(BUDGET) --seeds $(SEEDS)

# Classifiers of number and grammaticality, trained and scored. Run again, it goes on where it was stopped.
agreement: setup
	$(BIN)/python benchmarks/agreement.py --data $(EXAMPLES) --out $(AGREEMENT)

# The same with as many training examples as the paper has, from parsed text; asked are gold examples alone.
agreement-parsed: setup
	$(BIN)/python benchmarks/agreement_parsed.py

# The classifiers of `make agreement-parsed`, asked about constructed sentences.
agreement-constructed: setup
	$(BIN)/python benchmarks/agreement_constructed.py

# Number learnt from sentences with attractors alone, and asked about those without.
agreement-hard: setup
	$(BIN)/python benchmarks/agreement_hard.py --figure runs/agreement-hard/hard.svg

# How often intervals, ranks and means of seeds hold what they should, in simulated items that share words.
coverage: setup
	$(BIN)/python benchmarks/coverage.py

clean:
	rm -rf .venv $(DEMO) dist build
