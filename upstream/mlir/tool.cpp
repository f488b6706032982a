// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlir-opt, mlir-translate and mlir-runner with MLIR's own dialects, passes and translations, called by the name of the
// program: linked of objects that a series rebuilt and Debian's static archives for all others.
#include "mlir/ExecutionEngine/JitRunner.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/InitAllTranslations.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "llvm/Support/TargetSelect.h"

namespace test {
void registerTestDialect(mlir::DialectRegistry &registry);
}

int main(int argc, char **argv) {
  if (llvm::StringRef(argv[0]).ends_with("mlir-translate")) {
    mlir::registerAllTranslations();
    return mlir::failed(mlir::mlirTranslateMain(argc, argv, "MLIR translation"));
  }
  mlir::DialectRegistry registry;
  if (llvm::StringRef(argv[0]).ends_with("mlir-runner")) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    mlir::registerAllToLLVMIRTranslations(registry);
    return mlir::JitRunnerMain(argc, argv, registry);
  }
  mlir::registerAllPasses();
  mlir::registerAllDialects(registry);
  test::registerTestDialect(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "MLIR optimizer", registry));
}
