/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Intel's zebin: ELF with compatibility notes and one text section per kernel ("ZE Binary" in
 * Intel's graphics compiler). The note PRODUCT_CONFIG has the IP version, which devices report too.
 * Files before version 1.33 of the format have none, and their arch is unknown. Some other sections
 * of type note have Intel's own format.
 */
#include "lib/image/intel/ze_info.h"
#include "lib/image/name_table.h"
#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { note_product_config = 6 };

/* Contains functions that kernels call; not a kernel. */
static const char external_functions[] = "Intel_Symbol_Table_Void_Program";

static kdl_status zebin_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  snprintf(target->triple, sizeof target->triple, "%s",
           elf.is_64 ? "spirv64-intel-unknown" : "spirv32-intel-unknown");
  kdl_elf_section compatibility;
  bool is_there;
  kdl_status status = kdl_elf_find_section(&elf, ".note.intelgt.compat", &compatibility, &is_there);
  if (status != KDL_OK || !is_there)
    return status;
  kdl_elf_notes notes = kdl_elf_notes_of(&elf, &compatibility);
  kdl_elf_note note;
  while ((status = kdl_elf_next_note(&notes, &note)) == KDL_OK && note.owner) {
    if (!kdl_elf_note_is(&note, "IntelGT", note_product_config))
      continue;
    if (note.size != 4)
      return kdl_malformed_at((uint64_t)(note.data - data), "NT_INTELGT_PRODUCT_CONFIG",
                              "found %zu bytes, expected 4", note.size);
    uint32_t ip = kdl_elf_load_u32(&elf, note.data);
    snprintf(target->arch, sizeof target->arch, "ip=%" PRIu32 ".%" PRIu32 ".%" PRIu32, ip >> 22,
             ip >> 14 & 0xff, ip & 0x3f);
  }
  return status;
}

