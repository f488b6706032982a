/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/source/wrapper.h"
#include "support/base/error.h"
#include "tools/common/lines.h"

/* The columns of an answer: the type, its details, and the pointee type. For a pointer,
 * column_is_signed is whether the pointee is const. */
enum {
  column_class,
  column_size,
  column_is_signed,
  column_narrow,
  column_align,
  column_in_global,
  column_pointee,
  column_count = 10
};

/* The kind of a 16-bit type: the second and third are structures of <kdl/kernel/half.h>. */
enum { narrow_bf16 = 1, narrow_kdl_bf16 = 2, narrow_kdl_half = 3 };

/* GCC's type classes, as returned by __builtin_classify_type. */
enum {
  class_integer = 1,
  class_char = 2,
  class_enum = 3,
  class_bool = 4,
  class_pointer = 5,
  class_real = 8,
};

/* `char` is signed on every target: one kernel has one signature. */
static const char queries[] =
    "#ifdef KDL_KERNEL_HALF_H\n"
    "#define KDL_ASK_NARROW(U) __builtin_types_compatible_p(U, __bf16) + \\\n"
    "  2 * __builtin_types_compatible_p(U, kdl_bf16) + 3 * __builtin_types_compatible_p(U, "
    "kdl_half)\n"
    "#else\n"
    "#define KDL_ASK_NARROW(U) __builtin_types_compatible_p(U, __bf16)\n"
    "#endif\n"
    "#ifdef __SIZEOF_INT128__\n"
    "#define KDL_ASK_WIDE , __int128 *: 1\n"
    "#else\n"
    "#define KDL_ASK_WIDE\n"
    "#endif\n"
    "#define KDL_ASK_SIGN(U) _Generic((U *)0, char *: 1, signed char *: 1, short *: 1, int *: 1, "
    "\\\n"
    "  long *: 1 KDL_ASK_LONG KDL_ASK_WIDE, default: 0)\n"
    "#define KDL_ASK_SIZE(U) sizeof(*_Generic((U *)0, void *: (char *)0, default: (U *)0))\n"
    "#define KDL_ASK_TYPE(U) __builtin_classify_type(*(U *)0), KDL_ASK_SIZE(U), KDL_ASK_SIGN(U), "
    "\\\n"
    "  KDL_ASK_NARROW(U)\n"
    "#define KDL_ASK_GLOBAL(T, U) _Generic((T)0, __gpu_global U *: 1, __gpu_global const U *: 1, "
    "\\\n"
    "  __gpu_global volatile U *: 1, __gpu_global const volatile U *: 1, default: 0)\n"
    "#define KDL_ASK_VALUE(T) KDL_ASK_TYPE(T), _Alignof(T), 0, 0, 0, 0, 0,\n"
    "#define KDL_ASK_CONST(T) _Generic((T)0, const __typeof__(*(T)0) *: 1, default: 0)\n"
    "#define KDL_ASK_POINTER(T, U) 5, sizeof(T), KDL_ASK_CONST(T), 0, _Alignof(T), \\\n"
    "  KDL_ASK_GLOBAL(T, U), \\\n"
    "  KDL_ASK_TYPE(U),\n";

/* The last answer: whether Clang trades accuracy for speed. */
enum { fast_math = 2 };
static const char last_answer[] = "#ifdef __FAST_MATH__\n2};\n#else\n1};\n#endif\n";

static void write_c_queries(FILE *out, bool is_opencl, const cc_kernels *kernels) {
  fputs(is_opencl ? "#define KDL_ASK_LONG\n" : "#define KDL_ASK_LONG , long long *: 1\n", out);
  if (is_opencl)
    fputs("#undef __gpu_global\n#define __gpu_global __global\n", out); /* in a .cl file */
  fputs(queries, out);
  fprintf(out, "%sconst unsigned kdl_answers[] = {\n", is_opencl ? "__constant " : "");
  for (size_t i = 0; i < kernels->count; ++i) {
    for (size_t k = 0; k < kernels->items[i].param_count; ++k) {
      const char *type = kernels->items[i].params[k].type;
      if (kernels->items[i].params[k].is_pointer)
        fprintf(out, "KDL_ASK_POINTER(__typeof__(%s), __typeof_unqual__(*(__typeof__(%s))0))\n",
                type, type);
      else
        fprintf(out, "KDL_ASK_VALUE(__typeof_unqual__(%s))\n", type);
    }
  }
  fputs(last_answer, out);
}

