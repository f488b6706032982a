/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/images.h"

#include "elf_builder.h"
#include "image_support.h"
#include "support/base/text.h"

/* A letter for the kind, the size, and '@' with the offset where there is one. */
typedef struct {
  char text[512];
  size_t length;
  unsigned count;
  unsigned stop_after; /* 0: never */
} param_text;

static int print_param(void *user, const kdl_image_param *param) {
  param_text *out = user;
  assert_int_equal(param->index, out->count);
  ++out->count;
  int length = snprintf(out->text + out->length, sizeof out->text - out->length, "%c%u",
                        "bvifpog"[param->kind], param->size);
  out->length += (size_t)length;
  if (param->offset != KDL_NO_OFFSET)
    out->length += (size_t)snprintf(out->text + out->length, sizeof out->text - out->length, "@%u",
                                    param->offset);
  out->length += (size_t)snprintf(out->text + out->length, sizeof out->text - out->length, " ");
  assert_true(out->length < sizeof out->text);
  return out->count == out->stop_after;
}

#define assert_params(kind, data, size, kernel, expected)                                          \
  do {                                                                                             \
    param_text text_ = {.length = 0};                                                              \
    assert_ok(                                                                                     \
        kdl_image_read_params((kind), (data), (size), kdl_text_of(kernel), print_param, &text_));  \
    assert_string_equal(text_.text, (expected));                                                   \
  } while (0)

#define assert_no_params(kind, data, size, kernel, status, message)                                \
  do {                                                                                             \
    param_text text_ = {.length = 0};                                                              \
    assert_fails(                                                                                  \
        kdl_image_read_params((kind), (data), (size), kdl_text_of(kernel), print_param, &text_),   \
        (status), (message));                                                                      \
  } while (0)

static const struct {
  const char *file;
  kdl_image_kind kind;
  const char *kernel;
  const char *params;
} goldens[] = {
    {"params.ptx", KDL_IMAGE_PTX, "many", "f4@0 b8@8 i4@16 i1@20 i2@22 f8@24 v32@32 b8@64 "},
    {"params.ptx", KDL_IMAGE_PTX, "none", ""},
    {"llvm.ptx", KDL_IMAGE_PTX, "saxpy", "f4@0 p8@8 p8@16 i4@24 "},
    {"params.cubin", KDL_IMAGE_CUBIN, "many", "b4@0 p8@8 b4@16 b1@20 b2@22 b8@24 b32@32 b8@64 "},
    {"params.cubin", KDL_IMAGE_CUBIN, "none", ""},
    {"sm_75_cuda12.cubin", KDL_IMAGE_CUBIN, "saxpy", "b8@0 "},
    {"sm_90a.cubin", KDL_IMAGE_CUBIN, "fill", "b8@0 "},
    {"params.hsaco", KDL_IMAGE_HSACO, "many", "v4@0 p8@8 v4@16 v1@20 v2@22 v8@24 v32@32 v8@64 "},
    {"params.hsaco", KDL_IMAGE_HSACO, "none", ""},
    {"gfx90a_no_sections.hsaco", KDL_IMAGE_HSACO, "fill", "p8@0 "},
    {"notes.hsaco", KDL_IMAGE_HSACO, "three", "p8@0 "},
    {"params.spv", KDL_IMAGE_SPIRV, "many", "f4 p8 i4 i1 i2 f8 v32 i8 v16 g0 o0 "},
    {"params.spv", KDL_IMAGE_SPIRV, "none", ""},
    {"spirv64.spv", KDL_IMAGE_SPIRV, "saxpy", "f4 p8 p8 i4 "},
    /* The structure's size is unknown, and `char` and `short` take 4 bytes. */
    {"params.zebin", KDL_IMAGE_ZEBIN, "many", "v4 p8 v4 v4 v4 v8 v0 v8 v16 g0 o0 "},
    {"params.zebin", KDL_IMAGE_ZEBIN, "none", ""},
};
enum { golden_count = sizeof goldens / sizeof *goldens };

static uint8_t *read_image(const char *file, size_t *out_size) {
  char path[128];
  snprintf(path, sizeof path, "images/%s", file);
  return read_golden(path, out_size);
}

static void golden_images_show_their_parameters(void **state) {
  (void)state;
  for (size_t i = 0; i < golden_count; ++i) {
    size_t size;
    uint8_t *data = read_image(goldens[i].file, &size);
    print_message("%s %s\n", goldens[i].file, goldens[i].kernel);
    assert_params(goldens[i].kind, data, size, goldens[i].kernel, goldens[i].params);
    assert_no_params(goldens[i].kind, data, size, "man", KDL_NO_MATCH,
                     "found no kernel \"man\" in the image, expected one");
    free(data);
  }
}

