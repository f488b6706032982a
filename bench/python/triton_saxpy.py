# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same kernel in Triton."""
import triton
import triton.language as tl


@triton.jit
def saxpy(a, x, y, n, BLOCK: tl.constexpr):
    """y = a x + y"""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(y + at, inside) + a * tl.load(x + at, inside), inside)
