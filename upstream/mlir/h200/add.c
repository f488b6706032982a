// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same kernel for liboffload's host plugin.
void add(void **args) { **(int **)args[0] += *(short *)args[1] * FACTOR; }
