# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""host.py [--blocks=N]: what a launch on the host costs from Python, where the kernel does nothing. Needs clang.

The ways take turns, a block of launches each; the fastest block is given, which no other program disturbed, and the median.
"""
import argparse
import statistics
import time

import kdl

SOURCE = """
#include <kdl/kernel.h>
__gpu_kernel void nothing(void) {}
__gpu_kernel void four(float a, const __gpu_global float *x, __gpu_global float *y, uint32_t n) {}
"""
COUNT = 2000


def timed(statement, **names):
    """A block of a way: `statement` COUNT times, with `names` as its local variables."""
    scope = {"now": time.perf_counter, "times": range(COUNT), **names}
    text = f"def block({', '.join(f'{name}={name}' for name in scope)}):\n start = now()\n for _ in times: {statement}\n return now() - start"
    exec(text, scope)  # pylint: disable=exec-used
    return scope["block"]


def ways(library):
    """Each way's name, and a function that times a block of it."""
    nothing, four = library.kernel("nothing", "host"), library.kernel("four", "host")
    yield "nothing: a call of a function", timed("call()", call=lambda: None)
    yield "no arguments", timed("launch()", launch=nothing[1])
    yield "no arguments, kernel[1]()", timed("kernel[1]()", kernel=nothing)
    yield "four, addresses", timed("launch(2.0, 0, 0, 4)", launch=four[4])
    try:
        import numpy as np
        yield "four, NumPy's arrays", timed("launch(2.0, x, y, 4)", launch=four[4], x=np.ones(4, np.float32), y=np.ones(4, np.float32))
    except ImportError as error:
        print(f"NumPy is left out: {error}")


def main():
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=301)
    arguments = parser.parse_args()
    calls = dict(ways(kdl.compile("nothing.c", text=SOURCE)))
    times = {name: [] for name in calls}
    for _ in range(arguments.blocks):
        for name, call in calls.items():
            times[name].append(call() / COUNT * 1e9)
    print(f"{kdl.device('host').label}, kdl {kdl.version()}: nanoseconds a launch, {COUNT} a block")
    print(f"{'WAY':30} {'LEAST':>7} {'MEDIAN':>7}")
    for name, values in times.items():
        print(f"{name:30} {min(values):7.1f} {statistics.median(values):7.1f}")


if __name__ == "__main__":
    main()
