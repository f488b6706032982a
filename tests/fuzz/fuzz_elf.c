/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload sections of host ELF files. */
#include "fuzz_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t magic[] = {0x7f, 0x45, 0x4c, 0x46};
  fuzz_with_magic(data, size, magic, sizeof magic);
  return 0;
}
