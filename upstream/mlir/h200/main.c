// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints what the program computed, and with that which image ran: 2 + 2 * 10 * FACTOR.
#include <stdio.h>

int choose(void);

int main(void) {
  int factor = (choose() - 2) / 20;
  printf("the image with FACTOR=%d ran\n", factor);
  return factor == EXPECTED ? 0 : 1;
}
