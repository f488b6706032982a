#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# suites.sh SOURCE KDL PROGRAM WORK ROUTE TARGET[@DEVICE]: the kernels of public suites, compiled for TARGET, linked for DEVICE and run on ROUTE ("none" compiles only).
set -euo pipefail
source=$1 kdl=$2 program=$3 work=$4 route=$5 target=$6
if ! command -v "${KDL_CLANG:-clang-22}" >/dev/null; then
  echo "skipped: clang-22 not found (Debian: clang-22)"
  exit 77
fi
mkdir -p "$work"
for suite in rodinia polybench; do
  "$kdl" cc "$source/tests/language/suites/${suite}_kernels.c" --targets="${target%@*}" -Wall -Wextra -Werror -o "$work/$suite.offload"
  if [[ $target == *@* ]]; then
    "$kdl" link "$work/$suite.offload" --for="${target#*@}" -o "$work/$suite.offload"
  fi
done
machine=$(uname -m)
if [[ $route == host && $target == "${machine/_/-}"* ]] && ! "$kdl" which "$work/rodinia.offload" hotspot --device=host >/dev/null 2>&1; then
  echo "skipped: this CPU, or the one that it is taken for, does not run $target"
  exit 77
fi
[ "$route" = none ] || "$program" "$route" "$work/rodinia.offload" "$work/polybench.offload"
