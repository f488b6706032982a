/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Defects of host images, and their messages. */
#include "support.h"

#include "lib/image/host/host_object.h"
#include "support/base/bytes.h"

#include <elf.h>

typedef struct {
  uint8_t *data;
  size_t size;
  kdl_host_object object;
} image;

static image read_image(const char *path) {
  image made;
  made.data = read_file(path, &made.size);
  assert_ok(kdl_host_object_open(made.data, made.size, &made.object));
  return made;
}

static image read_mark(void) {
  return read_image(KDL_TEST_IMAGES "/mark1.so");
}

static void expect(image *made, kdl_status status, const char *words) {
  kdl_host_object object;
  assert_int_equal(kdl_host_object_open(made->data, made->size, &object), status);
  if (!strstr(kdl_error_message(), words))
    fail_msg("found '%s', expected '%s'", kdl_error_message(), words);
  free(made->data);
}

/* The program header of the first segment of that type. */
static uint8_t *header_of(const image *made, uint32_t type) {
  uint64_t at = kdl_load_u64(made->data + offsetof(Elf64_Ehdr, e_phoff));
  for (unsigned i = 0; i < kdl_load_u16(made->data + offsetof(Elf64_Ehdr, e_phnum)); ++i) {
    uint8_t *header = made->data + at + i * sizeof(Elf64_Phdr);
    if (kdl_load_u32(header) == type)
      return header;
  }
  fail_msg("no segment of type %u", type);
  return NULL;
}

static uint8_t *place_of(const image *made, uint64_t address) {
  return made->data + (kdl_host_object_at(&made->object, address, 1) - made->data);
}

/* The value of a tag of the dynamic section. */
static uint8_t *value_of(const image *made, uint64_t tag) {
  uint8_t *entry =
      place_of(made, kdl_load_u64(header_of(made, PT_DYNAMIC) + offsetof(Elf64_Phdr, p_vaddr)));
  for (; kdl_load_u64(entry) != DT_NULL; entry += 16) {
    if (kdl_load_u64(entry) == tag)
      return entry + 8;
  }
  fail_msg("no tag %u", (unsigned)tag);
  return NULL;
}

#define FIELD(header, field) ((header) + offsetof(Elf64_Phdr, field))

static void segments_are_checked(void **state) {
  (void)state;
  image made = read_mark();
  kdl_store_u64(FIELD(header_of(&made, PT_LOAD), p_filesz), 1 << 30);
  expect(&made, KDL_BAD_FILE, "segment: found 0x40000000 bytes at 0x0, expected them inside");
  made = read_mark();
  kdl_store_u64(FIELD(header_of(&made, PT_LOAD), p_memsz), 16);
  expect(&made, KDL_BAD_FILE, "of the file in 0x10 of memory, expected no more");
  made = read_mark();
  kdl_store_u64(FIELD(header_of(&made, PT_LOAD), p_align), 12);
  expect(&made, KDL_BAD_FILE, "with an alignment of 0xc, expected a power of two");
  made = read_mark();
  kdl_store_u64(FIELD(header_of(&made, PT_LOAD), p_vaddr), (uint64_t)1 << 40);
  expect(&made, KDL_BAD_FILE, "expected them below 2 GiB");
  made = read_mark();
  kdl_store_u64(FIELD(header_of(&made, PT_LOAD), p_memsz), 1 << 20);
  expect(&made, KDL_BAD_FILE, "expected a page behind the segment before it, which ends at 0x1000");
  made = read_mark();
  kdl_store_u32(FIELD(header_of(&made, PT_LOAD) + sizeof(Elf64_Phdr), p_flags), PF_R | PF_W | PF_X);
  expect(&made, KDL_UNSUPPORTED, "found a segment that is written and executed");
  made = read_mark();
  kdl_store_u32(FIELD(header_of(&made, PT_GNU_STACK), p_flags), PF_R | PF_W | PF_X);
  expect(&made, KDL_UNSUPPORTED, "an executable stack");
  made = read_mark();
  kdl_store_u32(header_of(&made, PT_DYNAMIC), PT_NULL);
  expect(&made, KDL_BAD_FILE, "found no dynamic one, expected a shared object");
  made = read_mark();
  uint8_t *stack = header_of(&made, PT_GNU_STACK);
  kdl_store_u64(FIELD(stack, p_memsz), 8);
  kdl_store_u32(stack, PT_TLS);
  expect(&made, KDL_UNSUPPORTED, "found thread-local variables (PT_TLS)");
  made = read_mark();
  kdl_store_u16(made.data + offsetof(Elf64_Ehdr, e_type), ET_REL);
  expect(&made, KDL_UNSUPPORTED, "found a relocatable object (e_type 1), expected a shared object");
  made = read_mark();
  kdl_store_u16(made.data + offsetof(Elf64_Ehdr, e_machine), EM_386);
  expect(&made, KDL_UNSUPPORTED, "found machine 3 in 64 bits, expected x86-64");
}

