/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernel that writes what a launch must know of the linked microkernel. What includes it also
 * defines other_bytes, the group memory of a tile besides the ring; is_possible; kernel_sizes; and
 * least_stages. A tile that is not possible has no stages. */
__gpu_kernel void NAMED(tiles)(__gpu_global gpu_tile *tiles) {
  if (__gpu_thread_id(0) || __gpu_block_id(0))
    return;
#pragma clang loop unroll(full)
  for (int32_t size = 0; size < GPU_SIZES; ++size) {
    const uint32_t tile = size < kernel_sizes ? microkernel_tile(size) : 0;
    gpu_tile found = {0};
    if (tile) {
      found.rows = (uint32_t)KDL_GPU_MMA_ROWS(tile);
      found.columns = (uint32_t)KDL_GPU_MMA_COLUMNS(tile);
      found.depth = kdl_gpu_mma_panel_bytes / sizeof(element);
      found.threads = (uint32_t)KDL_GPU_MMA_THREADS(tile);
      found.stage_bytes = (uint32_t)KDL_GPU_MMA_STAGE_BYTES(tile);
      found.other_bytes = other_bytes(tile);
      found.is_bulk = (uint32_t)KDL_GPU_MMA_IS_BULK(tile);
      const uint32_t stages = microkernel_group_bytes(size) / found.stage_bytes;
      found.stages = is_possible(tile) && stages >= least_stages ? stages : 0;
      found.subgroups = (uint32_t)KDL_GPU_MMA_SUBGROUPS(tile);
    }
    tiles[size] = found;
  }
}
