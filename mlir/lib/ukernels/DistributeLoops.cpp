// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kdl-distribute-loops: divides the remaining linalg operations on memrefs among threads, along
// their outermost loops. Consecutive operations over the same rows are divided together, with one
// join of threads.
#include "HostFunctions.h"
#include "Passes.h"
#include "ukernels/Contraction.h"
#include "ukernels/CpuCosts.h"
#include "ukernels/MemoryUse.h"
#include "ukernels/Relayout.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/TilingInterface.h"

#include <vector>

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLDISTRIBUTELOOPS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr int64_t lineElements = 16;

/// How an operation accesses one of its operands.
struct Access {
  Value memref;
  AffineMap map;
  bool reads, writes;
};

/// An operation whose outermost loops can be divided.
struct Member {
  Operation *op;
  SmallVector<int64_t> sizes; // of these loops
  SmallVector<Access> accesses;
  int64_t work; // in operations on an element

  MemoryUses uses() const {
    MemoryUses made;
    for (const Access &access : accesses)
      made.push_back({access.memref, access.writes});
    return made;
  }
};

/// Operations that are divided together: each part runs them in their order.
struct Group {
  SmallVector<Member> members;
  SmallVector<int64_t> sizes; // of the loops that all members have
  MemoryUses uses;
};

//===----------------------------------------------------------------------===//
// Single operations
//===----------------------------------------------------------------------===//

/// Whether different elements have different addresses.
bool isInjective(MemRefType type) {
  if (type.getLayout().isIdentity())
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamicShape(strides) ||
      !type.hasStaticShape())
    return false;
  SmallVector<std::pair<int64_t, int64_t>> dims; // stride, size
  for (auto [stride, size] : llvm::zip_equal(strides, type.getShape())) {
    if (size != 1)
      dims.push_back({stride, size});
  }
  llvm::sort(dims);
  int64_t end = 1; // end of the last element of the dimensions so far
  for (auto [stride, size] : dims) {
    if (stride < end)
      return false;
    end += (size - 1) * stride;
  }
  return true;
}

/// Whether no two written elements are the same, and none is read elsewhere.
bool isSafe(ArrayRef<Access> accesses) {
  for (const Access &written : accesses) {
    if (!written.writes)
      continue;
    auto type = dyn_cast<MemRefType>(written.memref.getType());
    if (!type || !written.map.isProjectedPermutation() || !isInjective(type))
      return false;
    for (const Access &other : accesses) {
      if (&other == &written || getMemrefRoot(other.memref) != getMemrefRoot(written.memref))
        continue;
      if (other.writes || other.memref != written.memref || other.map != written.map)
        return false;
    }
  }
  return true;
}

/// An estimate for vectorised code: functions and divisions take longer.
int64_t workOf(Operation &op, const CpuCosts &costs) {
  if (isa<math::MathDialect>(op.getDialect()))
    return costs.functionCost;
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
          arith::RemUIOp>(op))
    return costs.divisionCost;
  return 1;
}

std::optional<Member> describeOp(linalg::LinalgOp op, const CpuCosts &costs) {
  if (!op.hasPureBufferSemantics() || matchMmt4d(op))
    return std::nullopt;
  Member member{op, {}, {}, 1};
  for (OpOperand &operand : op->getOpOperands()) {
    if (isa<MemRefType>(operand.get().getType()))
      member.accesses.push_back({operand.get(), op.getMatchingIndexingMap(&operand),
                                 op.payloadUsesValueFromOperand(&operand), op.isDpsInit(&operand)});
  }
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (auto [loop, size] : llvm::enumerate(ranges)) {
    auto isIn = [&, at = static_cast<unsigned>(loop)](const Access &access) {
      return !access.writes || access.map.isFunctionOfDim(at);
    };
    if (kinds[loop] != utils::IteratorType::parallel || ShapedType::isDynamic(size) ||
        !llvm::all_of(member.accesses, isIn))
      break;
    member.sizes.push_back(size);
  }
  int64_t each = static_cast<int64_t>(member.accesses.size());
  for (Operation &inside : op.getBlock()->without_terminator())
    each += workOf(inside, costs);
  constexpr int64_t unknown = 64, most = int64_t(1) << 40;
  member.work = each;
  for (int64_t size : ranges)
    member.work = std::min(most, member.work * (ShapedType::isDynamic(size) ? unknown : size));
  return member;
}

