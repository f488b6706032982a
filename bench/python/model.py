#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""model.py [--blocks=N]: what a call of a compiled model's function costs from Python, where the function does nothing but allocate its
result. Needs a C compiler; with PyTorch, its tensors as well. The ways take turns, as in host.py."""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import numpy as np

import kdl
from host import COUNT, timed

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tests"))
import test_model  # noqa: E402  # pylint: disable=wrong-import-position


def ways(model):
    """Each way's name, and a function that times a block of it."""
    x = np.ones((2, 3), np.float32)
    yield "nothing: a call of a function", timed("call()", call=lambda: None)
    yield "no arguments", timed("call()", call=model.nothing)
    yield "a number, and one back", timed("call(1.0)", call=model.double)
    yield "NumPy's array, a number back", timed("call(x)", call=model.address, x=x)
    yield "two arrays, an array back", timed("call(x, x)", call=model.add, x=x)
    yield "two arrays, out=", timed("call(x, x, out=y)", call=model.add, x=x, y=x.copy())
    yield "NumPy: x + x", timed("x + x", x=x)
    yield "an array that is copied", timed("call(x)", call=model.address, x=x.T)
    if "torch" in sys.modules:
        import torch
        yield "a tensor, a number back", timed("call(x)", call=model.address, x=torch.ones(2, 3))
        yield "PyTorch: x + x", timed("x + x", x=torch.ones(2, 3))


def main():
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=101)
    arguments = parser.parse_args()
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"PyTorch is left out: {error}")
    with tempfile.TemporaryDirectory() as folder:
        description = {"format": 1, "target": "host", "functions": test_model.FUNCTIONS}
        calls = dict(ways(kdl.load_model(test_model.compiled(pathlib.Path(folder) / "model.so", test_model.SOURCE, description))))
    times = {name: [] for name in calls}
    for _ in range(arguments.blocks):
        for name, call in calls.items():
            times[name].append(call() / COUNT * 1e9)
    print(f"{kdl.device('host').label}, kdl {kdl.version()}: nanoseconds a call, {COUNT} a block")
    print(f"{'WAY':30} {'LEAST':>7} {'MEDIAN':>7}")
    for name, values in times.items():
        print(f"{name:30} {min(values):7.1f} {statistics.median(values):7.1f}")


if __name__ == "__main__":
    main()
