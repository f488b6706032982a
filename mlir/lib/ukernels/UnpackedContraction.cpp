// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/UnpackedContraction.h"

#include "ukernels/MatmulImages.h"
#include "ukernels/UkernelLibrary.h"
#include "ukernels/UkernelLink.h"

using namespace mlir;
using namespace mlir::kdl;

FailureOr<UnpackedContraction> kdl::matchUnpackedContraction(linalg::LinalgOp op,
                                                             std::string &why) {
  struct Name {
    StringLiteral ukernel, suffix;
    kdl_matmul_type type;
  };
  static constexpr Name names[] = {
      {"kdl_uk_mma_f32_bf16", "f32_bf16", KDL_MATMUL_F32_BF16},
      {"kdl_uk_mma_s32_u8s8", "s32_s8", KDL_MATMUL_S32_S8},
      {"kdl_uk_mma_f32_f32", "f32_f32", KDL_MATMUL_F32_F32},
      {"kdl_uk_mma_f32_f16", "f32_f16", KDL_MATMUL_F32_F16},
  };
  auto refuse = [&](const Twine &words) {
    why = words.str();
    return failure();
  };
  if (!linalg::isaContractionOpInterface(op) || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>))
    return refuse("found no product of two matrices");
  for (Type type : op->getOperandTypes()) {
    if (llvm::is_contained(cast<ShapedType>(type).getShape(), 0))
      return refuse("found sizes that are 0, expected others");
  }
  std::optional<MmaKind> kind = getMmaKind(describeProduct(op));
  std::optional<ContractionBody> body = matchContractionBody(op);
  if (!kind || !isBuiltinUkernel(kind->ukernel) || !body || body->lhsUnsigned || body->rhsUnsigned)
    return refuse("found other elements than bf16, f16 or f32 to f32, or signed i8 to i32");
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(maps);
  if (failed(dims) || dims->m.size() > 1 || dims->n.size() > 1 || dims->k.size() != 1)
    return refuse("found more than one dimension of rows, columns or K");
  if (!dims->batch.empty() && dims->m.empty() && dims->n.empty())
    return refuse("found a batch of products of vectors, expected rows or columns");
  if (dims->batch.size() + dims->m.size() + dims->n.size() + 1 != op.getNumLoops())
    return refuse("found an operand that is repeated along a dimension of the result");
  auto only = [](ArrayRef<unsigned> loops) {
    return loops.empty() ? std::nullopt : std::optional(loops[0]);
  };
  std::optional<unsigned> m = only(dims->m), n = only(dims->n), k = only(dims->k);
  auto place = [&](unsigned operand, std::optional<unsigned> loop) -> std::optional<unsigned> {
    return loop ? maps[operand].getResultPosition(getAffineDimExpr(*loop, op.getContext()))
                : std::nullopt;
  };
  auto matrix = [&](unsigned operand, std::optional<unsigned> row, std::optional<unsigned> column) {
    UnpackedMatrix made{place(operand, row), place(operand, column), {}};
    for (unsigned loop : dims->batch)
      made.batch.push_back(*place(operand, loop));
    return made;
  };
  constexpr int64_t most = KDL_MATMUL_MAX_SIZE;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto size = [&](std::optional<unsigned> loop) { return loop ? ranges[*loop] : 1; };
  if (size(m) > most || size(n) > most || size(k) > most)
    return refuse("found more than " + Twine(most) + " rows, columns or steps of K");
  SmallVector<int64_t> batch =
      llvm::map_to_vector(dims->batch, [&](unsigned loop) { return ranges[loop]; });
  const Name *name =
      llvm::find_if(names, [&](const Name &each) { return each.ukernel == kind->ukernel; });
  return UnpackedContraction{describeProduct(op),
                             *kind,
                             name->type,
                             name->suffix,
                             matrix(0, m, k),
                             matrix(1, k, n),
                             matrix(2, m, n),
                             size(m),
                             size(n),
                             size(k),
                             batch};
}

LogicalResult kdl::hasMatmulKernelFor(ModuleOp module, const UnpackedContraction &product,
                                      const UkernelSource &source, std::string &why) {
  FailureOr<MmaUkernel> ukernel = findMmaUkernel(module, product.types, source, why);
  if (failed(ukernel))
    return failure();
  if (ukernel->kind.ukernel != product.kind.ukernel) {
    why = "found " + ukernel->kind.ukernel + ", expected " + product.kind.ukernel +
          ", which the matmul library calls";
    return failure();
  }
  if (ukernel->fixesSteps) {
    // It is called per block of C, and has a function for that.
    if (findOwnUkernel(module, product.kind.ukernel)) {
      why =
          "found a microkernel of the module's own that takes 16 steps at a time, which is called "
          "for tiles alone";
      return failure();
    }
    std::string block = ("kdl_uk_mma_" + product.suffix + "_block").str();
    if (!definesFunction(ukernel->bitcode, block)) {
      why = "found a microkernel that takes 16 steps at a time without a function " + block;
      return failure();
    }
  }
  std::string name = ("kdl_matmul_" + product.suffix).str();
  FailureOr<std::string> bitcode = findMatmulKernels(name, source.cpu(), why);
  if (failed(bitcode))
    return failure();
  std::string dynamic = name + "_dynamic_part";
  if (product.isStatic() || definesFunction(*bitcode, dynamic))
    return success();
  why = "found sizes that are not known, and no function " + dynamic;
  return failure();
}