static kdl_status zebin_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                     void *user) {
  static const char prefix[] = ".text.";
  const size_t prefix_length = sizeof prefix - 1;
  kdl_elf elf;
  kdl_status status = kdl_elf_open(data, size, &elf);
  for (uint64_t i = 1; status == KDL_OK && i < elf.section_count; ++i) {
    kdl_elf_section section;
    status = kdl_elf_read_section(&elf, i, &section);
    if (status != KDL_OK || section.type != SHT_PROGBITS)
      continue;
    const char *name;
    size_t length;
    status = kdl_elf_section_name(&elf, &section, &name, &length);
    if (status != KDL_OK || length <= prefix_length || memcmp(name, prefix, prefix_length) != 0 ||
        strcmp(name + prefix_length, external_functions) == 0)
      continue;
    if (visit(user, name + prefix_length, length - prefix_length))
      break;
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Data of .ze_info                                                                             */

static kdl_status find_ze_info(const kdl_elf *elf, kdl_ze_info *out_info) {
  kdl_elf_section section;
  bool is_there;
  KDL_TRY(kdl_elf_find_section(elf, ".ze_info", &section, &is_there));
  if (!is_there)
    return kdl_fail(KDL_UNSUPPORTED, "zebin image: found no section .ze_info, expected it to tell "
                                     "its kernels' parameters");
  *out_info = (kdl_ze_info){(const char *)elf->data + section.offset, section.size, section.offset};
  return KDL_OK;
}

static kdl_status read_ze_info_kernel(const uint8_t *data, size_t size, kdl_string name,
                                      kdl_ze_kernel *out_kernel) {
  kdl_elf elf;
  kdl_ze_info info;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  KDL_TRY(find_ze_info(&elf, &info));
  return kdl_ze_info_read(&info, name, elf.is_64 ? 8 : 4, out_kernel);
}

/* The driver places arguments in the payload, so there are no offsets. IGC stores a value's size
 * rounded to 4 bytes; other writers store its size. */
static kdl_status zebin_read_params(const uint8_t *data, size_t size, kdl_string kernel,
                                    kdl_visit_param *visit, void *user) {
  kdl_ze_kernel found;
  KDL_TRY(read_ze_info_kernel(data, size, kernel, &found));
  for (uint32_t i = 0; i < found.param_count; ++i) {
    const kdl_ze_param *said = &found.params[i];
    kdl_image_param param = {
        .kind = said->kind,
        .size = said->size,
        .offset = KDL_NO_OFFSET,
        .is_rounded = said->kind == KDL_IMAGE_PARAM_VALUE && said->size == 4,
    };
    if (visit(user, &param))
      break;
  }
  return KDL_OK;
}

static void zebin_read_geometry(const uint8_t *data, size_t size, kdl_string kernel,
                                kdl_image_geometry *geometry) {
  kdl_ze_kernel found;
  if (read_ze_info_kernel(data, size, kernel, &found) == KDL_OK)
    memcpy(geometry->block, found.block, sizeof geometry->block);
}

/* ------------------------------------------------------------------------------------------ */
/* Resources                                                                                    */

typedef struct {
  kdl_name_table code; /* bytes by kernel */
  kdl_visit_resources *visit;
  void *user;
} zebin_reader;

static kdl_status add_code_sections(const kdl_elf *elf, kdl_name_table *code) {
  static const char prefix[] = ".text.";
  const size_t prefix_length = sizeof prefix - 1;
  for (uint64_t i = 1; i < elf->section_count; ++i) {
    kdl_elf_section section;
    const char *name;
    size_t length;
    KDL_TRY(kdl_elf_read_section(elf, i, &section));
    if (section.type != SHT_PROGBITS)
      continue;
    KDL_TRY(kdl_elf_section_name(elf, &section, &name, &length));
    if (length <= prefix_length || memcmp(name, prefix, prefix_length) != 0)
      continue;
    kdl_string kernel = {name + prefix_length, length - prefix_length};
    if (!kdl_name_table_add(code, kernel, section.size))
      return kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of a zebin");
  }
  kdl_name_table_sort(code);
  return KDL_OK;
}

static int visit_ze_kernel(void *user, kdl_string name, const kdl_ze_kernel *kernel) {
  const zebin_reader *reader = user;
  uint64_t code_bytes;
  if (!kdl_name_table_find(&reader->code, name, &code_bytes) ||
      kdl_text_is(name, external_functions))
    return 0;
  kdl_kernel_resources uses = kdl_no_resources;
  if (kernel->registers)
    uses.vector_registers = kernel->registers;
  if (kernel->simd)
    uses.subgroup = kernel->simd;
  /* Compilers before 2024 declare only the buffers. */
  uses.spill_bytes = kernel->spill_size == UINT32_MAX ? kernel->spill_buffer : kernel->spill_size;
  uses.stack = kernel->private_size != UINT32_MAX ? kernel->private_size
               : kernel->simd                     ? kernel->private_buffer / kernel->simd
                                                  : KDL_NO_RESOURCE;
  uses.shared = kernel->shared;
  memcpy(uses.block, kernel->block, sizeof uses.block);
  uses.params = kernel->param_count; /* not their bytes: the size of a structure is not declared */
  uses.code_bytes = kdl_resource_clamp(code_bytes);
  uses.barriers = kernel->barriers;
  return reader->visit(reader->user, name, &uses);
}

static kdl_status zebin_read_resources(const uint8_t *data, size_t size, kdl_visit_resources *visit,
                                       void *user) {
  kdl_elf elf;
  kdl_ze_info info;
  zebin_reader reader = {.visit = visit, .user = user};
  KDL_TRY(kdl_elf_open(data, size, &elf));
  KDL_TRY(find_ze_info(&elf, &info));
  kdl_status status = add_code_sections(&elf, &reader.code);
  if (status == KDL_OK)
    status = kdl_ze_info_visit(&info, elf.is_64 ? 8 : 4, visit_ze_kernel, &reader);
  kdl_name_table_free(&reader.code);
  return status;
}

const kdl_image_readers kdl_zebin_readers = {
    .target = zebin_read_target,
    .kernels = zebin_read_kernels,
    .params = zebin_read_params,
    .geometry = zebin_read_geometry,
    .resources = zebin_read_resources,
    .digests = kdl_zebin_read_digests,
};
