// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints what the program computed, and with that which image ran: 2 + 2 * 10 * FACTOR.
#include <stdio.h>

int choose(void);

int main(void) {
  printf("the image with FACTOR=%d ran\n", (choose() - 2) / 20);
  return 0;
}
