/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/source/kernels.h"

bool cc_kernel_has_barrier(const cc_kernel *kernel) {
  const uint32_t *block = kernel->values[CC_BLOCK];
  bool has_block = cc_kernel_has(kernel, CC_BLOCK);
  return kernel->has_barrier && !(has_block && (uint64_t)block[0] * block[1] * block[2] == 1);
}

bool cc_kernels_need_group_lowering(const cc_kernels *kernels) {
  bool relaxes = kernels->has_atomics && kernels->can_relax_atomics;
  for (size_t i = 0; i < kernels->count; ++i) {
    if (cc_kernel_has_barrier(&kernels->items[i]) || (relaxes && kernels->items[i].has_barrier))
      return true;
  }
  return false;
}

const cc_kernel *cc_kernel_find(const cc_kernels *kernels, kdl_string name) {
  for (size_t i = 0; i < kernels->count; ++i) {
    if (kdl_text_is(name, kernels->items[i].name))
      return &kernels->items[i];
  }
  return NULL;
}
