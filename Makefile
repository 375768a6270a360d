# The commands of this project. Each installs what is missing of the Debian
# packages it needs, builds into build/, and runs. Beneath them is plain CMake:
# see CMakePresets.json.
#
#   JOBS=n                at most n jobs at a time (default: one a core)
#   DEMO_ARGS='...'       what the demo is told
#   TOPOS_PACKAGES=skip   leave the machine's packages alone
#   TOPOS_PYTHON=skip     leave .venv, the tests' Python packages, alone

.DEFAULT_GOAL := help
.PHONY: help demo test test-full bench format tidy clean

JOBS ?= $(shell nproc)
DEMO_ARGS ?=

export JOBS TOPOS_PACKAGES TOPOS_PYTHON
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export CTEST_PARALLEL_LEVEL := $(JOBS)
# Lets ccache recognize a file in another clone.
export CCACHE_BASEDIR ?= $(CURDIR)

install := scripts/install_packages.sh

help:
	@echo 'make demo       train the makemore MLP on real names and invent new ones'
	@echo 'make test       build with GCC and run the tests'
	@echo 'make test-full  the long tests too: exhaustive sweeps, emulated'
	@echo '                processors, clang-tidy over everything'
	@echo 'make bench      measure'
	@echo 'make format     format the sources;  make tidy: clang-tidy alone'
	@echo 'make clean      remove build/'

# The tests need more packages than the demo: left out, unless they are already
# part of this build.
demo:
	@$(install) build
	cmake --preset release \
	  $(if $(wildcard build/release/build.ninja),,-DTOPOS_BUILD_TESTS=OFF)
	cmake --build --preset release --target makemore_mlp makemore_mlp_emitted
	build/release/bin/makemore_mlp $(DEMO_ARGS)
	@if [ -e .venv/topos-plugin.installed ] || [ -n "$$TOPOS_PJRT_PLUGIN" ]; then \
	   build/release/bin/makemore_mlp_emitted --steps 1000; \
	 else echo; echo 'With a PJRT plugin (`make test` brings one into .venv)' \
	   'this goes on: the same model trained on XLA.'; fi

test:
	@$(install) build test
	@scripts/install_python.sh
	cmake --preset release -DTOPOS_BUILD_TESTS=ON
	cmake --build --preset release
	ctest --preset release

test-full:
	@$(install) build test ci full
	@scripts/install_python.sh
	scripts/check_format.sh
	cmake --preset release -DTOPOS_BUILD_TESTS=ON -DTOPOS_EMULATED_TESTS=ON
	cmake --build --preset release
	ctest --preset full
	cmake --preset aarch64
	cmake --build --preset aarch64
	ctest --preset aarch64
	scripts/tidy.sh

bench:
	@$(install) build bench
	@scripts/install_python.sh torch
	scripts/bench.sh

format:
	@$(install) ci
	scripts/check_format.sh --fix

tidy:
	@$(install) build test full
	scripts/tidy.sh

clean:
	rm -rf build
