/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What can be read from LLVM bitcode without LLVM: the triple, the CPU that functions were compiled
 * for, and the functions with their calling convention. Records and their operands are those of
 * llvm/Bitcode/LLVMBitCodes.h.
 */
#include "lib/image/llvm/llvm_bitcode.h"
#include "support/base/text.h"

#include "lib/image/readers.h"
#include "support/base/error.h"
#include "support/base/triple.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  block_paramattr_group = 10,
  block_metadata = 15,
  block_strtab = 23,

  module_version = 1,
  module_triple = 2,
  strtab_blob = 1,
  group_entry = 3,

  oldest_version_with_strtab = 2, /* LLVM 5 */
};

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

kdl_status kdl_bitcode_open(const uint8_t *data, size_t size, kdl_bitcode *out_bitcode) {
  *out_bitcode = (kdl_bitcode){0};
  kdl_status status = kdl_bitstream_open(data, size, &out_bitcode->stream, &out_bitcode->top);
  out_bitcode->module.end = out_bitcode->stream.at;
  return status;
}

/* Moves to the next outer block of that kind; entry->kind is KDL_BITS_END where there is none. */
static kdl_status find_outer_block(kdl_bitcode *bitcode, uint64_t id, kdl_bitentry *entry) {
  kdl_status status;
  do
    status = kdl_bitstream_next(&bitcode->stream, &bitcode->top, entry);
  while (status == KDL_OK && entry->kind != KDL_BITS_END &&
         !(entry->kind == KDL_BITS_BLOCK && entry->id == id));
  return status;
}