static void a_visitor_stops_the_walk(void **state) {
  (void)state;
  for (size_t i = 0; i < golden_count; ++i) {
    if (strcmp(goldens[i].kernel, "many") != 0)
      continue;
    size_t size;
    uint8_t *data = read_image(goldens[i].file, &size);
    param_text text = {.stop_after = 2};
    assert_ok(
        kdl_image_read_params(goldens[i].kind, data, size, KDL_TEXT("many"), print_param, &text));
    assert_int_equal(text.count, 2);
    free(data);
  }
}

static void other_kinds_do_not_tell(void **state) {
  (void)state;
  assert_no_params(KDL_IMAGE_OBJECT, "", 0, "f", KDL_UNSUPPORTED,
                   "object image: it does not tell its kernels' parameters");
  assert_no_params(KDL_IMAGE_BITCODE, "", 0, "f", KDL_UNSUPPORTED,
                   "bitcode image: it does not tell its kernels' parameters");
  size_t size;
  uint8_t *data = read_image("gfx1030_no_note.o", &size);
  assert_no_params(KDL_IMAGE_HSACO, data, size, "fill", KDL_UNSUPPORTED,
                   "the code object has no metadata, which would tell its kernels' parameters");
  free(data);
}

static int touch_param(void *user, const kdl_image_param *param) {
  uint32_t *sum = user;
  *sum += param->size + param->offset;
  return 0;
}

static void read_damaged(kdl_image_kind kind, const uint8_t *data, size_t size,
                         const char *kernel) {
  uint32_t sum = 0;
  if (kdl_image_read_params(kind, data, size, kdl_text_of(kernel), touch_param, &sum) != KDL_OK)
    assert_string_not_equal(kdl_error_message(), "");
}

