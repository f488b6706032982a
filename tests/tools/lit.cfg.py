# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tool tests. A test is a file NAME.test in a folder below this one; its RUN lines find `kdl` and LLVM's
tools on PATH. CTest runs each as tools.NAME.

Substitutions beyond lit's own:
  %golden   the folder of golden files, tests/golden
  %include  the folder of the public headers
  %fakes    the folder of the fake drivers, see tests/fakes
  %examples the folder of the built examples, with saxpy.offload
  %kernels  the folder of the example kernels' sources
  %inputs   the folder of this suite's own input files, tests/tools/Inputs
  %bitcode  clang, making the bitcode that is to be linked: a caller or a microkernel
  %ld       kdl-ld, with its protocol and without the built-in microkernels
  %builtin  the built-in microkernels
  %most_memory MiB that a process may take
  %libdevice CUDA's library of device functions
  %rocm      the folder with AMD's

Features, for REQUIRES lines; each is true where it can be used here:
  zstd zlib lz4             containers compressed so can be read by this build
  sanitizer                 kdl is built with one
  ukernels                  the built-in microkernels are built
  cuda-headers              CUDA's headers are installed
  libdevice                 CUDA's library of device functions is installed
  rocm-device-libs          AMD's of ROCm 5 are
  math                      kdl was built with libclc
  terminal                  a pseudo-terminal can be opened
  tmpfs                     a file system can be mounted in a namespace of the test's own
  x86_64                    this CPU is one
  PROGRAM                   the program is on PATH: see `programs` below
"""

import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "kdl"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.kdl_work_dir

path = [config.kdl_bin_dir, config.kdl_llvm_bin_dir, os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(p for p in path if p)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "OCL_ICD_VENDORS",
             "JITDUMPDIR", "KDL_CACHE_DIR", "KDL_CPU", "PYTHONDONTWRITEBYTECODE", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# What a developer's shell sets must not change what the tests see.
config.environment["LC_ALL"] = "C"
config.environment.pop("NO_COLOR", None)

config.substitutions.append(("%golden", os.path.join(config.kdl_source_dir, "tests", "golden")))
config.substitutions.append(("%include", os.path.join(config.kdl_source_dir, "include")))
# Without a CUDA to find, Clang behaves on every machine as it does on one that has none.
config.substitutions.append(("%bitcode", "clang --cuda-path=/nonexistent -Wno-unused-command-line-argument "
                             "-std=gnu17 -O2 -Xclang -disable-llvm-passes "
                             "-ffreestanding -I" + os.path.join(config.kdl_source_dir, "include") +
                             " -emit-llvm -c"))
config.substitutions.append(("%ld", "kdl-ld --protocol=1 --no-builtin"))
# MiB that a process may take: sanitizers have memory of their own.
config.substitutions.append(("%most_memory", "4000" if config.kdl_sanitize else "100"))
config.substitutions.append(("%builtin", config.kdl_builtin))
config.substitutions.append(("%fakes", config.kdl_fakes_dir))
config.substitutions.append(("%null_backend",
                             os.path.join(config.kdl_lib_dir, "libnull_backend.so")))
config.substitutions.append(("%examples", config.kdl_examples_dir))
config.substitutions.append(("%kernels",
                             os.path.join(config.kdl_source_dir, "examples", "kernels")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "Inputs")))

programs = """
    aarch64-linux-gnu-gcc ar as chromium clang clang-linker-wrapper clang-offload-bundler cuobjdump docker-registry fatbinary gcc kdl-ld
    kdl-registry ld ld.lld
    llvm-ar llvm-dis llvm-objcopy llvm-objdump llvm-offload-binary llvm-readobj nvcc obj2yaml oclgrind
    minisign objcopy patchelf openssl ptxas python3 qemu-aarch64 qemu-x86_64 readelf skopeo spirv-dis spirv-val strip yaml2obj
""".split()
for program in programs:
    if shutil.which(program, path=config.environment["PATH"]):
        config.available_features.add(program)
spirv = [shutil.which("llvm-spirv" + version, path=config.environment["PATH"])
         for version in [""] + ["-%d" % number for number in range(24, 13, -1)]]
config.substitutions.append(("%translator", next(filter(None, spirv), "none")))
if any(spirv):
    config.available_features.add("llvm-spirv")
config.available_features.update(codec for codec in config.kdl_codecs if codec)
try:
    for fd in os.openpty():
        os.close(fd)
    config.available_features.add("terminal")
except OSError:
    pass
mount = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
if shutil.which("unshare") and subprocess.run(mount, check=False, capture_output=True).returncode == 0:
    config.available_features.add("tmpfs")
if os.path.exists("/usr/local/cuda/include/cuda_runtime.h"):
    config.available_features.add("cuda-headers")
cuda = os.path.dirname(os.path.dirname(shutil.which("ptxas", path=config.environment["PATH"]) or "/usr/local/cuda/bin/ptxas"))
libdevice = os.path.join(cuda, "nvvm/libdevice/libdevice.10.bc")
config.substitutions.append(("%libdevice", libdevice))
if os.path.exists(libdevice):
    config.available_features.add("libdevice")
# Debian 12's, of ROCm 5: exp asks constants how to compute, as it does no longer in Debian 13's of ROCm 6.
rocm = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
config.substitutions.append(("%rocm", rocm))
if os.path.exists(os.path.join(rocm, "ocml.bc")):
    config.available_features.add("rocm-device-libs")
if os.uname().machine == "x86_64":
    config.available_features.add("x86_64")
if os.path.exists(os.path.join(os.path.dirname(config.kdl_builtin), "math-x86_64.bc")):
    config.available_features.add("math")
if os.path.exists(config.kdl_builtin):
    config.available_features.add("ukernels")
if config.kdl_sanitize:
    config.available_features.add("sanitizer")
