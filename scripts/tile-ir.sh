#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tile-ir.sh FOLDER: makes samples of CUDA Tile IR in FOLDER with NVIDIA's own libraries, which come from the Python package index (1 MB)
# and need no GPU: bytecode of each version (saxpy-13.1.tileir ...), and a fatbin with it. Those in tests/golden were made so.
set -euo pipefail

name=tile-ir tests="samples of Tile IR" python=python3
# shellcheck source=scripts/pypi.sh
. "$(dirname "$0")/pypi.sh"

require_x86_64
fetch "NVIDIA's cuda-tile and nvFatbin (1 MB)" install --target "$work/packages"
ptx=$(cd "$(dirname "$0")/.." && pwd)/tests/golden/images/llvm.ptx

PYTHONPATH=$work/packages python3 - "$work" "$ptx" <<'EOF'
import ctypes
import io
import linecache
import sys

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint, export_kernel

work, ptx = sys.argv[1:]
# Not a file, whose path would be in the debug information.
source = """def saxpy(a, x, y):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=a * ct.load(x, index=(i,), shape=(128,)) + ct.load(y, index=(i,), shape=(128,)))
"""
linecache.cache["/saxpy.py"] = (len(source), None, source.splitlines(True), "/saxpy.py")
exec(compile(source, "/saxpy.py", "exec"))

array = ArrayConstraint(ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False)
signatures = [
    KernelSignature((ScalarConstraint(ct.float32), array, array), CallingConvention.cutile_python_v1(), symbol=name)
    for name in ("saxpy", "saxpy_again")
]
# With a hint in the functions of all but the first version.
tiles = {}
for version in ("13.1", "13.2", "13.3", "13.4"):
    kernel = ct.kernel(saxpy) if version == "13.1" else ct.kernel(occupancy=2)(saxpy)
    out = io.BytesIO()
    export_kernel(kernel, signatures, out, gpu_code=None if version >= "13.3" else "sm_100", output_format="tileir_bytecode",
                  bytecode_version=version)
    tiles[version] = out.getvalue()
    with open(f"{work}/saxpy-{version}.tileir", "wb") as file:
        file.write(tiles[version])

nvfatbin = ctypes.CDLL(f"{work}/packages/nvidia/cu13/lib/libnvfatbin.so.13")


def call(name, *arguments):
    if code := getattr(nvfatbin, name)(*arguments):
        sys.exit(f"{name} returned {code}")


def write_fatbin(path, mode, versions):
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    call("nvFatbinCreate", ctypes.byref(handle), (ctypes.c_char_p * 1)(mode), 1)
    with open(ptx, "rb") as file:
        text = file.read() + b"\0"
    call("nvFatbinAddPTX", handle, text, ctypes.c_size_t(len(text)), b"90", b"saxpy.ptx", None)
    for version in versions:
        code = tiles[version]
        call("nvFatbinAddTileIR", handle, code, ctypes.c_size_t(len(code)), f"saxpy-{version}".encode(), b"-O3")
    call("nvFatbinSize", handle, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    call("nvFatbinGet", handle, data)
    with open(path, "wb") as file:
        file.write(data.raw)


write_fatbin(f"{work}/tile.fatbin", b"-compress=false", ["13.1", "13.3"])
write_fatbin(f"{work}/tile_zstd.fatbin", b"-compress-mode=size", ["13.4"])
EOF
rm -rf "$work/packages"
finish
say "done: $folder"
