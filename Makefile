# Everything sets itself up in .venv; see README.md.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
VLLM_VENV ?= .venv-vllm
PIP := @$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# two at a time, a file in one process: tests of a file share what they start
PARALLEL ?= --numprocesses 2 --dist loadfile --no-loadscope-reorder
export OMP_NUM_THREADS ?= 1

.PHONY: demo demo-vanilla test lint vllm clean

demo: $(VENV)/installed            ## train the chain demo with a mentor (minutes on two cores)
	$(BIN)/mentor-stream up examples/chain/demo.toml

demo-vanilla: $(VENV)/installed    ## the same as plain GRPO, without a mentor
	$(BIN)/mentor-stream up examples/chain/vanilla.toml

test: $(VENV)/installed-dev        ## the whole test suite; COVERAGE=1 also prints how much of the code it runs
ifdef COVERAGE
	@$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL)
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
else
	$(BIN)/python -m pytest $(PARALLEL)
endif

lint: $(VENV)/installed-dev        ## style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

vllm: $(VLLM_VENV)/installed       ## vLLM for CPUs in an environment of its own (3.4 GB): to try the engine, and for its tests

$(VLLM_VENV)/installed: constraints.txt .ci/install-vllm
	@echo "Installing vLLM into $(VLLM_VENV), once: minutes."
	@.ci/install-vllm $(VLLM_VENV) $(PYTHON)
	touch $@

# torch goes first and alone, so that pip settles on the pinned build before anything asks for "a torch".
$(VENV)/torch: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	@echo "Installing PyTorch into $(VENV), once: some hundred MB to a few GB, depending on the build pip finds."
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch
	touch $@

$(VENV)/installed: $(VENV)/torch pyproject.toml
	@echo "Installing everything else."
	$(PIP) --editable '.[mentor,monitor,rollout,trainer]'
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable '.[mentor,monitor,rollout,trainer,dev]'
	touch $@

clean:                             ## remove the virtual environment and all runs
	rm -rf $(VENV) $(VLLM_VENV) runs
