// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-mlir opt | translate | run: mlir-opt, mlir-translate --mlir-to-llvmir and mlir-runner with
// the dialect kdl built in, and microkernels inlined. Upstream, the last two load no plugins.
// kdl-mlir compile is all of them and the linker (compile.cpp).
#include "compile.h"

#include "Passes.h"
#include "ukernels/UkernelLink.h"

#include "mlir/ExecutionEngine/JitRunner.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

static constexpr char usage[] =
    "usage: kdl-mlir COMMAND [OPTION...] [FILE]\n"
    "\n"
    "  compile    linalg on tensors to a shared object for C and Python, with a C header\n"
    "  opt        mlir-opt with the dialect and the passes of libkdl\n"
    "  translate  a module in the LLVM dialect to LLVM IR\n"
    "  run        the same, compiled in memory and run\n"
    "\n"
    "`kdl-mlir COMMAND --help` lists the options; but for compile they are those of MLIR's own\n"
    "tools.\n";

static void registerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  kdl::registerDialect(registry);
}

static int runOpt(int argc, char **argv) {
  DialectRegistry registry;
  registerDialects(registry);
  registerAllPasses();
  kdl::registerPasses();
  return asMainReturnCode(MlirOptMain(argc, argv, "kdl-mlir opt\n", registry));
}

static int runTranslate(int argc, char **argv) {
  TranslateFromMLIRRegistration toLLVMIR(
      "mlir-to-llvmir", "Translate MLIR to LLVM IR",
      [](Operation *op, raw_ostream &output) {
        llvm::LLVMContext context;
        std::unique_ptr<llvm::Module> module = kdl::translateWithUkernels(op, context);
        if (!module)
          return failure();
        module->print(output, nullptr);
        return success();
      },
      registerDialects);
  // This tool has one translation, so it adds the option that MLIR's tool requires to name it.
  SmallVector<char *> arguments(argv, argv + argc);
  char option[] = "--mlir-to-llvmir";
  arguments.insert(arguments.begin() + 1, option);
  return asMainReturnCode(mlirTranslateMain(static_cast<int>(arguments.size()), arguments.data(),
                                            "kdl-mlir translate"));
}

static int runRunner(int argc, char **argv) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  // Errors at run time are printed as one line; LLVM would print a stack trace for an abort.
  ::setenv("KDL_MLIR_ERRORS", "exit", /*overwrite=*/0);
  DialectRegistry registry;
  registerDialects(registry);
  JitRunnerConfig config;
  config.llvmModuleBuilder = kdl::translateWithUkernels;
  return JitRunnerMain(argc, argv, registry, config);
}

static int runCompileCommand(int argc, char **argv) {
  return kdl::runCompile(argc, argv, registerDialects);
}

int main(int argc, char **argv) {
  struct {
    StringRef name;
    int (*main)(int, char **);
  } static constexpr commands[] = {{"compile", runCompileCommand},
                                   {"opt", runOpt},
                                   {"translate", runTranslate},
                                   {"run", runRunner}};
  llvm::InitLLVM initialized(argc, argv);
  StringRef asked = argc > 1 ? argv[1] : "";
  if (asked == "--help" || asked == "-h") {
    llvm::outs() << usage;
    return 0;
  }
  for (const auto &command : commands) {
    if (asked != command.name)
      continue;
    argv[1] = argv[0];
    return command.main(argc - 1, argv + 1);
  }
  if (asked.empty()) {
    llvm::errs() << "kdl-mlir: found no command\n" << usage;
  } else {
    llvm::errs() << "kdl-mlir: found command \"";
    llvm::errs().write_escaped(asked) << "\", expected compile, opt, translate or run\n";
  }
  return 2;
}
