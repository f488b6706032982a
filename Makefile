# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The front door. CMake and Ninja do the work; CMakePresets.json names the builds. The products are
# build/bin/kdl and build/lib/libkdl.{so,a}; the builds with sanitizers lie below build/ too.
# Targets may come in any order: each configures what this machine has now (scripts/configure.sh).

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SETUP ?= yes
FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 300
LAUNCH_SECONDS ?= 60

timed = scripts/timed.sh
packages = $(timed) packages $(if $(filter no,$(SETUP)),true,scripts/setup.sh $(1))
fetched = $(timed) fetched $(if $(filter no,$(SETUP)),true,scripts/fetch.sh)
# $(call compile,preset[,target]): configured and built.
compile = $(timed) '$(if $(2),$(2),build$(if $(filter-out default,$(1)), $(1)))' \
  sh -c 'scripts/configure.sh $(1) && cmake --build --preset $(1) --parallel $(JOBS) $(if $(2),--target $(2))'
# Some tests wait more than they work: half as many again as there are processors keeps them busy.
ctest = scripts/ctest.sh $(1) --parallel $(shell echo $$(($(JOBS) + ($(JOBS) + 1) / 2)))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help cli-docs docs figures poster recording setup setup-mlir setup-clusters build build-asan build-core build-tsan build-fuzz test test-long demo bench lint format install uninstall wheel clean \
        build-kdl build-product begin packages packages-bench packages-demo packages-lint fetched

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo 'PREFIX=$(PREFIX) JOBS=$(JOBS) FUZZ_SECONDS=$(FUZZ_SECONDS) SOAK_SECONDS=$(SOAK_SECONDS)'
	@echo 'SETUP=$(SETUP) (no: use what is installed, install nothing)'

setup:  ## install what building and testing need (Debian 12 and 13; elsewhere its names), and Intel's OpenCL, NVIDIA's programs, a registry, variantlib and ml_dtypes into build/
	@scripts/setup.sh build test
	@scripts/fetch.sh

setup-mlir:  ## install what docs/mlir.md needs, and no more
	@scripts/setup.sh build mlir

setup-clusters:  ## what the tests with Slurm, Ray and a browser need besides: daemons by apt, Ray into build/
	@scripts/setup.sh build test cluster
	@scripts/ray.sh build/ray

build:  ## build/bin/kdl, build/lib/libkdl.so, build/lib/libkdl.a, the tests and benchmarks
	@$(call compile,default)

test: begin packages fetched build build-core build-asan build-fuzz  ## the suite, plain and under ASan and UBSan, and seconds of fuzzing
	@code=0; $(timed) tests $(call ctest,build/ci) -L '^ci$$' || code=1; $(timed) --show; exit $$code

test-long: test build-tsan  ## soak, ThreadSanitizer, and FUZZ_SECONDS of fuzzing per target
	@KDL_SOAK_SECONDS=$(SOAK_SECONDS) $(call ctest,build/ci) -L '^long$$'
	@KDL_SOAK_SECONDS=$(SOAK_SECONDS) KDL_LAUNCH_SECONDS=$(LAUNCH_SECONDS) $(call ctest,build/tsan)
	@KDL_LAUNCH_SECONDS=$(LAUNCH_SECONDS) $(call ctest,build/asan) -R launch_threads
	@scripts/fuzz-long.sh $(FUZZ_SECONDS)

demo: packages-demo build-kdl  ## one C file for four vendors: compiled, explained, run here, damaged and run again
	@SETUP=$(SETUP) scripts/demo.sh

bench: packages-bench build  ## the benchmarks, beside LLVM
	@for suite in open select scale layers matmul kernels; do build/bin/kdl bench $$suite || exit 1; echo; done
	@build/bin/bench_launch
	@echo; build/bin/bench_trace

lint: packages-lint build  ## clang-format, clang-tidy, shellcheck
	@scripts/lint.sh

format:  ## let clang-format write the layout
	@scripts/lint.sh --format

docs:  ## the documentation as web pages, in build/site; takes MkDocs Material from the Python index into build/site-venv
	@scripts/site.py

cli-docs:  ## write the lists of commands into docs/cli.md and the table of architectures into docs/targets.md
	@$(call compile,default,cli-docs)

poster:  ## a poster (A0), slides, an abstract and answers to questions, with their numbers from bench/results, in build/poster
	@python3 docs/poster/build.py

recording:  ## record the demo again for README, into docs/figures/demo.svg
	@$(call compile,default,kdl)
	@scripts/record-demo.py docs/figures/demo.svg

figures:  ## draw docs/figures from the data in bench/results
	@python3 bench/figures/draw.py

install: build-product  ## into PREFIX, below DESTDIR if set; builds what it installs
	@cmake --install build --prefix $(PREFIX)

uninstall:  ## removes what `make install` put into PREFIX
	@scripts/uninstall.sh $(PREFIX)

wheel:  ## the Python package libkdl as a wheel and a source distribution, in build/dist
	@scripts/wheel.sh build/dist

clean:  ## remove build/
	@rm -rf build

begin:
	@$(timed) --begin

build-kdl:
	@$(call compile,default,kdl)

build-product:
	@$(call compile,default,product)

build-asan build-core build-tsan: build-%:
	@$(call compile,$*)

build-fuzz:
	@if { command -v clang-22 || command -v clang; } >/dev/null; then \
	  $(call compile,fuzz); \
	else \
	  rm -rf build/fuzz; \
	  echo 'clang not found: the fuzz targets will be reported as skipped'; \
	fi

packages:
	@$(call packages,build test)

packages-demo:
	@$(call packages,demo)

fetched: packages
	@$(fetched)

packages-bench:
	@$(call packages,build test bench)

packages-lint:
	@$(call packages,build test lint)
