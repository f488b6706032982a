// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-data-tile: turns contractions on tensors into pack, mmt4d and unpack, in the tiles of the
// microkernel that will be linked.
#include "Attributes.h"
#include "Dialect.h"
#include "Passes.h"
#include "Transforms.h"
#include "ukernels/CpuCosts.h"
#include "ukernels/FuseElementwise.h"
#include "ukernels/Tiling.h"
#include "ukernels/UkernelLibrary.h"
#include "ukernels/UkernelSelection.h"
#include "ukernels/UnpackedContraction.h"
#include "ukernels/VectorTiles.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLDATATILE
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

//===----------------------------------------------------------------------===//
// Matching contractions
//===----------------------------------------------------------------------===//

bool isQuantized(linalg::LinalgOp op) {
  return isa<linalg::QuantizedMatmulOp, linalg::QuantizedBatchMatmulOp>(op.getOperation());
}

SmallVector<AffineMap> operandMaps(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return {maps[0], maps[1], maps.back()};
}

/// Why a contraction cannot be tiled; success if it can.
LogicalResult checkContraction(linalg::LinalgOp op, std::string &why) {
  SmallVector<AffineMap> maps = operandMaps(op);
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(maps);
  if (failed(dims) || dims->batch.size() > 1 || dims->m.size() > 1 || dims->n.size() > 1 ||
      dims->k.size() != 1 || (dims->m.empty() && dims->n.empty())) {
    why = "found more or fewer than one dimension of rows, columns and K";
    return failure();
  }
  if (dims->batch.size() + dims->m.size() + dims->n.size() + 1 != op.getNumLoops()) {
    why = "found an operand that is repeated along a dimension of the result, expected a broadcast "
          "before it";
    return failure();
  }
  if (!isQuantized(op) && !matchContractionBody(op)) {
    why = "found no sum of products in its body";
    return failure();
  }
  return success();
}

/// The operands of a contraction that can be tiled, each with two dimensions and maybe a batch.
class Operands {
public:
  Operands(OpBuilder &builder, linalg::LinalgOp op) : builder(builder), op(op) {}

  Product build();

private:
  Matrix matrix(Value value, AffineMap map, std::optional<unsigned> first,
                std::optional<unsigned> second, std::optional<unsigned> *added = nullptr);

  OpBuilder &builder;
  linalg::LinalgOp op;
  std::optional<unsigned> batch;
};

/// The operand with both dimensions: adds a missing one in front of the other.
Matrix Operands::matrix(Value value, AffineMap map, std::optional<unsigned> first,
                        std::optional<unsigned> second, std::optional<unsigned> *added) {
  auto place = [&](std::optional<unsigned> loop) -> std::optional<unsigned> {
    return loop ? map.getResultPosition(getAffineDimExpr(*loop, op.getContext())) : std::nullopt;
  };
  std::optional<unsigned> b = place(batch), x = place(first), y = place(second);
  if (!x || !y) {
    auto type = cast<RankedTensorType>(value.getType());
    unsigned there = x ? *x : *y;
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 0, at = 0; dim < type.getRank(); ++dim) {
      groups.push_back({at++});
      if (dim == there)
        groups.back().push_back(at++);
    }
    shape.insert(shape.begin() + there, 1);
    value = tensor::ExpandShapeOp::create(
        builder, op.getLoc(), RankedTensorType::get(shape, type.getElementType()), value, groups);
    if (b && *b > there)
      b = *b + 1;
    if (added)
      *added = there;
    bool hasFirst = x.has_value();
    x = hasFirst ? there + 1 : there;
    y = hasFirst ? there : there + 1;
  }
  return {value, b, *x, *y};
}

