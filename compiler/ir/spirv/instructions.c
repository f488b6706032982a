/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The translator writes instructions that LLVM does not have as calls of functions, by their names
 * with types behind them as in C++: _Z33__spirv_ConvertFToS_Rint4_sat_rteDv4_f. Each gets a body,
 * except atomic operations: their order is an argument, so that each call is replaced.
 */
#include "compiler/ir/spirv/spirv.h"

#include "compiler/ir/llvm_versions.h"
#include "compiler/ir/portable/form.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <stdio.h>
#include <string.h>

static LLVMValueRef operand(const ir_instruction *i, unsigned index) {
  return LLVMGetParam(i->function, index);
}

static LLVMTypeRef result_type(const ir_instruction *i) {
  return LLVMGetReturnType(LLVMGlobalGetValueType(i->function));
}

static LLVMValueRef number(const ir_instruction *i, uint64_t value) {
  return LLVMConstInt(LLVMInt32TypeInContext(i->context), value, false);
}

LLVMValueRef ir_spirv_call(const ir_instruction *i, const char *name, LLVMTypeRef result,
                           LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef function = LLVMGetNamedFunction(i->module, name);
  LLVMTypeRef types[8];
  for (unsigned k = 0; k < count && k < 8; ++k)
    types[k] = LLVMTypeOf(arguments[k]);
  LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
  if (!function)
    function = LLVMAddFunction(i->module, name, type);
  return LLVMBuildCall2(i->builder, type, function, arguments, count, "");
}

bool ir_spirv_has(const ir_instruction *i, const char *name) {
  return LLVMGetNamedFunction(i->library, name) != NULL;
}

static LLVMValueRef call_intrinsic(const ir_instruction *i, const char *name, LLVMTypeRef *types,
                                   size_t type_count, LLVMValueRef *arguments, unsigned count) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(i->module, id, types, type_count);
  return LLVMBuildCall2(i->builder, LLVMGlobalGetValueType(function), function, arguments, count,
                        "");
}

/* ------------------------------------------------------------------------------------------ */
/* The work-item and barriers                                                                   */

static bool define_builtin(const ir_instruction *i) {
  LLVMTypeRef wide = LLVMInt64TypeInContext(i->context);
  LLVMValueRef dim = LLVMCountParams(i->function) ? operand(i, 0) : number(i, 0);
  char name[128];
  kdl_string of = kdl_text_substr(i->name, sizeof "BuiltIn" - 1);
  snprintf(name, sizeof name, "kdl_cl_%.*s", (int)of.length, of.data);
  if (!ir_spirv_has(i, name) || LLVMGetTypeKind(result_type(i)) != LLVMIntegerTypeKind)
    return false;
  LLVMValueRef value = ir_spirv_call(i, name, wide, &dim, 1);
  LLVMBuildRet(i->builder, LLVMBuildIntCast2(i->builder, value, result_type(i), false, ""));
  return true;
}

static bool define_barrier(const ir_instruction *i) {
  LLVMValueRef scope = operand(i, 0);
  ir_spirv_call(i, "kdl_cl_ControlBarrier", LLVMVoidTypeInContext(i->context), &scope, 1);
  LLVMBuildRetVoid(i->builder);
  return true;
}

static bool define_fence(const ir_instruction *i) {
  LLVMBuildFence(i->builder, LLVMAtomicOrderingSequentiallyConsistent, false, "");
  LLVMBuildRetVoid(i->builder);
  return true;
}

