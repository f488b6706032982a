/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode host modules and what is embedded in them. */
#include "fuzz_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t magic[] = {'B', 'C', 0xc0, 0xde};
  fuzz_with_magic(data, size, magic, sizeof magic);
  return 0;
}
