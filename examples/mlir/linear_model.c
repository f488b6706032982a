/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls the function that kdl-mlir compiled from linear_model.mlir, with the header of it. */
#include "linear_model.h"

#include <stdio.h>
#include <stdlib.h>

int main(void) {
  static float x[3][128];
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 128; ++i)
      x[row][i] = 0.5F;
  }
  kdl_tensor_f32_2 argument = kdl_tensor_f32_2_of(x[0], (const int64_t[]){3, 128}), result;
  _mlir_ciface_linear(&result, &argument);
  const float *y = result.aligned + result.offset;
  printf("%d rows of %d: %g %g %g\n", (int)result.sizes[0], (int)result.sizes[1], (double)y[0],
         (double)y[1], (double)y[299]);
  free(result.allocated);
  return 0;
}
