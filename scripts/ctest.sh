#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ctest.sh FOLDER [ctest option...]: runs ctest there and, before its summary, counts the tests that were skipped, in whole or in
# part, by what they lack; FOLDER/skipped.txt has each with its reason. Then how long each kind of test took, and the slowest.
set -uo pipefail
folder=$1
shift
log=$folder/Testing/Temporary/LastTest.log

# What tests lack, and the reasons that say so: the first that fits.
kinds='need a GPU and its driver	runs through|libcuda|0 of that kind|CUDA missing|such a device
need 1 GB of packages and more: PyTorch, Triton, Ray	torch|PyTorch|Triton|Ray
need 1 GB of packages and more: all of CUDA or ROCm	nvcc|cuda-headers|cuda[.]h|cudaTypedefs|(cuda|rocm) library
need a CPU with AMX	amx|AMX
need another CPU	CPU|AVX|avx|processor|for x86-64
are of no use with a sanitizer	saniti
need a newer qemu	qemu [0-9]
need another Level Zero loader	[Ll]oader
need root, or what the kernel may forbid	root|set-user-ID|mount|tmpfs|seccomp|terminal|pseudo-terminal|on a network|without a name
need what is in no package of this system	Oclgrind|oclgrind|ocloc|rocm-device-libs
need a package or a part of the build that is not there	not found|not installed|not there|not where|not built|nothing|no build|unavailable features|Debian:|variantlib
for other reasons	.'

reasons() {
  awk '/^[0-9]+\/[0-9]+ Testing: / { name = $3 }
       /^skipped: |^\[  SKIPPED \] [a-z]/ { print name ": " $0 }
       /^Test requires the following unavailable features/ { print name ": skipped: " $0 }' \
    "$log" | sort -u
}

# Of such lines in a file: how many tests there are of each kind.
by_kind() {
  awk -F '\t' 'NR == FNR { kind[NR] = $1; fits[NR] = $2; count = NR; next }
               { name = $0; sub(/: .*/, "", name); reason = substr($0, length(name) + 3)
                 for (i = 1; reason !~ fits[i] && i < count; ++i) {}
                 if (!seen[i, name]++) ++tests[i] }
               END { for (i = 1; i <= count; ++i) if (tests[i]) printf "  %4d %s\n", tests[i], kind[i] }' <(printf '%s\n' "$kinds") "$1"
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
  reasons >"$folder/skipped.txt"
  [ ! -s "$folder/skipped.txt" ] ||
    printf 'Skipped, in whole or in part (%s has the names):\n%s\n\n' "$folder/skipped.txt" "$(by_kind "$folder/skipped.txt")"
  if [ -s "$list" ]; then
    printf 'Seconds by kind of test, several at a time:\n%s\n' "$(sums "$list")"
    printf 'The slowest:\n%s\n\n' "$(sort -k2 -rn "$list" | head -n 15 | awk '{ printf "  %-44s %8.1f\n", $1, $2 }')"
  fi
  printf '%s\n' "$summary"
}
