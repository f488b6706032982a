/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the programs that test kernels of tensor cores share. */
#ifndef TESTS_UKERNELS_GPU_TEST_H
#define TESTS_UKERNELS_GPU_TEST_H

#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void must(kdl_status status, const char *what) {
  if (status == KDL_OK)
    return;
  printf("FAILED %s: %s\n", what, kdl_error_message());
  exit(1);
}

static uint32_t seed = 1;
static inline uint32_t next_random(void) {
  seed ^= seed << 13;
  seed ^= seed >> 17;
  seed ^= seed << 5;
  return seed;
}

static inline uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint16_t bf16_of(float value) {
  uint32_t bits = bits_of(value);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