std::optional<Member> describeOp(memref::CopyOp op) {
  auto type = dyn_cast<MemRefType>(op.getTarget().getType());
  if (!type || !isa<MemRefType>(op.getSource().getType()) || !type.hasStaticShape())
    return std::nullopt;
  auto map = AffineMap::getMultiDimIdentityMap(static_cast<unsigned>(type.getShape().size()),
                                               op.getContext());
  return Member{op,
                SmallVector<int64_t>(type.getShape()),
                {{op.getSource(), map, true, false}, {op.getTarget(), map, false, true}},
                2 * type.getNumElements()};
}

std::optional<Member> describeOp(Operation *op, const CpuCosts &costs) {
  std::optional<Member> member;
  if (auto generic = dyn_cast<linalg::LinalgOp>(op))
    member = describeOp(generic, costs);
  else if (auto copy = dyn_cast<memref::CopyOp>(op))
    member = describeOp(copy);
  if (!member || !getMemoryUses(op) || !isSafe(member->accesses))
    return std::nullopt;
  return member;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// How many of the outermost loops divide two accesses in the same way, so that a part of one only
/// meets the same part of the other.
size_t loopsAlike(const Access &one, const Access &other, size_t most) {
  if ((!one.writes && !other.writes) || !mayAlias(one.memref, other.memref))
    return most;
  if (one.memref != other.memref)
    return 0;
  for (size_t loop = 0; loop < most; ++loop) {
    AffineExpr dim = getAffineDimExpr(static_cast<unsigned>(loop), one.map.getContext());
    std::optional<unsigned> place = one.map.getResultPosition(dim);
    if (!place || other.map.getResultPosition(dim) != place)
      return loop;
  }
  return most;
}

/// The parts that loops can be divided into, up to a limit.
int64_t partsOf(ArrayRef<int64_t> sizes, int64_t most) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product = std::min(most, product * size);
  return product;
}

/// The loops of a group with one more member; none if it cannot be a member.
SmallVector<int64_t> sizesWith(const Group &group, const Member &member, int64_t most) {
  size_t alike = 0;
  while (alike < std::min(group.sizes.size(), member.sizes.size()) &&
         group.sizes[alike] == member.sizes[alike])
    ++alike;
  for (const Member &before : group.members) {
    for (const Access &one : before.accesses) {
      for (const Access &other : member.accesses)
        alike = loopsAlike(one, other, alike);
    }
  }
  ArrayRef<int64_t> sizes = ArrayRef(member.sizes).take_front(alike);
  int64_t parts = partsOf(sizes, most);
  bool isDivided =
      parts >= std::min(partsOf(group.sizes, most), partsOf(member.sizes, most)) && parts > 1;
  return isDivided ? SmallVector<int64_t>(sizes) : SmallVector<int64_t>();
}

/// Groups of a block whose members can all be moved to the position of the last one.
std::vector<Group> findGroups(Block &block, const CpuCosts &costs) {
  std::vector<Group> open, closed;
  auto closeIf = [&](function_ref<bool(const Group &)> isOver) {
    for (size_t i = open.size(); i-- > 0;) {
      if (!isOver(open[i]))
        continue;
      closed.push_back(std::move(open[i]));
      open.erase(open.begin() + static_cast<ptrdiff_t>(i));
    }
  };
  for (Operation &op : block) {
    std::optional<Member> member = describeOp(&op, costs);
    std::optional<MemoryUses> uses = member ? member->uses() : getMemoryUses(&op);
    if (!uses) {
      closeIf([](const Group &) { return true; });
      continue;
    }
    Group joined;
    if (member) {
      joined.sizes = member->sizes;
      for (size_t i = open.size(); i-- > 0;) {
        SmallVector<int64_t> sizes = sizesWith(open[i], *member, costs.blocks);
        if (sizes.empty())
          continue;
        joined = std::move(open[i]);
        joined.sizes = sizes;
        open.erase(open.begin() + static_cast<ptrdiff_t>(i));
        break;
      }
    }
    closeIf([&](const Group &group) { return mayConflict(group.uses, *uses); });
    if (!member)
      continue;
    llvm::append_range(joined.uses, *uses);
    joined.members.push_back(std::move(*member));
    open.push_back(std::move(joined));
  }
  closeIf([](const Group &) { return true; });
  return closed;
}

