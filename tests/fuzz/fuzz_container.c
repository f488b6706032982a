/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Any bytes at all, as `kdl ls` would meet them. */
#include "fuzz_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_open_and_read(data, size);
  return 0;
}
