// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_PASSES_TD
#define KDL_PASSES_TD

include "mlir/Pass/PassBase.td"

def KdlMarkRuntimeSelect : Pass<"kdl-mark-runtime-select", "::mlir::ModuleOp"> {
  let summary = "Lets every gpu.binary with two or more objects be chosen from at run time";
  let description = [{
    Gives `#kdl.runtime_select` to each gpu.binary that has two or more objects and no handler of
    its own.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"best\"", "best, first or capability">,
    Option<"fallback", "fallback", "std::string", "\"error\"", "error or host">,
  ];
  let dependentDialects = ["::mlir::kdl::KdlDialect"];
}

def KdlFuseObjects : Pass<"kdl-fuse-objects", "::mlir::ModuleOp"> {
  let summary = "Packs all objects of a gpu.binary into one, for tools that load no plugins";
  let description = [{
    Replaces the objects of each gpu.binary by one whose bytes are an OffloadBinary of them all, and
    its handler by MLIR's own, `#gpu.select_object`. Stock `mlir-translate` and `mlir-runner` take
    such a module, and libkdl_mlir_runtime chooses from it: at the price of a look-up, a stream and a
    wait per launch, which `#kdl.runtime_select` does without.
  }];
}

#endif