//===----------------------------------------------------------------------===//
// The loop over parts
//===----------------------------------------------------------------------===//

/// The dimensions of a memref that belong to the outermost loops, for as many as there are steps.
SmallVector<unsigned> dimensionsOf(const Access &access, size_t loops) {
  SmallVector<unsigned> places;
  for (size_t loop = 0; loop < loops; ++loop) {
    AffineExpr dim = getAffineDimExpr(static_cast<unsigned>(loop), access.map.getContext());
    places.push_back(*access.map.getResultPosition(dim));
  }
  return places;
}

class LoopDistribution {
public:
  LoopDistribution(const Group &group, int64_t mostParts)
      : group(group), mostParts(mostParts), builder(group.members.back().op),
        where(group.members.back().op->getLoc()) {}

  void build();

private:
  void findTemporaries();
  void planParts();
  void makePrivate(const Access &access);
  void divide(const Member &member);

  const Group &group;
  int64_t mostParts;
  OpBuilder builder;
  Location where;
  SmallVector<int64_t> steps; // iterations of each loop per part
  SmallVector<OpFoldResult> at, count;
  SmallVector<Access> temporaries; // memory that no other operation uses, at its first write
  IRMapping own;                   // replaces a temporary by memory of the part
};

/// Memory that each part writes before it reads it, and that is used nowhere else.
void LoopDistribution::findTemporaries() {
  llvm::SmallPtrSet<Operation *, 8> members;
  for (const Member &member : group.members)
    members.insert(member.op);
  llvm::SmallPtrSet<Value, 8> met;
  for (const Member &member : group.members) {
    for (const Access &access : member.accesses) {
      auto isRead = [&](const Access &other) {
        return other.memref == access.memref && other.reads;
      };
      Operation *from = access.memref.getDefiningOp();
      if (!met.insert(access.memref).second || !access.writes ||
          llvm::any_of(member.accesses, isRead) ||
          !isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(from) ||
          !cast<MemRefType>(access.memref.getType()).hasStaticShape())
        continue;
      if (llvm::all_of(from->getUsers(), [&](Operation *user) {
            return members.contains(user) || isa<memref::DeallocOp>(user);
          }))
        temporaries.push_back(access);
    }
  }
}

/// The wanted number of parts, of equal size if possible.
void LoopDistribution::planParts() {
  int64_t wanted = mostParts;
  for (auto [loop, size] : llvm::enumerate(group.sizes)) {
    if (wanted <= 1)
      break;
    int64_t most = std::min(size, wanted), count = most;
    while (size % count != 0 && 2 * count > most)
      --count;
    int64_t step = llvm::divideCeilSigned(size, size % count == 0 ? count : most);
    // Threads must not write to the same cache line.
    AffineExpr dim = getAffineDimExpr(static_cast<unsigned>(loop), builder.getContext());
    auto isBeside = [&](const Access &access) {
      return access.writes && access.map.getResults().back() == dim &&
             llvm::none_of(temporaries,
                           [&](const Access &each) { return each.memref == access.memref; });
    };
    if (llvm::any_of(group.members,
                     [&](const Member &member) { return llvm::any_of(member.accesses, isBeside); }))
      step = std::min(size, llvm::divideCeilSigned(step, lineElements) * lineElements);
    steps.push_back(step);
    wanted = llvm::divideCeilSigned(wanted, llvm::divideCeilSigned(size, step));
  }
}

