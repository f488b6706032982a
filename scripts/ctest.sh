#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ctest.sh FOLDER [ctest option...]: runs ctest there and, before its summary, says of each test
# that was skipped, in whole or in part, why: ctest itself keeps that to its log.
set -uo pipefail
folder=$1
shift
log=$folder/Testing/Temporary/LastTest.log

reasons() {
  awk '/^[0-9]+\/[0-9]+ Testing: / { name = $3 }
       /^skipped: |^\[  SKIPPED \] [a-z]/ { print "  " name ": " $0 }
       /^Test requires the following unavailable features/ { print "  " name ": skipped: " $0 }' \
    "$log" | sort -u
}

ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@" 2>&1 | {
  summary=''
  while IFS= read -r line; do
    if [[ -z $summary && $line =~ ^[0-9]+%\ tests\ passed ]]; then
      summary=$line
    elif [ -n "$summary" ]; then
      summary+=$'\n'$line
    else
      printf '%s\n' "$line"
    fi
  done
  skipped=$(reasons)
  [ -z "$skipped" ] || printf 'Skipped, and why:\n%s\n\n' "$skipped"
  printf '%s\n' "$summary"
}
