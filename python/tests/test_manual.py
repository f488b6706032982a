# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""help(kdl), and the files that come with the package."""
import array
import ctypes
import inspect
import math
import os
import pydoc
import shutil

import pytest

import kdl
import kdl.triton

PUBLIC = [(name, getattr(kdl, name)) for name in kdl.__all__]
MEMBERS = [(f"{name}.{part}", member) for name, thing in PUBLIC if inspect.isclass(thing) and not issubclass(thing, Exception)
           for part, member in vars(thing).items() if not part.startswith("_") and (callable(member) or inspect.isdatadescriptor(member))]


def test_the_manual_names_everything():
    text = pydoc.plain(pydoc.render_doc(kdl))
    assert "kernel dynamic linker" in text and "DLPack" in text
    missing = [name for name in kdl.__all__ if name not in text]
    assert not missing


@pytest.mark.parametrize("name, thing", PUBLIC + MEMBERS + [(f"triton.{name}", getattr(kdl.triton, name)) for name in ("pack", "pack_cache", "compile")])
def test_everything_has_a_docstring(name, thing):
    said = (thing.__doc__ or "").strip()
    assert len(said) > 3 and not said.startswith(name.split(".")[-1] + "("), name


@pytest.mark.parametrize("name, thing", [(name, thing) for name, thing in PUBLIC + MEMBERS if inspect.isroutine(thing)])
def test_every_function_has_a_signature(name, thing):
    assert inspect.signature(thing) is not None, name


def test_types_and_headers_come_with_the_package():
    folder = os.path.dirname(kdl.__file__)
    for path in ("py.typed", "_kdl.pyi", "include/kdl/kernel.h", "bin/kdl"):
        assert os.path.exists(os.path.join(folder, path)), path


def test_kdl_cc_of_the_package_has_math(tmp_path):
    if not (shutil.which("clang-22") or shutil.which("clang")):
        pytest.skip("clang not found (Debian: clang-22)")
    if "KDL_TEST_MATH" not in os.environ:
        pytest.skip("the wheel was built without libclc (Debian: libclc-22)")
    source = """#include <kdl/kernel.h>
#include <kdl/math.h>
__gpu_kernel void exponent(float x, __gpu_global float *y) { y[0] = expf(x); }"""
    library = kdl.compile("exponent.c", text=source, targets=["native", "compute_80"])
    y = array.array("f", [0])
    library.kernel("exponent", "host")[1](1.0, y)
    assert abs(y[0] - math.e) < 1e-6 and len(library) == 2


def test_kdl_cc_says_what_needs_kdl_ld(monkeypatch):
    if not (shutil.which("clang-22") or shutil.which("clang")):
        pytest.skip("clang not found (Debian: clang-22)")
    monkeypatch.setenv("KDL_LD", "/nonexistent/kdl-ld")
    source = "#include <kdl/kernel.h>\n__gpu_kernel void waits(__gpu_global float *y) { y[0] = 1; __gpu_sync_threads(); y[1] = y[0]; }"
    with pytest.raises(kdl.CommandError, match="need kdl-ld: found none .* llvm-22-dev.* KDL_WITH_LD=1"):
        kdl.compile("waits.c", text=source, targets="native")


def test_the_extension_exports_nothing_else():
    extension = ctypes.CDLL(kdl._kdl.__file__)
    assert hasattr(extension, "PyInit__kdl")
    assert not [name for name in ("kdl_open", "kdl_version", "kdl_launch_call", "py_raise") if hasattr(extension, name)]
