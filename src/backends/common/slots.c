/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/common/slots.h"

#include <stdlib.h>

/* Gives those of one size the next slots, a word each. */
static uint32_t assign_size(kdl_slots *slots, kdl_argument *arguments, uint32_t argument_count,
                            uint32_t size) {
  uint32_t first = slots->count;
  for (uint32_t i = 0; i < argument_count; ++i) {
    if (arguments[i].size != size)
      continue;
    slots->order[slots->count] = (uint16_t)i;
    arguments[i].slot = slots->count++;
  }
  return slots->count - first;
}

bool kdl_slots_assign(kdl_slots *slots, kdl_argument *arguments, uint32_t argument_count) {
  *slots = (kdl_slots){.order = calloc((size_t)argument_count + 1, sizeof *slots->order)};
  if (!slots->order)
    return false;
  slots->wide_count = (uint16_t)assign_size(slots, arguments, argument_count, 8);
  slots->word_count = (uint16_t)assign_size(slots, arguments, argument_count, 4);
  slots->has_others = slots->count < argument_count;
  for (uint32_t i = 0; i < argument_count; ++i) {
    uint32_t size = arguments[i].size;
    if (size == 8 || size == 4)
      continue;
    arguments[i].slot = slots->count;
    slots->count += (size + 7) / 8;
  }
  return true;
}

void kdl_slots_free(kdl_slots *slots) {
  free(slots->order);
}
