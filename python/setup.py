# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds libkdl by its own CMake files, then the extension against the static library. One wheel serves Python 3.9 and later.

KDL_BUILD names an existing build folder of libkdl to use instead, as CMake does for its tests.
KDL_WITH_LD=1 adds kdl-ld to the wheel, which then needs the LLVM that it was built with.
The wheel gets the math functions of `kdl cc` if libclc was available to build them, in this build or in KDL_LINKER.
The wheel gets the library kdl-matmul, linked for the CPUs of KDL_WHEEL_CPUS or the default ones, if kdl-ld is built, or KDL_LINKER
names a build folder that has it."""
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit("libkdl: this Python is free-threaded, and has no stable ABI, which the package is built for: take a Python with a GIL")
here = os.path.dirname(os.path.abspath(__file__))
# In the project this folder is next to the sources; in a source distribution they are below it.
root = next(folder for folder in (os.path.join(here, "libkdl"), os.path.dirname(here))
            if os.path.exists(os.path.join(folder, "include", "kdl", "kdl.h")))
cpus = {
    "x86_64": ["x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512_vnni", "x86-64-v4+avx512_vnni+avx512_bf16",
               "x86-64-v4+avx512_vnni+avx512_bf16+amx_tile+amx_int8+amx_bf16"],
    "aarch64": ["armv8-a", "armv8.2-a+dotprod", "armv8.2-a+dotprod+bf16+i8mm"],
}
with_ld = os.environ.get("KDL_WITH_LD") == "1"
warnings = ["-std=c17", "-O2", "-g1", "-fvisibility=hidden", "-fno-plt", "-Wall", "-Wextra", "-Wno-missing-field-initializers"]


def version():
    """The version in the library's header."""
    with open(os.path.join(root, "include", "kdl", "kdl.h"), encoding="utf-8") as file:
        numbers = re.findall(r"#define KDL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read())
    return ".".join(numbers)


def built():
    """The folder of a build of libkdl; builds one if none is named."""
    folder = os.environ.get("KDL_BUILD")
    if not folder:
        folder = os.path.join(here, "build", "libkdl")
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DKDL_BUILD_TESTS=OFF",
                   "-DKDL_BUILD_BENCH=OFF", "-DKDL_WERROR=OFF"]
        subprocess.check_call(["cmake", "-S", root, "-B", folder, *options])
        jobs = str(len(os.sched_getaffinity(0)))
        targets = ["kdl", "kdl_matmul_static", *(["kdl-ld", "kdl_matmul", "kdl_builtin_ukernels"] if with_ld else [])]
        subprocess.check_call(["cmake", "--build", folder, "--parallel", jobs, "--target", *targets])
    return folder


def matmul(folder):
    """The library kdl-matmul, linked for CPUs so that it needs no linker, as a file; None without a linker."""
    folder = os.environ.get("KDL_LINKER") or folder
    bitcode = os.path.join(folder, "lib", "kdl", "kdl-matmul.offload")
    command, linker = (os.path.join(folder, "bin", name) for name in ("kdl", "kdl-ld"))
    if not all(os.path.exists(path) for path in (bitcode, command, linker)):
        print("kdl-matmul is left out of the wheel: no kdl-ld in", folder)
        return None
    wanted = os.environ.get("KDL_WHEEL_CPUS")
    devices = wanted.split(",") if wanted else [f"host:{cpu}" for cpu in cpus.get(platform.machine(), ["generic"])]
    made = os.path.join(here, "build", "kdl-matmul.offload")
    os.makedirs(os.path.dirname(made), exist_ok=True)
    subprocess.check_call([command, "link", bitcode, *(f"--for={one}" for one in devices), "-o", made], env={"KDL_LD_TIMEOUT": "600", **os.environ, "KDL_LD": linker})
    return made


def math(folder):
    """The math functions that `kdl cc` links into images: pairs of a file, and its path relative to the folder above the command's."""
    for place in (folder, os.environ.get("KDL_LINKER")):
        found = glob.glob(os.path.join(place, "lib*", "**", "math-*.bc"), recursive=True) if place else []
        if found:
            return [(path, os.path.relpath(path, place)) for path in found]
    print("the math functions of kdl cc are left out of the wheel: libclc not found (Debian: libclc-22)")
    return []


class Build(build_ext):
    """The extension, and the command next to it."""

    def run(self):
        folder = built()
        self.extensions[0].extra_objects = [os.path.join(folder, "lib", name) for name in ("libkdl_matmul.a", "libkdl.a")]
        super().run()
        package = os.path.join(here if self.inplace else self.build_lib, "kdl")
        if self.inplace:
            return
        os.makedirs(os.path.join(package, "bin"), exist_ok=True)
        shutil.copytree(os.path.join(root, "include"), os.path.join(package, "include"), dirs_exist_ok=True)  # for kdl cc
        for program in ("kdl", "kdl-ld") if with_ld else ("kdl",):
            shutil.copy2(os.path.join(folder, "bin", program), os.path.join(package, "bin", program))
            subprocess.check_call(["strip", os.path.join(package, "bin", program)])
        for path, where in math(folder):
            os.makedirs(os.path.dirname(os.path.join(package, where)), exist_ok=True)
            shutil.copyfile(path, os.path.join(package, where))
        library = matmul(folder)
        if library:
            os.makedirs(os.path.join(package, "lib"), exist_ok=True)
            shutil.copyfile(library, os.path.join(package, "lib", "kdl-matmul.offload"))


class Wheel(bdist_wheel):
    """One wheel for every Python since 3.9."""

    def finalize_options(self):
        self.py_limited_api = "cp39"
        super().finalize_options()


setup(
    version=version(),
    entry_points={"console_scripts": ["kdl = kdl._command:main", *(["kdl-ld = kdl._command:main_linker"] if with_ld else [])]},
    cmdclass={"build_ext": Build, "bdist_wheel": Wheel},
    ext_modules=[
        Extension("kdl._kdl", sorted(os.path.join("csrc", name) for name in os.listdir(os.path.join(here, "csrc"))
                                     if name.endswith(".c")),
                  include_dirs=[os.path.join(root, "include")], extra_compile_args=warnings, libraries=["m", "dl", "pthread"],
                  extra_link_args=["-Wl,--version-script=" + os.path.join(here, "csrc", "exports.map"), "-Wl,-s"], py_limited_api=True)
    ],
)
