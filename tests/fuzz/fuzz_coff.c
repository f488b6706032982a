/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload sections of COFF objects and Windows programs. The first byte says which of them the rest
 * is made to begin as. */
#include "fuzz_support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t object[] = {0x64, 0x86};
  static const uint8_t program[] = {'M', 'Z'};
  static const uint8_t many[] = {0, 0, 0xff, 0xff, 2, 0, 0x64, 0x86};
  if (size < 1)
    return 0;
  switch (data[0] & 3) {
  case 0:
    fuzz_with_magic(data + 1, size - 1, object, sizeof object);
    break;
  case 1:
    fuzz_with_magic(data + 1, size - 1, program, sizeof program);
    break;
  case 2:
    fuzz_with_magic(data + 1, size - 1, many, sizeof many);
    break;
  default:
    fuzz_open_and_read(data + 1, size - 1);
  }
  return 0;
}