static bool define_nothing(const ir_instruction *i) {
  LLVMBuildRetVoid(i->builder);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Conversions                                                                                  */

static LLVMValueRef round_to(const ir_instruction *i, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  const char *name = kdl_text_contains(i->types, "_rte")   ? "llvm.rint"
                     : kdl_text_contains(i->types, "_rtp") ? "llvm.ceil"
                     : kdl_text_contains(i->types, "_rtn") ? "llvm.floor"
                                                           : NULL;
  return name ? call_intrinsic(i, name, &type, 1, &value, 1) : value;
}

static bool define_from_float(const ir_instruction *i) {
  bool is_signed = kdl_text_is(i->name, "ConvertFToS");
  LLVMValueRef value = round_to(i, operand(i, 0));
  LLVMTypeRef types[] = {result_type(i), LLVMTypeOf(value)};
  if (kdl_text_contains(i->types, "_sat"))
    value =
        call_intrinsic(i, is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &value, 1);
  else
    value = is_signed ? LLVMBuildFPToSI(i->builder, value, types[0], "")
                      : LLVMBuildFPToUI(i->builder, value, types[0], "");
  LLVMBuildRet(i->builder, value);
  return true;
}

/* Rounding to the nearest is what LLVM's instructions do. */
static bool define_to_float(const ir_instruction *i) {
  LLVMTypeRef to = result_type(i);
  LLVMValueRef value = operand(i, 0);
  if (kdl_text_contains(i->types, "_rtz") || kdl_text_contains(i->types, "_rtp") ||
      kdl_text_contains(i->types, "_rtn"))
    return false;
  LLVMBuildRet(i->builder,
               kdl_text_is(i->name, "ConvertSToF")   ? LLVMBuildSIToFP(i->builder, value, to, "")
               : kdl_text_is(i->name, "ConvertUToF") ? LLVMBuildUIToFP(i->builder, value, to, "")
                                                     : LLVMBuildFPCast(i->builder, value, to, ""));
  return true;
}

/* All elements are the same constant. */
static LLVMValueRef splat(LLVMTypeRef type, LLVMValueRef element) {
  LLVMValueRef elements[16];
  unsigned count = ir_spirv_elements(type);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
    return element;
  for (unsigned k = 0; k < count && k < 16; ++k)
    elements[k] = element;
  return LLVMConstVector(elements, count < 16 ? count : 16);
}

static LLVMValueRef limit(const ir_instruction *i, const char *name, LLVMValueRef value,
                          uint64_t bound, bool is_negative) {
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMValueRef arguments[] = {
      value, splat(type, LLVMConstInt(ir_spirv_element_type(type), bound, is_negative))};
  return call_intrinsic(i, name, &type, 1, arguments, 2);
}

/* Saturating, between integers. */
static bool define_integer_conversion(const ir_instruction *i) {
  LLVMValueRef value = operand(i, 0);
  LLVMTypeRef to = result_type(i);
  bool from_signed = kdl_text_is(i->name, "SatConvertSToU") || kdl_text_is(i->name, "SConvert");
  bool to_signed = kdl_text_is(i->name, "SatConvertUToS") || kdl_text_is(i->name, "SConvert");
  unsigned from_bits = LLVMGetIntTypeWidth(ir_spirv_element_type(LLVMTypeOf(value)));
  unsigned bits = LLVMGetIntTypeWidth(ir_spirv_element_type(to));
  uint64_t most = UINT64_MAX >> (64 - bits + to_signed);
  if (kdl_text_starts(i->name, "Sat") || kdl_text_contains(i->types, "_sat")) {
    if (from_signed && !to_signed)
      value = limit(i, "llvm.smax", value, 0, false);
    if (from_signed && to_signed && bits < from_bits)
      value = limit(i, "llvm.smax", value, ~most, true);
    if (bits < from_bits || (bits == from_bits && !from_signed && to_signed))
      value = limit(i, from_signed ? "llvm.smin" : "llvm.umin", value, most, false);
  }
  LLVMBuildRet(i->builder, bits < from_bits   ? LLVMBuildTrunc(i->builder, value, to, "")
                           : bits > from_bits ? (from_signed && to_signed
                                                     ? LLVMBuildSExt(i->builder, value, to, "")
                                                     : LLVMBuildZExt(i->builder, value, to, ""))
                                              : value);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Comparisons and selections                                                                   */

/* Results are bits, or bytes of vectors, all of whose bits are set. */
static void return_truth(const ir_instruction *i, LLVMValueRef truth) {
  LLVMTypeRef to = result_type(i);
  bool is_vector = LLVMGetTypeKind(to) == LLVMVectorTypeKind;
  LLVMBuildRet(i->builder, LLVMTypeOf(truth) == to ? truth
                           : is_vector             ? LLVMBuildSExt(i->builder, truth, to, "")
                                                   : LLVMBuildZExt(i->builder, truth, to, ""));
}

static bool define_class(const ir_instruction *i) {
  static const struct {
    const char *name;
    unsigned classes; /* of llvm.is.fpclass */
  } rows[] = {{"IsNan", 0x003}, {"IsInf", 0x204}, {"IsFinite", 0x1f8}, {"IsNormal", 0x108}};
  LLVMTypeRef type = LLVMTypeOf(operand(i, 0));
  for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row) {
    if (!kdl_text_is(i->name, rows[row].name))
      continue;
    LLVMValueRef arguments[] = {operand(i, 0), number(i, rows[row].classes)};
    return_truth(i, call_intrinsic(i, "llvm.is.fpclass", &type, 1, arguments, 2));
    return true;
  }
  return false;
}

/* The same elements as integers. */
static LLVMValueRef as_integers(const ir_instruction *i, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value), element = ir_spirv_element_type(type);
  LLVMTypeKind kind = LLVMGetTypeKind(element);
  unsigned bits = kind == LLVMHalfTypeKind     ? 16
                  : kind == LLVMFloatTypeKind  ? 32
                  : kind == LLVMDoubleTypeKind ? 64
                                               : 0;
  if (!bits)
    return value;
  LLVMTypeRef integer = LLVMIntTypeInContext(i->context, bits);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
    integer = LLVMVectorType(integer, LLVMGetVectorSize(type));
  return LLVMBuildBitCast(i->builder, value, integer, "");
}

