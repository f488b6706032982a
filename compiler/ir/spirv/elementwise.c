/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Instructions that compute each element of a vector by itself. Each element is a call of a
 * function of numbers: of <kdl/math.h>, as the form declares it, or of opencl.c, whose names end in
 * the type of the first operand: kdl_cl_s_mul_hi_i32. Half precision is computed in float.
 */
#include "compiler/ir/portable/form.h"
#include "compiler/ir/spirv/spirv.h"
#include "support/base/text.h"

#include <kdl/math/functions.h>

#include <stdio.h>
#include <string.h>

enum { MAX_OPERANDS = 4 };

unsigned ir_spirv_elements(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

LLVMTypeRef ir_spirv_element_type(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

#define NAME(name) #name,
static const char *const math_names[] = {KDL_MATH_EACH_1(NAME) KDL_MATH_EACH_2(NAME)
                                             KDL_MATH_EACH_3(NAME) KDL_MATH_EACH_INT(NAME) "ilogb",
                                         "frexp",
                                         "modf",
                                         "fract",
                                         "remquo",
                                         "sincos",
                                         "lgamma_r"};
static const char *const native_names[] = {KDL_MATH_EACH_NATIVE(NAME)};

static bool is_math(kdl_string name) {
  return KDL_TEXT_AMONG(name, math_names);
}

static bool is_native(kdl_string name) {
  return KDL_TEXT_AMONG(name, native_names);
}

/* Half precision becomes float. */
static LLVMTypeRef computed_type(const ir_instruction *i, LLVMTypeRef type) {
  LLVMTypeRef element = ir_spirv_element_type(type);
  return LLVMGetTypeKind(element) == LLVMHalfTypeKind ? LLVMFloatTypeInContext(i->context)
                                                      : element;
}

static void type_suffix(LLVMTypeRef type, char *buffer, size_t size) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMIntegerTypeKind)
    snprintf(buffer, size, "i%u", LLVMGetIntTypeWidth(type));
  else
    snprintf(buffer, size, "%s", kind == LLVMFloatTypeKind ? "f32" : "f64");
}

/* "ocl_half_sin" is "ocl_sin": an exact result is allowed. */
static bool find_name(const ir_instruction *i, LLVMTypeRef first, char *buffer, size_t size) {
  static const kdl_string native = KDL_TEXT_ROW("native_"), half = KDL_TEXT_ROW("half_");
  LLVMTypeKind kind = LLVMGetTypeKind(first);
  bool is_real = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
  kdl_string name = kdl_text_substr(i->name, sizeof "ocl_" - 1);
  char suffix[8];
  if (kdl_text_has_prefix(name, half))
    name = kdl_text_substr(name, half.length);
  bool wants_native = kdl_text_has_prefix(name, native);
  kdl_string plain = kdl_text_substr(name, wants_native ? native.length : 0);
  if (wants_native && kind == LLVMFloatTypeKind && is_native(plain)) {
    snprintf(buffer, size, "kdl_math_native_%.*sf", (int)plain.length, plain.data);
    return true;
  }
  if (is_real && is_math(plain)) {
    snprintf(buffer, size, "kdl_math_%.*s%s", (int)plain.length, plain.data,
             kind == LLVMFloatTypeKind ? "f" : "");
    return true;
  }
  type_suffix(first, suffix, sizeof suffix);
  snprintf(buffer, size, "kdl_cl_%.*s_%s", (int)plain.length, plain.data, suffix);
  return ir_spirv_has(i, buffer);
}

/* ------------------------------------------------------------------------------------------ */
/* Elements                                                                                     */

static bool stores_integer(kdl_string name) {
  static const char *const names[] = {"ocl_frexp", "ocl_lgamma_r", "ocl_remquo"};
  return KDL_TEXT_AMONG(name, names);
}

/* A pointer to the element that a function stores, as a generic one. */
static LLVMValueRef element_address(const ir_instruction *i, LLVMValueRef pointer, LLVMTypeRef type,
                                    unsigned element) {
  LLVMValueRef index = LLVMConstInt(LLVMInt32TypeInContext(i->context), element, false);
  LLVMTypeRef generic = LLVMPointerTypeInContext(i->context, IR_SPACE_GENERIC);
  if (element)
    pointer = LLVMBuildInBoundsGEP2(i->builder, type, pointer, &index, 1, "");
  return LLVMTypeOf(pointer) == generic ? pointer
                                        : LLVMBuildAddrSpaceCast(i->builder, pointer, generic, "");
}

static LLVMValueRef element_of(const ir_instruction *i, LLVMValueRef operand, unsigned element,
                               LLVMTypeRef stored) {
  LLVMTypeRef type = LLVMTypeOf(operand);
  if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
    return element_address(i, operand, stored, element);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
    operand = LLVMBuildExtractElement(
        i->builder, operand, LLVMConstInt(LLVMInt32TypeInContext(i->context), element, false), "");
  LLVMTypeRef computed = computed_type(i, type);
  return computed == LLVMTypeOf(operand) ? operand
                                         : LLVMBuildFPExt(i->builder, operand, computed, "");
}

bool ir_spirv_define_elementwise(const ir_instruction *i) {
  LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(i->function));
  unsigned count = LLVMCountParams(i->function), elements = ir_spirv_elements(result);
  LLVMValueRef operands[MAX_OPERANDS], whole = LLVMGetUndef(result);
  char name[128];
  if (!kdl_text_starts(i->name, "ocl_") || count == 0 || count > MAX_OPERANDS)
    return false;
  LLVMTypeRef first = computed_type(i, LLVMTypeOf(LLVMGetParam(i->function, 0)));
  bool has_pointer =
      LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(i->function, count - 1))) == LLVMPointerTypeKind;
  bool is_half = first != ir_spirv_element_type(LLVMTypeOf(LLVMGetParam(i->function, 0)));
  LLVMTypeRef stored = stores_integer(i->name) ? LLVMInt32TypeInContext(i->context) : first;
  if (!find_name(i, first, name, sizeof name) || (is_half && has_pointer && stored == first))
    return false;
  for (unsigned e = 0; e < elements; ++e) {
    for (unsigned k = 0; k < count; ++k)
      operands[k] = element_of(i, LLVMGetParam(i->function, k), e, stored);
    LLVMValueRef value = ir_spirv_call(i, name, computed_type(i, result), operands, count);
    LLVMTypeRef wanted = ir_spirv_element_type(result);
    if (LLVMTypeOf(value) != wanted)
      value = LLVMBuildFPTrunc(i->builder, value, wanted, "");
    whole = elements == 1
                ? value
                : LLVMBuildInsertElement(i->builder, whole, value,
                                         LLVMConstInt(LLVMInt32TypeInContext(i->context), e, false),
                                         "");
  }
  LLVMBuildRet(i->builder, whole);
  return true;
}
