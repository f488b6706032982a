#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# timed.sh PART COMMAND...: runs the command and adds a line with its time to build/times.txt.
# timed.sh --begin: empties that list. timed.sh --show: prints it, with the sum.
set -euo pipefail
cd "$(dirname "$0")/.."
list=build/times.txt
case $1 in
  --begin)
    mkdir -p build
    : >"$list"
    ;;
  --show)
    echo 'How long each part took, in seconds:'
    awk -F '\t' '{ printf "  %-36s %6d\n", $1, $2; sum += $2 } END { printf "  %-36s %6d\n", "together", sum }' "$list"
    ;;
  *)
    part=$1
    shift
    begin=$SECONDS
    code=0
    "$@" || code=$?
    mkdir -p build
    printf '%s\t%d\n' "$part" $((SECONDS - begin)) >>"$list"
    exit $code
    ;;
esac
