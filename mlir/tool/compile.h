// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of kdl-mlir compile.
#ifndef KDL_MLIR_TOOL_COMPILE_H
#define KDL_MLIR_TOOL_COMPILE_H

#include "mlir/tool/cpu_target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace mlir::kdl {

int runCompile(int argc, char **argv, void (*registerDialects)(DialectRegistry &));

//===----------------------------------------------------------------------===//
// What a model is for its callers
//===----------------------------------------------------------------------===//

/// A tensor or a number that a function takes or returns.
struct ModelValue {
  std::string type; ///< as in MLIR: f32, ui8, index
  bool isTensor = false;
  SmallVector<int64_t> shape = {}; ///< -1: known when the function is called
};

struct ModelFunction {
  std::string name, symbol;
  SmallVector<ModelValue> arguments, results;

  bool hasResultStruct() const { return results.size() > 1; }
};

struct Model {
  std::string target;
  std::vector<ModelFunction> functions;
};

/// The public functions of a module, which become those of the shared object. Reports what C cannot
/// call as errors.
FailureOr<Model> readModel(ModuleOp module);

/// The JSON that the shared object has as `kdl_model`.
std::string describeModel(const Model &model);

/// The C header of `library`, a file name.
std::string writeHeader(const Model &model, StringRef library);

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Tells what the command does: on a terminal while it does it, with `--verbose` how long it took.
class Steps {
public:
  explicit Steps(bool isVerbose);
  ~Steps();
  Steps(const Steps &) = delete;
  Steps &operator=(const Steps &) = delete;
  void begin(StringRef what);
  void end();

private:
  struct Time {
    double wall, cpu;
  };
  static Time now();

  bool isVerbose, isOnTerminal;
  std::string current;
  Time begun{};
};

//===----------------------------------------------------------------------===//
// What became of each operation
//===----------------------------------------------------------------------===//

/// Watches the passes. Operations keep their number in their location.
class Report {
public:
  explicit Report(ModuleOp module);
  ~Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  void watch(PassManager &passes);
  std::string text() const;

  struct Operations;

private:
  std::unique_ptr<Operations> operations;
  MLIRContext *context;
  DiagnosticEngine::HandlerID handler;
};

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Compiles a module of the LLVM dialect and links a shared object with the model's functions.
LogicalResult buildShared(ModuleOp module, const Model &model, const cpu_target *target,
                          StringRef linker, StringRef name, StringRef output, Steps &steps);

} // namespace mlir::kdl

#endif
