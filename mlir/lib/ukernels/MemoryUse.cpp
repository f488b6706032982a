// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/MemoryUse.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kdl;

Value kdl::getMemrefRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

static bool isAllocated(Value root) {
  return isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(root.getDefiningOp());
}

static bool isParameter(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  return argument && argument.getOwner()->isEntryBlock() &&
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

bool kdl::mayAlias(Value one, Value other) {
  Value a = getMemrefRoot(one), b = getMemrefRoot(other);
  if (a == b)
    return true;
  auto first = a.getDefiningOp<memref::GetGlobalOp>(),
       second = b.getDefiningOp<memref::GetGlobalOp>();
  if (first && second)
    return first.getName() == second.getName();
  auto isOther = [](Value root) {
    return isAllocated(root) || root.getDefiningOp<memref::GetGlobalOp>() || isParameter(root);
  };
  return !(isAllocated(a) && isOther(b)) && !(isAllocated(b) && isOther(a));
}

/// linalg lists operands only; the body of an operation may use other memory.
static bool hasOtherUses(Operation *op) {
  auto found = op->walk([](linalg::LinalgOp inside) {
    Block *body = inside.getBlock();
    bool isPure = !body || llvm::all_of(*body, [](Operation &each) {
      return each.hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(&each);
    });
    return isPure ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found.wasInterrupted();
}

std::optional<MemoryUses> kdl::getMemoryUses(Operation *op) {
  if (hasOtherUses(op))
    return std::nullopt;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  if (!effects)
    return std::nullopt;
  MemoryUses uses;
  for (const MemoryEffects::EffectInstance &effect : *effects) {
    if (isa<MemoryEffects::Allocate>(effect.getEffect()))
      continue;
    if (!effect.getValue() || !isa<BaseMemRefType>(effect.getValue().getType()))
      return std::nullopt;
    uses.push_back({effect.getValue(), !isa<MemoryEffects::Read>(effect.getEffect())});
  }
  return uses;
}

bool kdl::mayConflict(const MemoryUses &one, const MemoryUses &other) {
  return llvm::any_of(one, [&](const MemoryUse &a) {
    return llvm::any_of(other, [&](const MemoryUse &b) {
      return (a.writes || b.writes) && mayAlias(a.memref, b.memref);
    });
  });
}
