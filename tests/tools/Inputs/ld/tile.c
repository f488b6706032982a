/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel whose microkernel keeps its sums in an array as large as a parameter says. */
#include <kdl/kernel.h>
#include <kdl/ukernel.h>

KDL_UKERNEL void tile_f32(const float *a, const float *b, float *sums, int32_t depth, int32_t rows);

#ifdef MICROKERNEL
void tile_f32(const float *a, const float *b, float *sums, int32_t depth, int32_t rows) {
  float kept[rows];
  for (int32_t row = 0; row < rows; ++row)
    kept[row] = sums[row];
  for (int32_t k = 0; k < depth; ++k)
    for (int32_t row = 0; row < rows; ++row)
      kept[row] += a[k * rows + row] * b[k];
  for (int32_t row = 0; row < rows; ++row)
    sums[row] = kept[row];
}
#else
KDL_KERNEL(tiles, (1, 1, 1), (1, 1, 1), (const float *, a), (const float *, b), (float *, c),
           (int32_t, depth)) {
  float sums[6] = {0};
  tile_f32(a, b, sums, depth, 6);
  tile_f32(a, b + depth, sums, depth, 6);
  for (int row = 0; row < 6; ++row)
    c[kdl_group->group[0] * 6 + row] = sums[row];
}
#endif
