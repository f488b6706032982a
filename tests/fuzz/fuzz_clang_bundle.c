/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Clang offload bundles: as they come, and, since no fuzzer guesses a compressed stream, once more
 * inside one that is built around them. */
#include "fuzz_support.h"

#include "support/base/bytes.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char plain[] = "__CLANG_OFFLOAD_BUNDLE__";
enum { plain_size = sizeof plain - 1 };

/* A CCOB of version 3 whose zstd frame stores the bytes in one raw block. */
static void fuzz_wrapped(const uint8_t *data, size_t size) {
  enum { ccob_size = 32, frame_size = 9, largest_block = 128 * 1024 };
  if (size == 0 || size > largest_block)
    return;
  size_t total = ccob_size + frame_size + size;
  uint8_t *bundle = calloc(1, total);
  if (!bundle)
    return;
  memcpy(bundle, "CCOB", 4);
  kdl_store_u16(bundle + 4, 3);
  kdl_store_u16(bundle + 6, 1);
  kdl_store_u64(bundle + 8, total);
  kdl_store_u64(bundle + 16, size);
  uint8_t *frame = bundle + ccob_size;
  kdl_store_u32(frame, 0xfd2fb528);
  frame[5] = 0x40; /* a window of 256 KiB; no content size, no checksum */
  uint32_t block = (uint32_t)size << 3 | 1;
  kdl_store_u16(frame + 6, (uint16_t)block);
  frame[8] = (uint8_t)(block >> 16);
  memcpy(frame + frame_size, data, size);
  memcpy(frame + frame_size, plain, size < plain_size ? size : plain_size);
  fuzz_open_and_read(bundle, total);
  free(bundle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t packed[] = {'C', 'C', 'O', 'B'};
  if (size && data[0] == 'C')
    fuzz_with_magic(data, size, packed, sizeof packed);
  else
    fuzz_with_magic(data, size, plain, plain_size);
  fuzz_wrapped(data, size);
  return 0;
}
