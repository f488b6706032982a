/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/images.h"

#include "lib/image/readers.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Kinds                                                                                        */

typedef struct {
  const char *name;
  uint16_t llvm_number; /* LLVM's object::ImageKind */
  kdl_target_reader *read_target;
  kdl_kernel_reader *read_kernels;
  kdl_params_reader *read_params;       /* NULL: images of this kind do not declare them */
  kdl_geometry_reader *read_geometry;   /* NULL: images of this kind do not declare it */
  kdl_resources_reader *read_resources; /* the same */
  const char *no_reader;                /* why the first two are missing */
} kind_row;

static const char container_reason[] = "it is a container: its images tell, not itself";

static const kind_row kinds[] = {
    [KDL_IMAGE_UNKNOWN] = {"unknown", .no_reader = "its format is not known"},
    [KDL_IMAGE_OBJECT] = {"object", 1, kdl_host_elf_read_target, kdl_host_elf_read_kernels,
                          .read_geometry = kdl_host_elf_read_geometry,
                          .read_resources = kdl_host_elf_read_resources},
    [KDL_IMAGE_BITCODE] = {"bitcode", 2, kdl_llvm_bitcode_read_target,
                           kdl_llvm_bitcode_read_kernels, .no_reader = NULL},
    [KDL_IMAGE_CUBIN] = {"cubin", 3, kdl_cubin_read_target, kdl_cubin_read_kernels,
                         kdl_cubin_read_params, .read_resources = kdl_cubin_read_resources},
    [KDL_IMAGE_PTX] = {"ptx", 5, kdl_ptx_read_target, kdl_ptx_read_kernels, kdl_ptx_read_params,
                       .no_reader = NULL},
    [KDL_IMAGE_LTOIR] = {"ltoir",
                         .no_reader =
                             "NVIDIA documents no way to read its link-time IR but nvJitLink"},
    [KDL_IMAGE_HSACO] = {"hsaco", 1, kdl_amdgpu_read_target, kdl_amdgpu_read_kernels,
                         kdl_amdgpu_read_params, kdl_amdgpu_read_geometry,
                         kdl_amdgpu_read_resources, .no_reader = NULL},
    [KDL_IMAGE_SPIRV] = {"spirv", 6, kdl_spirv_read_target, kdl_spirv_read_kernels,
                         kdl_spirv_read_params, kdl_spirv_read_geometry, .no_reader = NULL},
    [KDL_IMAGE_ZEBIN] = {"zebin", 1, kdl_zebin_read_target, kdl_zebin_read_kernels,
                         kdl_zebin_read_params, kdl_zebin_read_geometry, kdl_zebin_read_resources,
                         .no_reader = NULL},
    [KDL_IMAGE_FATBIN] = {"fatbin", 4, .no_reader = container_reason},
    [KDL_IMAGE_BUNDLE] = {"bundle", .no_reader = container_reason},
    [KDL_IMAGE_OFFLOAD] = {"offload", .no_reader = container_reason},
    [KDL_IMAGE_CL] = {"cl", 0, kdl_opencl_c_read_target, kdl_opencl_c_read_kernels,
                      kdl_opencl_c_read_params, .no_reader = NULL},
    [KDL_IMAGE_SEQUENCE] = {"sequence", .no_reader = "it is a recorded sequence, which holds none"},
    [KDL_IMAGE_TILEIR] = {"tileir", 0, kdl_tile_ir_read_target, kdl_tile_ir_read_kernels,
                          .no_reader = NULL},
};

static const kind_row *kind_info(kdl_image_kind kind) {
  size_t index = (size_t)kind;
  return &kinds[index < sizeof kinds / sizeof *kinds ? index : KDL_IMAGE_UNKNOWN];
}

const char *kdl_image_kind_name(kdl_image_kind kind) {
  return kind_info(kind)->name;
}

uint16_t kdl_llvm_image_kind(kdl_image_kind kind) {
  return kind_info(kind)->llvm_number;
}

/* ------------------------------------------------------------------------------------------ */
/* Sniffing                                                                                     */

/* By the first four bytes as a little-endian word, which is fast: every image of every library is
 * sniffed. */
