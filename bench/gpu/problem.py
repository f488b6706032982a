# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices on a GPU: shapes, operands, and how a result is judged.

C[b] = A[b] B[b]^T with A of M rows and B of N rows, both of K elements that follow each other: how weights of linear layers lie.
"""
import dataclasses

import torch

# (operands, result)
TYPES = {
    "bf16": (torch.bfloat16, torch.bfloat16),
    "f16": (torch.float16, torch.float16),
    "s8": (torch.int8, torch.int32),
    "fp8": (torch.float8_e4m3fn, torch.bfloat16),
}

# BATCHxMxNxK or MxNxK
SHAPES = (
    "512x512x512", "1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "6144x6144x6144", "8192x8192x8192",  # squares
    "16384x1024x4096", "1024x16384x4096", "512x512x16384",  # tall, wide, deep
    "1x4096x4096", "4x14336x4096", "16x4096x14336", "32x6144x4096", "64x14336x4096",  # narrow
    "16x1024x1024x1024", "64x256x256x512",  # batches
    "512x6144x4096", "2048x4096x14336",  # an 8B language model: query, key and value at once; down
    "512x10240x8192", "2048x28672x8192",  # a 70B one: query, key and value; up
)
L2_BYTES = 60 << 20


@dataclasses.dataclass
class Problem:
    """One product, with as many sets of operands as it takes to fill the cache twice. A contestant's run(i, stream) multiplies set i."""
    type: str
    shape: str
    batch: int
    m: int
    n: int
    k: int
    sets: list  # of (a, b, c): [batch, m, k], [batch, n, k], [batch, m, n]

    @property
    def operations(self):
        return 2 * self.batch * self.m * self.n * self.k


def random_operand(kind, shape):
    values = torch.randn(shape, device="cuda")
    return (values * 40).round().clamp(-128, 127).to(torch.int8) if kind == "s8" else values.to(TYPES[kind][0])


def make(kind, shape, same):
    """`same`: one set, so that what fits into the cache stays there."""
    sizes = [int(x) for x in shape.split("x")]
    batch, m, n, k = sizes if len(sizes) == 4 else [1] + sizes
    element, result = (torch.empty((), dtype=t).element_size() for t in TYPES[kind])
    set_bytes = batch * ((m + n) * k * element + m * n * result)
    count = 1 if same else max(1, min(16, -(-2 * L2_BYTES // set_bytes)))
    sets = [(random_operand(kind, (batch, m, k)), random_operand(kind, (batch, n, k)),
             torch.empty((batch, m, n), device="cuda", dtype=TYPES[kind][1])) for _ in range(count)]
    return Problem(kind, shape, batch, m, n, k, sets)


def reference(problem):
    """Set 0 multiplied in float64: exact for bytes, and far below the rounding of the others."""
    a, b, _ = problem.sets[0]
    return torch.bmm(a.double(), b.double().transpose(1, 2))


def poison(c):
    """Fills a result with what no product is, so that an element that is not written shows."""
    c.fill_(-2**31 if c.dtype == torch.int32 else float("nan"))


def judge(problem, run, exact, peer):
    """Runs set 0: (the largest error, the share of elements equal to `peer` bit by bit, whether all is well).

    All is well where the error is at most that of one rounding of the largest element more than the peer's; bytes must be exact.
    """
    c = problem.sets[0][2]
    poison(c)
    run(0, torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    error = (c.double() - exact).abs().max().item()
    if peer is None:
        return error, 1.0, error == error
    equal = (c.view(torch.uint8) == peer.view(torch.uint8)).view(*c.shape[:-1], -1, c.element_size()).all(-1).double().mean().item()
    if problem.type == "s8":
        return error, equal, error == 0
    peer_error = (peer.double() - exact).abs().max().item()
    return error, equal, error <= peer_error + exact.abs().max().item() * torch.finfo(c.dtype).eps
