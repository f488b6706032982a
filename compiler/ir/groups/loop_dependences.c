/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether the accesses of a loop may be marked as free of dependences between iterations. Barriers
 * guarantee that they are. But with the mark, LLVM's vectoriser also ignores dependences within an
 * iteration when it combines strided accesses that are apart, and moves one across another access
 * of the same address. So a loop gets the mark only if that cannot happen; the others are left to
 * LLVM's own analysis.
 */
#include "compiler/ir/groups/loops.h"

enum { max_depth = 24, max_accesses = 512 };

/* How much a value grows per iteration of the innermost loop. */
typedef struct {
  bool is_known;
  int64_t step;
} value_stride;

typedef struct {
  const ir_loops *loops;
  const ir_loop *loop;
  uint32_t region;
  LLVMValueRef counter; /* of the innermost loop */
} dependence_check;

static const value_stride unknown_stride = {false, 0}, zero_stride = {true, 0};

static bool is_in_region(const dependence_check *o, LLVMValueRef instruction) {
  LLVMBasicBlockRef block = LLVMGetInstructionParent(instruction);
  uint32_t number;
  if (ir_map_get(&o->loops->flow->block_numbers, block, &number))
    return o->loops->flow->blocks[number].region == o->region;
  return block == LLVMGetInstructionParent(o->loop->body_end);
}

static value_stride stride_of(const dependence_check *o, LLVMValueRef value, int depth);

static value_stride add_strides(value_stride a, value_stride b, int64_t factor) {
  return a.is_known && b.is_known ? (value_stride){true, a.step + factor * b.step} : unknown_stride;
}

static value_stride scale_stride(value_stride a, LLVMValueRef factor, bool is_shift) {
  if (!a.is_known || a.step == 0)
    return a;
  if (!LLVMIsAConstantInt(factor))
    return unknown_stride;
  int64_t by = LLVMConstIntGetSExtValue(factor);
  if (is_shift ? by < 0 || by > 31 : by < -(1 << 20) || by > 1 << 20)
    return unknown_stride;
  return (value_stride){true, is_shift ? a.step * ((int64_t)1 << by) : a.step * by};
}

/* The stride of an address: each index times the size of its element. */
static value_stride stride_of_address(const dependence_check *o, LLVMValueRef gep, int depth) {
  value_stride all = stride_of(o, LLVMGetOperand(gep, 0), depth);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(gep); ++i) {
    value_stride index = stride_of(o, LLVMGetOperand(gep, i), depth);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      if (!LLVMIsAConstantInt(LLVMGetOperand(gep, i)))
        return unknown_stride;
      type = LLVMStructGetTypeAtIndex(type,
                                      (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(gep, i)));
      continue;
    }
    if (i > 1)
      type = LLVMGetElementType(type);
    all = add_strides(all, index, (int64_t)LLVMABISizeOfType(o->loops->layout, type));
  }
  return all;
}

/* A computation from invariant values is invariant. */
static value_stride stride_if_invariant(const dependence_check *o, LLVMValueRef instruction,
                                        int depth) {
  for (int i = 0; i < LLVMGetNumOperands(instruction); ++i) {
    value_stride operand = stride_of(o, LLVMGetOperand(instruction, (unsigned)i), depth);
    if (!operand.is_known || operand.step)
      return unknown_stride;
  }
  return ir_flow_is_pure(instruction) ? zero_stride : unknown_stride;
}

