// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A GPU target outside of ::mlir::gpu, as a project outside of LLVM has it.
include "mlir/Dialect/GPU/IR/CompilationAttrInterfaces.td"

def Foreign_Dialect : Dialect {
  let name = "foreign";
  let cppNamespace = "::foreign";
  let useDefaultAttributePrinterParser = 1;
}

def Foreign_TargetAttr : AttrDef<Foreign_Dialect, "Target", [DeclareAttrInterfaceMethods<GPUTargetAttrInterface>]> {
  let mnemonic = "target";
}
