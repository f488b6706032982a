/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/digests/blocks.h"

#include <string.h>

enum { block_size = 64, number_size = 8 };

void digest_blocks(const void *data, size_t size, bool is_big, digest_block *take,
                   uint32_t *state) {
  const uint8_t *from = data;
  size_t left = size;
  for (; left >= block_size; left -= block_size, from += block_size)
    take(state, from);
  uint8_t last[2 * block_size] = {0};
  if (left)
    memcpy(last, from, left);
  last[left] = 0x80;
  size_t end = left < block_size - number_size ? block_size : 2 * block_size;
  const uint64_t bits = (uint64_t)size * 8;
  for (size_t i = 0; i < number_size; ++i)
    last[is_big ? end - 1 - i : end - number_size + i] = (uint8_t)(bits >> 8 * i);
  for (size_t at = 0; at < end; at += block_size)
    take(state, last + at);
}
