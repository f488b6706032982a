/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/ir/ir_text.h"
#include "tools/common/lines.h"

static bool reaches_barrier(const cc_ir_uses *uses, const bool *has_barrier, kdl_string name) {
  if (kdl_text_is(name, "kdl_cc_barrier"))
    return true;
  for (size_t i = 0; i < uses->function_count; ++i) {
    if (has_barrier[i] && kdl_text_equal(uses->functions[i], name))
      return true;
  }
  return false;
}

void cc_ir_find_barriers(kdl_arena *arena, kdl_string ir, cc_kernels *kernels) {
  cc_ir_uses uses = cc_ir_read_uses(arena, ir);
  bool *has_barrier = xarena_alloc(arena, uses.function_count + 1);
  memset(has_barrier, 0, uses.function_count + 1);
  kernels->has_atomics = kdl_text_contains(ir, " atomicrmw ") || kdl_text_contains(ir, " cmpxchg ");
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < uses.count; ++i) {
      const cc_ir_use *use = &uses.items[i];
      if (!has_barrier[use->user] && reaches_barrier(&uses, has_barrier, use->name))
        has_barrier[use->user] = changed = true;
    }
  }
  for (size_t i = 0; i < kernels->count; ++i)
    kernels->items[i].has_barrier |=
        reaches_barrier(&uses, has_barrier, kdl_text_of(kernels->items[i].function));
}
