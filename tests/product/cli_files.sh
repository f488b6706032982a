#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cli_files.sh GOLDEN: the files that the sessions of docs/cli.md begin with, into this folder.
set -euo pipefail
images=$1/images
cp "$images/sm_90a.cubin" saxpy.cubin
cp "$images/llvm.ptx" saxpy.s
cp "$images/gfx90a.hsaco" saxpy.hsaco
cp "$images/spirv64.spv" saxpy.spv
cp "$images/x86_64_v3.so" saxpy.so
cp "$1/fatbin/lz4.fatbin" other.fatbin
echo 'int main(void) { return 0; }' >main.c
kdl pack -o saxpy.offload --image=file=saxpy.cubin,variant_tag=optimized --image=file=saxpy.s \
  --image=file=saxpy.hsaco --image=file=saxpy.spv --image=file=saxpy.so
cp "$1/sequence/steps.offload" steps.offload
