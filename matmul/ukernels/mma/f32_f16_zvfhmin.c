/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 with the vectors of RISC-V and the conversion of Zvfhmin. */
#include "generic.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_GENERIC_SINGLE

typedef _Float16 halves __attribute__((ext_vector_type(16), aligned(2)));
static inline vectors load_vectors(const kdl_f16 *rhs) {
  return __builtin_convertvector(*(const halves *)rhs, sums);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

/* Six fragments, a vector, and half a group for what is converted. */
uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(6, 1, 1);
}
