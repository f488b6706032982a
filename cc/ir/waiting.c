/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/ir/ir_text.h"
#include "cc/source/text.h"

static bool is_waiting(const cc_ir_uses *uses, const bool *waits, kdl_string name) {
  if (kdl_text_is(name, "kdl_cc_barrier"))
    return true;
  for (size_t i = 0; i < uses->function_count; ++i) {
    if (waits[i] && kdl_text_equal(uses->functions[i], name))
      return true;
  }
  return false;
}

void cc_ir_read_waiting(kdl_arena *arena, kdl_string ir, cc_kernels *kernels) {
  cc_ir_uses uses = cc_ir_read_uses(arena, ir);
  bool *waits = xarena_alloc(arena, uses.function_count + 1);
  memset(waits, 0, uses.function_count + 1);
  kernels->has_atomics = kdl_text_contains(ir, " atomicrmw ") || kdl_text_contains(ir, " cmpxchg ");
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < uses.count; ++i) {
      const cc_ir_use *use = &uses.items[i];
      if (!waits[use->user] && is_waiting(&uses, waits, use->name))
        waits[use->user] = changed = true;
    }
  }
  for (size_t i = 0; i < kernels->count; ++i)
    kernels->items[i].waits |= is_waiting(&uses, waits, kdl_text_of(kernels->items[i].function));
}
