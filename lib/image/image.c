/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/images.h"

#include "lib/image/readers.h"
#include "lib/inspect/kinds.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Sniffing                                                                                     */

/* The ELF machine of device code; 0 for others. */
static unsigned device_machine(const uint8_t *head, size_t size) {
  return size >= 20 && head[EI_DATA] == ELFDATA2LSB ? kdl_load_u16(head + 18) : EM_NONE;
}

/* The first kind of which this is true; arguments that are 0 tell nothing. */
static inline __attribute__((always_inline)) kdl_image_kind kind_by(uint32_t word, unsigned machine,
                                                                    const void *text, size_t size) {
#define WORD(magic) (word == (magic))
#define BYTES(bytes) (size >= sizeof(bytes) - 1 && memcmp(text, bytes, sizeof(bytes) - 1) == 0)
#define MACHINE(number) (machine == (number))
#define BEGINS(function) (size && function(text, size))
#define OTHER_ELF false
#define UNMARKED false
#define KDL_IMAGE_KIND(id, name, llvm, first_bytes, ...)                                           \
  if (first_bytes)                                                                                 \
    return KDL_IMAGE_##id;
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
#undef UNMARKED
#undef OTHER_ELF
#undef BEGINS
#undef MACHINE
#undef BYTES
#undef WORD
  return KDL_IMAGE_UNKNOWN;
}

/* Mostly by the first four bytes as a little-endian word, which is fast: every image of every
 * library is sniffed. */
kdl_image_kind kdl_image_sniff(const void *head, size_t size) {
  uint32_t word = size >= 4 ? kdl_load_u32(head) : 0;
  bool is_elf = word == KDL_MAGIC_ELF;
  kdl_image_kind kind =
      is_elf ? kind_by(0, device_machine(head, size), NULL, 0) : kind_by(word, 0, NULL, 0);
  if (kind == KDL_IMAGE_UNKNOWN)
    kind = is_elf ? KDL_IMAGE_OBJECT : kind_by(0, 0, head, size);
  return kind;
}

static kdl_file_kind sniff_elf(const uint8_t *head, size_t size, kdl_image_kind kind) {
  bool is_big_endian = size >= 20 && head[EI_DATA] == ELFDATA2MSB;
  unsigned type = size < 20       ? ET_NONE
                  : is_big_endian ? (unsigned)(head[16] << 8 | head[17])
                                  : kdl_load_u16(head + 16);
  if (type == ET_REL && size >= sizeof(Elf64_Ehdr) && head[EI_CLASS] == ELFCLASS64 &&
      head[EI_DATA] == ELFDATA2LSB)
    return KDL_FILE_OBJECT;
  return kind == KDL_IMAGE_OBJECT && (type == ET_EXEC || type == ET_DYN) ? KDL_FILE_LINKED
                                                                         : KDL_FILE_IMAGE;
}

kdl_file_kind kdl_file_sniff(const void *head, size_t size, kdl_image_kind *out_kind) {
  *out_kind = kdl_image_sniff(head, size);
  uint32_t word = size >= 4 ? kdl_load_u32(head) : 0;
  if (word == KDL_MAGIC_ELF)
    return sniff_elf(head, size, *out_kind);
  if (*out_kind != KDL_IMAGE_UNKNOWN)
    return KDL_FILE_IMAGE;
  if (word == KDL_MAGIC_ZIP || word == KDL_MAGIC_EMPTY_ZIP)
    return KDL_FILE_ZIP;
  if (size >= KDL_MAGIC_ARCHIVE_SIZE) {
    if (memcmp(head, KDL_MAGIC_ARCHIVE, KDL_MAGIC_ARCHIVE_SIZE) == 0)
      return KDL_FILE_ARCHIVE;
    if (memcmp(head, KDL_MAGIC_THIN_ARCHIVE, KDL_MAGIC_ARCHIVE_SIZE) == 0)
      return KDL_FILE_THIN_ARCHIVE;
  }
  return size >= 2 && memcmp(head, "MZ", 2) == 0 ? KDL_FILE_DOS : KDL_FILE_UNKNOWN;
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

kdl_status kdl_target_append(char *field, size_t room, const char *what, const char *text,
                             size_t length, uint64_t offset) {
  size_t used = strlen(field);
  if (length > room - 1 - used)
    return kdl_malformed_at(offset, what, "found %zu bytes, expected at most %zu", used + length,
                            room - 1);
  for (size_t i = 0; i < length; ++i) {
    if (text[i] <= ' ' || text[i] > '~')
      return kdl_malformed_at(offset, what, "found byte 0x%02x in it, expected printable text",
                              (unsigned char)text[i]);
  }
  memcpy(field + used, text, length);
  field[used + length] = '\0';
  return KDL_OK;
}

kdl_status kdl_image_read_target(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_image_target *out_target) {
  const kdl_image_kind_row *row = kdl_image_kind_get(kind);
  if (!row->readers->target)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: its target cannot be read: %s", row->name,
                    row->no_reader);
  kdl_image_target target = {0};
  KDL_TRY(row->readers->target(data, size, &target));
  *out_target = target;
  return KDL_OK;
}

/* The names of an image are distinct or share a tail in a string table. Names that add up to many
 * times the image are meant to exhaust memory. */
enum { names_per_image = 8 };