Product Operands::build() {
  SmallVector<AffineMap> maps = operandMaps(op);
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(maps);
  auto only = [](ArrayRef<unsigned> loops) {
    return loops.empty() ? std::nullopt : std::optional<unsigned>(loops[0]);
  };
  batch = only(dims->batch);
  std::optional<unsigned> m = only(dims->m), n = only(dims->n), k = only(dims->k);
  Product product;
  product.lhs = matrix(op->getOperand(0), maps[0], m, k);
  product.rhs = matrix(op->getOperand(1), maps[1], n, k);
  product.out = matrix(op->getOperand(op->getNumOperands() - 1), maps[2], m, n, &product.added);
  if (isQuantized(op)) {
    product.lhs.zero = op->getOperand(2);
    product.rhs.zero = op->getOperand(3);
  } else {
    ContractionBody body = *matchContractionBody(op);
    product.lhs.isUnsigned = body.lhsUnsigned;
    product.rhs.isUnsigned = body.rhsUnsigned;
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Whether tiles pay off
//===----------------------------------------------------------------------===//

/// Nothing is computed, and an empty tile is not a tensor that can be sliced.
bool isEmpty(linalg::LinalgOp op) {
  return llvm::any_of(op->getOperandTypes(), [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && llvm::is_contained(shaped.getShape(), 0);
  });
}

bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

/// Whether an elementwise operation before or after a product would be fused into its loops.
bool hasFusableNeighbour(linalg::LinalgOp op) {
  auto before = op->getOperand(0).getDefiningOp<linalg::GenericOp>();
  auto behind = dyn_cast_or_null<linalg::LinalgOp>(onlyUser(op->getResult(0)));
  return (before && onlyUser(op->getOperand(0)) && isElementwiseOn(before, nullptr)) ||
         (behind && isElementwiseOn(behind, op->getResult(0)));
}

/// Whether the value is invariant in a loop around the operation.
bool isSameInLoop(Operation *op, Value value) {
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>()) {
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
  }
  return false;
}

/// Whether elements of a batch are known to be so small that a call per element costs more than
/// packing all of them at once, or to have so few columns that most of a vector is padding.
bool isSmall(const UnpackedContraction &product, const CpuCosts &costs) {
  if (ShapedType::isDynamicShape({product.m, product.n, product.k}))
    return false;
  int64_t results = product.m * product.n, most = costs.smallProduct;
  return product.n <= mmaColumns / 2 || (results < most && results * product.k < most);
}

//===----------------------------------------------------------------------===//
// The pattern
//===----------------------------------------------------------------------===//

/// Whether the operation is a product of matrices that is not tiled.
bool isProduct(linalg::LinalgOp op) {
  bool isContraction =
      isQuantized(op) || (linalg::isaContractionOpInterface(op) &&
                          llvm::all_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>));
  return isContraction && op.hasPureTensorSemantics() && !matchMmt4d(op) && !isEmpty(op);
}

/// How a product will be computed.
struct Plan {
  MmaKind kind;
  int64_t rows, columns, steps; // of the largest tile
  int64_t vectorBytes = 0;      // without a microkernel
  std::string why = {};         // there is none
};

/// Decides whether and how products are tiled.
class Planner {
public:
  explicit Planner(DataTileOptions options)
      : options(std::move(options)), source{this->options.library, this->options.target} {}

  /// Fails with a reason. `isOwn` is whether the module's own microkernel is the reason.
  FailureOr<Plan> plan(linalg::LinalgOp op, std::string &why, bool &isOwn) const;

  bool leaves(linalg::LinalgOp op) const { return options.leavePlain && isUnprofitable(op); }
  CpuCosts costs(Operation *op) const { return getCpuCosts(op, source.target); }

private:
  bool isUnprofitable(linalg::LinalgOp op) const;
  bool isFasterInBlocks(linalg::LinalgOp op, const UnpackedContraction &product,
                        const CpuCosts &known) const;

  DataTileOptions options;
  UkernelSource source;
};

