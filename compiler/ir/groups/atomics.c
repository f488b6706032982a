/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Atomic operations on group memory become plain loads and stores: one thread runs a group, and no
 * other thread sees its memory. They get no mark (loop_dependences.c): a work-item reads what the
 * one before it wrote. Operations that also order other memory stay atomic.
 */
#include "compiler/ir/groups/flow.h"
#include "compiler/ir/llvm_versions.h"

static bool is_on_group_memory(LLVMValueRef pointer) {
  LLVMValueRef root = ir_flow_underlying_object(pointer);
  return LLVMIsAInstruction(root) && ir_flow_is_group_address(root);
}

static LLVMValueRef build_select(LLVMBuilderRef builder, LLVMIntPredicate predicate, LLVMValueRef a,
                                 LLVMValueRef b) {
  return LLVMBuildSelect(builder, LLVMBuildICmp(builder, predicate, a, b, ""), a, b, "");
}

/* NULL for an unknown operation. */
static LLVMValueRef build_operation(LLVMBuilderRef builder, LLVMAtomicRMWBinOp operation,
                                    LLVMValueRef old, LLVMValueRef with) {
  switch (operation) {
  case LLVMAtomicRMWBinOpXchg:
    return with;
  case LLVMAtomicRMWBinOpAdd:
    return LLVMBuildAdd(builder, old, with, "");
  case LLVMAtomicRMWBinOpSub:
    return LLVMBuildSub(builder, old, with, "");
  case LLVMAtomicRMWBinOpAnd:
    return LLVMBuildAnd(builder, old, with, "");
  case LLVMAtomicRMWBinOpOr:
    return LLVMBuildOr(builder, old, with, "");
  case LLVMAtomicRMWBinOpXor:
    return LLVMBuildXor(builder, old, with, "");
  case LLVMAtomicRMWBinOpMax:
    return build_select(builder, LLVMIntSGT, old, with);
  case LLVMAtomicRMWBinOpMin:
    return build_select(builder, LLVMIntSLT, old, with);
  case LLVMAtomicRMWBinOpUMax:
    return build_select(builder, LLVMIntUGT, old, with);
  case LLVMAtomicRMWBinOpUMin:
    return build_select(builder, LLVMIntULT, old, with);
  case LLVMAtomicRMWBinOpFAdd:
    return LLVMBuildFAdd(builder, old, with, "");
  default:
    return NULL;
  }
}

static LLVMValueRef build_atomic_load(LLVMBuilderRef builder, LLVMTypeRef type,
                                      LLVMValueRef pointer, unsigned align) {
  LLVMValueRef value = LLVMBuildLoad2(builder, type, pointer, "");
  LLVMSetAlignment(value, align);
  return value;
}

static void replace_operation(LLVMBuilderRef builder, LLVMValueRef atomic) {
  LLVMValueRef pointer = LLVMGetOperand(atomic, 0), with = LLVMGetOperand(atomic, 1);
  unsigned align = LLVMGetAlignment(atomic);
  LLVMPositionBuilderBefore(builder, atomic);
  LLVMValueRef found = build_atomic_load(builder, LLVMTypeOf(with), pointer, align);
  LLVMValueRef made = build_operation(builder, LLVMGetAtomicRMWBinOp(atomic), found, with);
  if (!made) {
    LLVMInstructionEraseFromParent(found);
    return;
  }
  LLVMSetAlignment(LLVMBuildStore(builder, made, pointer), align);
  LLVMReplaceAllUsesWith(atomic, found);
  LLVMInstructionEraseFromParent(atomic);
}

static void replace_exchange(LLVMBuilderRef builder, LLVMValueRef atomic) {
  LLVMValueRef pointer = LLVMGetOperand(atomic, 0), expected = LLVMGetOperand(atomic, 1);
  unsigned align = LLVMGetAlignment(atomic);
  LLVMPositionBuilderBefore(builder, atomic);
  LLVMValueRef old = build_atomic_load(builder, LLVMTypeOf(expected), pointer, align);
  LLVMValueRef is_same = LLVMBuildICmp(builder, LLVMIntEQ, old, expected, "");
  LLVMValueRef made = LLVMBuildSelect(builder, is_same, LLVMGetOperand(atomic, 2), old, "");
  LLVMSetAlignment(LLVMBuildStore(builder, made, pointer), align);
  LLVMValueRef pair = LLVMBuildInsertValue(builder, LLVMGetUndef(LLVMTypeOf(atomic)), old, 0, "");
  pair = LLVMBuildInsertValue(builder, pair, is_same, 1, "");
  LLVMReplaceAllUsesWith(atomic, pair);
  LLVMInstructionEraseFromParent(atomic);
}

static bool is_relaxed(LLVMAtomicOrdering ordering) {
  return ordering == LLVMAtomicOrderingMonotonic || ordering == LLVMAtomicOrderingUnordered;
}

void ir_groups_relax_atomics(ir_flow *flow) {
  LLVMBuilderRef builder = ir_create_builder(flow->module);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(flow->function); b;
       b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
      next = LLVMGetNextInstruction(i);
      bool is_operation = LLVMIsAAtomicRMWInst(i), is_exchange = LLVMIsAAtomicCmpXchgInst(i);
      if ((!is_operation && !is_exchange) || LLVMGetVolatile(i) ||
          !is_on_group_memory(LLVMGetOperand(i, 0)))
        continue;
      if (is_operation && is_relaxed(LLVMGetOrdering(i)))
        replace_operation(builder, i);
      else if (is_exchange && is_relaxed(LLVMGetCmpXchgSuccessOrdering(i)))
        replace_exchange(builder, i);
    }
  }
  LLVMDisposeBuilder(builder);
}
