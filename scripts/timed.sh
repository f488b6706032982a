#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# timed.sh PART COMMAND...: runs the command and adds a line to build/times.txt: how long it took, and how much of
# the processors, which is the same on a busy machine.
# timed.sh --begin: empties that list. timed.sh --show: prints it, with the sums.
set -euo pipefail
cd "$(dirname "$0")/.."
list=build/times.txt

case $1 in
  --begin)
    mkdir -p build
    : >"$list"
    ;;
  --show)
    printf 'How long each part took, in seconds:\n  %-24s %8s %10s\n' '' 'by clock' 'processors'
    awk -F '\t' '{ printf "  %-24s %8d %10d\n", $1, $2, $3; clock += $2; used += $3 }
                 END { printf "  %-24s %8d %10d\n", "together", clock, used }' "$list"
    ;;
  *)
    part=$1
    shift
    begin=$SECONDS
    code=0
    "$@" || code=$?
    mkdir -p build
    times >"$list.used" # "0m0.123s 0m0.045s" of this shell, then of what it ran: user and system
    awk -F '[ms ]+' -v part="$part" -v clock=$((SECONDS - begin)) \
      'NR == 2 { printf "%s\t%d\t%d\n", part, clock, $1 * 60 + $2 + $3 * 60 + $4 + 0.5 }' "$list.used" >>"$list"
    rm -f "$list.used"
    exit $code
    ;;
esac
