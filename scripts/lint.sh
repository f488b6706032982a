#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lint.sh: layout, static analysis and shell scripts; fails on the first kind that has a finding.
# lint.sh --format: rewrites the layout instead.
set -euo pipefail
cd "$(dirname "$0")/.."

tool() {
  local name
  for name in "$1-22" "$1"; do
    if command -v "$name"; then
      return 0
    fi
  done
  echo "lint: $1 not found (make setup lint, or Debian: $1-22)" >&2
  return 1
}

mapfile -t c_files < <(find include support lib ext ld compiler pack cc matmul tools tests bench examples mlir python -name '*.[ch]' ! -path 'mlir/lib/*' ! -path 'python/build/*' | sort)
mapfile -t cxx_files < <(find bench tests mlir -name '*.cpp' -o -path 'mlir/lib/*.h' | sort)
mapfile -t shell_files < <(find scripts tests mlir .ci -name '*.sh' -o -path .ci/run | sort)

clang_format=$(tool clang-format)
if [ "${1:-}" = --format ]; then
  exec "$clang_format" -i "${c_files[@]}" "${cxx_files[@]}"
fi

echo "clang-format: ${#c_files[@]} C and ${#cxx_files[@]} C++ files"
"$clang_format" --dry-run -Werror "${c_files[@]}" "${cxx_files[@]}"

clang_tidy=$(tool clang-tidy)
mapfile -t analysed < <(sed -n 's/^ *"file": "\(.*\.c\)".*/\1/p' build/compile_commands.json | sort -u)
echo "clang-tidy: ${#analysed[@]} files"
printf '%s\0' "${analysed[@]}" |
  xargs -0 -n 4 -P "$(nproc)" "$clang_tidy" -p build --quiet 2> >(grep -v 'warnings\? generated\|Processing file' >&2)

if command -v shellcheck >/dev/null; then
  echo "shellcheck: ${#shell_files[@]} files"
  shellcheck -x "${shell_files[@]}"
else
  echo "shellcheck: not found, skipped (Debian: shellcheck)"
fi
echo "lint: clean"
