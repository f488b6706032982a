#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One kernel on arrays of NumPy's, on buffers of the best device, and on tensors of PyTorch's where it is installed.

    python3 examples/python/saxpy.py [LIBRARY]

Without a library, the example's kernel is compiled, which needs clang. Returns 77 where it or NumPy is not there."""
import importlib.util
import pathlib
import shutil
import sys

import kdl

if not importlib.util.find_spec("numpy"):
    print("skipped: NumPy not found (Debian: python3-numpy)")
    sys.exit(77)
import numpy as np

if len(sys.argv) > 1:
    library = kdl.open(sys.argv[1], search=False)
elif shutil.which("clang-22") or shutil.which("clang"):
    source = pathlib.Path(__file__).resolve().parent.parent / "kernels" / "saxpy.c"
    library = kdl.compile(source, targets=["native", "sm_80", "sm_90"])
else:
    print("skipped: clang not found (Debian: clang-22)")
    sys.exit(77)
n = 100_000

# %% NumPy: the host calls the kernel in this process.
x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
saxpy = library.kernel("saxpy", "host")
saxpy[n](2.0, x, y, n)
assert np.array_equal(y, 2 * x + 1)
print(f"NumPy on {saxpy.device}: right")

# %% Buffers: the best device that the library has an image for.
best = library["saxpy"]
there_x, there_y = kdl.Buffer(best.device, x.nbytes), kdl.Buffer(best.device, y.nbytes)
there_x.write(x)
there_y.fill(np.float32(1).tobytes())
best[n](2.0, there_x, there_y, n)
back = np.empty_like(y)
there_y.read(back)
assert np.array_equal(back, 2 * x + 1)
print(f"buffers on {best.device}: right")

# %% PyTorch: the launch goes to PyTorch's current stream.
if importlib.util.find_spec("torch"):
    import torch
    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        kernel = library.kernel("saxpy", "host" if device == "cpu" else "cuda:0")
        tx, ty = torch.arange(n, dtype=torch.float32, device=device), torch.ones(n, device=device)
        kernel[n](2.0, tx, ty, n)
        assert torch.equal(ty, 2 * tx + 1)
        print(f"PyTorch {torch.__version__} on {kernel.device}: right")
else:
    print("PyTorch is not installed")