static bool define_sign(const ir_instruction *i) {
  LLVMValueRef bits = as_integers(i, operand(i, 0));
  return_truth(i, LLVMBuildICmp(i->builder, LLVMIntSLT, bits, LLVMConstNull(LLVMTypeOf(bits)), ""));
  return true;
}

static bool define_comparison(const ir_instruction *i) {
  LLVMRealPredicate how = kdl_text_is(i->name, "Ordered")     ? LLVMRealORD
                          : kdl_text_is(i->name, "Unordered") ? LLVMRealUNO
                                                              : LLVMRealONE;
  return_truth(i, LLVMBuildFCmp(i->builder, how, operand(i, 0), operand(i, 1), ""));
  return true;
}

static bool define_any_or_all(const ir_instruction *i) {
  LLVMTypeRef type = LLVMTypeOf(operand(i, 0));
  LLVMValueRef value = operand(i, 0);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
    value = call_intrinsic(
        i, kdl_text_is(i->name, "Any") ? "llvm.vector.reduce.or" : "llvm.vector.reduce.and", &type,
        1, &value, 1);
  LLVMTypeRef element = LLVMTypeOf(value);
  return_truth(i, element == LLVMInt1TypeInContext(i->context)
                      ? value
                      : LLVMBuildICmp(i->builder, LLVMIntNE, value, LLVMConstNull(element), ""));
  return true;
}

static bool define_bitselect(const ir_instruction *i) {
  LLVMValueRef a = as_integers(i, operand(i, 0)), b = as_integers(i, operand(i, 1));
  LLVMValueRef mask = as_integers(i, operand(i, 2));
  LLVMValueRef bits =
      LLVMBuildOr(i->builder, LLVMBuildAnd(i->builder, b, mask, ""),
                  LLVMBuildAnd(i->builder, a, LLVMBuildNot(i->builder, mask, ""), ""), "");
  LLVMBuildRet(i->builder, LLVMBuildBitCast(i->builder, bits, result_type(i), ""));
  return true;
}

static bool define_bits(const ir_instruction *i) {
  LLVMTypeRef type = LLVMTypeOf(operand(i, 0));
  LLVMValueRef value = operand(i, 0);
  const char *name = kdl_text_is(i->name, "BitCount") ? "llvm.ctpop" : "llvm.bitreverse";
  value = call_intrinsic(i, name, &type, 1, &value, 1);
  if (ir_spirv_elements(type) == ir_spirv_elements(result_type(i)))
    value = LLVMBuildIntCast2(i->builder, value, result_type(i), false, "");
  LLVMBuildRet(i->builder, value);
  return true;
}