static void tables_are_checked(void **state) {
  (void)state;
  image made = read_mark();
  kdl_store_u64(value_of(&made, DT_STRSZ), 1 << 20);
  expect(&made, KDL_BAD_FILE, "DT_STRTAB: found 0x100000 bytes at the address 0x");
  made = read_mark();
  kdl_store_u64(value_of(&made, DT_SYMTAB), made.object.end - 8);
  expect(&made, KDL_BAD_FILE, "DT_SYMTAB: found 0x");
  made = read_mark();
  kdl_store_u32(place_of(&made, made.object.symbols.address + 24), 0x10000000);
  expect(&made, KDL_BAD_FILE, "symbol: found a name at 0x10000000 of the string table");
  made = read_mark();
  kdl_store_u32(place_of(&made, kdl_load_u64(value_of(&made, DT_GNU_HASH))), 0x40000000);
  expect(&made, KDL_BAD_FILE, "DT_GNU_HASH: found 0x100000000 bytes");
  made = read_mark();
  kdl_store_u64(value_of(&made, DT_RELASZ), 25);
  expect(&made, KDL_BAD_FILE, "DT_RELA: found 0x19 bytes of entries of 24");
}

static void relocations_are_checked(void **state) {
  (void)state;
#if defined(__x86_64__)
  image made = read_mark();
  uint64_t at = made.object.relocations[0].address;
  kdl_store_u64(place_of(&made, at), made.object.segments[1].address);
  expect(&made, KDL_BAD_FILE, "expected one in a segment that is written");
  made = read_mark();
  kdl_store_u32(place_of(&made, at + 12), 0x7fffffff);
  expect(&made, KDL_BAD_FILE, "relocation: found symbol 2147483647, expected less than ");
  made = read_mark();
  kdl_store_u32(place_of(&made, at + 8), R_X86_64_TLSDESC);
  expect(&made, KDL_UNSUPPORTED, "found thread-local variables (a relocation of type 36)");
  made = read_mark();
  kdl_store_u32(place_of(&made, at + 8), R_X86_64_IRELATIVE);
  expect(&made, KDL_UNSUPPORTED, "found a relocation of type 37 at offset 0x");
#else
  skip();
#endif
}

static void foreign_functions_are_refused(void **state) {
  (void)state;
  image made = read_image(KDL_TEST_IMAGES "/names.so");
  for (uint64_t i = 1; i < made.object.symbol_count; ++i) {
    kdl_host_symbol symbol = kdl_host_object_symbol(&made.object, i);
    if (strcmp(symbol.name, "sinhf") == 0)
      made.data[(const uint8_t *)symbol.name - made.data] = 'x';
  }
  expect(&made, KDL_UNSUPPORTED, "it needs 'xinhf', which it does not define");
}

static void kernels_are_checked(void **state) {
  (void)state;
  image made = read_mark();
  kdl_host_symbol symbol;
  uint32_t sizes[KDL_HOST_LIMIT_PARAMS], count = 0;
  assert_ok(kdl_host_object_check_kernels(&made.object));
  assert_true(kdl_host_object_is_image(made.data, made.size));
  assert_true(kdl_host_object_read_params(&made.object, "mixed", sizes, &count));
  assert_int_equal(count, 5);
  assert_int_equal(sizes[0], 1);
  assert_int_equal(sizes[3], 24);
  assert_false(kdl_host_object_read_params(&made.object, "none", sizes, &count));
  assert_true(kdl_host_object_find(&made.object, "kdl_host_kernel_mark", &symbol));
  kdl_store_u32(place_of(&made, symbol.address), 7);
  assert_fails(kdl_host_object_check_kernels(&made.object), KDL_UNSUPPORTED,
               "kdl_host_kernel_mark: found host ABI 7 of 56 bytes, expected 1 of 56");
  kdl_store_u32(place_of(&made, symbol.address), 1);
  kdl_store_u32(place_of(&made, symbol.address + offsetof(kdl_host_kernel, param_count)), 9999);
  assert_int_equal(kdl_host_object_check_kernels(&made.object), KDL_BAD_FILE);
  free(made.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(segments_are_checked),    cmocka_unit_test(tables_are_checked),
      cmocka_unit_test(relocations_are_checked), cmocka_unit_test(foreign_functions_are_refused),
      cmocka_unit_test(kernels_are_checked),
  };
  return cmocka_run_group_tests_name("image_host_object", tests, NULL, NULL);
}
