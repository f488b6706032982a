#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel as an operator of PyTorch's, with its gradient, called directly and from a program that torch.compile compiles.

    python3 examples/python/torch_op.py [LIBRARY]

Without a library, the example's kernel is compiled, which needs clang. Returns 77 where it or PyTorch is not there."""
import importlib.util
import pathlib
import shutil
import sys

import kdl

if not importlib.util.find_spec("torch"):
    print("skipped: PyTorch not found (pip install torch)")
    sys.exit(77)
import torch

if not hasattr(torch.library, "register_fake"):
    print(f"skipped: PyTorch {torch.__version__} found, 2.4 needed")
    sys.exit(77)
import kdl.torch

if len(sys.argv) > 1:
    library = kdl.open(sys.argv[1], search=False)
elif shutil.which("clang-22") or shutil.which("clang"):
    source = pathlib.Path(__file__).resolve().parent.parent / "kernels" / "saxpy.c"
    library = kdl.compile(source, targets=["native", "sm_80", "sm_90"])
else:
    print("skipped: clang not found (Debian: clang-22)")
    sys.exit(77)

# %% The operator: out = a x + y.
saxpy = kdl.torch.op("kdl_example::saxpy", library, schema="(float a, Tensor x, Tensor y) -> Tensor",
                     outputs=lambda a, x, y: y.clone(),
                     arguments=lambda out, a, x, y: (a, x, out, x.numel()),
                     items=lambda out, a, x, y: x.numel())

# %% Its gradient, by PyTorch's own means.
torch.library.register_autograd("kdl_example::saxpy", lambda ctx, grad: (None, ctx.a * grad, grad),
                                setup_context=lambda ctx, inputs, output: setattr(ctx, "a", inputs[0]))

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.arange(8, dtype=torch.float32, device=device, requires_grad=True)
y = torch.ones(8, device=device)
z = saxpy(2.0, x, y)
z.sum().backward()
assert torch.equal(z, 2 * x + 1) and torch.equal(x.grad, torch.full_like(x, 2.0))
print(f"on {device}: right, and so is its gradient")

# %% In a program that is compiled whole.
compiled = torch.compile(lambda x, y: saxpy(3.0, x * 2, y).relu() + 1, fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")
assert torch.equal(compiled(x.detach(), y), 6 * x.detach() + 2)
print("in a compiled program: right")
