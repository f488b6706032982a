// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Only works with blocks of 32x2x1: see README.md.
kernel __attribute__((reqd_work_group_size(32, 2, 1))) void fixed(global uint *out) {
  *out = 1;
}
