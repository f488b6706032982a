#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# readme.sh SOURCE PYTHON PATH PACKAGE: the examples of README.md work. Its console block is run as it stands, which is on a machine
# without ptxas, and without the note on that where there is one; its lines in C are compiled; those
# for MLIR are those of docs/mlir.md, which docs.mlir runs; its lines in Python are run with the package that the test
# python.package has installed, where it has.
set -euo pipefail
source=$1 python=$2 path=$3 package=$4
page=$source/README.md

# has NAME...: one of these programs.
has() {
  local name
  for name in "$@"; do
    if PATH=$path:$PATH command -v "$name" >/dev/null; then return; fi
  done
  return 1
}
has clang-22 clang || { echo "skipped: clang not found (Debian: clang-22), with which the page compiles"; exit 77; }
has ld.lld ld.lld-22 || { echo "skipped: ld.lld not found (Debian: lld-22), which links the page's images for AMD's GPUs"; exit 77; }

block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "$page"; }

run_console() {
  "$python" "$source/tests/rfc/examples.py" "$1" --path "$path" --setup \
    "mkdir -p venv/lib; cp $source/examples/kernels/saxpy.c .; cp $source/tests/golden/fatbin/archs.fatbin venv/lib
     kdl cc saxpy.c --targets=sm_90,opencl-c -o venv/lib/saxpy.offload"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
KDL_PTXAS=none run_console "$page"
if command -v ptxas >/dev/null; then
  grep -v 'no ptxas was found' "$page" >"$work/README.md"
  run_console "$work/README.md"
fi

{ # with the declarations that README leaves out
  printf '#include <kdl/kdl.h>\nvoid f(kdl_queue *q, float a, uint32_t n, kdl_buffer x, kdl_buffer y) {\n'
  printf 'kdl_library *lib; kdl_device *dev; kdl_kernel *k;\n'
  block c
  printf '}\n'
} | cc -std=c17 -Wall -Werror -Wno-unused-result -fsyntax-only -I"$source/include" -x c -

while read -r line; do
  grep -qF -- "$line" "$source/docs/mlir.md" || { echo "readme: docs/mlir.md has no '$line'" >&2; exit 1; }
done < <(block sh)

if [ -x "$package/venv/bin/python" ]; then
  cd "$work"
  PATH=$path:$PATH kdl cc "$source/examples/kernels/saxpy.c" --targets=gfx942,x86-64 -o saxpy.offload
  { block python; echo 'assert list(y) == [2.0] * 8'; } | "$package/venv/bin/python" - >explained
  grep -q gfx942 explained
  echo "readme: Python's lines too"
fi