/* The same in C++, which has no _Generic. */
static const char cxx_queries[] =
    "template <class T> using kdl_ask_plain = __remove_restrict(__remove_cv(T));\n"
    "template <class T> struct kdl_ask_object { using type = T; };\n"
    "template <> struct kdl_ask_object<void> { using type = char; };\n"
    "template <class T> struct kdl_ask_pointer { using type = void; };\n"
    "template <class T> struct kdl_ask_pointer<T *> {\n"
    "  using type = T;\n"
    "  static constexpr unsigned in_global = KDL_ASK_IS_PLAIN;\n"
    "};\n"
    "#if !KDL_ASK_IS_PLAIN\n"
    "template <class T> struct kdl_ask_pointer<__gpu_global T *> {\n"
    "  using type = T;\n"
    "  static constexpr unsigned in_global = 1;\n"
    "};\n"
    "#endif\n"
    "template <class T> struct kdl_ask {\n"
    "  using object = typename kdl_ask_object<T>::type;\n"
    "  static constexpr unsigned type = __is_void(T) ? 0 : __builtin_classify_type(*(object *)0);\n"
    "  static constexpr unsigned size = sizeof(object);\n"
    "  static constexpr unsigned sign = __is_same(T, char) || (__is_integral(T) && "
    "__is_signed(T));\n"
    "#ifdef KDL_KERNEL_HALF_H\n"
    "  static constexpr unsigned bf16 =\n"
    "    __is_same(T, __bf16) ? 1 : __is_same(T, kdl_bf16) ? 2 : __is_same(T, kdl_half) ? 3 : 0;\n"
    "#else\n"
    "  static constexpr unsigned bf16 = __is_same(T, __bf16);\n"
    "#endif\n"
    "};\n"
    "#define KDL_ASK_TYPE(...) kdl_ask<__VA_ARGS__>::type, kdl_ask<__VA_ARGS__>::size, \\\n"
    "  kdl_ask<__VA_ARGS__>::sign, kdl_ask<__VA_ARGS__>::bf16\n"
    "#define KDL_ASK_VALUE(...) KDL_ASK_TYPE(__VA_ARGS__), alignof(__VA_ARGS__), 0, 0, 0, 0, 0,\n"
    "#define KDL_ASK_POINTER(...) 5, sizeof(__VA_ARGS__), \\\n"
    "  __is_const(kdl_ask_pointer<__VA_ARGS__>::type), 0, alignof(__VA_ARGS__), \\\n"
    "  kdl_ask_pointer<__VA_ARGS__>::in_global, \\\n"
    "  KDL_ASK_TYPE(kdl_ask_plain<kdl_ask_pointer<__VA_ARGS__>::type>),\n";

/* Types are written in the kernel's namespace. */
static void write_cxx_queries(FILE *out, bool is_plain, const char *place,
                              const cc_kernels *kernels) {
  fprintf(out, "#define KDL_ASK_IS_PLAIN %d\n%s", is_plain, cxx_queries);
  for (size_t i = 0; i < kernels->count; ++i) {
    if (*kernels->items[i].namespace_name)
      fprintf(out, "using namespace %s;\n", kernels->items[i].namespace_name);
  }
  fprintf(out,
          "extern \"C\" %sconst unsigned kdl_answers[];\n"
          "extern \"C\" %sconst unsigned kdl_answers[] = {\n",
          place, place);
  for (size_t i = 0; i < kernels->count; ++i) {
    for (size_t k = 0; k < kernels->items[i].param_count; ++k) {
      const cc_param *param = &kernels->items[i].params[k];
      fprintf(out, "KDL_ASK_%s(kdl_ask_plain<__typeof__(%s)>)\n",
              param->is_pointer ? "POINTER" : "VALUE", param->type);
    }
  }
  fputs(last_answer, out);
}

void cc_signature_write_queries(FILE *out, const cc_target *target, cc_language language,
                                const cc_kernels *kernels) {
  if (language == CC_CXX)
    write_cxx_queries(out, target->family == CC_HOST, "", kernels);
  else if (language == CC_CUDA || language == CC_HIP)
    write_cxx_queries(out, true, "__attribute__((device, used)) ", kernels);
  else
    write_c_queries(out, target->family == CC_OPENCL, kernels);
}

