// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host/HostCode.h"

#include "Compat.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::kdl;

// <kdl/kernel/half_runtime.h> as an object file for x86-64, the only CPU architecture here with
// levels that cannot convert half precision or bfloat16.
__asm__(".pushsection .rodata\n"
        "kdl_mlir_half:\n"
        ".incbin \"" KDL_MLIR_HALF "\"\n"
        "kdl_mlir_half_end:\n"
        ".p2align 3\n"
        "kdl_mlir_half_size:\n"
        ".quad kdl_mlir_half_end - kdl_mlir_half\n"
        ".popsection\n");
extern "C" const char kdl_mlir_half[];
extern "C" const uint64_t kdl_mlir_half_size;

kdl::TemporaryFile::TemporaryFile(StringRef suffix) {
  error = llvm::sys::fs::createTemporaryFile("kdl-host", suffix, path);
}

kdl::TemporaryFile::~TemporaryFile() {
  if (!error)
    llvm::sys::fs::remove(path);
}

void kdl::optimize(llvm::Module &module, llvm::TargetMachine &machine, int level) {
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2,
      llvm::OptimizationLevel::O3};
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = level > 1;
  std::unique_ptr<llvm::PassBuilder> builder =
      makePassBuilder(module.getContext(), &machine, tuning);
  builder->registerModuleAnalyses(modules);
  builder->registerCGSCCAnalyses(components);
  builder->registerFunctionAnalyses(functions);
  builder->registerLoopAnalyses(loops);
  builder->crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes = level ? builder->buildPerModuleDefaultPipeline(levels[level])
                                         : builder->buildO0DefaultPipeline(levels[0]);
  passes.run(module, modules);
}

FailureOr<SmallVector<char, 0>> kdl::compileObject(llvm::Module &module,
                                                   llvm::TargetMachine &machine,
                                                   function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    return emitError() << "LLVM writes no object files for " << machine.getTargetTriple().str();
  passes.run(module);
  return object;
}

static LogicalResult write(const TemporaryFile &file, StringRef bytes,
                           function_ref<InFlightDiagnostic()> emitError) {
  std::error_code error = file.error;
  if (!error) {
    llvm::raw_fd_ostream out(file.path, error);
    if (!error) {
      out << bytes;
      out.close();
      error = out.error();
      out.clear_error();
    }
  }
  if (error)
    return emitError() << "cannot write a temporary file: " << error.message();
  return success();
}

LogicalResult kdl::linkShared(StringRef linker, StringRef object, const llvm::Triple &triple,
                              ArrayRef<StringRef> options, StringRef output,
                              function_ref<InFlightDiagnostic()> emitError) {
  TemporaryFile objectFile("o"), half("o"), log("log");
  if (failed(write(objectFile, object, emitError)) || failed(write(log, "", emitError)))
    return failure();
  SmallVector<StringRef> arguments = {linker, "-shared", "-o", output, objectFile.path};
  if (triple.getArch() == llvm::Triple::x86_64) {
    if (failed(write(half, {kdl_mlir_half, kdl_mlir_half_size}, emitError)))
      return failure();
    arguments.append({"--start-lib", half.path, "--end-lib"});
  }
  llvm::append_range(arguments, options);
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log.path), StringRef(log.path)};
  std::string words;
  if (llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects, 0, 0, &words) == 0)
    return success();
  auto said = llvm::MemoryBuffer::getFile(log.path);
  return emitError() << linker << " failed: " << words
                     << (said ? (*said)->getBuffer() : StringRef());
}
