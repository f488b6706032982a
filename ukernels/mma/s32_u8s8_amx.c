/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with AMX. */
#include "amx.h"

KDL_MMA_AMX(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t, _tile_dpbusd)

uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(128, 2, 16);
}
