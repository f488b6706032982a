# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The product as Triton's tutorial teaches it: a program for each tile of C, in bands of rows so that neighbours share operands in the
second cache, a loop of block products over K, and the fastest of a few tiles for each shape."""
import triton
import triton.language as tl

BAND = 8
# rows, columns and depth of a tile, stages, warps
TILES = [(128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (64, 128, 64, 4, 4), (64, 64, 64, 4, 4), (32, 64, 128, 4, 4)]


@triton.jit
def product(a, b, c, m, n, k, a_batch, b_batch, c_batch, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
            BAND: tl.constexpr, SUM: tl.constexpr):
    item = tl.program_id(1)
    a += item * a_batch
    b += item * b_batch
    c += item * c_batch
    down, across = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    band = tl.program_id(0) // (BAND * across)
    within = tl.program_id(0) % (BAND * across)
    height = min(down - band * BAND, BAND)
    row = (band * BAND + within % height) * ROWS
    column = (within // height) * COLUMNS
    # rows and columns past the end are those of the start again: they are not stored
    i = (row + tl.arange(0, ROWS)) % m
    j = (column + tl.arange(0, COLUMNS)) % n
    depth = tl.arange(0, DEPTH)
    left = a + i[:, None] * k + depth[None, :]
    right = b + j[None, :] * k + depth[:, None]
    sums = tl.zeros((ROWS, COLUMNS), dtype=SUM)
    for start in range(0, k, DEPTH):
        x = tl.load(left, mask=depth[None, :] < k - start, other=0)
        y = tl.load(right, mask=depth[:, None] < k - start, other=0)
        sums = tl.dot(x, y, sums, out_dtype=SUM)
        left += DEPTH
        right += DEPTH
    i = row + tl.arange(0, ROWS)
    j = column + tl.arange(0, COLUMNS)
    tl.store(c + i[:, None] * n + j[None, :], sums.to(c.dtype.element_ty), mask=(i[:, None] < m) & (j[None, :] < n))


def offers(problem):
    """Functions run(set, stream), one for each tile. They launch on the stream that is torch's current one."""
    b, m, n, k = problem.batch, problem.m, problem.n, problem.k
    sums = tl.int32 if problem.type == "s8" else tl.float32

    def bound(rows, columns, depth, stages, warps):
        grid = (triton.cdiv(m, rows) * triton.cdiv(n, columns), b)

        def run(i, stream):
            x, y, c = problem.sets[i]
            product[grid](x, y, c, m, n, k, m * k, n * k, m * n, ROWS=rows, COLUMNS=columns, DEPTH=depth, BAND=BAND, SUM=sums,
                          num_stages=stages, num_warps=warps)
        return run

    return [bound(*tile) for tile in TILES if tile[0] <= max(32, 2 * m)]