/// Whether the matmul library is faster even if it packs an operand at each call: it keeps tile
/// registers from one tile to the next, and stores them to the result itself.
bool Planner::isFasterInBlocks(linalg::LinalgOp op, const UnpackedContraction &product,
                               const CpuCosts &known) const {
  std::string why;
  if (ShapedType::isDynamic(product.m) || product.m < known.blockRows ||
      ShapedType::isDynamic(product.n) || product.n <= mmaColumns)
    return false;
  FailureOr<MmaUkernel> ukernel =
      findMmaUkernel(op->getParentOfType<ModuleOp>(), product.types, source, why);
  return succeeded(ukernel) && ukernel->fixesSteps;
}

/// Tiling does not pay off: no operand is packed at compile time or shared with other products,
/// and nothing is fused; or there are so few rows that packing costs more than multiplying. Tiles
/// support one batch dimension only.
bool Planner::isUnprofitable(linalg::LinalgOp op) const {
  std::string why;
  FailureOr<UnpackedContraction> product = matchUnpackedContraction(op, why);
  if (failed(product) ||
      failed(hasMatmulKernelFor(op->getParentOfType<ModuleOp>(), *product, source, why)))
    return false;
  if (product->batch.size() > 1)
    return true;
  CpuCosts known = costs(op);
  if (isFasterInBlocks(op, *product, known))
    return true;
  bool isNarrow = !ShapedType::isDynamic(product->m) && product->m <= known.fewRows;
  return !isConstant(op->getOperand(0)) && !isConstant(op->getOperand(1)) &&
         !isSameInLoop(op, op->getOperand(1)) && (isNarrow || !hasFusableNeighbour(op)) &&
         (product->batch.empty() || !isSmall(*product, known));
}

FailureOr<Plan> Planner::plan(linalg::LinalgOp op, std::string &why, bool &isOwn) const {
  auto module = op->getParentOfType<ModuleOp>();
  MmaProduct product = describeProduct(op);
  std::optional<MmaKind> kind = getMmaKind(product);
  isOwn = false;
  std::string noUkernel, noProduct;
  FailureOr<MmaUkernel> ukernel = findMmaUkernel(module, product, source, noUkernel);
  FailureOr<VectorTile> vectors = failure();
  bool hasUsualTypes = kind && isBuiltinUkernel(kind->ukernel);
  if (failed(ukernel)) {
    isOwn = kind && findOwnUkernel(module, kind->ukernel);
    why = noUkernel;
    if (!hasUsualTypes && !isOwn) {
      if (options.library.empty() && !module->hasAttr(providerAttr))
        why = explainTypes(product); // no library has them
      if (!options.noSilentFallback && !isQuantized(op))
        vectors = findVectorTile(product, source, noUkernel);
    }
    if (failed(vectors))
      return failure();
  }
  if (failed(checkContraction(op, noProduct))) {
    why = noProduct;
    return failure();
  }
  if (failed(ukernel))
    return Plan{{}, vectors->rows, vectors->columns, /*steps=*/1, vectors->vectorBytes, why};
  return Plan{ukernel->kind, ukernel->rows, ukernel->columns, ukernel->steps};
}

/// Whether a product may be transposed: the microkernel takes the types of both operands on either
/// side.
bool isSymmetric(const Product &product, const Plan &plan) {
  auto elementOf = [](const Matrix &matrix) {
    return getElementTypeOrSelf(matrix.value.getType());
  };
  return plan.vectorBytes || plan.kind.left == LhsForm::Unsigned ||
         (elementOf(product.lhs) == elementOf(product.rhs) &&
          product.lhs.isUnsigned == product.rhs.isUnsigned);
}

