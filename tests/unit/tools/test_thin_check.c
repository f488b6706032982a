/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl thin checks a shared object before it writes it: these tests corrupt one part of the output
 * at a time, as a bug of the writer would, and the checker must report it. Files that contradict
 * themselves are refused before. */
#include "pack/thin/elf/elf_plan.h"
#include "support/base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { largest_file = 1 << 17, some_address = 0x1000 };

/* A thinned library, with a copy of its bytes that may be changed. */
typedef struct {
  uint8_t file[largest_file], made[largest_file];
  thin_input input;
  thin_selection selection;
  elf_plan plan;
  thin_container_list containers;
  thin_output out;
  size_t size;
} thinned;

static void open_input(thinned *t, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/../fuzz/corpus/fuzz_thin/%s", KDL_TEST_DATA, name);
  FILE *file = fopen(path, "rbe");
  assert_non_null(file);
  int rule = fgetc(file); /* which images stay */
  size_t size = fread(t->file, 1, sizeof t->file, file);
  fclose(file);
  assert_true(size > 0 && size < sizeof t->file);
  t->input = (thin_input){.data = t->file, .size = size, .name = name, .fd = -1};
  assert_int_equal(kdl_open_memory(t->file, size, NULL, &t->input.lib), KDL_OK);
  size_t count = kdl_image_count(t->input.lib);
  t->selection = (thin_selection){.lib = t->input.lib,
                                  .count = count,
                                  .kept = calloc(count + 1, 1),
                                  .why = calloc(count + 1, sizeof *t->selection.why)};
  assert_non_null(t->selection.kept);
  for (size_t i = 0; i < count; ++i)
    t->selection.kept[i] = rule >> (i % 7) & 1;
}

static thinned *make(const char *name) {
  bool is_changed;
  thinned *t = calloc(1, sizeof *t);
  assert_non_null(t);
  open_input(t, name);
  t->plan = (elf_plan){
      .input = &t->input, .selection = &t->selection, .layout_opts = {.min_hole_size = 4096}};
  assert_int_equal(elf_plan_make(&t->plan, &t->containers, &t->out, &is_changed), KDL_OK);
  assert_true(is_changed && t->out.size <= sizeof t->made);
  t->size = (size_t)t->out.size;
  thin_output_read(&t->out, 0, t->made, t->size);
  return t;
}

static void discard(thinned *t) {
  thin_output_free(&t->out);
  thin_containers_free(&t->containers);
  elf_plan_free(&t->plan);
  thin_selection_free(&t->selection);
  kdl_close(t->input.lib);
  free(t);
}

