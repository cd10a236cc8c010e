# What one does with this repository. `make` alone lists it.
#
# Needed: Python 3.11 or newer (with its venv module) and make. Everything else comes with `make install`,
# exactly as pinned in requirements-dev.txt. Tests of pages also want Chromium (CHROMIUM, or Debian's
# chromium-headless-shell or chromium) and tests on PostgreSQL a server (TEST_DATABASE_URL); without them those are
# skipped, or fail where CI is set.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
# What stands on nothing of the app, and is installed beside it.
PACKAGES := integration-base saleor-app-sdk gateway-client
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What looks at the dependencies and builds a release stands apart from what is tested.
TOOLS := build/tools
TOOLS_STAMP := $(TOOLS)/.installed
# So does what builds the documentation's site.
DOCS := build/docs
DOCS_STAMP := $(DOCS)/.installed
STOREFRONT := build/storefront
STOREFRONT_STAMP := $(STOREFRONT)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Some machines say that Python shall keep nothing of what it compiles: then each of the tests' processes compiles all
# of the app and of its own tests again.
unexport PYTHONDONTWRITEBYTECODE

# The first interpreter that runs and is new enough; PYTHON=... chooses another. Looked for only when needed.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$python"; break; }; done)

# Tests wait for processes and databases some of the time, so four workers share two cores unless told otherwise:
# WORKERS=auto takes every core, WORKERS=0 one process (for a debugger). More arguments for pytest, or for the program
# that is started, go into ARGS.
WORKERS ?= 4
ARGS ?=
# CI puts `python -m tests.ci.retry` here.
PYTEST := $(BIN)/pytest
# The files of tests lie in memory where there is room for them: a disk that stands still fails whoever waits for it.
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 1000000 { print "/dev/shm" }')
ifneq ($(MEMORY),)
export PYTEST_DEBUG_TEMPROOT := $(MEMORY)
endif

# What pip writes about each package becomes a line for every ten of the file $(1); its errors are shown as they are.
SHOW_PROGRESS = awk -v all="$$(grep -cE '^[a-z0-9].*==[^;]*$$' $(1))" \
	'BEGIN { print "Fetching at least " all " packages of $(1), which takes some minutes the first time"; fflush() } \
	/^(Collecting|Processing) / && ++fetched % 10 == 0 { print "  " fetched " of " all; fflush() } \
	/^Installing / { print "  installing them"; fflush() }'

.PHONY: help
help: ## List what can be made
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  Arguments: make test ARGS="tests/payments -k refund", make test WORKERS=auto, make demo ARGS=--help'

.PHONY: install
install: $(STAMP) ## Make .venv and install what is pinned (again only when the pins change)

