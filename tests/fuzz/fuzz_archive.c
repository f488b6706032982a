/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives and the members in them. */
#include "fuzz_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t magic[] = {0x21, 0x3c, 0x61, 0x72, 0x63, 0x68, 0x3e, 0xa};
  fuzz_with_magic(data, size, magic, sizeof magic);
  return 0;
}
