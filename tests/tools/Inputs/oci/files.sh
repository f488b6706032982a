#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# files.sh IMAGES FOLDER: bundles of eleven images with and without an index, and one with fatbins.
set -eu
cd "$2"
set -- "$1"
for name in sm_75.cubin sm_90a.cubin sm_100f.cubin sm_120.cubin nvcc.ptx gfx90a.hsaco gfx11-generic.hsaco spirv64.spv \
  x86_64_v3.so params.zebin sm_75_cuda12.cubin; do
  set -- "$@" "--image=file=$1/$name"
done
images=$1
shift
kdl pack -o plain.offload "$@"
kdl pack --index -o index.offload "$@" 2>/dev/null
kdl pack -o nested.offload --image="file=$images/../fatbin/archs.fatbin" \
  --image="file=$images/../fatbin/debug.fatbin" --image="file=$images/gfx90a.hsaco" 2>/dev/null
