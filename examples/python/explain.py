#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which image of a library runs where, and why the others do not.

    python3 examples/python/explain.py [LIBRARY [KERNEL]]

Without a library, the example's kernel is compiled for this CPU and two GPUs, which needs clang. Returns 77 where it is not there."""
import pathlib
import shutil
import sys

import kdl

# %% A library: any fat binary, or one compiled here.
if len(sys.argv) > 1:
    library = kdl.open(sys.argv[1], search=False)
elif shutil.which("clang-22") or shutil.which("clang"):
    source = pathlib.Path(__file__).resolve().parent.parent / "kernels" / "saxpy.c"
    library = kdl.compile(source, targets=["native", "sm_90", "gfx942"])
else:
    print("skipped: clang not found (Debian: clang-22)")
    sys.exit(77)
kernel = sys.argv[2] if len(sys.argv) > 2 else None

# %% What is in it.
print(library)
for image in library:
    print(f"  image {image.index}: {image.kind} for {image.arch.split('+')[0]}, {image.size} bytes, {len(image.metadata)} keys of metadata")
print("kernels:", ", ".join(library.kernels()))

# %% Where it runs: on this machine's devices, and on some that need not be here. In a notebook each is a table.
for device in [*kdl.devices(), "h200", "a100", "mi300x"]:
    print()
    print(library.explain(kernel, device))

# %% The same as data: why the A100 has nothing to run.
said = library.explain(kernel, "a100")
if said.chosen is None:
    for verdict in said:
        for reason in verdict.reasons:
            print(f"image {verdict.image.index}: {reason.code}: {reason.words}" + (f" (fix: {reason.fix})" if reason.fix else ""))
