#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# product.sh BUILD: the target `product` makes every built file that is installed, and nothing of the tests,
# the examples and the benchmarks' programs. Asks CMake's install scripts and Ninja; builds nothing.
set -euo pipefail
build=$1
if ! command -v ninja >/dev/null || [ ! -e "$build/build.ninja" ]; then
  echo 'skipped: this build is not made by Ninja'
  exit 77
fi
fail() {
  echo "product: $*" >&2
  exit 1
}

# What is named in a command is made by it or was made before. A long command is in a script of CMake's.
commands=$(ninja -C "$build" -t commands product)
scripts=$(grep -o '[^ ]*/CMakeFiles/[^ ]*-[0-9a-f]*\.sh' <<<"$commands" || true)
made=$({ echo "$commands" && for script in $scripts; do (cd "$build" && cat "$script"); done; } | tr ' ' '\n' | sed "s,^$build/,," | sort -u)
# Of the install scripts' words, those that are not CMake's own files, variables or a run-time path.
installed=$(find "$build" -name cmake_install.cmake -print0 |
  while IFS= read -r -d '' script; do
    # Other builds lie below this one.
    folder=$script
    while [ "$folder" != "$build" ]; do
      folder=${folder%/*}
      if [ "$folder" != "$build" ] && [ -e "$folder/CMakeCache.txt" ]; then continue 2; fi
    done
    grep -o "\"$build/[^\"]*\"" "$script" | tr -d '"' || true
  done | sed "s,^$build/,," | grep -v '^package/\|CMakeFiles/\|cmake_install.cmake\|install_local_manifest.txt\|[$]\|:$' | sort -u)
[ "$(wc -l <<<"$installed")" -ge 4 ] || fail "found too few installed files: $installed"

while IFS= read -r file; do
  grep -qxF "$file" <<<"$made" || fail "$file is installed, but the target 'product' does not make it"
done <<<"$installed"
if grep -E '^(tests|examples|bench/CMakeFiles|mlir/test|mlir/bench)/.*\.o$' <<<"$made"; then
  fail "the target 'product' makes these, which are not installed"
fi
echo "product: $(wc -l <<<"$installed") installed files, all made by the target 'product'"