typedef struct {
  kdl_visit_name *visit;
  kdl_visit_resources *visit_resources;
  void *user;
  uint64_t left;
  bool exhausted;
} name_budget;

static bool is_within_budget(name_budget *budget, size_t length) {
  budget->exhausted = length > budget->left;
  if (!budget->exhausted)
    budget->left -= length;
  return !budget->exhausted;
}

static int visit_within_budget(void *user, const char *name, size_t length) {
  name_budget *budget = user;
  return !is_within_budget(budget, length) || budget->visit(budget->user, name, length);
}

static kdl_status check_budget(const name_budget *budget) {
  if (!budget->exhausted)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE,
                  "found kernel names that overlap so much that together they are more than %d "
                  "times as long as the image, expected names that lie apart",
                  names_per_image);
}

kdl_status kdl_image_read_kernels(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_name *visit, void *user) {
  const kdl_image_kind_row *row = kdl_image_kind_get(kind);
  if (!row->readers->kernels)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: its kernels cannot be read: %s", row->name,
                    row->no_reader);
  name_budget budget = {.visit = visit, .user = user, .left = (uint64_t)size * names_per_image};
  KDL_TRY(row->readers->kernels(data, size, visit_within_budget, &budget));
  return check_budget(&budget);
}

const kdl_kernel_resources kdl_no_resources = {
    .size = sizeof(kdl_kernel_resources),
    .vector_registers = KDL_NO_RESOURCE,
    .scalar_registers = KDL_NO_RESOURCE,
    .accumulator_registers = KDL_NO_RESOURCE,
    .vector_spills = KDL_NO_RESOURCE,
    .scalar_spills = KDL_NO_RESOURCE,
    .spill_bytes = KDL_NO_RESOURCE,
    .stack = KDL_NO_RESOURCE,
    .local = KDL_NO_RESOURCE,
    .shared = KDL_NO_RESOURCE,
    .constant = KDL_NO_RESOURCE,
    .max_block = KDL_NO_RESOURCE,
    .subgroup = KDL_NO_RESOURCE,
    .params = KDL_NO_RESOURCE,
    .param_bytes = KDL_NO_RESOURCE,
    .code_bytes = KDL_NO_RESOURCE,
    .barriers = KDL_NO_RESOURCE,
};

static int visit_resources_within_budget(void *user, kdl_string kernel,
                                         const kdl_kernel_resources *uses) {
  name_budget *budget = user;
  return !is_within_budget(budget, kernel.length) ||
         budget->visit_resources(budget->user, kernel, uses);
}

kdl_status kdl_image_read_resources(kdl_image_kind kind, const void *data, size_t size,
                                    kdl_visit_resources *visit, void *user) {
  const kdl_image_kind_row *row = kdl_image_kind_get(kind);
  if (!row->readers->resources)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: it does not declare what its kernels use",
                    row->name);
  name_budget budget = {
      .visit_resources = visit, .user = user, .left = (uint64_t)size * names_per_image};
  KDL_TRY(row->readers->resources(data, size, visit_resources_within_budget, &budget));
  return check_budget(&budget);
}

kdl_status kdl_image_read_effects(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_effect *visit, void *user) {
  const kdl_image_kind_row *row = kdl_image_kind_get(kind);
  if (!row->readers->effects)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: the code of its kernels is not read", row->name);
  return row->readers->effects(data, size, visit, user);
}

bool kdl_image_has_effects(kdl_image_kind kind) {
  return kdl_image_kind_get(kind)->readers->effects != NULL;
}

bool kdl_image_has_geometry(kdl_image_kind kind) {
  return kdl_image_kind_get(kind)->readers->geometry != NULL;
}

kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel) {
  kdl_image_geometry geometry = {{0}, {0}};
  if (kdl_image_has_geometry(kind))
    kdl_image_kind_get(kind)->readers->geometry(data, size, kernel, &geometry);
  return geometry;
}

typedef struct {
  kdl_visit_param *visit;
  void *user;
  uint32_t count;
  bool too_many;
} param_counter;

static int visit_numbered(void *user, const kdl_image_param *param) {
  param_counter *n = user;
  kdl_image_param numbered = *param;
  numbered.index = n->count++;
  n->too_many = numbered.index == KDL_IMAGE_PARAM_LIMIT;
  return n->too_many || n->visit(n->user, &numbered);
}

kdl_status kdl_too_many_params(void) {
  return kdl_fail(KDL_UNSUPPORTED, "found more than %d parameters, expected at most that",
                  KDL_IMAGE_PARAM_LIMIT);
}

kdl_status kdl_no_such_kernel(kdl_string kernel) {
  return kdl_fail(KDL_NO_MATCH, "found no kernel \"%.*s\" in the image, expected one",
                  kernel.length < 256 ? (int)kernel.length : 256, kernel.data);
}

kdl_status kdl_image_read_params(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_string kernel, kdl_visit_param *visit, void *user) {
  const kdl_image_kind_row *row = kdl_image_kind_get(kind);
  if (!row->readers->params)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: it does not tell its kernels' parameters",
                    row->name);
  param_counter n = {.visit = visit, .user = user};
  kdl_status status = row->readers->params(data, size, kernel, visit_numbered, &n);
  return status == KDL_OK && n.too_many ? kdl_too_many_params() : status;
}
