#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fetch.sh: what tests use and no package that is installed has, each part into a folder of its name in build/, all at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
parts=()
for name in opencl-runtime cuda-tools registry variantlib ml-dtypes; do
  "scripts/$name.sh" "build/$name" &
  parts+=($!)
done
code=0
for part in "${parts[@]}"; do
  wait "$part" || code=1
done
exit $code
