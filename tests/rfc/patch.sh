#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# patch.sh SOURCE LLVM_CONFIG CXX WORK ARGUMENT...: applies tests/rfc/five-keys.patch to a
# copy of LLVM 22's headers, compiles tests/rfc/metadata_test.cpp against it, with the ARGUMENTs
# (archives and flags) for the compiler, and runs it.
set -euo pipefail
source=$1 llvm_config=$2 cxx=$3 work=$4
shift 4
patch=$source/tests/rfc/five-keys.patch
header=llvm/Object/OffloadBinary.h

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "patch test: $*" >&2
  exit 1
}

command -v patch >/dev/null || skip "patch not found (Debian: patch)"
case $("$llvm_config" --version) in
  22.*) ;;
  *) skip "the patch is for LLVM 22, this is LLVM $("$llvm_config" --version)" ;;
esac
include=$("$llvm_config" --includedir)
[ -f "$include/$header" ] || skip "$header not found (Debian: llvm-22-dev)"

rm -rf "$work"
mkdir -p "$work/llvm/include/llvm/Object"
cp "$include/$header" "$work/llvm/include/$header"
patch --strip=1 --fuzz=0 --forward --batch --directory="$work" <"$patch" || fail "it does not apply"
cmp -s "$include/$header" "$work/llvm/include/$header" && fail "it leaves the header as it was"

for format in "$("$llvm_config" --bindir)/clang-format" clang-format-22; do
  if command -v "$format" >/dev/null; then
    "$format" --style=LLVM --dry-run -Werror "$work"/llvm/include/llvm/Object/*.h ||
      fail "it is not laid out as LLVM's code is"
    break
  fi
done

"$cxx" -std=c++17 -O2 -Wall -Wextra -Wpedantic -Werror \
  -I"$work/llvm/include" -I"$source/tests/rfc" -isystem "$include" \
  "$source/tests/rfc/metadata_test.cpp" "$@" \
  -L"$("$llvm_config" --libdir)" -Wl,-rpath,"$("$llvm_config" --libdir)" -lLLVM-22 \
  -o "$work/metadata_test"
"$work/metadata_test"
