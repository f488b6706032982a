#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mmt4d.sh BUILD [NAME=BUILD...]: mmt4d.mlir, compiled by the plugin and kdl-mlir of one or more builds of libkdl (or of
# their installations), compared with the native matmul library of the first, on one core of this machine.
# BLOCKS=N sets how often each is measured.
set -eu
build=${1:?usage: mmt4d.sh BUILD [NAME=BUILD...]}
shift
source=$(dirname "$0")/mmt4d.mlir
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PATH=$PATH:/usr/lib/llvm-22/bin
opt=$(command -v mlir-opt-22 || command -v mlir-opt) || { echo 'skipped: mlir-opt not found'; exit 77; }
clang=$(command -v clang-22 || command -v clang) || { echo 'skipped: clang not found'; exit 77; }

grep -qw avx512f /proc/cpuinfo || { echo 'skipped: the tiles of mmt4d.mlir are for AVX-512'; exit 77; }
# AMX tiles need another layout of the left operand, which each run would create.
target=host:x86-64-v4
for feature in avx512_bf16 avx512_vnni; do
  if grep -qw "$feature" /proc/cpuinfo; then target=$target+$feature; fi
done
ways=
for way in "now=$build" "$@"; do
  name=${way%%=*} from=${way#*=}
  "$opt" --load-dialect-plugin="$from/lib/KdlMLIR.so" "$source" -o "$folder/$name.mlir" --pass-pipeline="builtin.module(
    kdl-lower-mmt4d-to-ukernels{target=$target},func.func(convert-linalg-to-loops),
    convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)"
  "$from/bin/kdl-mlir" translate "$folder/$name.mlir" -o "$folder/$name.ll"
  "$clang" -O2 -fPIC -shared -Wno-override-module "$folder/$name.ll" -o "$folder/$name.so"
  ways="$ways $name=$folder/$name.so"
done
# shellcheck disable=SC2086 # names of files made here
"$build/bin/bench_mlir_mmt4d" "${BLOCKS:-60}" "$build/lib/kdl/kdl-matmul.offload" $ways
