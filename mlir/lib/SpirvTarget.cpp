// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What #xevm.target needs besides MLIR's passes, for any driver that takes SPIR-V.
#include "Compat.h"
#include "Dialect.h"
#include "GpuModules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/XeVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// A function of one number and result.
void declareOpenCL(gpu::GPUModuleOp module, Location where, StringRef name, Type type) {
  if (module.lookupSymbol(name))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  func::FuncOp::create(builder, where, name, builder.getFunctionType({type}, {type})).setPrivate();
}

/// Calls a function of one number and result for each element of an operation's operand.
Value callPerElement(OpBuilder &builder, Operation *op, StringRef name, Type element) {
  auto call = [&](Value operand) -> Value {
    return func::CallOp::create(builder, op->getLoc(), name, TypeRange(element), operand)
        .getResult(0);
  };
  Value operand = op->getOperand(0);
  auto type = dyn_cast<VectorType>(operand.getType());
  if (!type)
    return call(operand);
  Value result = ub::PoisonOp::create(builder, op->getLoc(), type);
  SmallVector<int64_t> ones(type.getShape().size(), 1);
  for (SmallVector<int64_t> position : StaticTileOffsetRange(type.getShape(), ones)) {
    Value one = vector::ExtractOp::create(builder, op->getLoc(), operand, position);
    result = vector::InsertOp::create(builder, op->getLoc(), call(one), result, position);
  }
  return result;
}

/// Calls OpenCL functions for which LLVM has no intrinsic, by the names that LLVM's SPIR-V backend
/// knows.
void callOpenCL(gpu::GPUModuleOp module) {
  static constexpr std::pair<StringLiteral, StringLiteral> functions[] = {
      {"math.erf", "_Z3erf"},     {"math.erfc", "_Z4erfc"},   {"math.cbrt", "_Z4cbrt"},
      {"math.asinh", "_Z5asinh"}, {"math.acosh", "_Z5acosh"}, {"math.atanh", "_Z5atanh"},
  };
  module.walk([&](Operation *op) {
    auto found = llvm::find_if(
        functions, [&](const auto &row) { return op->getName().getStringRef() == row.first; });
    if (found == std::end(functions))
      return;
    Type type = getElementTypeOrSelf(op->getResult(0));
    StringRef suffix = type.isF32() ? "f" : type.isF64() ? "d" : type.isF16() ? "Dh" : "";
    auto vector = dyn_cast<VectorType>(op->getResult(0).getType());
    if (suffix.empty() || (vector && vector.isScalable()))
      return;
    std::string name = (found->second + suffix).str();
    OpBuilder builder(op);
    declareOpenCL(module, op->getLoc(), name, type);
    op->replaceAllUsesWith(ValueRange(callPerElement(builder, op, name, type)));
    op->erase();
  });
}

/// OpenCL's function for a scalar, by the name that LLVM's SPIR-V backend knows; empty if it has
/// none.
std::string nameOpenCL(gpu::SubgroupReduceOp reduce) {
  StringRef what, suffix;
  Type type = reduce.getType();
  bool isFloat = isa<FloatType>(type), isSigned = false;
  switch (reduce.getOp()) {
  case gpu::AllReduceOperation::ADD:
    what = "add";
    break;
  case gpu::AllReduceOperation::MINSI:
  case gpu::AllReduceOperation::MAXSI:
    isSigned = true;
    [[fallthrough]];
  case gpu::AllReduceOperation::MINUI:
  case gpu::AllReduceOperation::MAXUI:
  case gpu::AllReduceOperation::MINNUMF:
  case gpu::AllReduceOperation::MAXNUMF:
    what = stringifyAllReduceOperation(reduce.getOp()).take_front(3);
    break;
  default:
    return "";
  }
  if (isFloat)
    suffix = type.isF32() ? "f" : type.isF64() ? "d" : type.isF16() ? "Dh" : "";
  else
    suffix = type.isInteger(32)   ? (isSigned ? "i" : "j")
             : type.isInteger(64) ? (isSigned ? "l" : "m")
                                  : "";
  return suffix.empty() ? "" : ("_Z20sub_group_reduce_" + what + suffix).str();
}

