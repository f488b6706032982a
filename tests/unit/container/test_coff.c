/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload sections in COFF objects, with few sections or many, and in Windows programs. */
#include "support.h"

#include "support/base/bytes.h"

#include <errno.h>

enum { x86_64 = 0x8664, initialised = 0x40, code = 0x20, removed = 0x800 };

typedef enum { PLAIN, BIG, PROGRAM } layout;

typedef struct {
  const char *name; /* 8 bytes at most; "/4" for the long one */
  uint32_t flags;
  const void *data;
  size_t size;
} coff_section;

typedef struct {
  uint8_t *data;
  size_t size;
  size_t sections; /* offset of their headers */
} coff_image;

static const uint64_t program_base = 0x180000000;

static uint32_t section_address(size_t index) {
  return 0x1000 + 0x10000 * (uint32_t)index;
}

static const char long_name[] = ".llvm.offloading";

/* The long name is at 4 in the table of strings, which follows one symbol. */
static coff_image build(layout how, const coff_section *sections, size_t count) {
  size_t start = how == BIG ? 56 : how == PROGRAM ? 64 + 16 + 4 + 20 + 240 : 20;
  size_t header = how == PROGRAM ? 64 + 16 + 4 : 0;
  size_t size = start + count * 40;
  for (size_t i = 0; i < count; ++i)
    size = (size_t)kdl_align8(size) + sections[i].size;
  size_t symbols = (size_t)kdl_align8(size);
  size_t symbol_size = how == BIG ? 20 : 18;
  coff_image image = {.size = symbols + symbol_size + 4 + sizeof long_name, .sections = start};
  uint8_t *out = image.data = calloc(1, image.size);
  if (how == BIG) {
    static const uint8_t id[16] = {0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b,
                                   0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8};
    kdl_store_u16(out + 2, 0xffff);
    kdl_store_u16(out + 4, 2);
    kdl_store_u16(out + 6, x86_64);
    memcpy(out + 12, id, sizeof id);
    kdl_store_u32(out + 44, (uint32_t)count);
    kdl_store_u32(out + 48, (uint32_t)symbols);
    kdl_store_u32(out + 52, 1);
  } else {
    if (how == PROGRAM) {
      memcpy(out, "MZ", 2);
      kdl_store_u32(out + 60, 64 + 16);
      memcpy(out + 64 + 16, "PE\0", 4);
      kdl_store_u16(out + header + 16, 240);
      kdl_store_u16(out + header + 20, 0x20b);
      kdl_store_u64(out + header + 20 + 24, program_base);
    }
    kdl_store_u16(out + header, x86_64);
    kdl_store_u16(out + header + 2, (uint16_t)count);
    kdl_store_u32(out + header + 8, (uint32_t)symbols);
    kdl_store_u32(out + header + 12, 1);
  }
  size_t at = start + count * 40;
  for (size_t i = 0; i < count; ++i) {
    uint8_t *section = out + start + i * 40;
    at = (size_t)kdl_align8(at);
    memcpy(section, sections[i].name, strnlen(sections[i].name, 8));
    kdl_store_u32(section + 12, how == PROGRAM ? section_address(i) : 0);
    kdl_store_u32(section + 16, (uint32_t)sections[i].size);
    kdl_store_u32(section + 20, (uint32_t)at);
    kdl_store_u32(section + 36, sections[i].flags);
    memcpy(out + at, sections[i].data, sections[i].size);
    at += sections[i].size;
  }
  memcpy(out + symbols + symbol_size + 4, long_name, sizeof long_name);
  return image;
}

static uint8_t *three, *fatbin;
static size_t three_size, fatbin_size;

static int load(void **state) {
  (void)state;
  three = read_golden("offload/v1_three.offload", &three_size);
  fatbin = read_golden("fatbin/archs.fatbin", &fatbin_size);
  return 0;
}

static int unload(void **state) {
  (void)state;
  free(three);
  free(fatbin);
  return 0;
}

static void finds_what_clang_embedded(void **state) {
  (void)state;
  static const char *const names[] = {"/4", "//AAAAAE"};
  for (int how = PLAIN; how <= BIG; ++how) {
    for (size_t i = 0; i < 2; ++i) {
      coff_section sections[] = {{".text", code, "code", 4},
                                 {names[i], initialised | removed, three, three_size}};
      coff_image image = build((layout)how, sections, 2);
      kdl_library *lib;
      assert_ok(try_open(image.data, image.size, &lib));
      assert_int_equal(kdl_image_count(lib), 3);
      assert_string_equal(image_at(lib, 0).container.data, "offload-binary v1 in .llvm.offloading");
      kdl_close(lib);
      free(image.data);
    }
  }
}

