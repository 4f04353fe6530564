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

# Which architectures `make zoo` trains; all where none is named.
ARCH ?=

# Budget of `make formal`: tiny, small, cpu or full; how many models of each kind it and `make agreement` train.
BUDGET ?= cpu
SEEDS ?=

# `make bench SMALL=1` and `make coverage SMALL=1` measure nothing: they show in seconds that every program runs.
comma := ,
if_small = $(if $(SMALL),$(1))

# Settings of `make campaign`: how many attacks of each kind, in how many minutes at most; ONLY and NUMBER repeat one.
SIZE ?= 2
SEED ?= 0
MINUTES ?=
ONLY ?=
NUMBER ?=

# Where the models and runs of `make formal` go; of `make agreement` also the folder of the tables of examples.
FORMAL ?= runs/formal
EXAMPLES ?= ../shared/data/agreement
AGREEMENT ?= runs/agreement

.PHONY: setup demo test fast test-slow test-real check gpu-check docs dist bench campaign zoo formal \
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
	@echo "$(DEMO_BIN)/tseval pair --model bundled:lstm 'they laugh .' 'they laughs .'"

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

# Tests read what they wrote without naming an encoding, which Windows would choose by country.
test fast test-slow: export PYTHONUTF8 = 1
PYTEST = $(BIN)/pytest --numprocesses auto $(BY_FILE)

test:
	@echo "test: everything that holds the program's behaviour: 8 minutes on two cores, after the installation"
	@echo "      make fast       the quick tests alone, before each commit: 3 minutes"
	@echo "      make test-slow  the release, documentation, benchmarks, killed processes: 10 minutes"
	@$(MAKE) --no-print-directory setup .venv/kenlm
	$(PYTEST) -m "not slowest and not real"

fast: setup
	$(PYTEST) -m "not slow and not slowest and not real"

test-slow: setup .venv/kenlm
	$(PYTEST) -m "slowest and not real"

# What is tested at real size, with real weights too, which the first line brings into the cache: 330 MB.
test-real: setup
	$(BIN)/python benchmarks/real_weights.py
	$(BIN)/pytest -m real

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
	$(BIN)/python benchmarks/startup.py $(call if_small,--rounds 1 --only pair)
	$(BIN)/python benchmarks/score.py $(call if_small,--embedding 8 --hidden 8 --sample 8 --shards 1)
	$(if $(SMALL),,$(BIN)/python benchmarks/score.py --vocabulary 50000)
	$(BIN)/python benchmarks/products.py $(call if_small,--repeat 1)
	$(BIN)/python benchmarks/train.py $(call if_small,--vocabulary 50 --embedding 8 --hidden 8 --urn-hidden 4 --batch 4 --window 5 --repeats 1)
	$(BIN)/python benchmarks/urn.py $(call if_small,--batch 4 --length 5 --hidden 4 --repeats 1)
	$(BIN)/python benchmarks/formal.py $(call if_small,--language 'dyck(k=2$(comma)m=2$(comma)train=300$(comma)valid=300$(comma)test=300)')
	$(BIN)/python benchmarks/tables.py $(call if_small,--models 2 --rounds 1 --sample 2 --board leaderboards/public-clams)
	$(BIN)/python benchmarks/boards.py $(call if_small,--models 2 --suite determiner_noun)
	$(BIN)/python benchmarks/pairs.py $(call if_small,--pairs 100)
	$(BIN)/python benchmarks/all_verbs.py $(call if_small,--sample 2 --turns 1)
	$(BIN)/python benchmarks/sweep.py $(call if_small,--models 2 --hidden 4 --limit 2)

# Attacks on runs, trainings and files, drawn from SEED: SIZE of each kind, and ten times as many of the cheap ones
# (docs/reliability.md).
campaign: setup .venv/kenlm
	$(BIN)/python benchmarks/campaign.py --size $(SIZE) --seed $(SEED) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only "$(ONLY)") $(if $(NUMBER),--number $(NUMBER))

# Every architecture, trained, scored and ranked. Run again, it goes on where it was stopped.
zoo: setup
	$(BIN)/tseval train zoo --corpus $(CORPUS) $(TRAIN:%=--train %) --recipe $(RECIPE) $(ARCH:%=--arch %) --out $(ZOO) $(if $(PUBLISH),--publish $(PUBLISH))

# Recurrent cells on formal languages, trained, evaluated and drawn. Run again, it goes on where it was stopped.
formal: setup
	$(BIN)/python benchmarks/learn_formal.py --budget $(BUDGET) $(SEEDS:%=--seeds %) --out $(FORMAL)

# Classifiers of number and grammaticality, trained and scored. Run again, it goes on where it was stopped.
agreement: setup
	$(BIN)/python benchmarks/agreement.py --data $(EXAMPLES) $(SEEDS:%=--seeds %) $(ARCH:%=--arch %) --out $(AGREEMENT)

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
	$(BIN)/python benchmarks/coverage.py $(call if_small,--draws 5)

clean:
	rm -rf .venv $(DEMO) dist build