/* ------------------------------------------------------------------------------------------ */
/* Answers                                                                                      */

/* The offset of the first number in "@kdl_answers = constant [21 x i32] [i32 8, i32 4, ...". */
static bool find_answers(kdl_string ir, size_t *out_at) {
  kdl_string line, first;
  bool is_found =
      cli_text_after(ir, "\n@kdl_answers = ", &line) && cli_text_after(line, "] [", &first);
  *out_at = is_found ? (size_t)(first.data - ir.data) : 0;
  return is_found;
}

static bool next_answer(kdl_string ir, size_t *at, uint32_t *out_number) {
  static const char type[] = "i32 ";
  if (!kdl_text_starts(kdl_text_substr(ir, *at), type))
    return false;
  *at += sizeof type - 1;
  if (!kdl_text_parse_number(ir, at, out_number))
    return false;
  while (*at < ir.length && (ir.data[*at] == ',' || ir.data[*at] == ' '))
    ++*at;
  return true;
}

/* A type that is no number is a structure, a vector, a pointer, ...: `other` is how to write it. */
static void out_type(kdl_out *out, const uint32_t *type, const char *other) {
  uint32_t bits = type[column_size] * 8;
  switch (type[column_class]) {
  case class_integer:
  case class_char:
  case class_enum:
  case class_bool:
    kdl_out_format(out, "%c%u", type[column_is_signed] ? 'i' : 'u', bits);
    break;
  case class_real:
    if (type[column_narrow] == narrow_bf16)
      kdl_out_format(out, "bf16");
    else
      kdl_out_format(out, "f%u", bits);
    break;
  default:
    kdl_out_format(out, "%s", other);
    break;
  }
}

/* The pointee of a pointer, if it is not a number. */
static const char *pointee_name(uint32_t kind) {
  return kind == narrow_kdl_bf16 ? "bf16" : kind == narrow_kdl_half ? "f16" : "void";
}

static void out_param(kdl_out *out, const uint32_t answer[column_count]) {
  if (answer[column_class] == class_pointer) {
    kdl_out_format(out, "ptr<");
    out_type(out, answer + column_pointee, pointee_name(answer[column_pointee + column_narrow]));
    kdl_out_format(out, ">");
  } else {
    char bytes[32];
    snprintf(bytes, sizeof bytes, "bytes<%u:%u>", answer[column_size], answer[column_align]);
    out_type(out, answer, bytes);
  }
}

static kdl_status read_signature(kdl_arena *arena, kdl_string ir, size_t *at, cc_kernel *kernel) {
  enum { longest = 32 }; /* "ptr<...>" or "bytes<4294967295:4096>", and a space */
  size_t room = kernel->param_count * longest + 1;
  char *sig = xarena_alloc(arena, room);
  kdl_out out = {sig, room, 0};
  sig[0] = '\0';
  for (size_t i = 0; i < kernel->param_count; ++i) {
    uint32_t answer[column_count];
    for (int k = 0; k < column_count; ++k) {
      if (!next_answer(ir, at, &answer[k]))
        return kdl_fail(KDL_BAD_FILE, "found no answer %zu about %s in Clang's IR", i,
                        kernel->name);
    }
    if (i)
      kdl_out_format(&out, " ");
    out_param(&out, answer);
    kernel->params[i].is_global = answer[column_in_global] == 1;
    kernel->params[i].is_const = answer[column_class] == class_pointer && answer[column_is_signed];
  }
  kernel->sig = sig;
  return KDL_OK;
}

kdl_status cc_signature_read(kdl_arena *arena, kdl_string ir, cc_kernels *kernels) {
  size_t at = 0;
  if (!find_answers(ir, &at))
    return kdl_fail(KDL_BAD_FILE, "found no @kdl_answers in Clang's IR");
  for (size_t i = 0; i < kernels->count; ++i)
    KDL_TRY(read_signature(arena, ir, &at, &kernels->items[i]));
  uint32_t math;
  if (!next_answer(ir, &at, &math))
    return kdl_fail(KDL_BAD_FILE, "found no answer about math in Clang's IR");
  kernels->has_fast_math = math == fast_math;
  return KDL_OK;
}
