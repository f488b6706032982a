/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OffloadBinary versions 1 to 3. */
#include "fuzz_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t magic[] = {0x10, 0xff, 0x10, 0xad};
  fuzz_with_magic(data, size, magic, sizeof magic);
  return 0;
}
