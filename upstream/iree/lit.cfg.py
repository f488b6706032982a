# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lit's configuration for the tests of the patches: the wheel's programs, and `run` in the place of iree-run-module.
import lit.formats

config.name = "iree"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".mlir"]
config.test_exec_root = lit_config.params["out"]
config.environment["PATH"] = lit_config.params["path"]
config.substitutions.append(("iree-run-module", lit_config.params["run"]))
