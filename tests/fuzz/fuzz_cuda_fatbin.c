/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CUDA fatbins, one or several back to back. */
#include "fuzz_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t magic[] = {0x50, 0xed, 0x55, 0xba, 1, 0};
  fuzz_with_magic(data, size, magic, sizeof magic);
  return 0;
}