/* A module's names are in the first string table that follows it; modules may share one. */
static kdl_status find_string_table(kdl_bitcode *bitcode) {
  if (bitcode->stream.at <= bitcode->names_at)
    return KDL_OK;
  bitcode->names = NULL;
  kdl_bitentry entry;
  kdl_status status = find_outer_block(bitcode, block_strtab, &entry);
  bitcode->names_at = bitcode->stream.at;
  if (status != KDL_OK || entry.kind == KDL_BITS_END)
    return status;
  kdl_bitblock strtab;
  status = kdl_bitstream_enter(&bitcode->stream, &entry, &strtab);
  while (status == KDL_OK) {
    status = kdl_bitstream_next(&bitcode->stream, &strtab, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      break;
    if (entry.kind == KDL_BITS_RECORD && entry.id == strtab_blob)
      bitcode->names = kdl_bitstream_blob(&bitcode->stream, &bitcode->names_size);
  }
  return status;
}

/* Goes back to the beginning of the current module. */
static kdl_status restart_module(kdl_bitcode *bitcode, kdl_bitblock *out_module) {
  /* Each module has its own BLOCKINFO. */
  bitcode->stream.info_count = 0;
  return kdl_bitstream_enter(&bitcode->stream, &bitcode->module, out_module);
}

kdl_status kdl_bitcode_next_module(kdl_bitcode *bitcode, kdl_bitblock *out_module, bool *out_more) {
  kdl_bitblock last = {.end = bitcode->module.end};
  kdl_bitstream_leave(&bitcode->stream, &last);
  kdl_status status = find_outer_block(bitcode, KDL_BITCODE_MODULE_BLOCK, &bitcode->module);
  *out_more = status == KDL_OK && bitcode->module.kind == KDL_BITS_BLOCK;
  if (*out_more)
    status = find_string_table(bitcode);
  if (*out_more && status == KDL_OK)
    status = restart_module(bitcode, out_module);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Target                                                                                       */

static uint64_t byte_offset(const kdl_bitstream *stream) {
  return stream->base + stream->at / 8;
}

static kdl_status read_triple(kdl_bitstream *stream, kdl_image_target *target) {
  uint64_t offset = byte_offset(stream);
  char text[64];
  size_t length = 0;
  uint64_t value;
  while (kdl_bitstream_value(stream, &value)) {
    if (length == sizeof text || value > UINT8_MAX)
      return kdl_malformed_at(offset, "triple", "found more than 63 bytes, expected fewer");
    text[length++] = (char)value;
  }
  target->triple[0] = '\0';
  return kdl_target_append(target->triple, KDL_TARGET_NAME, "triple", text, length, offset);
}

/* Reads a NUL-terminated string of a record's operands. Truncates, because the strings of interest
 * fit; false where the record ends first. */
static bool read_cstring(kdl_bitstream *stream, char *text, size_t capacity) {
  size_t length = 0;
  uint64_t value;
  while (kdl_bitstream_value(stream, &value)) {
    if (value == 0) {
      text[length] = '\0';
      return true;
    }
    if (length + 1 < capacity)
      text[length++] = (char)value;
  }
  return false;
}

/* What the functions of a module have in common. */
typedef struct {
  char cpu[64];
  bool cpus_differ;
  char sramecc; /* '+', '-', or 0 where unspecified */
  char xnack;
} function_target;

/* "+wavefrontsize64,-sramecc,+xnack": finds the features that are part of an AMD target ID. */
static void read_features(kdl_bitstream *stream, function_target *functions) {
  char feature[16];
  size_t length = 0;
  uint64_t value;
  while (kdl_bitstream_value(stream, &value)) {
    if (value != ',' && value != 0) {
      if (length + 1 < sizeof feature)
        feature[length++] = (char)value;
      continue;
    }
    feature[length] = '\0';
    if (feature[0] == '+' || feature[0] == '-') {
      if (strcmp(feature + 1, "sramecc") == 0)
        functions->sramecc = feature[0];
      else if (strcmp(feature + 1, "xnack") == 0)
        functions->xnack = feature[0];
    }
    length = 0;
    if (value == 0)
      return;
  }
}

static kdl_status read_target_cpu(kdl_bitstream *stream, function_target *functions) {
  uint64_t offset = byte_offset(stream);
  char cpu[64];
  if (!read_cstring(stream, cpu, sizeof cpu))
    return kdl_malformed_at(offset, "target-cpu", "found no terminating NUL, expected one");
  if (functions->cpu[0] && strcmp(cpu, functions->cpu) != 0)
    functions->cpus_differ = true;
  functions->cpu[0] = '\0';
  return kdl_target_append(functions->cpu, KDL_TARGET_NAME, "target-cpu", cpu, strlen(cpu), offset);
}

/* [group, parameter, attributes...]; only those of functions matter, which have this "parameter".
 * An attribute is a kind and its data: 0 a number, 1 a number and a value, 3 a string, 4 two
 * strings. */
static kdl_status read_attributes(kdl_bitstream *stream, function_target *functions) {
  const uint64_t of_function = UINT32_MAX;
  uint64_t group, parameter, kind, ignored;
  if (!kdl_bitstream_value(stream, &group) || !kdl_bitstream_value(stream, &parameter) ||
      parameter != of_function)
    return KDL_OK;
  while (kdl_bitstream_value(stream, &kind)) {
    char key[24];
    if (kind == 0 || kind == 1) {
      for (uint64_t i = 0; i <= kind; ++i)
        kdl_bitstream_value(stream, &ignored);
    } else if (kind == 3 || kind == 4) {
      if (!read_cstring(stream, key, sizeof key) || kind == 3)
        continue;
      kdl_status status = KDL_OK;
      if (strcmp(key, "target-cpu") == 0)
        status = read_target_cpu(stream, functions);
      else if (strcmp(key, "target-features") == 0)
        read_features(stream, functions);
      else
        read_cstring(stream, key, sizeof key);
      if (status != KDL_OK)
        return status;
    } else {
      /* Types and ranges are for parameters; stops at kinds of a later LLVM. */
      return KDL_OK;
    }
  }
  return KDL_OK;
}

static kdl_status read_attribute_groups(kdl_bitstream *stream, const kdl_bitentry *groups,
                                        function_target *functions) {
  kdl_bitblock block;
  kdl_bitentry entry;
  kdl_status status = kdl_bitstream_enter(stream, groups, &block);
  while (status == KDL_OK) {
    status = kdl_bitstream_next(stream, &block, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      break;
    if (entry.kind == KDL_BITS_RECORD && entry.id == group_entry)
      status = read_attributes(stream, functions);
  }
  return status;
}

static kdl_status finish_target(const function_target *functions, kdl_image_target *target) {
  bool is_amd = kdl_triple_is_amd(kdl_text_of(target->triple));
  char processor[KDL_TRIPLE_PROCESSOR];
  if (kdl_starts_with(target->triple, "nvptx"))
    target->offload_kind = KDL_OFFLOAD_CUDA;
  else if (is_amd)
    target->offload_kind = KDL_OFFLOAD_HIP;
  kdl_triple_processor(kdl_text_of(target->triple), processor);
  if (functions->cpus_differ || (!functions->cpu[0] && !processor[0]))
    return KDL_OK;
  char arch[96];
  int length = snprintf(arch, sizeof arch, "%s", functions->cpu[0] ? functions->cpu : processor);
  if (is_amd && functions->sramecc)
    length +=
        snprintf(arch + length, sizeof arch - (size_t)length, ":sramecc%c", functions->sramecc);
  if (is_amd && functions->xnack)
    length += snprintf(arch + length, sizeof arch - (size_t)length, ":xnack%c", functions->xnack);
  return kdl_target_append(target->arch, KDL_TARGET_NAME, "target-cpu", arch, (size_t)length, 0);
}

static kdl_status bitcode_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  kdl_bitcode bitcode;
  kdl_bitblock module;
  bool more = false;
  kdl_status status = kdl_bitcode_open(data, size, &bitcode);
  if (status == KDL_OK)
    status = kdl_bitcode_next_module(&bitcode, &module, &more);
  if (status == KDL_OK && !more)
    return kdl_malformed_at(bitcode.stream.base, "bitcode", "found no module, expected one");
  function_target functions = {0};
  while (status == KDL_OK) {
    kdl_bitentry entry;
    status = kdl_bitstream_next(&bitcode.stream, &module, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      break;
    if (entry.kind == KDL_BITS_RECORD && entry.id == module_triple)
      status = read_triple(&bitcode.stream, target);
    else if (entry.kind == KDL_BITS_BLOCK && entry.id == block_paramattr_group)
      status = read_attribute_groups(&bitcode.stream, &entry, &functions);
  }
  return status == KDL_OK ? finish_target(&functions, target) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

typedef struct {
  kdl_bitcode *bitcode;
  bool is_device;               /* only functions marked by convention or annotation are kernels */
  kdl_annotations *annotations; /* NULL where a calling convention marks kernels */
  uint64_t version;
  uint64_t next_value; /* the number of the next global value */
  bool stop;
  bool has_kernels;
  kdl_visit_name *visit;
  void *user;
} kernel_walk;

/* Encoded GlobalValue::LinkageTypes of definitions that are visible outside: 0 external, 5 and 6
 * DLL, 15 auto-hide; 1, 4, 10, 11 and 16 to 19 weak and linkonce. */
static bool is_exported(uint64_t linkage) {
  const uint64_t exported = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 10 | 1u << 11 |
                            1u << 15 | 1u << 16 | 1u << 17 | 1u << 18 | 1u << 19;
  return linkage < 32 && (exported >> linkage & 1);
}

static bool is_kernel_function(const kernel_walk *walk, uint64_t convention, uint64_t value) {
  enum { ptx_kernel = 71, spir_kernel = 76, amdgpu_kernel = 91 };
  return convention == ptx_kernel || convention == spir_kernel || convention == amdgpu_kernel ||
         (walk->annotations && kdl_annotations_has(walk->annotations, value));
}

/* From module version 2 on: [name offset, name size, type, convention, is declaration, linkage,
 * attributes, alignment, section, visibility, ...]. */
static kdl_status read_function_record(kdl_bitstream *stream, kernel_walk *walk, uint64_t value) {
  enum { name_at, name_size, type, convention, is_declaration, linkage, visibility = 9, count };
  uint64_t offset = byte_offset(stream);
  uint64_t operands[count] = {0};
  size_t have = 0;
  while (have < count && kdl_bitstream_value(stream, &operands[have]))
    ++have;
  if (have <= linkage)
    return kdl_malformed_at(offset, "function record", "found %zu operands, expected at least %d",
                            have, linkage + 1);
  if (operands[is_declaration] || !is_exported(operands[linkage]))
    return KDL_OK;
  const uint64_t hidden = 1;
  if (!is_kernel_function(walk, operands[convention], value) &&
      (walk->is_device || operands[visibility] == hidden))
    return KDL_OK;
  if (walk->version < oldest_version_with_strtab || !walk->bitcode->names)
    return kdl_fail(KDL_UNSUPPORTED,
                    "offset 0x%" PRIx64
                    ": bitcode of LLVM 4 or older keeps names where only LLVM finds them, expected "
                    "a string table: rewrite it with a later opt, or list its kernels in "
                    "kdl.kernel keys",
                    offset);
  uint64_t names_size = walk->bitcode->names_size;
  if (operands[name_at] > names_size || operands[name_size] > names_size - operands[name_at])
    return kdl_malformed_at(offset, "function name",
                            "found %" PRIu64 " bytes at %" PRIu64
                            " of the string table, expected less than its %" PRIu64,
                            operands[name_size], operands[name_at], names_size);
  walk->has_kernels = true;
  walk->stop = walk->visit(walk->user, (const char *)walk->bitcode->names + operands[name_at],
                           (size_t)operands[name_size]) != 0;
  return KDL_OK;
}

static kdl_status read_annotations(kdl_bitcode *bitcode, kdl_bitblock *module,
                                   kdl_annotations *annotations) {
  *annotations = (kdl_annotations){0};
  kdl_status status = KDL_OK;
  while (status == KDL_OK) {
    kdl_bitentry entry;
    status = kdl_bitstream_next(&bitcode->stream, module, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      break;
    if (entry.kind == KDL_BITS_BLOCK && entry.id == block_metadata)
      status = kdl_annotations_read(&bitcode->stream, &entry, annotations);
  }
  if (status == KDL_OK && annotations->over_limit)
    return kdl_fail(KDL_UNSUPPORTED,
                    "found more metadata than is kept to find kernels in !nvvm.annotations, "
                    "expected at most %d values and %d globals: rewrite the module with opt of "
                    "LLVM 21 or later, or list its kernels in kdl.kernel keys",
                    KDL_LIMIT_METADATA_VALUES, KDL_LIMIT_GLOBALS);
  return status == KDL_OK ? restart_module(bitcode, module) : status;
}

static kdl_status walk_module(kdl_bitcode *bitcode, kdl_bitblock *module, kernel_walk *walk) {
  enum { variable = 7, function = 8, old_alias = 9, alias = 14, ifunc = 18 };
  kdl_bitstream *stream = &bitcode->stream;
  kdl_status status = KDL_OK;
  if (walk->annotations)
    status = read_annotations(bitcode, module, walk->annotations);
  walk->version = walk->next_value = 0;
  while (status == KDL_OK && !walk->stop) {
    kdl_bitentry entry;
    status = kdl_bitstream_next(stream, module, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      break;
    if (entry.kind != KDL_BITS_RECORD)
      continue;
    if (entry.id == module_version)
      kdl_bitstream_value(stream, &walk->version);
    else if (entry.id == function)
      status = read_function_record(stream, walk, walk->next_value++);
    else if (entry.id == variable || entry.id == old_alias || entry.id == alias ||
             entry.id == ifunc)
      ++walk->next_value;
  }
  return status;
}

static bool is_device_triple(const char *triple) {
  static const char *const prefixes[] = {"nvptx", "amdgcn", "amdgpu", "r600", "spir"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i) {
    if (kdl_starts_with(triple, prefixes[i]))
      return true;
  }
  return false;
}

static kdl_status walk_modules(const uint8_t *data, size_t size, kernel_walk *walk) {
  bool more = true;
  kdl_status status = kdl_bitcode_open(data, size, walk->bitcode);
  while (status == KDL_OK && more && !walk->stop) {
    kdl_bitblock module;
    status = kdl_bitcode_next_module(walk->bitcode, &module, &more);
    if (status == KDL_OK && more)
      status = walk_module(walk->bitcode, &module, walk);
  }
  return status;
}

/* Bitcode without a triple is portable, with kernels by convention, unless it has none of those. */
static kdl_status bitcode_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                       void *user) {
  kdl_image_target target = {0};
  KDL_TRY(bitcode_read_target(data, size, &target));
  kdl_annotations annotations;
  kdl_bitcode bitcode;
  kernel_walk walk = {
      .bitcode = &bitcode,
      .is_device = !target.triple[0] || is_device_triple(target.triple),
      .annotations = kdl_starts_with(target.triple, "nvptx") ? &annotations : NULL,
      .visit = visit,
      .user = user,
  };
  KDL_TRY(walk_modules(data, size, &walk));
  if (target.triple[0] || walk.has_kernels)
    return KDL_OK;
  walk.is_device = false;
  return walk_modules(data, size, &walk);
}

const kdl_image_readers kdl_llvm_bitcode_readers = {
    .target = bitcode_read_target,
    .kernels = bitcode_read_kernels,
};