static const struct {
  uint32_t word;
  kdl_image_kind kind;
} magics[] = {
    {KDL_MAGIC_OFFLOAD, KDL_IMAGE_OFFLOAD},         {KDL_MAGIC_PACKED_BUNDLE, KDL_IMAGE_BUNDLE},
    {KDL_MAGIC_FATBIN, KDL_IMAGE_FATBIN},           {KDL_MAGIC_BITCODE, KDL_IMAGE_BITCODE},
    {KDL_MAGIC_WRAPPED_BITCODE, KDL_IMAGE_BITCODE}, {KDL_MAGIC_SPIRV, KDL_IMAGE_SPIRV},
    {KDL_MAGIC_SPIRV_BIG_ENDIAN, KDL_IMAGE_SPIRV},  {KDL_MAGIC_SEQUENCE, KDL_IMAGE_SEQUENCE},
};

static kdl_image_kind elf_kind(const uint8_t *head, size_t size) {
  static const struct {
    uint16_t machine;
    kdl_image_kind kind;
  } device_machines[] = {
      {EM_CUDA, KDL_IMAGE_CUBIN},
      {205, KDL_IMAGE_ZEBIN}, /* EM_INTELGT, which <elf.h> lacks */
      {EM_AMDGPU, KDL_IMAGE_HSACO},
  };
  if (size >= 20 && head[EI_DATA] == ELFDATA2LSB) {
    for (size_t i = 0; i < sizeof device_machines / sizeof *device_machines; ++i) {
      if (kdl_load_u16(head + 18) == device_machines[i].machine)
        return device_machines[i].kind;
    }
  }
  return KDL_IMAGE_OBJECT;
}

kdl_image_kind kdl_image_sniff(const void *head, size_t size) {
  static const char bundle[] = KDL_MAGIC_BUNDLE;
  if (size >= 4) {
    uint32_t word = kdl_load_u32(head);
    if (word == KDL_MAGIC_ELF)
      return elf_kind(head, size);
    for (size_t i = 0; i < sizeof magics / sizeof *magics; ++i) {
      if (word == magics[i].word)
        return magics[i].kind;
    }
  }
  if (size >= sizeof bundle - 1 && memcmp(head, bundle, sizeof bundle - 1) == 0)
    return KDL_IMAGE_BUNDLE;
  if (kdl_tile_ir_begins(head, size))
    return KDL_IMAGE_TILEIR;
  return kdl_ptx_begins(head, size) ? KDL_IMAGE_PTX : KDL_IMAGE_UNKNOWN;
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
  const kind_row *row = kind_info(kind);
  if (!row->read_target)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: its target cannot be read: %s", row->name,
                    row->no_reader);
  kdl_image_target target = {0};
  KDL_TRY(row->read_target(data, size, &target));
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
  const kind_row *row = kind_info(kind);
  if (!row->read_kernels)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: its kernels cannot be read: %s", row->name,
                    row->no_reader);
  name_budget budget = {.visit = visit, .user = user, .left = (uint64_t)size * names_per_image};
  KDL_TRY(row->read_kernels(data, size, visit_within_budget, &budget));
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
  const kind_row *row = kind_info(kind);
  if (!row->read_resources)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: it does not declare what its kernels use",
                    row->name);
  name_budget budget = {
      .visit_resources = visit, .user = user, .left = (uint64_t)size * names_per_image};
  KDL_TRY(row->read_resources(data, size, visit_resources_within_budget, &budget));
  return check_budget(&budget);
}

kdl_status kdl_image_read_effects(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_effect *visit, void *user) {
  if (kind == KDL_IMAGE_CUBIN)
    return kdl_cubin_read_effects(data, size, visit, user);
  if (kind == KDL_IMAGE_HSACO)
    return kdl_amdgpu_read_effects(data, size, visit, user);
  return kdl_fail(KDL_UNSUPPORTED, "%s image: the code of its kernels is not read",
                  kind_info(kind)->name);
}

bool kdl_image_has_geometry(kdl_image_kind kind) {
  return kind_info(kind)->read_geometry != NULL;
}

kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel) {
  kdl_image_geometry geometry = {{0}, {0}};
  if (kdl_image_has_geometry(kind))
    kind_info(kind)->read_geometry(data, size, kernel, &geometry);
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
  const kind_row *row = kind_info(kind);
  if (!row->read_params)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: it does not tell its kernels' parameters",
                    row->name);
  param_counter n = {.visit = visit, .user = user};
  kdl_status status = row->read_params(data, size, kernel, visit_numbered, &n);
  return status == KDL_OK && n.too_many ? kdl_too_many_params() : status;
}
