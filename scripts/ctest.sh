#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ctest.sh FOLDER [ctest option...]: runs ctest there and, before its summary, says of each test
# that was skipped, in whole or in part, why: ctest itself keeps that to its log. Then how long each kind of
# test took, and the slowest.
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

# Of "NAME SECONDS" in a file: sums by the first word of the name, and of those under a sanitizer by two.
sums() {
  awk '{ n = split($1, word, "."); kind = word[1]
         if (n > 2 && (kind == "asan" || kind == "tsan")) kind = kind "." word[2]
         sum[kind] += $2; ++count[kind] }
       END { for (kind in sum) printf "  %-24s %8.1f  in %d tests\n", kind, sum[kind], count[kind] }' "$1" |
    sort -k2 -rn
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@" 2>&1 | {
  summary=''
  while IFS= read -r line; do
    if [[ -z $summary && $line =~ ^[0-9]+%\ tests\ passed ]]; then
      summary=$line
    elif [ -n "$summary" ]; then
      summary+=$'\n'$line
    else
      printf '%s\n' "$line"
      [[ ! $line =~ Test\ +#[0-9]+:\ ([^ ]+)\ .*\ ([0-9.]+)\ sec ]] ||
        printf '%s %s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >>"$list"
    fi
  done
  skipped=$(reasons)
  [ -z "$skipped" ] || printf 'Skipped, and why:\n%s\n\n' "$skipped"
  if [ -s "$list" ]; then
    printf 'Seconds by kind of test, several at a time:\n%s\n' "$(sums "$list")"
    printf 'The slowest:\n%s\n\n' "$(sort -k2 -rn "$list" | head -n 15 | awk '{ printf "  %-44s %8.1f\n", $1, $2 }')"
  fi
  printf '%s\n' "$summary"
}