$(STAMP): pyproject.toml requirements-dev.txt $(wildcard packages/*/pyproject.toml)
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11 or newer is needed and none was found. Install it, or say where it is: make PYTHON=/path/to/python3" >&2; \
		exit 1; fi
	@rm -f $@
	@$(PYTHON) -m venv $(VENV) || { \
		echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --require-hashes -r requirements-dev.txt | $(call SHOW_PROGRESS,requirements-dev.txt)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation $(PACKAGES:%=-e packages/%) -e .
	@touch $@

# Drivers are named in a database's address, form parsing is called by FastAPI and time zones are data: none is imported.
# starlette and pydantic_core are the ground on which fastapi and pydantic, which we do declare, stand.
NOT_ODD := DEP002=aiosqlite|psycopg|python-multipart|tzdata,DEP003=starlette|pydantic_core

.PHONY: check
check: $(STAMP) ## Formatting, lint, types, who may import whom, and what is declared
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry app --known-first-party app --per-rule-ignores '$(NOT_ODD)'
	@for package in $(PACKAGES); do (cd packages/$$package && "$(CURDIR)/$(BIN)/deptry" . --per-rule-ignores '$(NOT_ODD)') || exit 1; done

# Some tests run only when something that they look at has changed since they passed: those of the packages, which stand
# on nothing of the app, and those of the tooling (tests/suites.py).
PACKAGES_LOOK_AT := Makefile pyproject.toml requirements-dev.txt conftest.py packages cassettes docs/gateway.md
TOOLING_LOOKS_AT := .ci Makefile pyproject.toml requirements-dev.txt saleor_gateway.py app/*.py app/demo packages \
	app/web/static docs mkdocs.yml packaging/site requirements-docs.txt conftest.py tests/*.py tests/ci tests/demo tests/docs \
	tests/gateway_contract tests/secrets
PACKAGES_TESTED := build/.packages-tested
TOOLING_TESTED := build/.tooling-tested
# A word where a file of $(2) is newer than the file $(1), or $(1) is not there.
CHANGED_SINCE = $(shell [ ! -e $(1) ] && echo yes || find $(2) -type f -not -name '*.pyc' -newer $(1) | head -n 1)
PACKAGES_CHANGED = $(call CHANGED_SINCE,$(PACKAGES_TESTED),$(PACKAGES_LOOK_AT))
TOOLING_CHANGED = $(call CHANGED_SINCE,$(TOOLING_TESTED),$(TOOLING_LOOKS_AT))

# SINCE=HEAD^ runs first the tests of the houses that have changed since that commit: so does CI.
SINCE ?=
.PHONY: test
test: check ## All checks, then the tests but for the long campaigns, and those that what has changed cannot fail
	@mkdir -p build && touch build/.test-begun
	$(PYTEST) -n $(WORKERS) --dist worksteal -m 'not long$(if $(ARGS)$(TOOLING_CHANGED),, and not tooling)' \
		$(if $(SINCE),--since $(SINCE)) $(or $(ARGS),$(if $(PACKAGES_CHANGED),,tests))
	@$(if $(ARGS),,cp -p build/.test-begun $(TOOLING_TESTED) && mv build/.test-begun $(PACKAGES_TESTED))

# A house's own tests alone: what others install is tested in a minute or two.
.PHONY: test-sdk test-client test-app
test-sdk: $(STAMP) ## Only the tests of saleor-app-sdk and integration-base
	$(PYTEST) -n $(WORKERS) --dist worksteal -q -m 'not long' $(addprefix packages/,$(filter-out gateway-client,$(PACKAGES))) $(ARGS)
test-client: $(STAMP) ## Only the tests of gateway-client, its sandbox and integration-base
	$(PYTEST) -n $(WORKERS) --dist worksteal -q -m 'not long' $(addprefix packages/,$(filter-out saleor-app-sdk,$(PACKAGES))) $(ARGS)
test-app: $(STAMP) ## Only the tests of the app
	$(PYTEST) -n $(WORKERS) --dist worksteal -q -m 'not long' tests $(ARGS)

# SAMPLE=300 runs one of each kind and as many more as take 300 seconds of a processor, chosen by the commit: so does CI.
SAMPLE ?=
# What runs seldom runs in the browser that people have, and pictures are taken of what they see.
test-long screenshots: export CHROMIUM ?= $(wildcard /usr/bin/chromium)
.PHONY: test-long
test-long: $(STAMP) ## The long campaigns: every kill point, hundreds of stories, every page in every theme
	$(PYTEST) -n $(WORKERS) --dist worksteal -m long \
		$(if $(SAMPLE),--sample $(SAMPLE) --sample-seed "$$(git rev-parse HEAD 2>/dev/null)") $(ARGS)

# Whole stories over HTTP at a gateway of one dialect: its interface and nothing else, unless told otherwise. In the other
# suites they take turns.
DIALECT ?= interface
.PHONY: journeys
journeys: $(STAMP) ## Whole stories at a gateway that knows only its interface (DIALECT=public: as it is publicly known)
	JOURNEY_DIALECT=$(DIALECT) $(PYTEST) -n $(WORKERS) --dist worksteal -m 'not long' tests/journeys $(ARGS)

T ?= tests
K ?=
.PHONY: unit
unit: $(STAMP) ## Only tests, in one process: T=tests/payments/operations/test_actions.py K=whole
	$(PYTEST) -n $(if $(filter file,$(origin WORKERS)),0,$(WORKERS)) -q $(T) $(if $(K),-k '$(K)') $(ARGS)

.PHONY: ci
ci: ## Run .ci/run in a clean clone of HEAD; build/ci/<commit> says whether it is green or red
	@.ci/in-a-clean-clone

.PHONY: hooks
hooks: $(STAMP) ## Let git check each commit: ruff and mypy on what changed, and the subject
	$(BIN)/pre-commit install

# Each run tells other stories, until one breaks a law; then that one is made short and told in full.
EXAMPLES ?= 10000
.PHONY: chaos
chaos: $(STAMP) ## Make up stories of trouble and tell them (EXAMPLES=10000, ARGS="--seed 4711")
	$(BIN)/python -m tests.chaos --examples $(EXAMPLES) $(ARGS)

# Looks for other inputs each time; what breaks a parser stays in tests/fuzz/corpus, where `make test` tries it.
.PHONY: fuzz
fuzz: $(STAMP) ## Change inputs by chance until a parser breaks (ARGS="register --seconds 600 --keep")
	$(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: format
format: $(STAMP) ## Put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: demo
demo: $(STAMP) ## Play a whole payment on this machine: a Saleor, a gateway and the app
	$(BIN)/saleor-gateway demo $(ARGS)

# The pages of the reference are generated from the code each time. DOCS_SOURCE_URL, if set, is where readers find the
# files of the checkout to which pages link. `mkdocs --quiet` would let warnings pass.
export DOCS_REFERENCE ?= build/reference
.PHONY: docs
docs: $(STAMP) $(DOCS_STAMP) ## Build the documentation as a site: build/site/index.html (a link to nothing is an error)
	$(BIN)/python -m tests.docs.reference $(DOCS_REFERENCE)
	$(DOCS)/bin/mkdocs build --strict $(ARGS)

# What checks the pages for React, Next and Vue in docs/storefront.md; it needs npm.
.PHONY: storefront-tools
storefront-tools: $(STOREFRONT_STAMP) ## Install what checks the storefront's pages for React, Next and Vue

$(STOREFRONT_STAMP): $(wildcard tests/storefront_kit/frameworks/*.json)
	@mkdir -p $(STOREFRONT)
	cp $^ $(STOREFRONT)
	npm ci --prefix $(STOREFRONT) --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

.PHONY: docs-tools
docs-tools: $(DOCS_STAMP) ## Install what builds the site, into an environment of its own

$(DOCS_STAMP): requirements-docs.txt
	@rm -rf $(DOCS)
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip install --require-hashes -r requirements-docs.txt | $(call SHOW_PROGRESS,requirements-docs.txt)
	@touch $@

.PHONY: mapping
mapping: $(STAMP) ## Generate docs/mapping.md from the table that a test plays
	$(BIN)/python -m tests.payments.mapping.page

.PHONY: env-example
env-example: $(STAMP) ## Generate .env.example from the settings and what docs/operators/settings.md says of each
	$(BIN)/python -m tests.packaging.env_example

# Catalogues name the files in which a message stands, without lines and dates: they change only when messages do.
.PHONY: translations
translations: $(STAMP) ## Collect what is to be translated (a new language: ARGS="--init-missing --locale pl")
	@template=$$(mktemp); trap 'rm -f "$$template"' EXIT; \
	$(BIN)/pybabel -q extract --mapping pyproject.toml --project saleor-gateway --add-location file --sort-by-file \
		--no-wrap --output "$$template" app packages; \
	$(BIN)/pybabel -q update --domain messages --output-dir app/i18n/locale --ignore-obsolete \
		--ignore-pot-creation-date --no-wrap --input-file "$$template" $(ARGS)

.PHONY: screenshots
screenshots: $(STAMP) ## Take the documentation's pictures anew, from running pages (needs Chromium; ARGS=dashboard for some)
	$(BIN)/python -m tests.pages.screenshots $(ARGS)

.PHONY: run
run: $(STAMP) ## Start the app with the settings of the environment
	$(BIN)/saleor-gateway run $(ARGS)

# It is made of what the journeys send, of the cassettes and of the code.
.PHONY: statements
statements: $(STAMP) ## Find anew where each statement of the gateway's interface is kept to: docs/gateway-statements.md
	rm -f build/journey-calls.jsonl; mkdir -p build
	JOURNEY_CALLS="$(CURDIR)/build/journey-calls.jsonl" $(PYTEST) -n $(WORKERS) --dist worksteal -m 'not browser' tests/journeys
	$(BIN)/python -m tests.gateway_contract.statements build/journey-calls.jsonl

# Without GATEWAY_BASE_URL a sandbox is started and recorded. With it, an account: its keys come from the environment
# (docs/gateway.md says which), and every story that moves money asks first unless the address is on this machine.
STORIES := packages/gateway-client/tests/gateway_client_tests/contract tests/gateway_contract
.PHONY: record
record: $(STAMP) ## Record the gateway's answers anew, from a sandbox or GATEWAY_BASE_URL=https://...
	$(BIN)/pytest -q -s --record-mode=rewrite $(STORIES) $(ARGS)
	$(BIN)/python -m tests.gateway_contract.statements
	$(BIN)/pytest -q $(STORIES)

.PHONY: model
model: $(STAMP) ## Explore every order of messages, losses and crashes of a payment (ARGS="refunds --faults 2 --states 90000")
	$(BIN)/python -m tests.model $(ARGS)

.PHONY: laws
laws: $(STAMP) ## Break each law of money in a copy of the program: its tests must turn red (ARGS="3 7" for some)
	$(BIN)/python -m tests.laws.break_laws $(ARGS)

.PHONY: marked-pages
marked-pages: $(STAMP) ## List the tests that bear the mark of a law, threat or fault (tests/marked/tests-by-claim.md)
	$(BIN)/python -m tests.marked.page

.PHONY: mutations
mutations: $(STAMP) ## Make small changes to what moves money; tests must notice (ARGS="app/rules/split --examples 50")
	$(BIN)/python -m tests.mutations $(ARGS)

.PHONY: bench
bench: $(STAMP) ## Measure webhooks, whole payments under load, what a million payments change, the gateway client, a register
	$(BIN)/python -m bench.webhooks
	$(BIN)/python -m bench.load
	$(BIN)/python -m bench.growth
	$(BIN)/python -m bench.backlog
	$(BIN)/python -m bench.pages
	$(BIN)/python -m bench.first_load
	$(BIN)/python -m bench.gateway_client
	$(BIN)/python -m bench.register_stream
	$(BIN)/python -m bench.reconcile

# Pins are for every platform and Python from 3.11 on, with hashes, and say nothing of where packages came from.
# A file that exists is the starting point: only what pyproject.toml demands changes. For the newest of
# everything: make pins ARGS=--upgrade
COMPILE = UV_CUSTOM_COMPILE_COMMAND='make pins' $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate \
	$(PACKAGES:%=--no-emit-package %) $(ARGS)

# In the image and for the tests, and off until an operator sets them up.
EXTRAS := --extra opentelemetry --extra sentry

.PHONY: pins
pins: $(TOOLS_STAMP) ## Renew requirements*.txt from pyproject.toml
	$(COMPILE) pyproject.toml $(EXTRAS) --output-file requirements.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --group dev --output-file requirements-dev.txt
	$(COMPILE) --group build --constraints requirements-dev.txt --output-file requirements-build.txt
	$(COMPILE) --group docs --constraints requirements-dev.txt --output-file requirements-docs.txt
	$(COMPILE) --group release --output-file requirements-release.txt

$(TOOLS_STAMP): requirements-release.txt
	@rm -rf $(TOOLS)
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --require-hashes -r requirements-release.txt | $(call SHOW_PROGRESS,requirements-release.txt)
	@touch $@

# Asks a database of published weaknesses, so it needs the internet. What cannot be looked up is an error: else an audit
# that has looked at nothing would pass.
AUDITED := requirements.txt requirements-build.txt requirements-dev.txt requirements-docs.txt requirements-release.txt
.PHONY: audit
audit: $(TOOLS_STAMP) ## Look for published weaknesses of everything that is pinned (needs the internet)
	@for pins in $(AUDITED); do echo "$$pins"; \
		$(TOOLS)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r "$$pins" $(ARGS); done

.PHONY: release
release: ## Test everything, look for weaknesses, build into dist/ (wheels, image, bill of materials, checksums), set the tag
	@test -z "$$(git status --porcelain)" || { echo "A release is made of what is committed, and something here is not." >&2; exit 1; }
	$(MAKE) test test-long audit
	$(MAKE) release-files
	@version=$$($(BIN)/python -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])'); \
	git rev-parse --quiet --verify "refs/tags/v$$version" >/dev/null || git tag -a "v$$version" -m "Version $$version"

.PHONY: release-files
release-files: $(STAMP) $(TOOLS_STAMP) ## Only build what a release consists of, without the tests before it
	packaging/release/build $(BIN)/python $(TOOLS)

.PHONY: wheels
wheels: $(STAMP) ## Build what is installed elsewhere into dist/: the app, and the packages that it stands on
	$(BIN)/python -m hatchling build -t wheel -d dist
	@for package in $(PACKAGES); do \
		(cd packages/$$package && "$(CURDIR)/$(BIN)/python" -m hatchling build -t wheel -d "$(CURDIR)/dist") || exit 1; done

.PHONY: image-check
image-check: $(STAMP) ## Build the image without a registry, and run it read-only, as nobody in particular (as root, on Debian)
	packaging/image/check $(BIN)/python

.PHONY: clean
clean: ## Remove the environment, caches and builds (never data/)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './data/*' -prune -exec rm -rf {} +