static kdl_status check(const thinned *t) {
  thin_output changed = {.count = 0};
  thin_output_add(&changed, t->made, t->size);
  kdl_status status = elf_plan_check(&t->plan, &changed);
  thin_output_free(&changed);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Where things are                                                                             */

static uint8_t *header_of(thinned *t, size_t section) {
  return t->made + kdl_load_u64(t->made + 40) + section * sizeof(Elf64_Shdr);
}

/* A section of the input, by its name. */
static size_t find(const thinned *t, const char *name) {
  const elf_image *image = &t->plan.image;
  for (size_t i = 1; i < image->section_count; ++i) {
    if (strcmp(elf_image_section_name(image, &image->sections[i]), name) == 0)
      return i;
  }
  fail_msg("no section %s", name);
  return 0;
}

static uint8_t *bytes_of(thinned *t, const char *section) {
  return t->made + kdl_load_u64(header_of(t, find(t, section)) + 24);
}

/* The first symbol of .symtab in the section of that name. */
static uint8_t *symbol_in(thinned *t, const char *section) {
  uint8_t *symbols = bytes_of(t, ".symtab");
  uint64_t size = t->plan.image.sections[find(t, ".symtab")].size;
  size_t index = find(t, section);
  for (uint64_t at = sizeof(Elf64_Sym); at < size; at += sizeof(Elf64_Sym)) {
    if (kdl_load_u16(symbols + at + 6) == index)
      return symbols + at;
  }
  fail_msg("no symbol in %s", section);
  return NULL;
}

static void add_u64(uint8_t *at, uint64_t more) {
  kdl_store_u64(at, kdl_load_u64(at) + more);
}

static size_t first_new(const thinned *t) {
  return t->plan.image.section_count;
}

/* The first section that is new and of that kind: a hole, or a part of another. */
static uint8_t *new_header(thinned *t, bool is_hole) {
  for (size_t i = first_new(t); i < kdl_load_u16(t->made + 60); ++i) {
    if ((kdl_load_u32(header_of(t, i) + 4) == SHT_NOBITS) == is_hole)
      return header_of(t, i);
  }
  fail_msg("no new section");
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Mistakes                                                                                     */

/* The table went with what had to move, and the dynamic section still leads to where it was. */
static void lose_packed_relocations(thinned *t) {
  const kdl_elf_section *table = &t->plan.image.sections[find(t, ".relr.dyn")];
  static const uint8_t zeros[64];
  assert_true(table->size && table->size <= sizeof zeros);
  t->plan.patches = realloc(t->plan.patches, (t->plan.patch_count + 1) * sizeof(elf_patch));
  assert_non_null(t->plan.patches);
  t->plan.patches[t->plan.patch_count++] = (elf_patch){table->offset, table->size, zeros};
  memset(bytes_of(t, ".relr.dyn"), 0, (size_t)table->size);
}

/* The names of sections move to the end of the file, though they are said to be loaded. */
static void load_names(thinned *t) {
  size_t names = t->plan.image.header.section_names;
  t->plan.image.sections[names].flags |= SHF_ALLOC;
  add_u64(header_of(t, names) + 8, SHF_ALLOC);
}

static void shift_loaded_section(thinned *t) {
  add_u64(header_of(t, find(t, ".nvFatBinSegment")) + 24, 8);
}

static void shift_section_with_containers(thinned *t) {
  add_u64(header_of(t, find(t, ".nv_fatbin")) + 24, 8);
}

static void shorten_section_with_containers(thinned *t) {
  add_u64(header_of(t, find(t, ".nv_fatbin")) + 32, (uint64_t)-8);
}

static void move_address(thinned *t) {
  add_u64(header_of(t, find(t, ".nvFatBinSegment")) + 16, 8);
}

static void change_type(thinned *t) {
  kdl_store_u32(header_of(t, find(t, ".comment")) + 4, SHT_NOTE);
}

static void put_beyond_file(thinned *t) {
  kdl_store_u64(header_of(t, find(t, ".comment")) + 24, t->size);
}

static void change_comment(thinned *t) {
  *bytes_of(t, ".comment") ^= 1;
}

static void change_name(thinned *t) {
  bytes_of(t, ".shstrtab")[1] ^= 1;
}

static void drop_sections(thinned *t) {
  kdl_store_u16(t->made + 60, (uint16_t)(first_new(t) - 1));
}

static void change_entry(thinned *t) {
  add_u64(t->made + 24, 1);
}

static void move_hole(thinned *t) {
  add_u64(new_header(t, true) + 16, some_address);
}

static void rename_hole(thinned *t) {
  kdl_store_u32(new_header(t, true), UINT32_MAX);
}

static void move_symbol(thinned *t) {
  add_u64(symbol_in(t, ".nvFatBinSegment") + 8, 8);
}

static void give_symbol_away(thinned *t) {
  kdl_store_u16(symbol_in(t, ".nvFatBinSegment") + 6, (uint16_t)find(t, ".dynamic"));
}

static void change_byte_of_memory(thinned *t) {
  bytes_of(t, ".dynamic")[1] ^= 1;
}

static const struct {
  const char *library;
  void (*spoil)(thinned *t);
  const char *said;
} mistakes[] = {
    {"lib2-0a", lose_packed_relocations, "relocation"},
    {"lib2-0a", load_names, "a section not loaded"},
    {"lib2-0a", shift_loaded_section, "a section not loaded"},
    {"lib2-0a", shift_section_with_containers, "a part of a section elsewhere"},
    {"lib2-0a", shorten_section_with_containers, "no section for a container"},
    {"lib2-0a", move_address, "a section elsewhere"},
    {"lib2-0a", change_type, "another section header"},
    {"lib2-0a", put_beyond_file, "a section beyond the file"},
    {"lib2-0a", change_comment, "other bytes in a section"},
    {"lib2-0a", change_name, "other bytes in a section"},
    {"lib2-0a", drop_sections, "section headers beyond the file"},
    {"lib2-0a", change_entry, "another ELF header"},
    {"lib2-0a", move_hole, "a section for another hole"},
    {"lib2-0a", rename_hole, "a section without a name"},
    {"lib2-0a", move_symbol, "another symbol"},
    {"lib2-0a", give_symbol_away, "another symbol"},
    {"lib2-0a", change_byte_of_memory, "other bytes"},
};

static void right_outputs_pass(void **state) {
  (void)state;
  static const char *const libraries[] = {"lib0-0a", "lib1-0a", "lib2-0a", "lib3-0a"};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; ++i) {
    thinned *t = make(libraries[i]);
    if (check(t) != KDL_OK)
      fail_msg("%s", kdl_error_message());
    discard(t);
  }
}

static void wrong_outputs_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; ++i) {
    thinned *t = make(mistakes[i].library);
    mistakes[i].spoil(t);
    if (check(t) != KDL_UNSUPPORTED || !strstr(kdl_error_message(), mistakes[i].said))
      fail_msg("mistake %zu: expected \"%s\", found \"%s\"", i, mistakes[i].said,
               kdl_error_message());
    discard(t);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Inputs                                                                                       */

/* The value of an entry of the input's dynamic section, behind its tag. */
static uint8_t *entry_of(thinned *t, uint64_t tag) {
  elf_image image;
  size_t count;
  assert_int_equal(elf_image_read(t->file, t->input.size, "lib", &image), KDL_OK);
  const uint8_t *table = elf_image_dynamic_table(&image, &count);
  size_t i = 0;
  while (i < count && kdl_load_u64(table + i * sizeof(Elf64_Dyn)) != tag)
    ++i;
  assert_true(i < count);
  elf_image_free(&image);
  return t->file + (table - t->file) + i * sizeof(Elf64_Dyn);
}

static void leave(thinned *t) {
  (void)t;
}

static void tell_tag_twice(thinned *t) {
  kdl_store_u64(entry_of(t, DT_RELAENT), DT_RELR);
}

static void change_entry_size(thinned *t) {
  kdl_store_u64(entry_of(t, DT_RELAENT) + 8, sizeof(Elf64_Rela) - 1);
}

static void relocate_by_headers(thinned *t) {
  kdl_store_u64(entry_of(t, DT_RELA) + 8, 0);
}

static void end_no_name(thinned *t) {
  elf_image image;
  assert_int_equal(elf_image_read(t->file, t->input.size, "lib", &image), KDL_OK);
  const kdl_elf_section *names = &image.sections[image.header.section_names];
  t->file[names->offset + names->size - 1] = 'x';
  elf_image_free(&image);
}

static const struct {
  const char *library;
  void (*spoil)(thinned *t);
  const char *said;
} contradictions[] = {
    {"names-are-loaded", leave, "e_shstrndx: found section"},
    {"name-beyond-names", leave, "sh_name: found 0x"},
    {"relr-among-notes", leave, "section or table: found it at 0x"},
    {"relocations-on-headers", leave, "section or table: found it at 0x"},
    {"relocation-of-a-header", leave,
     "found a relocation of address 0xac, expected none of headers"},
    {"lib1-0a", relocate_by_headers, "headers: found 0x40 bytes that the dynamic section leads to"},
    {"dynamic-at-headers", leave, "PT_DYNAMIC: found 0x"},
    {"relro-on-section-headers", leave, "program header: found 0xe0 bytes at 0x"},
    {"lib2-0a", tell_tag_twice, "dynamic section: found tag 0x24 twice, expected it once"},
    {"lib2-0a", change_entry_size, "DT_RELAENT: found 23, expected 24"},
    {"lib2-0a", end_no_name, "section names: found 0xaf bytes, expected a zero as the last"},
};

static void contradictions_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; ++i) {
    thinned *t = calloc(1, sizeof *t);
    bool is_changed;
    assert_non_null(t);
    open_input(t, contradictions[i].library);
    contradictions[i].spoil(t);
    t->plan = (elf_plan){.input = &t->input, .selection = &t->selection};
    if (elf_plan_make(&t->plan, &t->containers, &t->out, &is_changed) != KDL_BAD_FILE ||
        !strstr(kdl_error_message(), contradictions[i].said))
      fail_msg("contradiction %zu: expected \"%s\", found \"%s\"", i, contradictions[i].said,
               kdl_error_message());
    discard(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_outputs_pass),
      cmocka_unit_test(wrong_outputs_are_refused),
      cmocka_unit_test(contradictions_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
