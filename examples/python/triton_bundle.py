#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel of Triton's, compiled for three GPUs into one file, which then runs without Triton.

    python3 examples/python/triton_bundle.py [FILE]

Triton compiles for GPUs that are not here. The launch is made by another process, which does not import Triton; it needs PyTorch and
a GPU. Returns 77 where Triton is not there."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import kdl

LAUNCH = """
import sys
import kdl, torch
softmax = kdl.open(sys.argv[1], search=False).kernel("softmax", "cuda:0")
x = torch.randn(300, 777, device="cuda")
y = torch.empty_like(x)
softmax[300](x, y, 777)
assert torch.allclose(y, torch.softmax(x, 1), atol=1e-6)
print(f"launched on {softmax.device}: right; Triton in this process: {'triton' in sys.modules}")
"""

if not importlib.util.find_spec("triton"):
    print("skipped: Triton not found (pip install triton)")
    sys.exit(77)
import triton
import triton.language as tl

from kdl import triton as kt


# %% The kernel: one program a row.
@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    """y = softmax(x), row by row"""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    values = tl.load(x + row + at, at < columns, -float("inf"))
    shares = tl.exp(values - tl.max(values, 0))
    tl.store(y + row + at, shares / tl.sum(shares, 0), at < columns)


with tempfile.TemporaryDirectory() as folder:
    # %% One file for three GPUs. No GPU is needed.
    path = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(folder) / "softmax.offload")
    kt.compile(softmax, {"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 1024}, targets=["sm_80", "sm_90", "gfx942"], path=path)

    # %% What is in it, and what would run where.
    library = kdl.open(path, search=False)
    for image in library:
        print(f"{image.arch}: {image.kind}, {image.size} bytes: {image.metadata['kdl.kernel.softmax']}")
    for device in ("a100", "h200", "mi300x"):
        print()
        print(library.explain("softmax", device))
        assert library.explain("softmax", device).chosen is not None

    # %% The launch, in a process without Triton.
    if importlib.util.find_spec("torch") and any(device.backend == "cuda" for device in kdl.devices()):
        subprocess.run([sys.executable, "-c", LAUNCH, path], check=True)
    else:
        print("\nnot launched: PyTorch or a GPU of NVIDIA's is not there")
