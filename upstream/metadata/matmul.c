// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel of the host plugin: C = A * B, square matrices of floats. One source, compiled for the oldest and for a recent x86-64 CPU.
// Arguments are pointers to their values.
void matmul(void **arguments) {
  const float *restrict a = *(const float **)arguments[0], *restrict b = *(const float **)arguments[1];
  float *restrict c = *(float **)arguments[2];
  int n = *(int *)arguments[3];
  for (int i = 0; i < n; i += 4)
    for (int j = 0; j < n; j += 64) {
      float sums[4][64] = {0};
      for (int k = 0; k < n; ++k)
        for (int r = 0; r < 4; ++r)
          for (int s = 0; s < 64; ++s)
            sums[r][s] += a[(i + r) * n + k] * b[k * n + j + s];
      for (int r = 0; r < 4; ++r)
        for (int s = 0; s < 64; ++s)
          c[(i + r) * n + j + s] = sums[r][s];
    }
}
