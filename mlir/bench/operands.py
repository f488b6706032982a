# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in MLIR that are called from Python: compiled by kdl-lower-linalg for this CPU, with matrices of NumPy."""
import ctypes
import subprocess


class Memref(ctypes.Structure):
    """A memref of two dimensions."""
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                ("sizes", ctypes.c_int64 * 2), ("strides", ctypes.c_int64 * 2)]

    def __init__(self, array):
        pair = ctypes.c_int64 * 2
        super().__init__(array.ctypes.data, array.ctypes.data, 0, pair(*array.shape), pair(array.shape[1], 1))


def compile_function(build, folder, name, source, options=""):
    """The function @f of a module's text, which has llvm.emit_c_interface; `options` are further ones of kdl-lower-linalg."""
    (folder / "in.mlir").write_text(source)
    subprocess.run(["mlir-opt-22", f"--load-dialect-plugin={build}/lib/KdlMLIR.so", folder / "in.mlir", "-o", folder / "llvm.mlir",
                    f"--pass-pipeline=builtin.module(kdl-lower-linalg{{target=host {options}}})"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([build / "bin" / "kdl-mlir", "translate", folder / "llvm.mlir", "-o", folder / "linked.ll"], check=True)
    library = folder / f"{name}.so"
    subprocess.run(["clang-22", "-O2", "-fPIC", "-shared", "-Wno-override-module", folder / "linked.ll", "-o", library], check=True)
    return getattr(ctypes.CDLL(str(library)), "_mlir_ciface_f")
