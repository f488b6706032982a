# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lit's configuration for tests of LLVM's tree that run with Debian's tools, and with those that a series built before them.
import os
import lit.formats

base = lit_config.params["base"]
build = lit_config.params["build"]
llvm = f"/usr/lib/llvm-{base}"
config.name = "upstream"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".test", ".ll", ".c", ".cpp", ".cu", ".hip", ".mlir", ".yaml", ".cl"]
config.excludes = ["Inputs", "lit.local.cfg"]
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join([f"{build}/bin", f"{llvm}/bin", "/usr/bin"])
config.available_features.update(["x86-registered-target", "amdgpu-registered-target", "nvptx-registered-target", "spirv-registered-target", "zlib", "zstd", "system-linux"])
clang = f"{build}/bin/clang" if os.path.exists(f"{build}/bin/clang") else f"{llvm}/bin/clang"
config.substitutions += [
    ("%clang_cc1", f"{clang} -cc1 -nostdsysteminc"),
    ("%clang", clang),
    ("%llc", "llc"),
    ("%python", "/usr/bin/python3"),
]
