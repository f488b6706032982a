// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `#kdl.mma_layout`: what it may say, and of which operands.
#include "Dialect.h"
#include "ukernels/Contraction.h"
#include "ukernels/VectorTiles.h"

using namespace mlir;
using namespace mlir::kdl;

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult MmaLayoutAttr::verify(EmitError emitError, StringRef ukernel, int64_t intrinsicsM,
                                    int64_t intrinsicsN, int64_t intrinsicsK, int64_t values,
                                    int64_t vectorBytes) {
  constexpr int64_t most = 1 << 16;
  struct Size {
    StringLiteral name;
    int64_t value;
  };
  for (Size size : {Size{"intrinsics_m", intrinsicsM}, Size{"intrinsics_n", intrinsicsN},
                    Size{"intrinsics_k", intrinsicsK}, Size{"values", values}}) {
    if (size.value < 1 || size.value > most)
      return emitError() << "found " << size.name << " = " << size.value << ", expected 1 to "
                         << most;
  }
  if (vectorBytes != 0 &&
      (vectorBytes < 16 || !llvm::isPowerOf2_64(static_cast<uint64_t>(vectorBytes))))
    return emitError() << "found vector_bytes = " << vectorBytes
                       << ", expected 16 or a larger power of two";
  if (ukernel.empty() != (vectorBytes > 0))
    return emitError() << "found " << (ukernel.empty() ? "neither" : "both")
                       << " ukernel and vector_bytes, expected one of them";
  if (ukernel.empty() && (values != 1 || intrinsicsK != 1))
    return emitError()
           << "found vector_bytes with words of several elements or steps, expected one "
              "of each";
  return success();
}

LogicalResult MmaLayoutAttr::verifyOperands(EmitError emitError, Operation *op) const {
  auto product = cast<linalg::LinalgOp>(op);
  if (product.getNumDpsInputs() != 2 || product.getNumDpsInits() != 1 ||
      !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>))
    return emitError() << "found other operands than two matrices and their product in tiles";
  SmallVector<int64_t> lhs{getRows(), getValues()}, rhs{getPanelColumns(), getValues()},
      acc{getRows(), getPanelColumns()};
  if (hasStepBlocks()) {
    lhs.insert(lhs.begin() + 1, getIntrinsicsK());
    rhs.insert(rhs.begin(), getIntrinsicsK());
  }
  size_t number = 0;
  for (ArrayRef<int64_t> wanted : {ArrayRef(lhs), ArrayRef(rhs), ArrayRef(acc)}) {
    auto type = cast<ShapedType>(op->getOperand(static_cast<unsigned>(number)).getType());
    if (!type.hasRank() || static_cast<size_t>(type.getRank()) < wanted.size() + 2 ||
        type.getShape().take_back(wanted.size()) != wanted) {
      InFlightDiagnostic error = emitError();
      error << "found operand " << number << " of type " << type << ", expected tiles of ";
      llvm::interleave(wanted, error, "x");
      return error;
    }
    ++number;
  }
  if (!hasMmt4dLoops(product))
    return emitError() << "found other loops than those of linalg.mmt4d";
  MmaProduct types = describeProduct(product);
  if (getVectorBytes() && !canBeVectors(types))
    return emitError() << "found vector_bytes for " << types.lhs << " and " << types.rhs << " to "
                       << types.acc << ", expected operands that vectors extend to the last";
  if (getVectorBytes() && !isWholeVectors(types.acc, getPanelColumns(), getVectorBytes()))
    return emitError() << "found " << getPanelColumns() << " columns, expected whole vectors of "
                       << getVectorBytes() << " bytes";
  return success();
}