/// On the stack if it is small: LLVM then still sees that nothing else uses it.
void LoopDistribution::makePrivate(const Access &access) {
  constexpr int64_t mostBytes = 16384; // as elsewhere in the pipeline
  auto type = cast<MemRefType>(access.memref.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (auto [place, step] : llvm::zip_equal(dimensionsOf(access, steps.size()), steps))
    shape[place] = step;
  auto partType = MemRefType::get(shape, type.getElementType());
  if (!type.getLayout().isIdentity() || type.getMemorySpace() ||
      !type.getElementType().isIntOrFloat() ||
      partType.getNumElements() * type.getElementTypeBitWidth() > 8 * mostBytes)
    return;
  Value made = memref::AllocaOp::create(builder, where, partType, builder.getI64IntegerAttr(64));
  own.map(access.memref, made);
}

void LoopDistribution::divide(const Member &member) {
  Operation *op = member.op;
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    op = linalg::CopyOp::create(builder, copy.getLoc(), copy.getSource(), copy.getTarget());
  auto tiling = cast<TilingInterface>(op);
  SmallVector<OpFoldResult> offsets, sizes;
  for (auto [loop, range] : llvm::enumerate(tiling.getIterationDomain(builder))) {
    bool isDivided = loop < steps.size();
    offsets.push_back(isDivided ? at[loop] : range.offset);
    sizes.push_back(isDivided ? count[loop] : range.size);
  }
  FailureOr<TilingResult> made = tiling.getTiledImplementation(builder, offsets, sizes);
  assert(succeeded(made) && "linalg's operations can be tiled");
  for (OpOperand &operand : made->tiledOps.front()->getOpOperands()) {
    auto part = operand.get().getDefiningOp<memref::SubViewOp>();
    Value whole = op->getOperand(operand.getOperandNumber());
    Value mine = own.lookupOrNull(whole);
    if (!mine)
      continue;
    if (!part) { // a single part: all of it
      operand.set(mine);
      continue;
    }
    // The last part may be smaller.
    SmallVector<OpFoldResult> zeros(part.getMixedOffsets().size(), builder.getIndexAttr(0));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(part);
    operand.set(memref::SubViewOp::create(builder, where, mine, zeros, part.getMixedSizes(),
                                          part.getMixedStrides()));
    if (part->use_empty())
      part->erase();
  }
  if (op != member.op)
    op->erase();
}

void LoopDistribution::build() {
  findTemporaries();
  planParts();
  SmallVector<OpFoldResult> counts;
  for (auto [size, step] : llvm::zip(group.sizes, steps))
    counts.push_back(builder.getIndexAttr(llvm::divideCeilSigned(size, step)));
  auto forall = scf::ForallOp::create(builder, where, counts, ValueRange(), std::nullopt);
  builder.setInsertionPointToStart(forall.getBody());
  for (auto [i, step] : llvm::enumerate(steps)) {
    AffineExpr from = builder.getAffineSymbolExpr(0) * step;
    int64_t size = group.sizes[i];
    OpFoldResult index = forall.getInductionVars()[i];
    at.push_back(affine::makeComposedFoldedAffineApply(builder, where, from, index));
    AffineExpr all[] = {builder.getAffineConstantExpr(step), size - from};
    count.push_back(size % step == 0 ? OpFoldResult(builder.getIndexAttr(step))
                                     : affine::makeComposedFoldedAffineMin(
                                           builder, where,
                                           AffineMap::get(0, 1, all, builder.getContext()), index));
  }
  for (const Access &access : temporaries)
    makePrivate(access);
  for (const Member &member : group.members)
    divide(member);
  for (const Member &member : group.members)
    member.op->erase();
  for (const Access &access : temporaries) {
    Operation *from = access.memref.getDefiningOp();
    if (!own.contains(access.memref))
      continue;
    for (Operation *free : llvm::make_early_inc_range(from->getUsers()))
      free->erase();
    from->erase();
  }
}

struct DistributeLoops : public kdl::impl::KdlDistributeLoopsBase<DistributeLoops> {
  using Base::Base;

  void runOnOperation() override {
    lowerRelayouts(getOperation());
    for (func::FuncOp function : getHostFunctions(getOperation())) {
      CpuCosts costs = getCpuCosts(function, /*target=*/"");
      std::vector<Group> groups;
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (!isa<func::FuncOp, scf::ForOp, scf::IfOp, scf::WhileOp>(op))
          return WalkResult::skip(); // its body runs in one thread, or elsewhere
        for (Region &region : op->getRegions()) {
          for (Block &block : region)
            llvm::append_range(groups, findGroups(block, costs));
        }
        return WalkResult::advance();
      });
      for (const Group &group : groups) {
        int64_t work = 0;
        for (const Member &member : group.members)
          work += member.work;
        if (work >= leastWork && partsOf(group.sizes, costs.blocks) > 1)
          LoopDistribution(group, costs.blocks).build();
      }
    }
  }
};

} // namespace
