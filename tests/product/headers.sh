#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# headers.sh SOURCE: every header that a program includes, and what it uses of them, compiles without a warning in
# each standard of C and C++ that compilers here know. Those of kernels are Clang's: language.NAME tries them.
set -euo pipefail
source=$1
failed=0 tried=0

# Headers of kernels and of compilers, which no program includes.
for_kernels=" kernel.h math.h mma.h ukernel.h ukernels.h "

includes() {
  local header name
  for header in "$source"/include/kdl/*.h; do
    name=${header##*/}
    [[ $for_kernels == *" $name "* ]] || echo "$name"
  done
}

program() {
  cat <<'C'
#define _POSIX_C_SOURCE 200809L /* as <kdl/backend_in_process.h> needs */
#include <kdl/backend.h>
static const kdl_backend_services *libkdl;
#define KDL_IN_PROCESS_SERVICES libkdl
C
  includes | sed 's|.*|#include <kdl/&>|'
  cat <<'C'
int main(void) {
  kdl_kernel *kernel = 0;
  kdl_matmul matmul;
  kdl_buffer buffer = kdl_buffer_adopt(0, 0, 0);
  uint32_t n = 4;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  kdl_operand operands[2];
  kdl_status status = kdl_launch(kernel, 0, &desc, KDL_ARGS(&buffer, &n));
  if (status == KDL_OK)
    status = kdl_launch_items(kernel, 0, kdl_extent1(n), KDL_ARGS(&buffer, &n));
  if (status == KDL_OK)
    status = kdl_matmul_find(0, 0, KDL_MATMUL_F32_BF16, 1, &matmul);
  operands[0] = kdl_operand_buffer(buffer);
  operands[1] = KDL_VALUE(&n);
  return status == KDL_OK && operands[0].kind != operands[1].kind && !libkdl;
}
C
}

# compile COMPILER LANGUAGE STANDARD
compile() {
  local said
  echo 'int main(void) { return 0; }' | "$1" -x "$2" "-std=$3" -fsyntax-only - 2>/dev/null || return 0
  tried=$((tried + 1))
  if ! said=$(program | "$1" -x "$2" "-std=$3" -Wall -Wextra -Wpedantic -Werror -Wno-unused-function \
    -I"$source/include" -fsyntax-only - 2>&1); then
    printf 'headers: %s -std=%s:\n%.2000s\n' "$1" "$3" "$said"
    failed=1
  fi
}

for compiler in gcc clang clang-22; do
  command -v "$compiler" >/dev/null || continue
  for standard in c99 c11 c17; do compile "$compiler" c "$standard"; done
done
for compiler in g++ clang++ clang++-22; do
  command -v "$compiler" >/dev/null || continue
  for standard in c++11 c++14 c++17 c++20 c++23; do compile "$compiler" c++ "$standard"; done
done
[ $tried -gt 0 ] || {
  echo "skipped: no compiler found (Debian: g++)"
  exit 77
}
echo "headers: $tried times, of $(includes | wc -l) headers"
exit $failed
