/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with AMX, which multiplies signed ones as well as unsigned ones by signed ones. */
#define multiply(sum, lhs, rhs)                                                                    \
  do {                                                                                             \
    if (form.unsigned_lhs)                                                                         \
      _tile_dpbusd(sum, lhs, rhs);                                                                 \
    else                                                                                           \
      _tile_dpbssd(sum, lhs, rhs);                                                                 \
  } while (0)
#include "amx_block.h"

KDL_MMA_AMX(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t)
KDL_MMA_AMX_BLOCK(kdl_uk_mma_s32_s8_block, int8_t, int32_t)

uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(32, 2, 16);
}
