#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""export.py FOLDER [NAME...]: writes models of PyTorch's as linalg on tensors, by torch-mlir: FOLDER/NAME.mlir, the inputs NAME.in0.npy,
NAME.in1.npy, ... and PyTorch's result NAME.out.npy. Without names, all models. README.md says what has to be installed."""
import argparse
import os
import re
import subprocess
import sys
import time


def cumsum(x, dim, *, dtype=None):
    """aten.cumsum as a masked sum, of as many terms as the dimension has: torch-mlir has tm_tensor.scan for it, which is not linalg."""
    import torch
    x = x.to(dtype or (torch.int64 if not x.is_floating_point() else x.dtype)).movedim(dim, -1)
    count = x.shape[-1]
    terms = torch.arange(count)
    return (x.unsqueeze(-2) * (terms[None, :] <= terms[:, None]).to(x.dtype)).sum(-1).movedim(-1, dim)


def export(folder, name):
    import numpy
    import torch
    from torch_mlir import fx
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table
    import zoo
    model, inputs = zoo.make(name)
    with torch.no_grad():
        expected = model(*inputs)
    module = fx.export_and_import(model, *inputs, output_type="linalg-on-tensors",
                                  decomposition_table={**get_decomposition_table(), torch.ops.aten.cumsum.default: cumsum})
    left = sorted(set(re.findall(rb"\b(?:tm_tensor|torch)\.[a-z_]+", module.operation.get_asm(binary=True, large_elements_limit=1, large_resource_limit=1))))
    if left:
        raise RuntimeError(f"error: found {b', '.join(left).decode()}, expected linalg on tensors")
    path = os.path.join(folder, name)
    for index, one in enumerate(inputs):
        numpy.save(f"{path}.in{index}.npy", one.numpy())
    numpy.save(f"{path}.out.npy", expected.numpy())
    with open(f"{path}.mlir.new", "wb") as file:
        module.operation.print(file=file, binary=True)
    os.replace(f"{path}.mlir.new", f"{path}.mlir")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--here", action="store_true", help="in this process, with the whole message of what fails")
    arguments = parser.parse_args()
    import zoo
    wrong = [name for name in arguments.names if name not in zoo.MODELS]
    if wrong:
        parser.error(f"found the model {wrong[0]}, expected one of {', '.join(zoo.MODELS)}")
    os.makedirs(arguments.folder, exist_ok=True)
    failed = 0
    for name in arguments.names or zoo.MODELS:
        if arguments.here:
            export(arguments.folder, name)
            continue
        start = time.monotonic()
        done = subprocess.run([sys.executable, __file__, "--here", arguments.folder, name], stderr=subprocess.PIPE, text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines()[-1:]
        what = "exported" if done.returncode == 0 else f"refused: {' | '.join(lines[-2:]) or done.returncode}"
        failed += done.returncode != 0
        print(f"{name}: {what} ({time.monotonic() - start:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
