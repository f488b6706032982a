// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints what the program of pipeline.mlir found: the factor of the image that ran. With FACTOR, the kernel for liboffload's host plugin.
#ifdef FACTOR
void add(void **args) {
  int *sums = *(int **)args[0];
  short summand = *(short *)args[1];
  for (int i = 0; i < 1024; ++i)
    sums[i] += i * FACTOR * summand;
}
#else
#include <stdio.h>

int choose(void);

int main(void) {
  printf("FACTOR=%d\n", choose());
  return 0;
}
#endif
