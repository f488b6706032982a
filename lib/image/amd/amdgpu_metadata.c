/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The kernels of an AMD code object and their parameters: notes in MessagePack, or without one the
 * symbols (LLVM's "User Guide for AMDGPU Backend", "Code Object Metadata"). There is a note for
 * each object that was linked: those of rocBLAS have one for each kernel.
 */
#include "lib/image/amd/amdgpu_metadata.h"

#include "lib/image/readers.h"
#include "lib/inspect/formats.h"
#include "lib/inspect/images.h"
#include "support/base/elf_file.h"

#include <inttypes.h>
#include <string.h>

enum {
  note_metadata_msgpack = 32, /* owner "AMDGPU", from code object version 3 on */
  symbol_hsa_kernel = 10,     /* STT_AMDGPU_HSA_KERNEL, code object version 2 */
};

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* Reads the key of a map's next pair; the value is the reader's next item. */
static kdl_status next_key(kdl_msgpack *reader, const char *wanted, bool *out_is_wanted) {
  kdl_msgpack_item key;
  KDL_TRY(kdl_msgpack_next(reader, &key));
  if (key.type != KDL_MSGPACK_STRING)
    return kdl_malformed_at(key.offset, "AMDGPU metadata",
                            "found a key that is not a string, expected one");
  *out_is_wanted = kdl_msgpack_is(&key, wanted);
  return KDL_OK;
}

static kdl_status open_item(kdl_msgpack *reader, kdl_msgpack_type type, const char *field,
                            const char *expected, kdl_msgpack_item *out_item) {
  KDL_TRY(kdl_msgpack_next(reader, out_item));
  if (out_item->type != type)
    return kdl_malformed_at(out_item->offset, field, "found another type, expected %s", expected);
  return KDL_OK;
}

kdl_status kdl_amdgpu_find_value(kdl_msgpack reader, const char *key, kdl_msgpack *out_value,
                                 bool *out_found) {
  kdl_msgpack_item map;
  kdl_status status = open_item(&reader, KDL_MSGPACK_MAP, "AMDGPU metadata", "a map", &map);
  *out_found = false;
  for (uint64_t i = 0; status == KDL_OK && i < map.count; ++i) {
    status = next_key(&reader, key, out_found);
    if (status == KDL_OK && *out_found) {
      *out_value = reader;
      return KDL_OK;
    }
    if (status == KDL_OK)
      status = kdl_msgpack_skip(&reader);
  }
  return status;
}

static kdl_status visit_note(kdl_msgpack reader, kdl_amdgpu_kernel_visitor *visit, void *user,
                             bool *out_stop) {
  bool found;
  kdl_msgpack_item kernels;
  kdl_status status = kdl_amdgpu_find_value(reader, "amdhsa.kernels", &reader, &found);
  if (status != KDL_OK || !found)
    return status;
  status = open_item(&reader, KDL_MSGPACK_ARRAY, "amdhsa.kernels", "an array", &kernels);
  for (uint64_t i = 0; status == KDL_OK && i < kernels.count && !*out_stop; ++i) {
    status = visit(reader, user, out_stop);
    if (status == KDL_OK && !*out_stop)
      status = kdl_msgpack_skip(&reader);
  }
  return status;
}

kdl_status kdl_amdgpu_visit_metadata(const kdl_elf *elf, kdl_amdgpu_kernel_visitor *visit,
                                     void *user, bool *out_found) {
  kdl_elf_notes notes = {.elf = elf};
  kdl_elf_note note;
  kdl_status status;
  bool stop = false;
  *out_found = false;
  while ((status = kdl_elf_next_note(&notes, &note)) == KDL_OK && note.owner && !stop) {
    if (!kdl_elf_note_is(&note, "AMDGPU", note_metadata_msgpack))
      continue;
    *out_found = true;
    kdl_msgpack reader = {note.data, note.size, 0, (uint64_t)(note.data - elf->data)};
    status = visit_note(reader, visit, user, &stop);
    if (status != KDL_OK)
      return status;
  }
  return status;
}

kdl_status kdl_amdgpu_read_name(kdl_msgpack reader, kdl_msgpack_item *out_name) {
  bool found;
  kdl_msgpack_item kernel;
  kdl_msgpack at = reader;
  KDL_TRY(open_item(&at, KDL_MSGPACK_MAP, "amdhsa.kernels", "maps, one for each kernel", &kernel));
  KDL_TRY(kdl_amdgpu_find_value(reader, ".name", &at, &found));
  if (!found) {
    *out_name = (kdl_msgpack_item){.text = NULL};
    return KDL_OK;
  }
  return open_item(&at, KDL_MSGPACK_STRING, "amdhsa.kernels .name", "a string", out_name);
}

typedef struct {
  kdl_visit_name *visit;
  void *user;
} name_visitor;

static kdl_status visit_name(kdl_msgpack reader, void *user, bool *out_stop) {
  const name_visitor *visitor = user;
  kdl_msgpack_item name;
  KDL_TRY(kdl_amdgpu_read_name(reader, &name));
  if (name.text)
    *out_stop = visitor->visit(visitor->user, name.text, (size_t)name.count);
  return KDL_OK;
}

/* Without readable metadata (code object version 2 has YAML), symbols identify kernels: there by a
 * symbol type, later by a descriptor NAME.kd. */
kdl_status kdl_amdgpu_visit_symbols(const kdl_elf *elf, kdl_visit_name *visit, void *user) {
  kdl_elf_symbols symbols;
  KDL_TRY(kdl_elf_open_symbols(elf, SHT_DYNSYM, &symbols));
  if (symbols.count == 0)
    KDL_TRY(kdl_elf_open_symbols(elf, SHT_SYMTAB, &symbols));
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, &symbols, i);
    if (!symbol.is_defined || (symbol.type != symbol_hsa_kernel && symbol.type != STT_OBJECT))
      continue;
    const char *name;
    size_t length;
    KDL_TRY(kdl_elf_symbol_name(elf, &symbols, &symbol, &name, &length));
    if (symbol.type == STT_OBJECT) {
      if (length <= 3 || memcmp(name + length - 3, ".kd", 3) != 0)
        continue;
      length -= 3;
    }
    if (visit(user, name, length))
      break;
  }
  return KDL_OK;
}

