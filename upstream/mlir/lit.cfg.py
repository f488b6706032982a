# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lit's configuration for MLIR's tests: tools that the series built first, then Debian's.
import os
import subprocess
import lit.formats

build = lit_config.params["build"]
llvm = lit_config.params["llvm"]
config.name = "MLIR"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".td", ".mlir"]
config.excludes = ["Inputs"]
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join([f"{build}/bin", f"{llvm}/bin", "/usr/bin"])
config.substitutions += [
    ("%host_cc", f"{llvm}/bin/clang"),
    ("%host_cxx", f"{llvm}/bin/clang++"),
    ("%python", "/usr/bin/python3"),
    ("%mlir_offload_runtime", f"{build}/lib/libmlir_offload_runtime.so"),
]
config.host_triple = subprocess.check_output([f"{llvm}/bin/clang", "-print-target-triple"], text=True).strip()
config.enable_offload_runner = os.path.exists(f"{build}/lib/libmlir_offload_runtime.so")