static void damaged_images_are_survived(void **state) {
  (void)state;
  for (size_t i = 0; i < golden_count; ++i) {
    size_t size;
    uint8_t *data = read_image(goldens[i].file, &size);
    for (size_t length = 0; length < size; ++length) {
      uint8_t *prefix = malloc(length ? length : 1);
      memcpy(prefix, data, length);
      read_damaged(goldens[i].kind, prefix, length, goldens[i].kernel);
      free(prefix);
    }
    for (size_t at = 0; at < size; ++at) {
      uint8_t kept = data[at];
      data[at] = 0xff;
      read_damaged(goldens[i].kind, data, size, goldens[i].kernel);
      data[at] = kept ^ 1;
      read_damaged(goldens[i].kind, data, size, goldens[i].kernel);
      data[at] = kept;
    }
    free(data);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* PTX                                                                                          */

#define PTX64 ".version 9.0\n.target sm_90\n.address_size 64\n"

static void ptx_types_have_sizes_kinds_and_places(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *params;
  } rows[] = {
      {PTX64 ".entry k() {}", ""},
      {PTX64 ".entry k {}", ""},
      {PTX64 ".entry k(.param .u8 a, .param .s16 b, .param .b32 c, .param .b64 d) {}",
       "i1@0 i2@2 v4@4 b8@8 "},
      {PTX64 ".entry k(.param .f16 a, .param .bf16 b, .param .f16x2 c, .param .f64 d) {}",
       "f2@0 f2@2 v4@4 f8@8 "},
      {PTX64 ".entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b) {}", "p8@0 p8@8 "},
      {PTX64 ".entry k(.param .b8 a, .param .align 16 .b8 b[24], .param .u32 c[2]) {}",
       "v1@0 v24@16 v8@40 "},
      {PTX64 ".entry k(.param .b8 a[8], .param .b128 b, .param .texref t) {}",
       "v8@0 v16@16 o0@32 "},
      /* Without .address_size, pointers have 32 bits. */
      {".version 3.0\n.target sm_20\n.entry k(.param .u32 a, .param .u64 b) {}", "b4@0 i8@8 "},
      /* A declaration and another kernel come before. */
      {PTX64 ".entry k(.param .u32 a);\n.entry kk(.param .f64 a) {}\n"
             ".visible .entry k(.param .u16 a) .maxntid 1, 1, 1 {}",
       "i2@0 "},
      {PTX64 "/* .entry k(.param .u8 a) {} */ .entry k( // one\n.param .f32 a\n)\n{}", "f4@0 "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    print_message("%s\n", rows[i].text);
    assert_params(KDL_IMAGE_PTX, rows[i].text, strlen(rows[i].text), "k", rows[i].params);
  }
}

static void wrong_ptx_is_refused_with_its_place(void **state) {
  (void)state;
  static const struct {
    const char *text;
    kdl_status status;
    const char *message;
  } rows[] = {
      {PTX64 ".entry k(.param a) {}", KDL_BAD_FILE,
       "offset 0x3d: .param: found byte 0x29, expected a type such as .u64 before it"},
      {PTX64 ".entry k(.param .b8 a[99999]) {}", KDL_BAD_FILE,
       "offset 0x42: []: found \"99999\", expected a number up to 65535"},
      {PTX64 ".entry k(.param .b8 a[4) {}", KDL_BAD_FILE,
       "offset 0x43: []: found byte 0x29, expected ]"},
      {PTX64 ".entry k(.param .b64 a[9000]) {}", KDL_BAD_FILE,
       "offset 0x47: []: found byte 0x5d, expected at most 65535 bytes of it"},
      {PTX64 ".entry k(.param .align x .b8 a) {}", KDL_BAD_FILE,
       "offset 0x43: .align: found \"x\", expected a number up to 65535"},
      {PTX64 ".entry k(.param .u32 a {}", KDL_BAD_FILE,
       "offset 0x43: .param: found byte 0x7b, expected a parameter"},
      {PTX64 ".entry k(.param .u32 a)", KDL_NO_MATCH,
       "found no kernel \"k\" in the image, expected one"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    print_message("%s\n", rows[i].text);
    assert_no_params(KDL_IMAGE_PTX, rows[i].text, strlen(rows[i].text), "k", rows[i].status,
                     rows[i].message);
  }
}

static void parameters_have_a_limit(void **state) {
  (void)state;
  char *text = malloc(64 + 16 * (KDL_IMAGE_PARAM_LIMIT + 1));
  char *end = text + sprintf(text, "%s", PTX64 ".entry k(");
  for (int i = 0; i <= KDL_IMAGE_PARAM_LIMIT; ++i)
    end += sprintf(end, "%s.param .u8 a", i ? "," : "");
  end += sprintf(end, ") {}");
  uint32_t sum = 0;
  assert_fails(kdl_image_read_params(KDL_IMAGE_PTX, text, (size_t)(end - text), KDL_TEXT("k"),
                                     touch_param, &sum),
               KDL_UNSUPPORTED, "found more than 1024 parameters, expected at most that");
  free(text);
}

/* ------------------------------------------------------------------------------------------ */
/* Cubins                                                                                       */

enum { machine_cuda = 190, type_info = 0x70000000 };

static elf_image with_info(const void *data, size_t size) {
  const elf_section section = {".nv.info.k", type_info, 0, data, size};
  return build_elf(machine_cuda, &section, 1);
}

static void cubins_show_large_arguments_in_another_form(void **state) {
  (void)state;
  /* As ptxas 13.0 writes them for sm_120: a pointer to global memory, then 20000 bytes. */
  static const uint8_t info[] = {4, 0x37, 4, 0, 0x82, 0,    0, 0, 4, 0x45, 12,   0, 0, 0, 0, 0,
                                 1, 0,    8, 0, 0x20, 0x4e, 0, 0, 4, 0x45, 12,   0, 0, 0, 0, 0,
                                 0, 0,    0, 0, 8,    0,    4, 4, 3, 0x1b, 0xff, 0};
  elf_image elf = with_info(info, sizeof info);
  assert_params(KDL_IMAGE_CUBIN, elf.data, elf.size, "k", "p8@0 b20000@8 ");
  free(elf.data);
}

static void wrong_cubins_are_refused(void **state) {
  (void)state;
  static const struct {
    uint8_t info[20];
    size_t size;
    kdl_status status;
    const char *message;
  } rows[] = {
      {{4, 0x17, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0},
       12,
       KDL_BAD_FILE,
       "offset 0x44: EIATTR_KPARAM_INFO: found 8 bytes, expected 12"},
      {{4, 0x17, 12, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0xf0, 0x21, 0},
       16,
       KDL_BAD_FILE,
       "offset 0x40: EIATTR_KPARAM_INFO: found parameter 1 and none of number 0, expected all of "
       "them"},
      {{4, 0x17, 12, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0xf0, 0x21, 0},
       16,
       KDL_UNSUPPORTED,
       "found more than 1024 parameters, expected at most that"},
      {{4, 0x17, 12, 0, 0, 0},
       6,
       KDL_BAD_FILE,
       "offset 0x42: .nv.info: found an attribute of 12 bytes, expected at most 2"},
      {{3, 0x1b, 0xff},
       3,
       KDL_BAD_FILE,
       "offset 0x40: .nv.info: found 3 bytes, expected an attribute of at least 4"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    elf_image elf = with_info(rows[i].info, rows[i].size);
    assert_no_params(KDL_IMAGE_CUBIN, elf.data, elf.size, "k", rows[i].status, rows[i].message);
    assert_no_params(KDL_IMAGE_CUBIN, elf.data, elf.size, "kk", KDL_NO_MATCH,
                     "found no kernel \"kk\" in the image, expected one");
    free(elf.data);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* AMD                                                                                          */

enum { machine_amdgpu = 224, type_note = 7, os_hsa = 64 };

static elf_image with_metadata(const char *bytes, size_t size) {
  uint8_t note[256] = {7, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 'A', 'M', 'D', 'G', 'P', 'U'};
  kdl_store_u32(note + 4, (uint32_t)size);
  memcpy(note + 20, bytes, size);
  const elf_section section = {".note", type_note, 0, note, 20 + (size + 3) / 4 * 4};
  elf_image elf = build_elf(machine_amdgpu, &section, 1);
  elf.data[7] = os_hsa;
  return elf;
}

#define KERNELS                                                                                    \
  "\x81\xae"                                                                                       \
  "amdhsa.kernels"

static void amd_arguments_come_in_any_order_and_width(void **state) {
  (void)state;
  static const char bytes[] = KERNELS "\x92\x81\xa5.name\xa1z\x82\xa5.args\x93"
                                      "\x83\xa5.size\xcc\x08\xa7.offset\x00\xab.value_kind\xa5image"
                                      "\x83\xa7.offset\xcd\x01\x00\xa5.size\xce\x00\x01\x00\x00"
                                      "\xab.value_kind\xa8"
                                      "by_value"
                                      "\x82\xa7.offset\x08\xa5.size\x04"
                                      "\xa5.name\xa1k";
  elf_image elf = with_metadata(bytes, sizeof bytes - 1);
  assert_params(KDL_IMAGE_HSACO, elf.data, elf.size, "k", "o8@0 v65536@256 b4@8 ");
  assert_params(KDL_IMAGE_HSACO, elf.data, elf.size, "z", "");
  free(elf.data);
}

static void wrong_amd_arguments_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    const char *message;
  } rows[] = {
      {KERNELS "\x91\x82\xa5.name\xa1k\xa5.args\x01",
       "offset 0x74: .args: found another type, expected an array"},
      {KERNELS "\x91\x82\xa5.name\xa1k\xa5.args\x91\x01",
       "offset 0x75: AMDGPU metadata: found another type, expected a map"},
      {KERNELS "\x91\x82\xa5.name\xa1k\xa5.args\x91\x81\xa7.offset\x01",
       "offset 0x75: .size: found none, expected a number"},
      {KERNELS "\x91\x82\xa5.name\xa1k\xa5.args\x91\x81\xa5.size\xff",
       "offset 0x7c: .size: found no number of 32 bits, expected one"},
      {KERNELS "\x91\x82\xa5.name\xa1k\xa5.args\x91\x81\xa5.size\xce\xff\xff\xff\xff",
       "offset 0x7c: .size: found no number of 32 bits, expected one"},
      {KERNELS "\x91\x82\xa5.name\xa1k\xa5.args\x91\x81\xab.value_kind\x01",
       "offset 0x82: .value_kind: found another type, expected a string"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    elf_image elf = with_metadata(rows[i].bytes, strlen(rows[i].bytes));
    assert_no_params(KDL_IMAGE_HSACO, elf.data, elf.size, "k", KDL_BAD_FILE, rows[i].message);
    free(elf.data);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* SPIR-V                                                                                       */

#define OP(opcode, length) ((uint32_t)(length) << 16 | (opcode))
#define HEADER 0x07230203, 0x00010600, 0, 64, 0
#define MODEL(addressing) OP(14, 3), (addressing), 2
#define ENTRY(function) OP(15, 4), 6, (function), 'k' /* OpEntryPoint Kernel "k" */
#define FUNCTION(id, type) OP(54, 5), 1, (id), 0, (type)

#define assert_spirv(expected, ...)                                                                \
  do {                                                                                             \
    const uint32_t words_[] = {__VA_ARGS__};                                                       \
    uint8_t data_[sizeof words_];                                                                  \
    for (size_t i_ = 0; i_ < sizeof words_ / 4; ++i_)                                              \
      kdl_store_u32(data_ + 4 * i_, words_[i_]);                                                   \
    assert_params(KDL_IMAGE_SPIRV, data_, sizeof data_, "k", expected);                            \
  } while (0)

#define assert_no_spirv(status, message, ...)                                                      \
  do {                                                                                             \
    const uint32_t words_[] = {__VA_ARGS__};                                                       \
    uint8_t data_[sizeof words_];                                                                  \
    for (size_t i_ = 0; i_ < sizeof words_ / 4; ++i_)                                              \
      kdl_store_u32(data_ + 4 * i_, words_[i_]);                                                   \
    assert_no_params(KDL_IMAGE_SPIRV, data_, sizeof data_, "k", status, message);                  \
  } while (0)

/* %2 int 8, %3 int 64, %4 struct { i8, i64 }, %5 pointer to it; %9 is the function. */
#define STRUCTURE                                                                                  \
  OP(21, 4), 2, 8, 0, OP(21, 4), 3, 64, 0, OP(30, 4), 4, 2, 3, OP(32, 4), 5, 7, 4, OP(33, 4), 6,   \
      1, 5

static void spirv_structures_are_measured(void **state) {
  (void)state;
  assert_spirv("p8 ", HEADER, MODEL(2), ENTRY(9), STRUCTURE, FUNCTION(9, 6), OP(55, 3), 5, 10);
  assert_spirv("p4 ", HEADER, MODEL(1), ENTRY(9), STRUCTURE, FUNCTION(9, 6), OP(55, 3), 5, 10);
  /* ByVal on the parameter, then also Packed on the structure. */
  assert_spirv("v16 ", HEADER, MODEL(2), ENTRY(9), OP(71, 4), 10, 38, 2, STRUCTURE, FUNCTION(9, 6),
               OP(55, 3), 5, 10);
  assert_spirv("v9 ", HEADER, MODEL(2), ENTRY(9), OP(71, 4), 10, 38, 2, OP(71, 3), 4, 10, STRUCTURE,
               FUNCTION(9, 6), OP(55, 3), 5, 10);
}

static void wrong_spirv_is_refused(void **state) {
  (void)state;
  assert_no_spirv(KDL_BAD_FILE,
                  "offset 0x50: OpEntryPoint: found function %9, expected one that is defined",
                  HEADER, MODEL(2), ENTRY(9), OP(33, 3), 6, 1, FUNCTION(8, 6));
  assert_no_spirv(KDL_BAD_FILE,
                  "offset 0x3c: OpFunction: found type %7, expected one of a function", HEADER,
                  MODEL(2), ENTRY(9), OP(33, 3), 6, 1, FUNCTION(9, 7));
  assert_no_spirv(KDL_BAD_FILE,
                  "offset 0x0: OpTypeFunction: found a parameter of type %5, expected a declared "
                  "type",
                  HEADER, MODEL(2), ENTRY(9), OP(33, 4), 6, 1, 5, FUNCTION(9, 6));
}

/* Structures and arrays of themselves, and a structure of structures of structures ... */
static void endless_spirv_types_are_refused(void **state) {
  (void)state;
  static const char message[] =
      "found parameters of types that are too many, too large or too deep to read";
  assert_no_spirv(KDL_UNSUPPORTED, message, HEADER, MODEL(2), ENTRY(9), OP(30, 3), 4, 4, OP(33, 4),
                  6, 1, 4, FUNCTION(9, 6));
  assert_no_spirv(KDL_UNSUPPORTED, message, HEADER, MODEL(2), ENTRY(9), OP(28, 4), 4, 4, 7,
                  OP(33, 4), 6, 1, 4, FUNCTION(9, 6));
  assert_no_spirv(KDL_UNSUPPORTED, message, HEADER, MODEL(2), ENTRY(9), OP(30, 6), 5, 4, 4, 4, 4,
                  OP(30, 6), 4, 3, 3, 3, 3, OP(30, 6), 3, 2, 2, 2, 2, OP(30, 6), 2, 8, 8, 8, 8,
                  OP(30, 6), 8, 7, 7, 7, 7, OP(21, 4), 7, 8, 0, OP(33, 4), 6, 1, 5, FUNCTION(9, 6));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_show_their_parameters),
      cmocka_unit_test(a_visitor_stops_the_walk),
      cmocka_unit_test(other_kinds_do_not_tell),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(ptx_types_have_sizes_kinds_and_places),
      cmocka_unit_test(wrong_ptx_is_refused_with_its_place),
      cmocka_unit_test(parameters_have_a_limit),
      cmocka_unit_test(cubins_show_large_arguments_in_another_form),
      cmocka_unit_test(wrong_cubins_are_refused),
      cmocka_unit_test(amd_arguments_come_in_any_order_and_width),
      cmocka_unit_test(wrong_amd_arguments_are_refused),
      cmocka_unit_test(spirv_structures_are_measured),
      cmocka_unit_test(wrong_spirv_is_refused),
      cmocka_unit_test(endless_spirv_types_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