static value_stride stride_of(const dependence_check *o, LLVMValueRef value, int depth) {
  if (value == o->counter)
    return (value_stride){true, 1};
  if (!LLVMIsAInstruction(value))
    return zero_stride;
  LLVMValueRef held = LLVMIsALoadInst(value) ? ir_flow_single_stored_value(value) : NULL;
  if (depth > max_depth)
    return unknown_stride;
  if (held)
    return stride_of(o, held, depth + 1);
  if (!is_in_region(o, value))
    return zero_stride;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMAdd:
  case LLVMSub:
    return add_strides(stride_of(o, LLVMGetOperand(value, 0), depth + 1),
                       stride_of(o, LLVMGetOperand(value, 1), depth + 1),
                       LLVMGetInstructionOpcode(value) == LLVMAdd ? 1 : -1);
  case LLVMMul:
    return LLVMIsAConstantInt(LLVMGetOperand(value, 1))
               ? scale_stride(stride_of(o, LLVMGetOperand(value, 0), depth + 1),
                              LLVMGetOperand(value, 1), false)
               : stride_if_invariant(o, value, depth + 1);
  case LLVMShl:
    return LLVMIsAConstantInt(LLVMGetOperand(value, 1))
               ? scale_stride(stride_of(o, LLVMGetOperand(value, 0), depth + 1),
                              LLVMGetOperand(value, 1), true)
               : stride_if_invariant(o, value, depth + 1);
  case LLVMZExt:
  case LLVMSExt:
  case LLVMTrunc:
  case LLVMFreeze:
    return stride_of(o, LLVMGetOperand(value, 0), depth + 1);
  case LLVMGetElementPtr:
    return stride_of_address(o, value, depth + 1);
  default:
    return stride_if_invariant(o, value, depth + 1);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Accesses                                                                                     */

typedef struct {
  uint32_t block; /* accesses of one block are in order */
  bool is_store, may_stride;
  enum { any_object, argument_object, known_object } kind;
  LLVMValueRef of; /* of known_object */
} access;

static void find_object(const dependence_check *o, LLVMValueRef pointer, access *out) {
  pointer = ir_flow_underlying_object(pointer);
  if (LLVMIsAAllocaInst(pointer)) {
    out->kind = known_object;
    out->of = pointer;
  } else if (ir_flow_is_group_address(pointer)) {
    out->kind = known_object;
    out->of = LLVMGetCalledValue(pointer);
  } else if (LLVMIsALoadInst(pointer) && LLVMIsALoadInst(LLVMGetOperand(pointer, 0))) {
    LLVMValueRef list = LLVMGetOperand(LLVMGetOperand(pointer, 0), 0);
    while (LLVMIsAGetElementPtrInst(list))
      list = LLVMGetOperand(list, 0);
    out->kind = list == LLVMGetParam(o->loops->flow->function, 1) ? argument_object : any_object;
  }
}

static bool may_alias(const access *a, const access *b) {
  if (a->kind == known_object && b->kind == known_object)
    return a->of == b->of;
  bool is_apart = (a->kind == known_object && b->kind == argument_object) ||
                  (a->kind == argument_object && b->kind == known_object);
  return !is_apart;
}

/* False for a variable that does not leave the body, which becomes a value. */
static bool read_access(const dependence_check *o, LLVMValueRef instruction, access *out) {
  bool is_load = LLVMIsALoadInst(instruction), is_store = LLVMIsAStoreInst(instruction);
  if (!is_load && !is_store)
    return false;
  LLVMValueRef pointer = LLVMGetOperand(instruction, is_load ? 0 : 1);
  if (ir_flow_variable(o->loops->flow, pointer))
    return false;
  LLVMTypeRef type = is_load ? LLVMTypeOf(instruction) : LLVMTypeOf(LLVMGetOperand(instruction, 0));
  value_stride step = stride_of(o, pointer, 0);
  int64_t size = (int64_t)LLVMABISizeOfType(o->loops->layout, type);
  bool is_plain = step.is_known && (step.step == 0 || step.step == size || step.step == -size);
  *out = (access){.is_store = is_store, .may_stride = !is_plain};
  find_object(o, pointer, out);
  return true;
}

/* Whether one iteration can get from one block to another within the region. */
static bool can_reach(const ir_flow *flow, uint32_t from, uint32_t to) {
  uint32_t *marks = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *marks);
  ir_flow_mark_reachable(flow, from, 1, marks);
  return marks[to] != 0;
}

static bool comes_before(const ir_flow *flow, const access *a, const access *b) {
  return (a->block == b->block && a < b) || can_reach(flow, a->block, b->block);
}

/* The vectoriser moves combined accesses to the first load or to the last store. Loads before all
 * stores, and two stores, keep their order. */
static bool may_reorder(const ir_flow *flow, const access *all, size_t count, const access *a) {
  size_t stores = a->is_store;
  for (const access *b = all; b < all + count; ++b) {
    if (a == b || !may_alias(a, b))
      continue;
    if ((a->is_store && !b->is_store && comes_before(flow, a, b)) ||
        (b->is_store && !a->is_store && comes_before(flow, b, a)))
      return true;
    stores += b->is_store;
    if (a->is_store && (stores > 2 || can_reach(flow, a->block, a->block)))
      return true;
  }
  return false;
}

bool ir_loops_is_parallel(const ir_loops *loops, uint32_t number) {
  const ir_flow *flow = loops->flow;
  const ir_region *region = &flow->regions[number];
  dependence_check o = {.loops = loops, .loop = &loops->loops[number], .region = number};
  for (unsigned d = 3; d-- > 0;) {
    if (o.loop->headers[d])
      o.counter = o.loop->thread[d];
  }
  access *all = ir_zeroed_alloc(flow->arena, max_accesses, sizeof *all);
  size_t count = 0;
  for (uint32_t k = 0; k < region->block_count; ++k) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[region->blocks[k]].ref); i;
         i = LLVMGetNextInstruction(i)) {
      if (count == max_accesses)
        return false;
      bool is_one = read_access(&o, i, &all[count]);
      all[count].block = region->blocks[k];
      count += is_one;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (all[i].may_stride && may_reorder(flow, all, count, &all[i]))
      return false;
  }
  return true;
}
