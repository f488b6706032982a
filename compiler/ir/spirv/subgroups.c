/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Instructions of groups whose scope, the first argument of each call, is the subgroup. Those of
 * whole groups are not translated. */
#include "compiler/ir/spirv/spirv.h"

#include "support/base/text.h"

#include <stdio.h>
#include <string.h>

/* How opencl.c takes the operands that follow the scope. */
typedef enum {
  TRUTH,    /* (bool), returns bool */
  MASK,     /* (bool), returns a mask of 64 bits, which is a vector of four numbers */
  VALUE,    /* (x) */
  VALUE_AT, /* (x, lane) */
  HOW_VALUE /* (how, x) */
} operand_kind;

static const struct {
  const char *name, *function;
  operand_kind operands;
} rows[] = {
    {"GroupAll", "all", TRUTH},
    {"GroupAny", "any", TRUTH},
    {"GroupNonUniformAll", "all", TRUTH},
    {"GroupNonUniformAny", "any", TRUTH},
    {"GroupNonUniformBallot", "ballot", MASK},
    {"GroupNonUniformElect", "elect", TRUTH},
    {"GroupBroadcast", "shuffle", VALUE_AT},
    {"GroupNonUniformBroadcast", "shuffle", VALUE_AT},
    {"GroupNonUniformBroadcastFirst", "first", VALUE},
    {"GroupNonUniformShuffle", "shuffle", VALUE_AT},
    {"GroupNonUniformShuffleXor", "shuffle_xor", VALUE_AT},
    {"GroupNonUniformShuffleUp", "shuffle_up", VALUE_AT},
    {"GroupNonUniformShuffleDown", "shuffle_down", VALUE_AT},
    {"GroupIAdd", "add", HOW_VALUE},
    {"GroupFAdd", "add", HOW_VALUE},
    {"GroupNonUniformIAdd", "add", HOW_VALUE},
    {"GroupNonUniformFAdd", "add", HOW_VALUE},
};

static bool is_of_subgroups(const ir_instruction *i) {
  enum { scope_subgroup = 3 };
  for (LLVMUseRef use = LLVMGetFirstUse(i->function); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef scope = LLVMGetOperand(LLVMGetUser(use), 0);
    if (!LLVMIsAConstantInt(scope) || LLVMConstIntGetZExtValue(scope) != scope_subgroup)
      return false;
  }
  return LLVMCountParams(i->function) > 0;
}

static const char *suffix_of(const ir_instruction *i, LLVMTypeRef type) {
  return type == LLVMInt32TypeInContext(i->context)    ? "_i32"
         : type == LLVMInt64TypeInContext(i->context)  ? "_i64"
         : type == LLVMFloatTypeInContext(i->context)  ? "_f32"
         : type == LLVMDoubleTypeInContext(i->context) ? "_f64"
                                                       : NULL;
}

static bool define_truth(const ir_instruction *i, const char *name, operand_kind kind) {
  LLVMTypeRef number = LLVMInt32TypeInContext(i->context);
  LLVMTypeRef wide = LLVMInt64TypeInContext(i->context);
  LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(i->function));
  LLVMValueRef truth = LLVMCountParams(i->function) > 1 ? LLVMGetParam(i->function, 1)
                                                        : LLVMConstInt(number, 1, false);
  if (LLVMGetTypeKind(LLVMTypeOf(truth)) != LLVMIntegerTypeKind)
    return false;
  truth = LLVMBuildIntCast2(i->builder, truth, number, false, "");
  LLVMValueRef value = ir_spirv_call(i, name, kind == MASK ? wide : number, &truth, 1);
  if (kind == TRUTH) {
    LLVMBuildRet(i->builder, LLVMBuildIntCast2(i->builder, value, result, false, ""));
    return LLVMGetTypeKind(result) == LLVMIntegerTypeKind;
  }
  LLVMValueRef mask = LLVMConstNull(LLVMVectorType(wide, 2));
  mask = LLVMBuildInsertElement(i->builder, mask, value, LLVMConstNull(number), "");
  LLVMBuildRet(i->builder, LLVMBuildBitCast(i->builder, mask, result, ""));
  return result == LLVMVectorType(number, 4);
}

static bool define_value(const ir_instruction *i, const char *name, operand_kind kind) {
  LLVMTypeRef number = LLVMInt32TypeInContext(i->context);
  unsigned count = LLVMCountParams(i->function), at = kind == HOW_VALUE ? 2 : 1;
  if (count != (kind == VALUE ? 2u : 3u))
    return false;
  LLVMValueRef x = LLVMGetParam(i->function, at), arguments[2] = {x, NULL};
  const char *suffix = suffix_of(i, LLVMTypeOf(x));
  char typed[80];
  if (!suffix)
    return false;
  snprintf(typed, sizeof typed, "%s%s", name, suffix);
  if (kind != VALUE) {
    LLVMValueRef other = LLVMGetParam(i->function, kind == HOW_VALUE ? 1 : 2);
    if (LLVMGetTypeKind(LLVMTypeOf(other)) != LLVMIntegerTypeKind)
      return false;
    arguments[1] = LLVMBuildIntCast2(i->builder, other, number, false, "");
  }
  LLVMBuildRet(i->builder,
               ir_spirv_call(i, typed, LLVMTypeOf(x), arguments, kind == VALUE ? 1 : 2));
  return true;
}

bool ir_spirv_define_subgroup(const ir_instruction *i) {
  char name[64];
  for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row) {
    if (!kdl_text_is(i->name, rows[row].name) || !is_of_subgroups(i))
      continue;
    snprintf(name, sizeof name, "kdl_cl_subgroup_%s", rows[row].function);
    return rows[row].operands <= MASK ? define_truth(i, name, rows[row].operands)
                                      : define_value(i, name, rows[row].operands);
  }
  return false;
}
