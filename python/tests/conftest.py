# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that the tests launch, compiled once: skipped where `kdl cc` finds no clang, unless KDL_TEST_KERNELS names a file that has
them for this CPU, sm_80 and sm_90, and KDL_TEST_GPU_KERNELS one for this CPU, sm_90 and gfx942."""
import os
import shutil

import pytest

import kdl

SOURCE = """
#include <kdl/kernel.h>

__gpu_kernel void saxpy(float a, const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] += a * x[i];
}
struct point { int32_t x, y; double z; };
__gpu_kernel void types(int8_t a, uint8_t b, int16_t c, uint16_t d, int64_t e, uint64_t f, double g, struct point p,
                        __gpu_global double *out) {
  out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = (double)e, out[5] = (double)f, out[6] = g;
  out[7] = p.x, out[8] = p.y, out[9] = p.z;
}
__gpu_kernel void halves(_Float16 a, __bf16 b, __gpu_global uint16_t *out) {
  union { _Float16 value; uint16_t bits; } half = {a};
  union { __bf16 value; uint16_t bits; } brain = {b};
  out[0] = half.bits, out[1] = brain.bits;
}
__gpu_kernel void place(__gpu_global int64_t *out, uint32_t width, uint32_t height) {
  uint32_t x = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  uint32_t y = __gpu_block_id(1) * __gpu_num_threads(1) + __gpu_thread_id(1);
  if (x < width && y < height)
    out[y * width + x] = 1000 * y + x;
}
__gpu_kernel void nothing(void) {}
__gpu_kernel void wait(volatile __gpu_global uint32_t *signals, __gpu_global float *y) {
  signals[0] = 1;
  while (!signals[1])
    ;
  y[0] = 1;
}
#define POINTERS(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15) x(16) x(17) x(18) x(19)
#define DECLARE(i) __gpu_global float *p##i,
#define STORE(i) p##i[0] = i;
__gpu_kernel void many(POINTERS(DECLARE) float last) { POINTERS(STORE) p0[0] = last; }
"""


def kernels(variable, targets):
    if os.environ.get(variable):
        return kdl.open(os.environ[variable], search=False)
    if not (shutil.which("clang-22") or shutil.which("clang")):
        pytest.skip("clang not found (Debian: clang-22)")
    return kdl.compile("kernels.c", text=SOURCE, targets=targets)


@pytest.fixture(scope="session")
def library():
    """The kernels above, for this CPU and for GPUs that this machine need not have."""
    return kernels("KDL_TEST_KERNELS", ["native", "sm_80", "sm_90"])


@pytest.fixture(scope="session")
def gpu_library():
    """The same for GPUs that the fake drivers show."""
    return kernels("KDL_TEST_GPU_KERNELS", ["native", "sm_90", "gfx942"])


@pytest.fixture
def host():
    """The CPU."""
    return kdl.device("host")