/* The highest bit decides for elements of vectors, any bit for numbers. */
static bool define_select(const ir_instruction *i) {
  LLVMValueRef mask = operand(i, 2), zero = LLVMConstNull(LLVMTypeOf(mask));
  bool is_vector = LLVMGetTypeKind(LLVMTypeOf(mask)) == LLVMVectorTypeKind;
  LLVMValueRef takes =
      LLVMBuildICmp(i->builder, is_vector ? LLVMIntSLT : LLVMIntNE, mask, zero, "");
  LLVMBuildRet(i->builder, LLVMBuildSelect(i->builder, takes, operand(i, 1), operand(i, 0), ""));
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Vectors                                                                                      */

/* Each element of the result is one of the operands', by an index that is computed. */
static bool define_shuffle(const ir_instruction *i) {
  bool is_two = kdl_text_is(i->name, "ocl_shuffle2");
  LLVMValueRef mask = operand(i, is_two ? 2 : 1), whole = LLVMGetUndef(result_type(i));
  unsigned have = ir_spirv_elements(LLVMTypeOf(operand(i, 0)));
  LLVMTypeRef index_type = ir_spirv_element_type(LLVMTypeOf(mask));
  for (unsigned e = 0; e < ir_spirv_elements(result_type(i)); ++e) {
    LLVMValueRef index = LLVMBuildExtractElement(i->builder, mask, number(i, e), "");
    LLVMValueRef low =
        LLVMBuildAnd(i->builder, index, LLVMConstInt(index_type, have - 1, false), "");
    LLVMValueRef value = LLVMBuildExtractElement(i->builder, operand(i, 0), low, "");
    if (is_two) {
      LLVMValueRef high =
          LLVMBuildAnd(i->builder, index, LLVMConstInt(index_type, have, false), "");
      value = LLVMBuildSelect(
          i->builder, LLVMBuildICmp(i->builder, LLVMIntNE, high, LLVMConstNull(index_type), ""),
          LLVMBuildExtractElement(i->builder, operand(i, 1), low, ""), value, "");
    }
    whole = LLVMBuildInsertElement(i->builder, whole, value, number(i, e), "");
  }
  LLVMBuildRet(i->builder, whole);
  return have && !(have & (have - 1));
}

/* vload and vstore: element `e` of the vector at an offset in vectors; half precision in memory
 * where the name has it. */
typedef struct {
  LLVMValueRef base; /* of the vector */
  LLVMTypeRef stored;
  unsigned align;
} vector_place;

static vector_place find_place(const ir_instruction *i, LLVMTypeRef vector, unsigned first) {
  bool is_half = kdl_text_contains(i->name, "_half");
  unsigned count = ir_spirv_elements(vector);
  bool is_aligned = kdl_text_contains(i->name, "loada") || kdl_text_contains(i->name, "storea");
  vector_place place = {.stored = is_half ? LLVMHalfTypeInContext(i->context)
                                          : ir_spirv_element_type(vector)};
  LLVMTypeKind kind = LLVMGetTypeKind(place.stored);
  place.align = kind == LLVMIntegerTypeKind  ? LLVMGetIntTypeWidth(place.stored) / 8
                : kind == LLVMHalfTypeKind   ? 2
                : kind == LLVMDoubleTypeKind ? 8
                                             : 4;
  LLVMTypeRef offset_type = LLVMTypeOf(operand(i, first));
  LLVMValueRef index =
      LLVMBuildMul(i->builder, operand(i, first),
                   LLVMConstInt(offset_type, is_aligned && count == 3 ? 4 : count, false), "");
  place.base =
      LLVMBuildInBoundsGEP2(i->builder, place.stored, operand(i, first + 1), &index, 1, "");
  return place;
}

static LLVMValueRef place_of(const ir_instruction *i, const vector_place *place, unsigned e) {
  LLVMValueRef index = number(i, e);
  return LLVMBuildInBoundsGEP2(i->builder, place->stored, place->base, &index, 1, "");
}

static bool define_vector_load(const ir_instruction *i) {
  LLVMTypeRef type = result_type(i);
  unsigned count = ir_spirv_elements(type);
  vector_place place = find_place(i, type, 0);
  LLVMValueRef whole = LLVMGetUndef(type);
  for (unsigned e = 0; e < count; ++e) {
    LLVMValueRef value = LLVMBuildLoad2(i->builder, place.stored, place_of(i, &place, e), "");
    LLVMSetAlignment(value, place.align);
    if (place.stored != ir_spirv_element_type(type))
      value = LLVMBuildFPExt(i->builder, value, ir_spirv_element_type(type), "");
    whole = count == 1 ? value : LLVMBuildInsertElement(i->builder, whole, value, number(i, e), "");
  }
  LLVMBuildRet(i->builder, whole);
  return true;
}

/* A rounding mode, where there is one, is the last operand of each call; 0 is to the nearest. */
static bool has_other_rounding(const ir_instruction *i) {
  if (!kdl_text_contains(i->name, "_r"))
    return false;
  for (LLVMUseRef use = LLVMGetFirstUse(i->function); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef mode = LLVMGetOperand(LLVMGetUser(use), 3);
    if (!LLVMIsAConstantInt(mode) || LLVMConstIntGetZExtValue(mode) != 0)
      return true;
  }
  return false;
}

static bool define_vector_store(const ir_instruction *i) {
  LLVMTypeRef type = LLVMTypeOf(operand(i, 0));
  unsigned count = ir_spirv_elements(type);
  if (has_other_rounding(i))
    return false;
  vector_place place = find_place(i, type, 1);
  for (unsigned e = 0; e < count; ++e) {
    LLVMValueRef value = count == 1
                             ? operand(i, 0)
                             : LLVMBuildExtractElement(i->builder, operand(i, 0), number(i, e), "");
    if (place.stored != LLVMTypeOf(value))
      value = LLVMBuildFPTrunc(i->builder, value, place.stored, "");
    LLVMSetAlignment(LLVMBuildStore(i->builder, value, place_of(i, &place, e)), place.align);
  }
  LLVMBuildRetVoid(i->builder);
  return true;
}

/* Geometry: operands and a result that is a vector are passed in memory, with their length. */
static bool define_geometry(const ir_instruction *i) {
  LLVMTypeRef type = LLVMTypeOf(operand(i, 0)), element = ir_spirv_element_type(type);
  LLVMTypeKind kind = LLVMGetTypeKind(element);
  bool is_vector = LLVMGetTypeKind(result_type(i)) == LLVMVectorTypeKind ||
                   kdl_text_contains(i->name, "normalize");
  LLVMValueRef arguments[4], into = NULL;
  unsigned count = 0;
  char name[64];
  kdl_string plain = i->name;
  if (kdl_text_starts(plain, "ocl_"))
    plain = kdl_text_substr(plain, sizeof "ocl_" - 1);
  if (kdl_text_starts(plain, "fast_"))
    plain = kdl_text_substr(plain, sizeof "fast_" - 1);
  if (kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind)
    return false;
  snprintf(name, sizeof name, "kdl_cl_%.*s_%s", (int)plain.length, plain.data,
           kind == LLVMFloatTypeKind ? "f32" : "f64");
  if (name[sizeof "kdl_cl_" - 1] == 'D')
    name[sizeof "kdl_cl_" - 1] = 'd'; /* an instruction of its own: Dot */
  for (; count < LLVMCountParams(i->function) && count < 2; ++count) {
    arguments[count] = LLVMBuildAlloca(i->builder, type, "");
    LLVMBuildStore(i->builder, operand(i, count), arguments[count]);
  }
  if (is_vector)
    arguments[count++] = into = LLVMBuildAlloca(i->builder, type, "");
  arguments[count++] = number(i, ir_spirv_elements(type));
  LLVMValueRef value = ir_spirv_call(
      i, name, is_vector ? LLVMVoidTypeInContext(i->context) : element, arguments, count);
  LLVMBuildRet(i->builder, is_vector ? LLVMBuildLoad2(i->builder, type, into, "") : value);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* All of them                                                                                  */

static const struct {
  const char *name; /* a prefix, if it ends in '*' */
  bool (*define)(const ir_instruction *i);
} definitions[] = {
    {"BuiltIn*", define_builtin},
    {"ControlBarrier", define_barrier},
    {"MemoryBarrier", define_fence},
    {"mem_fence", define_fence},
    {"read_mem_fence", define_fence},
    {"write_mem_fence", define_fence},
    {"ocl_prefetch", define_nothing},
    {"Group*", ir_spirv_define_subgroup},
    {"ConvertFToS", define_from_float},
    {"ConvertFToU", define_from_float},
    {"ConvertSToF", define_to_float},
    {"ConvertUToF", define_to_float},
    {"FConvert", define_to_float},
    {"SConvert", define_integer_conversion},
    {"UConvert", define_integer_conversion},
    {"SatConvert*", define_integer_conversion},
    {"Is*", define_class},
    {"SignBitSet", define_sign},
    {"Ordered", define_comparison},
    {"Unordered", define_comparison},
    {"LessOrGreater", define_comparison},
    {"Any", define_any_or_all},
    {"All", define_any_or_all},
    {"BitCount", define_bits},
    {"BitReverse", define_bits},
    {"ocl_bitselect", define_bitselect},
    {"ocl_select", define_select},
    {"ocl_shuffle*", define_shuffle},
    {"ocl_vload*", define_vector_load},
    {"ocl_vstore*", define_vector_store},
    {"Dot", define_geometry},
    {"ocl_length", define_geometry},
    {"ocl_fast_length", define_geometry},
    {"ocl_distance", define_geometry},
    {"ocl_fast_distance", define_geometry},
    {"ocl_normalize", define_geometry},
    {"ocl_fast_normalize", define_geometry},
    {"ocl_cross", define_geometry},
};

static bool matches(kdl_string name, const char *pattern) {
  size_t length = strlen(pattern);
  return pattern[length - 1] == '*' ? kdl_text_has_prefix(name, (kdl_string){pattern, length - 1})
                                    : kdl_text_is(name, pattern);
}

static bool define(const ir_instruction *i) {
  for (size_t row = 0; row < sizeof definitions / sizeof *definitions; ++row) {
    if (matches(i->name, definitions[row].name))
      return definitions[row].define(i);
  }
  return ir_spirv_define_elementwise(i);
}

/* "_Z33__spirv_ConvertFToS_Rint4_sat_rteDv4_f" is ConvertFToS; names of math have '_' of their
 * own, and the type of a result begins with "_R". */
static bool split_name(kdl_string symbol, ir_instruction *i) {
  static const kdl_string prefix = KDL_TEXT_ROW("__spirv_");
  size_t at = 2;
  uint32_t length;
  if (!kdl_text_starts(symbol, "_Z") || !kdl_text_parse_number(symbol, &at, &length) ||
      length > symbol.length - at)
    return false;
  kdl_string name = {symbol.data + at, length};
  if (kdl_text_has_prefix(name, prefix))
    name = kdl_text_substr(name, prefix.length);
  size_t end = 0;
  while (end < name.length && !kdl_text_starts(kdl_text_substr(name, end), "_R"))
    ++end;
  i->name = (kdl_string){name.data, end};
  i->types = kdl_text_substr(symbol, (size_t)(name.data + end - symbol.data));
  return true;
}

/* The function that calls it first. */
static const char *caller_of(LLVMValueRef function) {
  LLVMUseRef use = LLVMGetFirstUse(function);
  LLVMValueRef user = use ? LLVMGetUser(use) : NULL;
  if (!user || !LLVMIsAInstruction(user))
    return "the module";
  return ir_value_name(LLVMGetBasicBlockParent(LLVMGetInstructionParent(user))).data;
}

static kdl_status define_function(const ir_linker *linker, ir_instruction *i) {
  static const char inlined[] = "alwaysinline";
  kdl_string symbol = ir_value_name(i->function);
  i->name = symbol;
  i->types = (kdl_string){"", 0};
  if (split_name(symbol, i)) {
    if (ir_spirv_replace_atomics(i)) {
      LLVMDeleteFunction(i->function);
      return KDL_OK;
    }
    LLVMPositionBuilderAtEnd(i->builder,
                             LLVMAppendBasicBlockInContext(i->context, i->function, ""));
    if (define(i)) {
      LLVMSetLinkage(i->function, LLVMInternalLinkage);
      LLVMAddAttributeAtIndex(
          i->function, IR_FUNCTION_ATTRIBUTES,
          LLVMCreateEnumAttribute(i->context,
                                  LLVMGetEnumAttributeKindForName(inlined, sizeof inlined - 1), 0));
      return KDL_OK;
    }
  }
  kdl_string name = i->name;
  if (kdl_text_starts(name, "ocl_"))
    name = kdl_text_substr(name, sizeof "ocl_" - 1);
  return kdl_fail(KDL_UNSUPPORTED, "%s: '%.128s' uses '%.*s', which is not translated for %s",
                  linker->request->caller, caller_of(i->function),
                  name.length < 128 ? (int)name.length : 128, name.data,
                  linker->request->device_label);
}

kdl_status ir_spirv_define_instructions(const ir_linker *linker, LLVMModuleRef module,
                                        LLVMModuleRef library) {
  LLVMContextRef context = linker->context->llvm;
  ir_instruction i = {.module = module,
                      .library = library,
                      .context = context,
                      .builder = ir_create_builder(module)};
  kdl_status status = KDL_OK;
  for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f && status == KDL_OK; f = next) {
    next = LLVMGetNextFunction(f);
    i.function = f;
    if (LLVMIsDeclaration(f) && !LLVMGetIntrinsicID(f) &&
        !kdl_text_starts(ir_value_name(f), "kdl_"))
      status = define_function(linker, &i);
  }
  LLVMDisposeBuilder(i.builder);
  return status;
}
