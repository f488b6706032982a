/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constructors and a destructor; what the destructor writes to outlives the image. */
#include <kdl/kernel.h>

static uint32_t begun;
static uint32_t *noticed;

__attribute__((constructor(101))) static void first(void) {
  begun = 1;
}

__attribute__((constructor(102))) static void second(void) {
  begun = begun * 10 + 2;
}

__attribute__((destructor)) static void last(void) {
  if (noticed)
    *noticed = 3;
}

KDL_KERNEL(how, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {
  (void)kdl_group;
  out[0] = begun;
  noticed = &out[1];
}
