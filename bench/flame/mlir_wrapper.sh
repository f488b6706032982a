#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds MLIR's CUDA wrapper, which Debian does not ship, from its one source file: BUILD/lib/libmlir_cuda_runtime.so.
#
#     bench/flame/mlir_wrapper.sh BUILD SOURCES
#
# SOURCES: a checkout of LLVM 22, or its tarball (`apt-get source --download-only --tar-only llvm-toolchain-22`). Needs libmlir-22-dev,
# CUDA's headers (CUDA_HOME, /usr/local/cuda unless set) and, to link with, the fake libcuda.so.1 of BUILD.
set -eu
usage='usage: bench/flame/mlir_wrapper.sh BUILD SOURCES'
build=${1:?$usage}
sources=${2:?$usage}
file=mlir/lib/ExecutionEngine/CudaRuntimeWrappers.cpp
llvm=/usr/lib/llvm-22
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -d "$sources" ]; then
  cp "$sources/$file" "$work/wrapper.cpp"
else
  tar -xf "$sources" --wildcards "*/$file" --occurrence=1 --to-stdout >"$work/wrapper.cpp"
fi
"${CXX:-g++}" -std=c++17 -O3 -DNDEBUG -fPIC -shared -fno-exceptions -fno-rtti -fvisibility=hidden -Wl,-z,lazy -isystem "$llvm/include" \
  -isystem "${CUDA_HOME:-/usr/local/cuda}/include" "$work/wrapper.cpp" -L"$build/fakes/whole" -l:libcuda.so.1 -o "$build/lib/libmlir_cuda_runtime.so"
