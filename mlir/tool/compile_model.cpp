// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a model, and their description in JSON.
#include "compile.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

bool hasCType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<IndexType, Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

/// C passes _Float16 in a register of its own, and not all compilers have that type.
bool isNumber(Type type) {
  return hasCType(type) && !isa<Float16Type, BFloat16Type>(type);
}

FailureOr<ModelValue> readValue(func::FuncOp function, Type type, const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor ? !hasCType(tensor.getElementType()) || tensor.getEncoding() : !isNumber(type))
    return function.emitError() << "'" << function.getName() << "': found " << type << " as "
                                << what.str()
                                << ", expected a ranked tensor of f16, bf16, f32, f64, index or "
                                   "integers of 1, 8, 16, 32 or 64 bits, or such a number, but "
                                   "not of f16 or bf16";
  ModelValue value;
  llvm::raw_string_ostream(value.type) << (tensor ? tensor.getElementType() : type);
  value.isTensor = static_cast<bool>(tensor);
  for (int64_t size : tensor ? tensor.getShape() : ArrayRef<int64_t>())
    value.shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return value;
}

LogicalResult readValues(func::FuncOp function, ArrayRef<Type> types, StringRef what,
                         SmallVectorImpl<ModelValue> &values) {
  for (auto [i, type] : llvm::enumerate(types)) {
    FailureOr<ModelValue> value = readValue(function, type, what + " " + Twine(i));
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return success();
}

void writeValues(llvm::json::OStream &out, StringRef key, ArrayRef<ModelValue> values) {
  out.attributeArray(key, [&] {
    for (const ModelValue &value : values) {
      out.object([&] {
        out.attribute("type", value.type);
        if (value.isTensor)
          out.attributeArray("shape", [&] {
            for (int64_t size : value.shape)
              out.value(size);
          });
      });
    }
  });
}

} // namespace

FailureOr<Model> kdl::readModel(ModuleOp module) {
  Model model;
  StringRef wrapper = LLVM::LLVMDialect::getEmitCWrapperAttrName();
  for (auto function : module.getOps<func::FuncOp>()) {
    function->removeAttr(wrapper);
    if (!function.isPublic() || function.isDeclaration())
      continue;
    ModelFunction made;
    made.name = function.getName().str();
    made.symbol = "_mlir_ciface_" + made.name;
    if (failed(readValues(function, function.getArgumentTypes(), "argument", made.arguments)) ||
        failed(readValues(function, function.getResultTypes(), "result", made.results)))
      return failure();
    function->setAttr(wrapper, UnitAttr::get(module.getContext()));
    model.functions.push_back(std::move(made));
  }
  if (model.functions.empty())
    return module.emitError("found no public function, expected a func.func on tensors");
  return model;
}

std::string kdl::describeModel(const Model &model) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream);
  out.object([&] {
    out.attribute("format", 1);
    out.attribute("target", model.target);
    out.attributeArray("functions", [&] {
      for (const ModelFunction &function : model.functions) {
        out.object([&] {
          out.attribute("name", function.name);
          out.attribute("symbol", function.symbol);
          writeValues(out, "arguments", function.arguments);
          writeValues(out, "results", function.results);
        });
      }
    });
  });
  return text;
}