struct TileContraction : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  TileContraction(MLIRContext *context, const DataTileOptions &options)
      : OpInterfaceRewritePattern(context), planner(options) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op, PatternRewriter &rewriter) const override {
    if (!isProduct(op) || !op->getParentOfType<ModuleOp>())
      return rewriter.notifyMatchFailure(op, "not a product of matrices on tensors in a module");
    if (planner.leaves(op))
      return rewriter.notifyMatchFailure(op, "tiles would not make it faster");
    std::string why;
    bool isOwn;
    FailureOr<Plan> plan = planner.plan(op, why, isOwn);
    if (failed(plan))
      return rewriter.notifyMatchFailure(op, why);
    if (plan->vectorBytes)
      op.emitRemark("has no microkernel, and becomes vector code: ") << plan->why;
    Product product = Operands(rewriter, op).build();
    CpuCosts costs = planner.costs(op);
    if (isSymmetric(product, *plan) &&
        isFasterTransposed(costs, product.rows(), product.columns(), product.steps(), plan->rows,
                           plan->columns)) {
      std::swap(product.lhs, product.rhs);
      std::swap(product.out.first, product.out.second);
    }
    int64_t rows = divideRows(product.rows(), plan->rows);
    int64_t columns =
        divideColumns(costs, product.rows(), product.columns(), plan->rows, plan->columns);
    auto layout =
        MmaLayoutAttr::get(op.getContext(), plan->kind.ukernel, rows, columns / mmaColumns,
                           plan->steps, plan->kind.values, plan->vectorBytes);
    rewriter.replaceOp(op, buildTiles(rewriter, op.getLoc(), product, layout, plan->kind.left));
    return success();
  }

private:
  Planner planner;
};

/// PyTorch stores weights transposed, and products of them begin with a transposition: it is done
/// now, so that the operand is a constant.
struct TransposeConstant : public OpRewritePattern<linalg::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::TransposeOp op, PatternRewriter &rewriter) const override {
    ElementsAttr constant;
    auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
    if (!type || !matchPattern(op.getInput(), m_Constant(&constant)))
      return rewriter.notifyMatchFailure(op, "not of a constant");
    SmallVector<PackedDim> dims;
    for (int64_t dim : op.getPermutation())
      dims.push_back({type.getDimSize(static_cast<unsigned>(dim)), static_cast<unsigned>(dim), 1});
    DenseElementsAttr made = packConstant(constant, dims, /*flip=*/0);
    if (!made)
      return rewriter.notifyMatchFailure(op, "its bytes are not here");
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, made);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct DataTile : public kdl::impl::KdlDataTileBase<DataTile> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    options = {library.getValue(), target.getValue(), leavePlain, noSilentFallback};
    RewritePatternSet set(context);
    populateDataTilePatterns(set, options);
    patterns = std::move(set);
    return checkUkernelSource(context, getArgument(), {library.getValue(), target.getValue()});
  }

  void runOnOperation() override {
    if (failed(checkProvider(getOperation())))
      return signalPassFailure();
    getOperation()->setAttr(forTargetAttr, UnitAttr::get(&getContext()));
    walkAndApplyPatterns(getOperation(), patterns);
    reportOthers();
    SmallVector<linalg::LinalgOp> products;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (matchMmt4d(op))
        products.push_back(op);
    });
    for (linalg::LinalgOp op : products)
      propagateTiles(op);
  }

private:
  /// Products that stay, with the reason.
  void reportOthers() {
    Planner planner(options);
    getOperation().walk([&](linalg::LinalgOp op) {
      std::string why;
      bool isOwn = false;
      // Those with a plan are left, too: asking for the plan takes less time.
      if (!isProduct(op) || succeeded(planner.plan(op, why, isOwn)) || planner.leaves(op))
        return;
      if (noSilentFallback || isOwn) {
        op.emitError(op->getName().getStringRef())
            << (isOwn ? ": the module's own microkernel: " : " has no microkernel: ") << why;
        return signalPassFailure();
      }
      op.emitRemark("stays ") << op->getName().getStringRef() << ": " << why;
      if (leavePlain)
        op->setAttr(noUkernelAttr, UnitAttr::get(&getContext()));
    });
  }

  DataTileOptions options;
  FrozenRewritePatternSet patterns;
};

} // namespace

void kdl::populateDataTilePatterns(RewritePatternSet &patterns, const DataTileOptions &options) {
  patterns.add<TransposeConstant>(patterns.getContext());
  patterns.add<TileContraction>(patterns.getContext(), options);
}