kdl_status kdl_amdgpu_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                   void *user) {
  kdl_elf elf;
  bool found = false;
  kdl_status status = kdl_elf_open(data, size, &elf);
  if (status == KDL_OK)
    status = kdl_amdgpu_visit_metadata(&elf, visit_name, &(name_visitor){visit, user}, &found);
  return status == KDL_OK && !found ? kdl_amdgpu_visit_symbols(&elf, visit, user) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

/* The kinds that a caller passes. The runtime adds those that begin with "hidden_". */
static const struct {
  const char *name;
  kdl_image_param_kind kind;
} value_kinds[] = {
    {"by_value", KDL_IMAGE_PARAM_VALUE},
    {"global_buffer", KDL_IMAGE_PARAM_POINTER},
    {"dynamic_shared_pointer", KDL_IMAGE_PARAM_POINTER},
    {"image", KDL_IMAGE_PARAM_OPAQUE},
    {"sampler", KDL_IMAGE_PARAM_OPAQUE},
    {"pipe", KDL_IMAGE_PARAM_OPAQUE},
    {"queue", KDL_IMAGE_PARAM_OPAQUE},
};

static kdl_status next_unsigned(kdl_msgpack *reader, const char *key, uint32_t *out_number) {
  kdl_msgpack_item item;
  KDL_TRY(kdl_msgpack_next(reader, &item));
  if (!item.is_unsigned || item.value >= KDL_NO_OFFSET)
    return kdl_malformed_at(item.offset, key, "found no number of 32 bits, expected one");
  *out_number = (uint32_t)item.value;
  return KDL_OK;
}

static kdl_status read_unsigned(kdl_msgpack reader, const char *key, uint32_t *out_number) {
  kdl_msgpack at;
  bool found;
  kdl_status status = kdl_amdgpu_find_value(reader, key, &at, &found);
  if (status == KDL_OK && !found)
    return kdl_malformed_at(reader.base + reader.at, key, "found none, expected a number");
  return status == KDL_OK ? next_unsigned(&at, key, out_number) : status;
}

static kdl_status read_param_kind(kdl_msgpack reader, kdl_image_param_kind *out_kind,
                                  bool *out_hidden) {
  static const char hidden[] = "hidden_";
  const size_t hidden_length = sizeof hidden - 1;
  kdl_msgpack_item item;
  bool found;
  kdl_status status = kdl_amdgpu_find_value(reader, ".value_kind", &reader, &found);
  *out_kind = KDL_IMAGE_PARAM_BYTES;
  *out_hidden = false;
  if (status != KDL_OK || !found)
    return status;
  status = open_item(&reader, KDL_MSGPACK_STRING, ".value_kind", "a string", &item);
  if (status != KDL_OK)
    return status;
  *out_hidden = item.count > hidden_length && memcmp(item.text, hidden, hidden_length) == 0;
  for (size_t i = 0; i < sizeof value_kinds / sizeof *value_kinds; ++i) {
    if (kdl_msgpack_is(&item, value_kinds[i].name))
      *out_kind = value_kinds[i].kind;
  }
  return KDL_OK;
}

kdl_status kdl_amdgpu_visit_args(kdl_msgpack reader, kdl_visit_param *visit, void *user) {
  kdl_msgpack_item args;
  KDL_TRY(open_item(&reader, KDL_MSGPACK_ARRAY, ".args", "an array", &args));
  for (uint64_t i = 0; i < args.count; ++i) {
    kdl_image_param param = {.size = 0};
    bool is_hidden = false;
    KDL_TRY(read_param_kind(reader, &param.kind, &is_hidden));
    KDL_TRY(read_unsigned(reader, ".size", &param.size));
    KDL_TRY(read_unsigned(reader, ".offset", &param.offset));
    if (!is_hidden && visit(user, &param))
      return KDL_OK;
    KDL_TRY(kdl_msgpack_skip(&reader));
  }
  return KDL_OK;
}

/* Whether the reader is at the kernel of that name. */
static kdl_status is_kernel_named(kdl_msgpack reader, kdl_string kernel, bool *out_is) {
  kdl_msgpack_item name;
  kdl_status status = kdl_amdgpu_read_name(reader, &name);
  *out_is = status == KDL_OK && name.text && name.count == kernel.length &&
            memcmp(name.text, kernel.data, kernel.length) == 0;
  return status;
}

typedef struct {
  kdl_string kernel;
  kdl_visit_param *visit;
  void *user;
  bool found;
} param_visitor;

static kdl_status visit_kernel_params(kdl_msgpack reader, void *user, bool *out_stop) {
  param_visitor *visitor = user;
  kdl_status status = is_kernel_named(reader, visitor->kernel, out_stop);
  if (status != KDL_OK || !*out_stop)
    return status;
  bool has_args;
  visitor->found = true;
  status = kdl_amdgpu_find_value(reader, ".args", &reader, &has_args);
  return status == KDL_OK && has_args ? kdl_amdgpu_visit_args(reader, visitor->visit, visitor->user)
                                      : status;
}

kdl_status kdl_amdgpu_read_params(const uint8_t *data, size_t size, kdl_string kernel,
                                  kdl_visit_param *visit, void *user) {
  kdl_elf elf;
  bool found = false;
  param_visitor visitor = {.kernel = kernel, .visit = visit, .user = user};
  kdl_status status = kdl_elf_open(data, size, &elf);
  if (status == KDL_OK)
    status = kdl_amdgpu_visit_metadata(&elf, visit_kernel_params, &visitor, &found);
  if (status == KDL_OK && !found)
    return kdl_fail(KDL_UNSUPPORTED, "the code object has no metadata, which would tell its "
                                     "kernels' parameters");
  return status == KDL_OK && !visitor.found ? kdl_no_such_kernel(kernel) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Limits                                                                                       */

kdl_status kdl_amdgpu_read_numbers(kdl_msgpack reader, const char *key, uint32_t *numbers,
                                   uint32_t count) {
  bool found;
  kdl_msgpack_item list;
  kdl_status status = kdl_amdgpu_find_value(reader, key, &reader, &found);
  if (status != KDL_OK || !found)
    return status;
  if (count > 1) {
    status = open_item(&reader, KDL_MSGPACK_ARRAY, key, "an array", &list);
    if (status == KDL_OK && list.count != count)
      return kdl_malformed_at(list.offset, key, "found %" PRIu64 " numbers, expected %" PRIu32,
                              list.count, count);
  }
  for (uint32_t i = 0; status == KDL_OK && i < count; ++i)
    status = next_unsigned(&reader, key, &numbers[i]);
  return status;
}

typedef struct {
  kdl_string kernel;
  kdl_image_limits limits;
  bool found;
} limit_visitor;

/* A launch by items divides by each. */
static kdl_status check_block(kdl_msgpack reader, const uint32_t block[3]) {
  bool is_none = !block[0] && !block[1] && !block[2];
  if (is_none || (block[0] && block[1] && block[2]))
    return KDL_OK;
  return kdl_malformed_at(reader.base + reader.at, ".reqd_workgroup_size",
                          "found %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", expected no 0", block[0],
                          block[1], block[2]);
}

static kdl_status visit_limits(kdl_msgpack reader, void *user, bool *out_stop) {
  limit_visitor *visitor = user;
  kdl_image_limits *limits = &visitor->limits;
  kdl_status status = is_kernel_named(reader, visitor->kernel, out_stop);
  if (status != KDL_OK || !*out_stop)
    return status;
  visitor->found = true;
  status = kdl_amdgpu_read_numbers(reader, ".reqd_workgroup_size", limits->block, 3);
  if (status == KDL_OK)
    status = check_block(reader, limits->block);
  if (status == KDL_OK)
    status = kdl_amdgpu_read_numbers(reader, ".max_flat_workgroup_size", &limits->max_block, 1);
  if (status == KDL_OK)
    status = kdl_amdgpu_read_numbers(reader, ".group_segment_fixed_size", &limits->shared, 1);
  return status;
}

kdl_status kdl_amdgpu_read_limits(const void *data, size_t size, kdl_string kernel,
                                  kdl_image_limits *out_limits) {
  kdl_elf elf;
  bool found = false;
  limit_visitor visitor = {.kernel = kernel};
  KDL_TRY(kdl_elf_open(data, size, &elf));
  KDL_TRY(kdl_amdgpu_visit_metadata(&elf, visit_limits, &visitor, &found));
  if (found && !visitor.found)
    KDL_TRY(kdl_no_such_kernel(kernel));
  *out_limits = visitor.limits;
  return KDL_OK;
}

void kdl_amdgpu_read_geometry(const uint8_t *data, size_t size, kdl_string kernel,
                              kdl_image_geometry *geometry) {
  kdl_image_limits limits = {{0}, 0, 0};
  if (kdl_amdgpu_read_limits(data, size, kernel, &limits) == KDL_OK)
    memcpy(geometry->block, limits.block, sizeof geometry->block);
}
