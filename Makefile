# Everything a newcomer types. `make help` lists it.
SHELL := /bin/sh
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.olmkit-ready
PYTEST := $(BIN)/python -m pytest
# More than there are cores: half of the time, a test waits for a socket or a process.
WORKERS ?= 4
# Each worker starts a cluster and waits for it half of the time.
E2E_WORKERS ?= 6
E2E_TESTS := tests/e2e tests/conformance/apiserver
# What has the same result on every Python: tests of texts, pages, pictures, releases and examples
# of this repository, comparisons with other tools, random inputs and limits of pure functions,
# whose unit tests stay, and nested runs of pytest.
ONE_PYTHON := $(wildcard tests/conformance tests/unit/ci $(addprefix tests/unit/test_,$(addsuffix \
  .py,addresses architecture architecture_names authors_pages command_blocks docs docs_site hints \
  kinds_of_others_page language marks move_pages operator_scaffold pages_walked pictures \
  reference_pages release samples samples_compared shipped system_packages watched_tutorials wheel \
  your_own_operator)) tests/golden/test_broken.py tests/unit/cli/test_imports.py \
  tests/unit/cli/bundle/test_large_bundles.py tests/unit/hub/builds tests/unit/hub/looks \
  tests/unit/hub/test_shared_catalogs.py tests/unit/jobs/project/test_scaffold.py \
  tests/unit/kube/crds/changes/test_random_schemas.py tests/unit/oci/test_hostile_layers.py \
  tests/unit/rules/test_message_lengths.py tests/unit/rules/test_mutations.py \
  tests/unit/testing/test_pytest_plugin.py)

.PHONY: help demo environment test test-program test-again check fix golden shipped e2e e2e-again cluster cluster-down hub lock docs man site dist release-check release-notes wheel-test image bench clean
.DEFAULT_GOAL := help
# Without its cache of compiled modules, each of some thousand processes of the tests compiles
# olmkit, and each worker compiles all tests.
unexport PYTHONDONTWRITEBYTECODE

help: ## list what can be made
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: $(STAMP) ## take the shipped operator the whole way and tell what happens
	@OLMKIT=$(abspath $(BIN))/olmkit $(BIN)/python scripts/demo.py

environment: $(STAMP) ## set up VENV, which all other targets do when they need it

test: $(STAMP) ## run the tests
	@sh scripts/system-packages $(if $(CI),,--optional)
	$(PYTEST) -n $(WORKERS) -q

test-program: $(STAMP) ## of these tests, those that can fail on one Python alone
	@sh scripts/system-packages $(if $(CI),,--optional)
	$(PYTEST) -n $(WORKERS) -q $(addprefix --ignore=,$(ONE_PYTHON))

test-again: $(STAMP) ## the tests that failed last time, one after the other
	$(PYTEST) -q -n 0 --last-failed --last-failed-no-failures none

check: $(STAMP) ## format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory test

fix: $(STAMP) ## do what a machine can do about format and lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

golden: $(STAMP) ## rewrite the expected files of the golden tests; review the difference
	OLMKIT_GOLDEN=rewrite $(PYTEST) -q -n 0 tests/golden tests/unit/rules/test_messages.py

shipped: $(STAMP) ## rebuild operator/config, bundle/ and catalog/ with our own commands
	@OLMKIT=$(abspath $(BIN))/olmkit sh scripts/shipped

docs: $(STAMP) ## rewrite the generated pages: docs/reference and man
	$(BIN)/python scripts/reference_docs.py

man: docs ## rewrite the man pages; `man -l man/olmkit.1` shows one

site: $(STAMP) ## the documentation as a site, in dist/site; broken links and anchors fail
	$(BIN)/python scripts/docs_site.py build dist/site $(if $(SITE_VERSION),--version $(SITE_VERSION))

dist: $(STAMP) ## what is released, in dist/: wheels, sdists, bills of materials, checksums
	@$(BIN)/python scripts/release.py dist

release-check: $(STAMP) ## whether the sources are ready for TAG (and REPOSITORY, its address)
	@$(BIN)/python scripts/release.py check "$(TAG)" "$(REPOSITORY)"

release-notes: $(STAMP) ## the part of CHANGELOG.md on TAG
	@$(BIN)/python scripts/release.py notes "$(TAG:v%=%)"

wheel-test: $(STAMP) ## install the wheel in a new environment of the newest and the oldest Python here, and try all commands
	$(PYTEST) -q -n $(WORKERS) --e2e tests/e2e/test_installed_wheel.py

# Several Go programs share few cores: both settings need less CPU in total.
e2e e2e-again: export GOGC ?= 400
e2e e2e-again: export GOMAXPROCS ?= 1

e2e: $(STAMP) ## against real servers: registry, Docker engine, a cluster with OLM (built once, half an hour)
	@sh scripts/system-packages --e2e
	@sh scripts/build-programs >/dev/null || [ -z "$(CI)" ]
	$(PYTEST) -q -n $(E2E_WORKERS) --dist loadfile --no-loadscope-reorder --e2e $(E2E_TESTS)

e2e-again: $(STAMP) ## the end-to-end tests that failed last time, one after the other
	$(PYTEST) -q --e2e --last-failed --last-failed-no-failures none $(E2E_TESTS)

cluster: $(STAMP) ## a real cluster with OLM, left running for hand work; says how to reach it
	@sh scripts/system-packages --e2e
	@$(BIN)/python tests/cluster up

cluster-down: ## end that cluster
	@$(BIN)/python tests/cluster down

hub: $(STAMP) ## the shipped catalog as web pages, served on this machine
	@$(BIN)/olmkit hub serve catalog

bench: $(STAMP) ## compare with the reference tools (OPM and OPERATOR_SDK name their programs)
	@for file in benchmarks/*.py benchmarks/*/*.py; do case $$file in */_*) ;; *) echo "== $$file"; $(BIN)/python $$file || exit 1;; esac; done

lock: $(STAMP) ## write requirements.lock and image.lock again from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --all-extras --group dev --no-emit-package olmkit --no-emit-package olmkit-runtime \
	  --custom-compile-command "make lock" -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  $(IMAGE_EXTRAS:%=--extra %) --constraint requirements.lock --no-emit-package olmkit --no-emit-package olmkit-runtime \
	  --custom-compile-command "make lock" -o image.lock pyproject.toml

# What the image of olmkit has; extras that operators alone need are not in it.
IMAGE_EXTRAS := serve go docker sbom sign hub
IMAGE ?= oci:dist/oci:olmkit
IMAGE_ARGS ?=

image: $(STAMP) ## the image of olmkit itself: IMAGE names it, IMAGE_ARGS adds options such as --push
	@$(BIN)/olmkit image build --sbom --bytecode -t $(IMAGE) $(IMAGE_ARGS)

clean: ## remove what was made
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks

$(STAMP): requirements.lock pyproject.toml runtime/pyproject.toml operator/pyproject.toml scripts/setup-venv
	@sh scripts/setup-venv $(VENV)
