# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds libkdl by its own CMake files, then the extension against the static library. One wheel serves Python 3.9 and later.

KDL_BUILD names a build folder of libkdl's to take what is built from instead, as CMake does for its tests."""
import os
import re
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

here = os.path.dirname(os.path.abspath(__file__))
# In the project this folder is beside the sources; in a source distribution they are below it.
root = next(folder for folder in (os.path.join(here, "libkdl"), os.path.dirname(here))
            if os.path.exists(os.path.join(folder, "include", "kdl", "kdl.h")))
warnings = ["-std=c17", "-O2", "-g1", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-missing-field-initializers"]


def version():
    """The version in the library's header."""
    with open(os.path.join(root, "include", "kdl", "kdl.h"), encoding="utf-8") as file:
        numbers = re.findall(r"#define KDL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read())
    return ".".join(numbers)


def built():
    """The folder of a build of libkdl, made where none is named."""
    folder = os.environ.get("KDL_BUILD")
    if not folder:
        folder = os.path.join(here, "build", "libkdl")
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DKDL_BUILD_TESTS=OFF",
                   "-DKDL_BUILD_BENCH=OFF", "-DKDL_WERROR=OFF"]
        subprocess.check_call(["cmake", "-S", root, "-B", folder, *options])
        jobs = str(len(os.sched_getaffinity(0)))
        subprocess.check_call(["cmake", "--build", folder, "--parallel", jobs, "--target", "kdl"])
    return folder


class Build(build_ext):
    """The extension, and the command beside it."""

    def run(self):
        folder = built()
        self.extensions[0].extra_objects = [os.path.join(folder, "lib", "libkdl.a")]
        super().run()
        package = os.path.join(here if self.inplace else self.build_lib, "kdl")
        if self.inplace:
            return
        os.makedirs(os.path.join(package, "bin"), exist_ok=True)
        shutil.copytree(os.path.join(root, "include"), os.path.join(package, "include"), dirs_exist_ok=True)  # for kdl cc
        for program in ("kdl", "kdl-ld"):
            source = os.path.join(folder, "bin", program)
            if os.path.exists(source) and (program == "kdl" or os.environ.get("KDL_WITH_LD")):
                shutil.copy2(source, os.path.join(package, "bin", program))
                subprocess.check_call(["strip", os.path.join(package, "bin", program)])


class Wheel(bdist_wheel):
    """One wheel for every Python since 3.9."""

    def finalize_options(self):
        self.py_limited_api = "cp39"
        super().finalize_options()


setup(
    version=version(),
    cmdclass={"build_ext": Build, "bdist_wheel": Wheel},
    ext_modules=[
        Extension("kdl._kdl", sorted(os.path.join("csrc", name) for name in os.listdir(os.path.join(here, "csrc"))
                                     if name.endswith(".c")),
                  include_dirs=[os.path.join(root, "include")], extra_compile_args=warnings, libraries=["m", "dl", "pthread"],
                  extra_link_args=["-Wl,--version-script=" + os.path.join(here, "csrc", "exports.map"), "-Wl,-s"], py_limited_api=True)
    ],
)
