#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# group_matmul.sh KDL PROGRAM FILE TARGET ROUTE [CPU]: examples/ukernels/portable_matmul.c, compiled for TARGET and run on ROUTE.
set -euo pipefail
kdl=$1 program=$2 file=$3 target=$4 route=$5
if [ $# -gt 5 ]; then
  export KDL_CPU=$6
fi
"$kdl" cc "$(dirname "$0")/../../examples/ukernels/portable_matmul.c" --targets="$target" --emit=bitcode -Wall -Wextra -Werror -o "$file"
if [ "$route" = host ] && ! "$kdl" which "$file" matmul --device=host >/dev/null 2>&1; then
  echo "skipped: this CPU does not run $target"
  exit 77
fi
exec "$program" "$route" "$file"
