#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# consoles.sh SOURCE PYTHON PATH: what the poster and the slides show of kdl is what it prints.
set -euo pipefail
source=$1 python=$2
PATH=$3:$PATH
has() { command -v "$1" >/dev/null; }
has clang-22 || has clang || { echo "skipped: clang not found (Debian: clang-22)"; exit 77; }
has ld.lld-22 || has ld.lld || { echo "skipped: ld.lld not found (Debian: lld-22), which links images for AMD's GPUs"; exit 77; }
has ptxas || { echo "skipped: ptxas not found (scripts/cuda-tools.sh build/cuda-tools): the pages show cubins"; exit 77; }
for page in poster slides; do
  "$python" "$source/tests/rfc/examples.py" "$source/docs/poster/$page.html" --path "$3" --setup \
    "kdl cc $source/examples/kernels/saxpy.c --targets=sm_100,sm_90,gfx942,gfx11-generic,spirv64,opencl-c,x86-64-v3 -o saxpy.offload"
done
