/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A barrier that does not wait for what was written to group memory. */
typedef __attribute__((address_space(3))) unsigned local_word;

static __attribute__((loader_uninitialized)) local_word words[256];

__attribute__((amdgpu_kernel)) void early(__attribute__((address_space(1))) unsigned *out) {
  unsigned i = __builtin_amdgcn_workitem_id_x();
  words[i] = i;
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  out[i] = words[255 - i];
}
