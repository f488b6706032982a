/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Atomic operations. Their memory semantics are an argument of each call. */
#include "compiler/ir/spirv/spirv.h"

#include "support/base/text.h"

static const struct {
  const char *name;
  LLVMAtomicRMWBinOp op;
  int constant; /* the operand where there is none */
} atomics[] = {
    {"AtomicIAdd", LLVMAtomicRMWBinOpAdd, 0},       {"AtomicISub", LLVMAtomicRMWBinOpSub, 0},
    {"AtomicAnd", LLVMAtomicRMWBinOpAnd, 0},        {"AtomicOr", LLVMAtomicRMWBinOpOr, 0},
    {"AtomicXor", LLVMAtomicRMWBinOpXor, 0},        {"AtomicSMin", LLVMAtomicRMWBinOpMin, 0},
    {"AtomicSMax", LLVMAtomicRMWBinOpMax, 0},       {"AtomicUMin", LLVMAtomicRMWBinOpUMin, 0},
    {"AtomicUMax", LLVMAtomicRMWBinOpUMax, 0},      {"AtomicExchange", LLVMAtomicRMWBinOpXchg, 0},
    {"AtomicIIncrement", LLVMAtomicRMWBinOpAdd, 1}, {"AtomicIDecrement", LLVMAtomicRMWBinOpSub, 1},
    {"AtomicFAddEXT", LLVMAtomicRMWBinOpFAdd, 0},   {"AtomicFMinEXT", LLVMAtomicRMWBinOpFMin, 0},
    {"AtomicFMaxEXT", LLVMAtomicRMWBinOpFMax, 0},
};

/* Names of OpenCL C 1.2 that LLVM's SPIR-V backend leaves undefined; 'j' and 'm' at their end mean
 * unsigned. */
static const struct {
  const char *name;
  LLVMAtomicRMWBinOp op, unsigned_op;
  int constant;
} opencl_atomics[] = {
    {"atomic_min", LLVMAtomicRMWBinOpMin, LLVMAtomicRMWBinOpUMin, 0},
    {"atomic_max", LLVMAtomicRMWBinOpMax, LLVMAtomicRMWBinOpUMax, 0},
    {"atomic_inc", LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpAdd, 1},
    {"atomic_dec", LLVMAtomicRMWBinOpSub, LLVMAtomicRMWBinOpSub, 1},
    {"atomic_xchg", LLVMAtomicRMWBinOpXchg, LLVMAtomicRMWBinOpXchg, 0},
};

/* The order of a mask of memory semantics; the strongest where it is not a constant. */
static LLVMAtomicOrdering order_of(LLVMValueRef semantics) {
  uint64_t bits = LLVMIsAConstantInt(semantics) ? LLVMConstIntGetZExtValue(semantics) : 0x10;
  return bits & 0x10  ? LLVMAtomicOrderingSequentiallyConsistent
         : bits & 0x8 ? LLVMAtomicOrderingAcquireRelease
         : bits & 0x4 ? LLVMAtomicOrderingRelease
         : bits & 0x2 ? LLVMAtomicOrderingAcquire
                      : LLVMAtomicOrderingMonotonic;
}

static unsigned bytes_of(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  return kind == LLVMIntegerTypeKind                                 ? LLVMGetIntTypeWidth(type) / 8
         : kind == LLVMDoubleTypeKind || kind == LLVMPointerTypeKind ? 8
         : kind == LLVMHalfTypeKind                                  ? 2
                                                                     : 4;
}

/* A failed exchange releases nothing. */
static LLVMAtomicOrdering failure_order(LLVMAtomicOrdering order) {
  return order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire
         : order == LLVMAtomicOrderingRelease      ? LLVMAtomicOrderingMonotonic
                                                   : order;
}

/* The instruction for a call; NULL if the name is no atomic operation. */
static LLVMValueRef build_atomic(const ir_instruction *i, LLVMValueRef call) {
  LLVMBuilderRef b = i->builder;
  LLVMValueRef pointer = LLVMGetOperand(call, 0), made;
  LLVMTypeRef type = LLVMTypeOf(call);
  unsigned count = LLVMGetNumArgOperands(call);
  for (size_t row = 0; row < sizeof atomics / sizeof *atomics; ++row) {
    if (kdl_text_is(i->name, atomics[row].name) && count >= 3)
      return LLVMBuildAtomicRMW(b, atomics[row].op, pointer,
                                count > 3 ? LLVMGetOperand(call, 3)
                                          : LLVMConstInt(type, (unsigned)atomics[row].constant, 0),
                                order_of(LLVMGetOperand(call, 2)), false);
  }
  char last = i->types.length ? i->types.data[i->types.length - 1] : 0;
  for (size_t row = 0; row < sizeof opencl_atomics / sizeof *opencl_atomics; ++row) {
    if (kdl_text_is(i->name, opencl_atomics[row].name))
      return LLVMBuildAtomicRMW(
          b, last == 'j' || last == 'm' ? opencl_atomics[row].unsigned_op : opencl_atomics[row].op,
          pointer,
          count > 1 ? LLVMGetOperand(call, 1)
                    : LLVMConstInt(type, (unsigned)opencl_atomics[row].constant, 0),
          LLVMAtomicOrderingMonotonic, false);
  }
  if ((kdl_text_is(i->name, "AtomicCompareExchange") ||
       kdl_text_is(i->name, "AtomicCompareExchangeWeak")) &&
      count == 6) {
    LLVMAtomicOrdering order = order_of(LLVMGetOperand(call, 2));
    made = LLVMBuildAtomicCmpXchg(b, pointer, LLVMGetOperand(call, 5), LLVMGetOperand(call, 4),
                                  order, failure_order(order), false);
    return LLVMBuildExtractValue(b, made, 0, "");
  }
  if (kdl_text_is(i->name, "AtomicLoad") && count == 3) {
    LLVMAtomicOrdering order = order_of(LLVMGetOperand(call, 2));
    made = LLVMBuildLoad2(b, type, pointer, "");
    LLVMSetOrdering(made, failure_order(order));
    LLVMSetAlignment(made, bytes_of(type));
    return made;
  }
  if (kdl_text_is(i->name, "AtomicStore") && count == 4) {
    LLVMAtomicOrdering order = order_of(LLVMGetOperand(call, 2));
    made = LLVMBuildStore(b, LLVMGetOperand(call, 3), pointer);
    LLVMSetOrdering(made, order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingRelease
                          : order == LLVMAtomicOrderingAcquire      ? LLVMAtomicOrderingMonotonic
                                                                    : order);
    LLVMSetAlignment(made, bytes_of(LLVMTypeOf(LLVMGetOperand(call, 3))));
    return made;
  }
  return NULL;
}

bool ir_spirv_replace_atomics(const ir_instruction *i) {
  for (LLVMUseRef use; (use = LLVMGetFirstUse(i->function));) {
    LLVMValueRef call = LLVMGetUser(use);
    if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != i->function ||
        LLVMGetNumArgOperands(call) == 0 ||
        LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, 0))) != LLVMPointerTypeKind)
      return false;
    LLVMPositionBuilderBefore(i->builder, call);
    LLVMValueRef made = build_atomic(i, call);
    if (!made)
      return false;
    if (LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind)
      LLVMReplaceAllUsesWith(call, made);
    LLVMInstructionEraseFromParent(call);
  }
  return true;
}
