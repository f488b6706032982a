# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests of mlir/. CTest runs each file as mlir.NAME.

`mlir-opt` in RUN lines is LLVM's own with the plugin loaded; the other tools of LLVM, `kdl` and
`kdl-mlir` are found on PATH. Substitutions beyond lit's own:
  %lib      the folder of libkdl.so and libkdl_mlir_runtime.so
  %llvm_lib the folder of MLIR's own runtime libraries
  %runtime  mlir/runtime, for its headers
  %inputs   the folder of input files
  %examples examples/mlir
  %docs     docs
  python3   the Python that lit runs on, see cmake/llvm.cmake
  %fakes    the folder of the fake drivers, see tests/fakes
  %stock    mlir-opt without the plugin
  %rocm     the folder of AMD's device libraries
  %xevm     the option of gpu-lower-to-xevm-pipeline for SPIR-V: MLIR 23 calls it an assembly, and what
            was SPIR-V before is native code, for which it needs Intel's ocloc
  %intel    the folder of Intel's OpenCL for CPUs, see scripts/opencl-runtime.sh

Features for REQUIRES lines; each is set if this machine has it:
  PROGRAM   the program is on PATH: see `programs` below
  ukernels  libkdl's own microkernels were built
  numpy     python3 has NumPy
  rocm      the device libraries that AMD code objects are linked with are installed
  intel     Intel's OpenCL for CPUs is installed
  CPU flag  this CPU has it: see `flags` below
"""

import glob
import importlib.util
import os
import shutil
import sys

import lit.formats

config.name = "kdl-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.kdl_work_dir

path = [config.kdl_bin_dir, config.kdl_llvm_bin_dir, os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(p for p in path if p)
config.environment["LD_LIBRARY_PATH"] = config.kdl_lib_dir
config.environment["LC_ALL"] = "C"
# The CPU that tests assume, and where files go that others would find in the user's home: see cmake/testing.cmake.
for name in ("JITDUMPDIR", "KDL_CACHE_DIR", "KDL_CPU", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# The machine's drivers must not change the results.
config.environment["OCL_ICD_VENDORS"] = "/nonexistent"

llvm_lib = os.path.join(os.path.dirname(config.kdl_llvm_bin_dir), "lib")
config.substitutions.append(("%lib", config.kdl_lib_dir))
config.substitutions.append(("%llvm_lib", llvm_lib))
config.substitutions.append(("%runtime", os.path.join(config.kdl_source_dir, "mlir", "runtime")))
config.substitutions.append(("%include", os.path.join(config.kdl_source_dir, "include")))
config.substitutions.append(("%examples", os.path.join(config.kdl_source_dir, "examples", "mlir")))
config.substitutions.append(("%docs", os.path.join(config.kdl_source_dir, "docs")))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "Inputs")))
config.substitutions.append(("%fakes", config.kdl_fakes_dir))
config.substitutions.append((r"\bpython3\b", sys.executable))
plugin = os.path.join(config.kdl_lib_dir, "KdlMLIR.so")
config.substitutions.append((r"\bmlir-opt\b", f"mlir-opt --load-dialect-plugin={plugin}"))

config.substitutions.append(("%xevm", "binary-format=" + ("fatbin" if config.kdl_llvm_major < 23 else "isa")))
config.substitutions.append(("%stock", os.path.join(config.kdl_llvm_bin_dir, "mlir-opt")))

for program in "aarch64-linux-gnu-gcc clang ld.lld mlir-runner mlir-translate ptxas qemu-aarch64 spirv-dis spirv-val valgrind".split():
    if shutil.which(program, path=config.environment["PATH"]):
        config.available_features.add(program)
if os.path.exists(os.path.join(config.kdl_lib_dir, "kdl", "ukernels.offload")):
    config.available_features.add("ukernels")
if importlib.util.find_spec("numpy"):
    config.available_features.add("numpy")
bitcode = ["/usr/lib/*/amdgcn/bitcode/ockl.bc", "/opt/rocm/amdgcn/bitcode/ockl.bc",
           "/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode/ockl.bc"]
found = [path for pattern in bitcode for path in glob.glob(pattern)]
if found:
    config.available_features.add("rocm")
    config.substitutions.append(("%rocm", os.path.dirname(found[0])))
if os.path.exists(os.path.join(config.kdl_intel_opencl, "vendors", "intel.icd")):
    config.available_features.add("intel")
    config.substitutions.append(("%intel", config.kdl_intel_opencl))

# Linux's description of the first CPU.
flags = "amx_bf16 amx_int8 avx2".split()
with open("/proc/cpuinfo") as cpuinfo:
    words = next((line.split() for line in cpuinfo if line.startswith("flags")), [])
config.available_features.update(flag for flag in flags if flag in words)