/// The driver knows how many lanes a subgroup has.
LogicalResult callReduction(gpu::GPUModuleOp module, gpu::SubgroupReduceOp reduce,
                            Attribute target) {
  std::string name = reduce.getClusterSize() ? "" : nameOpenCL(reduce);
  if (name.empty())
    return reduce.emitError("found a reduction by '")
           << stringifyAllReduceOperation(reduce.getOp()) << "' of " << reduce.getType()
           << (reduce.getClusterSize() ? " in clusters" : "") << " for " << target
           << ", expected a kernel with intel_reqd_sub_group_size, or add, min or max of a number "
              "of 32 or 64 bits or f16";
  OpBuilder builder(reduce);
  Type type = reduce.getType();
  declareOpenCL(module, reduce.getLoc(), name, type);
  auto call = func::CallOp::create(builder, reduce.getLoc(), name, TypeRange(type),
                                   ValueRange(reduce.getValue()));
  reduce->replaceAllUsesWith(call);
  reduce->erase();
  return success();
}

LogicalResult callReductions(gpu::GPUModuleOp module, Attribute target) {
  return failure(module
                     .walk([&](gpu::SubgroupReduceOp reduce) {
                       return WalkResult(callReduction(module, reduce, target));
                     })
                     .wasInterrupted());
}

/// Writes the size of subgroups that a kernel declares as this version of MLIR reads it. MLIR
/// ignores it in another form without a word.
void declareSubgroups(gpu::GPUModuleOp module) {
  for (auto function : module.getOps<gpu::GPUFuncOp>()) {
    for (StringRef name : {"intel_reqd_sub_group_size", "llvm.intel_reqd_sub_group_size"}) {
      if (Attribute size = function->removeDiscardableAttr(name))
        function->setDiscardableAttr(subgroupSizeAttr, size);
    }
  }
}

bool usesXeVM(gpu::GPUModuleOp module) {
  return module
      .walk([](Operation *op) {
        return WalkResult(success(!isa_and_nonnull<xevm::XeVMDialect>(op->getDialect())));
      })
      .wasInterrupted();
}

} // namespace

LogicalResult kdl::prepareForSpirv(gpu::GPUModuleOp module, Attribute target) {
  for (auto function : module.getOps<gpu::GPUFuncOp>()) {
    if (function.getNumPrivateAttributions() != 0)
      return function.emitError("found private memory, which has no lowering for ") << target;
  }
  WalkResult dynamic = module.walk([&](gpu::DynamicSharedMemoryOp memory) -> WalkResult {
    return memory.emitError("'") << memory->getName() << "' has no lowering for " << target;
  });
  if (dynamic.wasInterrupted())
    return failure();
  convertAttributionsToGlobals(module);
  callOpenCL(module);
  declareSubgroups(module);
  if (failed(lowerSubgroups(module, target)))
    return failure();
  return callReductions(module, target);
}

/// Refuses shuffles among other numbers of work-items than the kernel's subgroups have: SPIR-V has
/// none among some of them, and the device decides how many there are where the kernel does not.
LogicalResult kdl::checkShuffles(gpu::GPUModuleOp module, Attribute target) {
  return failure(
      module
          .walk([&](gpu::ShuffleOp shuffle) {
            auto function = shuffle->getParentOfType<gpu::GPUFuncOp>();
            auto size = function ? function->getAttrOfType<IntegerAttr>(subgroupSizeAttr) : nullptr;
            llvm::APInt width;
            bool isConstant = matchPattern(shuffle.getWidth(), m_ConstantInt(&width));
            if (size && isConstant && width.getZExtValue() == size.getValue().getZExtValue())
              return WalkResult::advance();
            InFlightDiagnostic error = shuffle.emitError("found a shuffle of ");
            if (isConstant)
              error << width.getZExtValue() << " work-items";
            else
              error << "a number of work-items that is not constant";
            error << " for " << target << ", expected ";
            if (size)
              error << size.getValue().getZExtValue() << ", the kernel's intel_reqd_sub_group_size";
            else
              error << "a kernel with intel_reqd_sub_group_size";
            return WalkResult::interrupt();
          })
          .wasInterrupted());
}

/// MLIR's serializer requires subgroups of 16 for the first kernel of a module, whatever the
/// kernels do, which excludes every device without them. It looks for the attribute that marks
/// kernels, which nothing else reads at this point: the calling convention makes a kernel. XeVM's
/// operations do need 16; other kernels may state their own requirement.
void kdl::demandSubgroups(gpu::GPUModuleOp lowered, gpu::GPUModuleOp source) {
  bool isXeVM = usesXeVM(source);
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>()) {
    bool isKernel = !!function->removeAttr(gpu::GPUDialect::getKernelFuncAttrName());
    if (isKernel && isXeVM && !function.getIntelReqdSubGroupSize())
      function.setIntelReqdSubGroupSize(16);
  }
}
