/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "elf_builder.h"
#include "image_support.h"

static const golden_image goldens[] = {
    {"x86_64.o", KDL_IMAGE_OBJECT, "x86_64-unknown-linux-gnu", "", 0, "saxpy fill "},
    {"x86_64_v3.so", KDL_IMAGE_OBJECT, "x86_64-unknown-linux-gnu", "x86-64-v3", 0, "saxpy fill "},
    {"aarch64.o", KDL_IMAGE_OBJECT, "aarch64-unknown-linux-gnu", "", 0, "saxpy fill "},
    {"i386.o", KDL_IMAGE_OBJECT, "i386-unknown-linux-gnu", "", 0, "saxpy fill "},
    {"s390x.o", KDL_IMAGE_OBJECT, "s390x-unknown-linux-gnu", "", 0, "saxpy fill "}, /* big-endian */
};
GOLDEN_TESTS(goldens)

static void machines_make_triples(void **state) {
  (void)state;
  static const struct {
    uint8_t elf_class, byte_order, os_abi;
    uint16_t machine;
    const char *triple;
  } rows[] = {
      {1, 1, 0, 3, "i386-unknown-linux-gnu"},
      {1, 2, 0, 8, "mips-unknown-linux-gnu"},
      {1, 1, 0, 8, "mipsel-unknown-linux-gnu"},
      {2, 2, 0, 8, "mips64-unknown-linux-gnuabi64"},
      {2, 1, 0, 8, "mips64el-unknown-linux-gnuabi64"},
      {1, 2, 0, 20, "powerpc-unknown-linux-gnu"},
      {2, 2, 0, 21, "powerpc64-unknown-linux-gnu"},
      {2, 1, 0, 21, "powerpc64le-unknown-linux-gnu"},
      {2, 2, 0, 22, "s390x-unknown-linux-gnu"},
      {1, 1, 0, 40, "arm-unknown-linux-gnueabihf"},
      {2, 2, 0, 43, "sparcv9-unknown-linux-gnu"},
      {2, 1, 0, 62, "x86_64-unknown-linux-gnu"},
      {2, 1, 3, 62, "x86_64-unknown-linux-gnu"},
      {1, 1, 0, 62, "x86_64-unknown-linux-gnux32"},
      {2, 1, 2, 62, "x86_64-unknown-netbsd"},
      {2, 1, 9, 62, "x86_64-unknown-freebsd"},
      {2, 1, 12, 62, "x86_64-unknown-openbsd"},
      {2, 1, 0, 183, "aarch64-unknown-linux-gnu"},
      {2, 2, 0, 183, "aarch64_be-unknown-linux-gnu"},
      {1, 1, 0, 243, "riscv32-unknown-linux-gnu"},
      {2, 1, 0, 243, "riscv64-unknown-linux-gnu"},
      {2, 1, 0, 258, "loongarch64-unknown-linux-gnu"},
      {2, 2, 0, 22222, ""},
      {1, 1, 0, 22, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    uint8_t data[64] = "\177ELF";
    data[4] = rows[i].elf_class;
    data[5] = rows[i].byte_order;
    data[7] = rows[i].os_abi;
    data[rows[i].byte_order == 1 ? 18 : 19] = (uint8_t)rows[i].machine;
    data[rows[i].byte_order == 1 ? 19 : 18] = (uint8_t)(rows[i].machine >> 8);
    assert_target(KDL_IMAGE_OBJECT, data, sizeof data, rows[i].triple, "", 0);
  }
}

/* A file with one property note, whose ISA word needs `levels`. */
static elf_image with_isa_needed(uint32_t levels) {
  uint8_t note[48] = {4, 0, 0, 0, 32, 0, 0, 0, 5, 0, 0, 0, 'G', 'N', 'U'};
  kdl_store_u32(note + 16, 0xc0000002); /* X86_FEATURE_1_AND, to be passed over */
  kdl_store_u32(note + 20, 4);
  kdl_store_u32(note + 32, 0xc0008002); /* X86_ISA_1_NEEDED */
  kdl_store_u32(note + 36, 4);
  kdl_store_u32(note + 40, levels);
  const elf_section section = {".note.gnu.property", 7, 2, note, sizeof note};
  return build_elf(62, &section, 1);
}

static void isa_levels_make_the_arch(void **state) {
  (void)state;
  static const struct {
    uint32_t levels;
    const char *arch;
  } rows[] = {
      {3, "x86-64-v2"}, {2, "x86-64-v2"}, {7, "x86-64-v3"}, {15, "x86-64-v4"},
      {8, "x86-64-v4"}, {0, ""},          {1, ""}, /* as the C library's start files do, whatever
                                                      the code needs */
      {0x1f, ""},       {0xfffffff0, ""},          /* levels to come */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    elf_image elf = with_isa_needed(rows[i].levels);
    assert_target(KDL_IMAGE_OBJECT, elf.data, elf.size, "x86_64-unknown-linux-gnu", rows[i].arch,
                  0);
    free(elf.data);
  }
}

/* Writes the note of <kdl/host_abi.h>; returns its size. */
static size_t put_note(uint8_t *at, uint32_t type, const char *text) {
  size_t length = strlen(text) + 1;
  kdl_store_u32(at, 4);
  kdl_store_u32(at + 4, (uint32_t)length);
  kdl_store_u32(at + 8, type);
  memcpy(at + 12, "kdl", 4);
  memcpy(at + 16, text, length);
  return 16 + (length + 3) / 4 * 4;
}

static void check_notes(uint16_t machine, const char *first, const char *second, const char *arch) {
  uint8_t notes[4096] = {0};
  size_t size = first ? put_note(notes, 1, first) : 0;
  size += second ? put_note(notes + size, 1, second) : 0;
  size += put_note(notes + size, 2, "another type, to be passed over");
  const elf_section section = {".note.kdl", 7, 2, notes, size};
  elf_image elf = build_elf(machine, &section, 1);
  kdl_image_target target;
  assert_ok(kdl_image_read_target(KDL_IMAGE_OBJECT, elf.data, elf.size, &target));
  assert_string_equal(target.arch, arch);
  free(elf.data);
}

static void a_note_tells_the_cpu(void **state) {
  (void)state;
  check_notes(62, "x86-64-v4+avx512_bf16", NULL, "x86-64-v4+avx512_bf16");
  check_notes(183, "armv8.2-a+bf16", NULL, "armv8.2-a+bf16");
  check_notes(243, "rv64gcv_zba", NULL, "rv64gcv_zba");
  check_notes(62, "x86-64-v2", "x86-64-v2", "x86-64-v2");
  check_notes(62, "x86-64-v2", "x86-64-v4", ""); /* linked of objects for two CPUs */
  check_notes(62, "x86-64-v2", "x86-64", "");
  check_notes(62, NULL, NULL, "");
  check_notes(22, "z13", NULL, ""); /* of no CPU that images run on */
}

/* The compiler's word, not the linker's. */
static void a_note_goes_before_a_property(void **state) {
  (void)state;
  uint8_t notes[128] = {4, 0, 0, 0, 16, 0, 0, 0, 5, 0, 0, 0, 'G', 'N', 'U'};
  kdl_store_u32(notes + 16, 0xc0008002);
  kdl_store_u32(notes + 20, 4);
  kdl_store_u32(notes + 24, 7);
  size_t size = 32 + put_note(notes + 32, 1, "x86-64-v3+avx_vnni");
  const elf_section section = {".note", 7, 2, notes, size};
  elf_image elf = build_elf(62, &section, 1);
  assert_target(KDL_IMAGE_OBJECT, elf.data, elf.size, "x86_64-unknown-linux-gnu",
                "x86-64-v3+avx_vnni", 0);
  free(elf.data);
}

static void a_note_must_be_short_and_printable(void **state) {
  (void)state;
  static uint8_t notes[4096];
  char text[2100];
  memset(text, 'a', sizeof text);
  for (size_t length = 2047; length <= 2048; ++length) {
    text[length] = '\0';
    const elf_section section = {".note.kdl", 7, 2, notes, put_note(notes, 1, text)};
    elf_image elf = build_elf(62, &section, 1);
    kdl_image_target target;
    kdl_status status = kdl_image_read_target(KDL_IMAGE_OBJECT, elf.data, elf.size, &target);
    assert_int_equal(status, length == 2047 ? KDL_OK : KDL_BAD_FILE);
    free(elf.data);
    text[length] = 'a';
  }
  assert_string_equal(kdl_error_message(),
                      "offset 0x50: note of the CPU: found 2048 bytes, expected at most 2047");
  const elf_section section = {".note.kdl", 7, 2, notes, put_note(notes, 1, "x86\033[31m")};
  elf_image elf = build_elf(62, &section, 1);
  kdl_image_target target;
  assert_fails(kdl_image_read_target(KDL_IMAGE_OBJECT, elf.data, elf.size, &target), KDL_BAD_FILE,
               "offset 0x50: note of the CPU: found byte 0x1b in it, expected printable text");
  free(elf.data);
}

static void a_property_must_fit_its_note(void **state) {
  (void)state;
  elf_image elf = with_isa_needed(7);
  kdl_store_u32(elf.data + elf.content + 36, 9);
  kdl_image_target target;
  assert_fails(kdl_image_read_target(KDL_IMAGE_OBJECT, elf.data, elf.size, &target), KDL_BAD_FILE,
               "offset 0x60: GNU property: found one of 17 bytes, expected it inside the 16 that "
               "are left");
  free(elf.data);
}

/* One symbol after the null one: of the given type, binding and visibility, in a section or not. */
static void check_symbol(uint8_t info, uint8_t other, uint16_t section, const char *name,
                         const char *expected) {
  uint8_t symbols[2 * 24] = {0};
  kdl_store_u32(symbols + 24, 1);
  symbols[24 + 4] = info;
  symbols[24 + 5] = other;
  kdl_store_u16(symbols + 24 + 6, section);
  char strings[16] = {0};
  strcpy(strings + 1, name);
  const elf_section sections[] = {
      {".symtab", 2, 0, symbols, sizeof symbols},
      {".strtab", 3, 0, strings, sizeof strings},
  };
  elf_image elf = build_elf(62, sections, 2);
  kdl_store_u32(elf.data + elf.table + 64 + 40, 2);
  kdl_store_u64(elf.data + elf.table + 64 + 56, 24);
  assert_kernels(KDL_IMAGE_OBJECT, elf.data, elf.size, expected);
  free(elf.data);
}

static void functions_that_can_be_found_by_name_are_kernels(void **state) {
  (void)state;
  enum { global = 1 << 4, weak = 2 << 4, object = 1, function = 2, indirect = 10 };
  check_symbol(global | function, 0, 1, "f", "f ");
  check_symbol(weak | function, 0, 1, "f", "f ");
  check_symbol(global | indirect, 0, 1, "f", "f ");
  check_symbol(global | function, 3, 1, "f", "f ");      /* protected */
  check_symbol(global | function, 0, 0xfff1, "f", "f "); /* absolute */
  check_symbol(global | function, 2, 1, "f", "");        /* hidden */
  check_symbol(global | function, 1, 1, "f", "");        /* internal */
  check_symbol(global | function, 0, 0, "f", "");        /* undefined */
  check_symbol(function, 0, 1, "f", "");                 /* local */
  check_symbol(global | object, 0, 1, "f", "");
  check_symbol(global | function, 0, 1, "_init", "");
  check_symbol(global | function, 0, 1, "_fini", "");
  check_symbol(global | function, 0, 1, "_init2", "_init2 ");
}

static void wrong_headers_are_refused(void **state) {
  (void)state;
  kdl_image_target target;
  uint8_t data[64] = "\177ELF\3\1";
  assert_fails(kdl_image_read_target(KDL_IMAGE_OBJECT, data, 19, &target), KDL_BAD_FILE,
               "offset 0x0: e_ident: found no ELF header, expected 7f 45 4c 46");
  assert_fails(kdl_image_read_target(KDL_IMAGE_OBJECT, data, sizeof data, &target), KDL_BAD_FILE,
               "offset 0x4: EI_CLASS: found 3, expected 1 or 2");
  data[4] = 2;
  data[5] = 0;
  assert_fails(kdl_image_read_target(KDL_IMAGE_OBJECT, data, sizeof data, &target), KDL_BAD_FILE,
               "offset 0x5: EI_DATA: found 0, expected 1 or 2");
  data[5] = 1;
  assert_fails(kdl_image_read_target(KDL_IMAGE_OBJECT, data, 63, &target), KDL_BAD_FILE,
               "offset 0x0: ELF header: found 63 bytes, expected at least 64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_tell_target_and_kernels),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(machines_make_triples),
      cmocka_unit_test(isa_levels_make_the_arch),
      cmocka_unit_test(a_note_tells_the_cpu),
      cmocka_unit_test(a_note_goes_before_a_property),
      cmocka_unit_test(a_note_must_be_short_and_printable),
      cmocka_unit_test(a_property_must_fit_its_note),
      cmocka_unit_test(functions_that_can_be_found_by_name_are_kernels),
      cmocka_unit_test(wrong_headers_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