/* Linkers cut names at 8 bytes; and what is in no section of its own is found by the search. */
static void finds_fatbins_in_programs(void **state) {
  (void)state;
  kdl_library *lib;
  assert_ok(try_open(fatbin, fatbin_size, &lib));
  size_t each = kdl_image_count(lib);
  kdl_close(lib);
  coff_section sections[] = {{".nv_fatb", initialised, fatbin, fatbin_size},
                             {".rdata", initialised, fatbin, fatbin_size},
                             {".text", code, fatbin, fatbin_size},
                             {"__nv_rel", initialised, fatbin, fatbin_size}};
  coff_image image = build(PROGRAM, sections, 4);
  assert_ok(try_open(image.data, image.size, &lib));
  assert_int_equal(kdl_image_count(lib), 3 * each);
  assert_string_equal(image_at(lib, 0).container.data, "cuda-fatbin in .nv_fatb");
  assert_string_equal(image_at(lib, each).container.data, "cuda-fatbin in .rdata");
  kdl_close(lib);
  free(image.data);
}

/* Windows' linkers leave the addresses in place, and zeros after the table. */
static void finds_sycl_images_in_programs(void **state) {
  (void)state;
  size_t size;
  uint8_t *spirv = read_golden("images/spirv64.spv", &size);
  uint8_t table[64] = {0};
  kdl_store_u64(table, program_base + section_address(0));
  kdl_store_u64(table + 8, size);
  coff_section sections[] = {{"__CLANG_", initialised, spirv, size},
                             {".tgtimg", initialised, table, sizeof table}};
  coff_image image = build(PROGRAM, sections, 2);
  kdl_library *lib;
  assert_ok(try_open(image.data, image.size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_SPIRV);
  assert_int_equal(image_at(lib, 0).offload_kind, KDL_OFFLOAD_SYCL);
  assert_string_equal(image_at(lib, 0).problem.data, "");
  const void *bytes;
  size_t count;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &count));
  assert_memory_equal(bytes, spirv, size);
  kdl_close(lib);
  free(image.data);
  free(spirv);
}

static void refuse(coff_image *image, size_t offset, uint32_t value, const char *message) {
  uint8_t saved[4];
  memcpy(saved, image->data + offset, 4);
  kdl_store_u32(image->data + offset, value);
  kdl_library *lib;
  assert_fails(try_open(image->data, image->size, &lib), KDL_BAD_FILE, message);
  memcpy(image->data + offset, saved, 4);
}

static void refuses_what_is_damaged(void **state) {
  (void)state;
  coff_section sections[] = {{"/4", initialised, three, three_size}};
  coff_image plain = build(PLAIN, sections, 1);
  refuse(&plain, 0, 0xffff0000 | x86_64,
         "t: offset 0x0: NumberOfSections: found 65535, expected at most 16");
  assert_int_equal(kdl_error_code(), 0);
  refuse(&plain, plain.sections + 16, 0xffffffff,
         "t: offset 0x24: .llvm.offloading: found 0xffffffff bytes at 0x40, expected them to end "
         "within the file's 0x2a7");
  static const char nothing[] =
      "t: offset 0x0: format: found a COFF file without device code, expected an OffloadBinary, a "
      "Clang offload bundle, a CUDA fatbin, an ELF file, an archive, bitcode, PTX or SPIR-V";
  refuse(&plain, 8, 0, nothing);                     /* no table of names */
  assert_int_equal(kdl_error_code(), ENODATA);       /* for callers that search programs */
  refuse(&plain, 8, 0xffffffff, nothing);            /* one beyond the file */
  refuse(&plain, plain.sections, 0x39392f, nothing); /* "/99", a name beyond it */
  free(plain.data);
  coff_image program = build(PROGRAM, sections, 1);
  refuse(&program, 60, 0xffffffff,
         "t: offset 0x3c: e_lfanew: found 0xffffffff, expected where a PE header is in the 0x3e7 "
         "bytes of the file");
  free(program.data);
}

static void survives_every_cut(void **state) {
  (void)state;
  coff_section sections[] = {{"/4", initialised, three, three_size},
                             {".rdata", initialised, fatbin, fatbin_size}};
  for (int how = PLAIN; how <= PROGRAM; ++how) {
    coff_image image = build((layout)how, sections, 2);
    for (size_t cut = 0; cut < image.size; cut += cut < 512 ? 1 : 37)
      open_and_read_all(image.data, cut);
    free(image.data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_clang_embedded),
      cmocka_unit_test(finds_fatbins_in_programs),
      cmocka_unit_test(finds_sycl_images_in_programs),
      cmocka_unit_test(refuses_what_is_damaged),
      cmocka_unit_test(survives_every_cut),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
