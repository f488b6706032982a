# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The front door. CMake and Ninja do the work; CMakePresets.json names the builds. The products are
# build/bin/kdl and build/lib/libkdl.{so,a}; the builds with sanitizers lie below build/ too.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SETUP ?= yes
FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 300
LAUNCH_SECONDS ?= 60

packages = $(if $(filter no,$(SETUP)),:,scripts/setup.sh $(1))
opencl_runtime = $(if $(filter no,$(SETUP)),:,scripts/opencl-runtime.sh build/opencl-runtime)
ctest = scripts/ctest.sh $(1) --parallel $(JOBS)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build build-minimal build-asan build-tsan build-fuzz test test-long demo bench \
        lint format install clean build-kdl packages packages-bench packages-demo packages-lint opencl-runtime

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo 'PREFIX=$(PREFIX) JOBS=$(JOBS) FUZZ_SECONDS=$(FUZZ_SECONDS) SOAK_SECONDS=$(SOAK_SECONDS)'
	@echo 'SETUP=$(SETUP) (no: use what is installed, install nothing)'

setup:  ## install the Debian 12 packages that building and testing need, and Intel's OpenCL into build/
	@scripts/setup.sh build test
	@scripts/opencl-runtime.sh build/opencl-runtime

build:  ## build/bin/kdl, build/lib/libkdl.so, build/lib/libkdl.a
	@cmake --preset default --log-level=WARNING >/dev/null
	@cmake --build --preset default --parallel $(JOBS)

test: packages opencl-runtime build build-minimal build-asan build-fuzz  ## the suite, plain and under ASan and UBSan, and seconds of fuzzing
	@$(call ctest,build/ci) -L '^ci$$'

test-long: test build-tsan  ## soak, ThreadSanitizer, and FUZZ_SECONDS of fuzzing per target
	@KDL_SOAK_SECONDS=$(SOAK_SECONDS) $(call ctest,build/ci) -L '^long$$'
	@KDL_SOAK_SECONDS=$(SOAK_SECONDS) KDL_LAUNCH_SECONDS=$(LAUNCH_SECONDS) $(call ctest,build/tsan)
	@KDL_LAUNCH_SECONDS=$(LAUNCH_SECONDS) $(call ctest,build/asan) -R launch_threads
	@scripts/fuzz-long.sh $(FUZZ_SECONDS)

demo: packages-demo build-kdl  ## one C file for four vendors: compiled, explained, run here, damaged and run again
	@SETUP=$(SETUP) scripts/demo.sh

bench: packages-bench build  ## the benchmarks, beside LLVM
	@for suite in open select scale layers matmul; do build/bin/kdl bench $$suite || exit 1; echo; done
	@build/bin/bench_launch
	@echo; build/bin/bench_trace

lint: packages-lint build  ## clang-format, clang-tidy, shellcheck
	@scripts/lint.sh

format:  ## let clang-format write the layout
	@scripts/lint.sh --format

install: build  ## into PREFIX, below DESTDIR if set
	@cmake --install build --prefix $(PREFIX)

clean:  ## remove build/
	@rm -rf build

# Clang is what the demo installs, and it compiles libkdl too where there is no other compiler; what
# it has to remark is for those who work on libkdl.
build-kdl:
	@options=; command -v cc >/dev/null || { export CC=clang-22; options=-DKDL_WERROR=OFF; }; \
	cmake --preset default $$options --log-level=WARNING >/dev/null
	@cmake --build --preset default --parallel $(JOBS) --target kdl

build-minimal build-asan build-tsan: build-%:
	@cmake --preset $* --log-level=WARNING >/dev/null
	@cmake --build --preset $* --parallel $(JOBS)

build-fuzz:
	@if { command -v clang-22 || command -v clang; } >/dev/null; then \
	  cmake --preset fuzz --log-level=WARNING >/dev/null && \
	  cmake --build --preset fuzz --parallel $(JOBS); \
	else \
	  rm -rf build/fuzz; \
	  echo 'clang not found: the fuzz targets will be reported as skipped'; \
	fi

packages:
	@$(call packages,build test)

packages-demo:
	@$(call packages,demo)

opencl-runtime: packages
	@$(opencl_runtime)

packages-bench:
	@$(call packages,build test bench)

packages-lint:
	@$(call packages,build test lint)
