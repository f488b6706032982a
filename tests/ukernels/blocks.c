/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Linked with --wrap, says of the generic microkernels that their registers are tiles: a CPU
 * without such registers then tries what calls blocks. */
#include <kdl/mma.h>

uint32_t __wrap_kdl_uk_mma_f32_bf16_tile(void);
uint32_t __wrap_kdl_uk_mma_s32_u8s8_tile(void);

uint32_t __wrap_kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(kdl_mma_block_rows, kdl_mma_block_vectors, kdl_mma_steps);
}
uint32_t __wrap_kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(kdl_mma_block_rows, kdl_mma_block_vectors, kdl_mma_steps);
}
