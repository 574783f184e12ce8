# make demo: the sale, end to end.   make test: every check and test.   Both do all their own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TIME_SCALE ?= 20
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PULUMI_ERROR_OUTPUT_STRING := 1

.PHONY: setup demo test check core tools sandbox-test bench-event bench-reliability golden docs lock clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed (set PYTHON=)")'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(BIN)/pip --version >/dev/null
	$(BIN)/pip install --quiet --disable-pip-version-check uv==0.13.9
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
	@touch $@

demo: setup
	warmline sandbox demo

test: check core sandbox-test

check: setup
	ruff format --check .
	ruff check .
	mypy

core: setup
	pytest -m "not sandbox" --numprocesses auto --dist worksteal

# Each file has a cluster of its own, which mostly waits for control loops: two at a time, however many cores there are.
sandbox-test: tools
	pytest -m sandbox -p no:randomly --numprocesses 2 --dist loadfile

tools: setup
	python -m sandbox.toolchain

bench-event: tools
	warmline sandbox bench-event --time-scale $(TIME_SCALE)

bench-reliability: tools
	warmline sandbox bench-reliability

golden: setup
	pytest -m "not sandbox" --snapshot-update tests/components tests/cli

docs: setup
	python -m docs.generate

lock: setup
	uv pip compile --quiet --universal --generate-hashes --group dev --no-emit-index-url --custom-compile-command "make lock" pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) out build *.egg-info
