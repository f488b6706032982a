/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/common/slots.h"

#include <stdlib.h>

static uint32_t size_at(const uint32_t *sizes, size_t stride, uint32_t index) {
  uint32_t size;
  memcpy(&size, (const char *)sizes + index * stride, sizeof size);
  return size;
}

static void put_slot(uint32_t *slots, size_t stride, uint32_t index, uint32_t slot) {
  memcpy((char *)slots + index * stride, &slot, sizeof slot);
}

bool kdl_slots_assign(kdl_slots *slots, uint32_t argument_count, const uint32_t *sizes,
                      uint32_t *out_slots, size_t stride) {
  static const uint32_t compared[] = {8, 4};
  uint32_t slot = 0;
  slots->order = calloc((size_t)argument_count + 1, sizeof *slots->order);
  if (!slots->order)
    return false;
  for (size_t s = 0; s < 2; ++s) {
    for (uint32_t i = 0; i < argument_count; ++i) {
      if (size_at(sizes, stride, i) != compared[s])
        continue;
      slots->order[slot] = (uint16_t)i;
      put_slot(out_slots, stride, i, slot++);
    }
    *(s == 0 ? &slots->wide_count : &slots->word_count) =
        (uint16_t)(s == 0 ? slot : slot - slots->wide_count);
  }
  slots->has_others = slot < argument_count;
  for (uint32_t i = 0; i < argument_count; ++i) {
    uint32_t size = size_at(sizes, stride, i);
    if (size == 8 || size == 4)
      continue;
    put_slot(out_slots, stride, i, slot);
    slot += (size + 7) / 8;
  }
  slots->count = slot;
  return true;
}

void kdl_slots_free(kdl_slots *slots) {
  free(slots->order);
}
