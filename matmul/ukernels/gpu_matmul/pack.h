/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernel that packs B: rows along K, one for each column, as every target reads them fastest.
 * A group has gpu_pack_side of both, which it turns in group memory, so that neighbouring threads
 * read and write neighbours. */
enum { pack_line = gpu_pack_side + 4 / sizeof(element) }; /* lines begin in different banks */

GROUP_ITEMS(NAMED(pack)) {
  return gpu_pack_threads;
}
/* Strides are in elements; `pitch` is that of a packed row, of which zeros fill what is after k. */
__gpu_kernel void NAMED(pack)(uint64_t from, int64_t k_stride, int64_t n_stride, uint64_t to,
                              uint32_t pitch, uint32_t n, uint32_t k) {
  __gpu_local element *turned = (__gpu_local element *)group_memory;
  const uint32_t first_k = __gpu_block_id(0) * gpu_pack_side;
  const uint32_t first_n = __gpu_block_id(1) * gpu_pack_side;
  for (uint32_t i = __gpu_thread_id(0); i < gpu_pack_side * gpu_pack_side; i += gpu_pack_threads) {
    const uint32_t across = i / gpu_pack_side, along = i % gpu_pack_side;
    const uint32_t in_n = n_stride == 1 ? along : across, in_k = n_stride == 1 ? across : along;
    const uint32_t at_n = first_n + in_n, at_k = first_k + in_k;
    const __gpu_global element *value =
        (const __gpu_global element *)from + at_k * k_stride + at_n * n_stride;
    turned[in_n * pack_line + in_k] = at_n < n && at_k < k ? *value : 0;
  }
  __gpu_sync_threads();
  for (uint32_t i = __gpu_thread_id(0); i < gpu_pack_side * gpu_pack_side; i += gpu_pack_threads) {
    const uint32_t in_n = i / gpu_pack_side, in_k = i % gpu_pack_side;
    if (first_n + in_n < n && first_k + in_k < pitch)
      ((__gpu_global element *)to)[(uint64_t)(first_n + in_n) * pitch + first_k + in_k] =
          turned[in_n * pack_line + in_k];
  }
}
