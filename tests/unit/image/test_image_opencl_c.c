/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_support.h"
#include "lib/inspect/images.h"
#include "support/base/text.h"

static const char saxpy[] =
    "// y = a x + y\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "__kernel void saxpy(float a, __global const float *restrict x, global float *y, uint n) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void fill(global uint *p, uint v) {\n"
    "  p[get_global_id(0)] = v;\n"
    "}\n";

static void source_tells_its_kernels(void **state) {
  (void)state;
  assert_target(KDL_IMAGE_CL, saxpy, strlen(saxpy), "spir64-unknown-unknown", "", KDL_OFFLOAD_NONE);
  assert_kernels(KDL_IMAGE_CL, saxpy, strlen(saxpy), "saxpy fill ");
  check_damaged(KDL_IMAGE_CL, (const uint8_t *)saxpy, strlen(saxpy), read_anything, 0);
}

static void only_definitions_at_the_outermost_level_count(void **state) {
  (void)state;
  static const struct {
    const char *text, *kernels;
  } rows[] = {
      {"", ""},
      {"__kernel void a(); __kernel void b() {}", "b "},
      {"__kernel void kdl_cl_dot() {} kernel void kdl_clx() {}", "dot kdl_clx "},
      {"__kernel void a(void); kernel void a(void) {}", "a "},
      {"void f() { __kernel void a() {} } kernel void b() {}", "b "},
      {"} kernel void a() {}", "a "},
      {"// kernel void a() {}\n/* kernel void b() {} */ kernel /* x */ void // y\n c () {}", "c "},
      {"// goes on \\\n kernel void a() {}\nkernel void b() {}", "b "},
      {"__constant char s[] = \"kernel void a() {} \\\" kernel void b() {}\"; kernel void c() {}",
       "c "},
      {"__constant char q = '{'; kernel void a() {}", "a "},
      {"#if 0\nkernel void a() {}\n#endif\nkernel void b() {}", "a b "},
      {"#define X \\\n{ {\nkernel void a() {}", "a "},
      {"#define X /* a\n b */ {\nkernel void a() {}", "a "},
      {"#define S \"/*\"\nkernel void a() {}", "a "},
      {"int x; # define Y {\nkernel void a() {}", ""},
      {"int x;\n # define Y {\nkernel void a() {}", "a "},
      {"#if 1\n#define \"\n#endif\nkernel void a() {}", "a "},
      {"kernel int a() {} kernel void () {} kernel void 1() {} kernel", ""},
      {"kernel void a(", ""},
      {"kernel void a(float (*p)[4]) {}", "a "},
      {"__attribute__((x(y))) kernel __attribute__((z)) void __attribute__(()) a() {}", "a "},
      {"kernel __attribute__ void a() {}", "a "},
      {"kernel_x void a() {} x_kernel void b() {}", ""},
      {"/* kernel void a() {}", ""},
      {"kernel \\\n void a() {}", "a "},
      {"kernel void a() {}\\", "a "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    print_message("%s\n", rows[i].text);
    assert_kernels(KDL_IMAGE_CL, rows[i].text, strlen(rows[i].text), rows[i].kernels);
  }
}

static void a_macro_for_the_word_is_told(void **state) {
  (void)state;
  static const char *const texts[] = {
      "#define KERNEL __kernel\nKERNEL void a() {}",
      "kernel void a() {}\n  # define F(n) \\\n kernel void n##_x() {}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    name_list list = {.length = 0};
    assert_fails(
        kdl_image_read_kernels(KDL_IMAGE_CL, texts[i], strlen(texts[i]), collect_name, &list),
        KDL_UNSUPPORTED,
        "OpenCL C: a macro stands for the word kernel, so that only a compiler knows the kernels; "
        "kdl.kernel.NAME keys can name them");
    assert_int_equal(list.count, 0);
  }
  static const char other[] =
      "#define N 4 /* kernel */ // kernel\n#undef kernel\nkernel void a() {}";
  assert_kernels(KDL_IMAGE_CL, other, strlen(other), "a ");
}

static void text_ends_at_a_nul_and_is_utf8(void **state) {
  (void)state;
  static const char padded[] = "kernel void a() {}\0kernel void b() {}\xff";
  kdl_image_target target;
  assert_kernels(KDL_IMAGE_CL, padded, sizeof padded - 1, "a ");
  assert_ok(kdl_image_read_target(KDL_IMAGE_CL, padded, sizeof padded - 1, &target));
  assert_fails(kdl_image_read_target(KDL_IMAGE_CL, "/* \xc3\xa4 \xe4 */", 9, &target), KDL_BAD_FILE,
               "offset 0x6: OpenCL C: found byte 0xe4, expected text in UTF-8");
}

/* A letter for the kind and the size. */
typedef struct {
  char text[256];
  size_t length;
} param_text;

static int print_param(void *user, const kdl_image_param *param) {
  param_text *out = user;
  assert_int_equal(param->offset, KDL_NO_OFFSET);
  out->length += (size_t)snprintf(out->text + out->length, sizeof out->text - out->length, "%c%u ",
                                  "bvifpog"[param->kind], param->size);
  return 0;
}

static kdl_status read_params(const char *list, param_text *out) {
  char source[512];
  snprintf(source, sizeof source, "kernel void other(int x) {} kernel void k(%s) {}", list);
  out->length = 0;
  out->text[0] = '\0';
  return kdl_image_read_params(KDL_IMAGE_CL, source, strlen(source), KDL_TEXT("k"), print_param,
                               out);
}

static void parameters_are_read_from_their_types(void **state) {
  (void)state;
  static const struct {
    const char *list, *params;
  } rows[] = {
      {"", ""},
      {"void", ""},
      {"float a, __global const float *restrict x, global float *y, uint n", "f4 p8 p8 i4 "},
      {"char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h",
       "i1 i1 i2 i2 i4 i4 i8 i8 "},
      {"unsigned a, unsigned int b, unsigned char c, signed long d, const unsigned short e",
       "i4 i4 i1 i8 i2 "},
      {"half a, float b, double c", "f2 f4 f8 "},
      {"float2 a, float3 b, int4 c, uchar8 d, double16 e", "v8 v16 v16 v8 v128 "},
      {"uint32_t a, int64_t b", "i4 i8 "},
      {"constant float c[16], global int (*p)[4], __global struct thing *s", "p8 p8 p8 "},
      {"__local float *scratch, local int *more, int n", "g0 g0 i4 "},
      {"read_only image2d_t i, sampler_t s", "o0 o0 "},
      {"void *p", "p8 "},
      {"float a __attribute__((unused, x(1, 2))), int b", "f4 i4 "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    param_text text;
    print_message("(%s)\n", rows[i].list);
    assert_ok(read_params(rows[i].list, &text));
    assert_string_equal(text.text, rows[i].params);
  }
}

static void a_type_of_the_programs_own_is_told(void **state) {
  (void)state;
  param_text text;
  assert_fails(read_params("int n, struct thing s", &text), KDL_UNSUPPORTED,
               "OpenCL C: parameter 1 is of the type 'thing', whose size only a compiler knows");
  assert_fails(read_params("float5 v", &text), KDL_UNSUPPORTED,
               "OpenCL C: parameter 0 is of the type 'float5', whose size only a compiler knows");
  assert_fails(read_params("int a, ", &text), KDL_UNSUPPORTED,
               "OpenCL C: parameter 1 is of the type '', whose size only a compiler knows");
  assert_fails(kdl_image_read_params(KDL_IMAGE_CL, saxpy, strlen(saxpy), KDL_TEXT("axpy"),
                                     print_param, &text),
               KDL_NO_MATCH, "found no kernel \"axpy\" in the image, expected one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(source_tells_its_kernels),
      cmocka_unit_test(only_definitions_at_the_outermost_level_count),
      cmocka_unit_test(a_macro_for_the_word_is_told),
      cmocka_unit_test(text_ends_at_a_nul_and_is_utf8),
      cmocka_unit_test(parameters_are_read_from_their_types),
      cmocka_unit_test(a_type_of_the_programs_own_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
