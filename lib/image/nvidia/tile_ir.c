/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * CUDA Tile IR bytecode, as NVIDIA documents it (Tile IR, "Binary Format"): a header of 12 bytes,
 * then sections until one with the number 0. Kernels are the functions with the flag `entry`, and
 * their names are in the table of strings. The reader was compared with files that cuda-tile 1.7
 * writes in the versions 13.1 to 13.4.
 */
#include "lib/image/readers.h"
#include "support/base/bytes.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  header_size = 12, /* magic, u8 major, u8 minor, u16 tag */
  major_at = 8,
  minor_at = 9,

  section_end = 0,
  section_strings = 1,
  section_functions = 2,
  section_is_aligned = 0x80,

  function_is_entry = 2,
  function_has_hints = 4,

  attribute_integer = 1,
  attribute_bool = 3,
  attribute_type = 4,
  attribute_string = 5,
  attribute_array = 6,
  attribute_dictionary = 10,
  attribute_hints = 11,
  deepest_attribute = 8,
};

/* The layout of functions is read up to this version; 13.5 changes it. */
static const uint32_t newest_version = 13 << 8 | 4;

typedef struct {
  const uint8_t *data;
  uint64_t at, end;
} tile_range;

static kdl_status tile_cut(const tile_range *range, const char *field) {
  return kdl_malformed_at(range->at, field, "found the end of its section, expected more");
}

static kdl_status read_byte(tile_range *range, const char *field, uint8_t *out_value) {
  if (range->at == range->end)
    return tile_cut(range, field);
  *out_value = range->data[range->at++];
  return KDL_OK;
}

/* Seven bits per byte, the lowest first; the highest bit of a byte marks that one more follows. */
static kdl_status read_varint(tile_range *range, const char *field, uint64_t *out_value) {
  enum { most_bytes = 10, bits = 7, more = 0x80 };
  uint64_t start = range->at;
  uint64_t value = 0;
  for (unsigned i = 0; i < most_bytes; ++i) {
    uint8_t byte = 0;
    KDL_TRY(read_byte(range, field, &byte));
    value |= (uint64_t)(byte & ~more) << (i * bits);
    if (!(byte & more)) {
      *out_value = value;
      return KDL_OK;
    }
  }
  return kdl_malformed_at(start, field, "found a number of more than %d bytes, expected fewer",
                          most_bytes);
}

static kdl_status skip_bytes(tile_range *range, uint64_t size, const char *field) {
  if (size > range->end - range->at)
    return kdl_malformed_at(range->at, field, "found %" PRIu64 " bytes, expected at most %" PRIu64,
                            size, range->end - range->at);
  range->at += size;
  return KDL_OK;
}

/* Alignments count from the first byte of the image. */
static kdl_status skip_padding(tile_range *range, uint64_t alignment, const char *field) {
  enum { most_alignment = 4096 };
  if (!alignment || alignment > most_alignment || (alignment & (alignment - 1)))
    return kdl_malformed_at(range->at, field,
                            "found an alignment of %" PRIu64 ", expected a power of two up to %d",
                            alignment, most_alignment);
  return skip_bytes(range, -range->at & (alignment - 1), field);
}

/* ------------------------------------------------------------------------------------------ */
/* Sections                                                                                     */

typedef struct {
  tile_range functions, strings;
} tile_sections;

/* Reads the header and skips the body of a section; the number of the last is 0. */
static kdl_status next_section(tile_range *range, uint8_t *out_number, tile_range *out_body) {
  uint64_t length, alignment = 1;
  KDL_TRY(read_byte(range, "section number", out_number));
  if (*out_number == section_end)
    return KDL_OK;
  KDL_TRY(read_varint(range, "section size", &length));
  if (*out_number & section_is_aligned) {
    KDL_TRY(read_varint(range, "section alignment", &alignment));
    KDL_TRY(skip_padding(range, alignment, "section alignment"));
  }
  *out_body = (tile_range){range->data, range->at, range->at + length};
  return skip_bytes(range, length, "section size");
}

static kdl_status read_sections(const uint8_t *data, size_t size, tile_sections *out) {
  tile_range range = {data, header_size, size}, body = {data, 0, 0};
  uint8_t number;
  *out = (tile_sections){{data, 0, 0}, {data, 0, 0}};
  do {
    KDL_TRY(next_section(&range, &number, &body));
    if ((number & ~section_is_aligned) == section_functions)
      out->functions = body;
    else if ((number & ~section_is_aligned) == section_strings)
      out->strings = body;
  } while (number != section_end);
  return KDL_OK;
}

/* Strings: a count, padding to 4, a u32 offset of each, then their bytes without NULs. */
typedef struct {
  const uint8_t *data;
  uint64_t count, offsets, bytes, end;
} tile_strings;

static kdl_status read_strings(const tile_range *section, tile_strings *out) {
  tile_range range = *section;
  enum { offset_size = 4 };
  uint64_t count = 0;
  if (range.at != range.end)
    KDL_TRY(read_varint(&range, "number of strings", &count));
  if (count)
    KDL_TRY(skip_padding(&range, offset_size, "string offsets"));
  if (count > (range.end - range.at) / offset_size)
    return kdl_malformed_at(section->at, "number of strings",
                            "found %" PRIu64 ", expected at most %" PRIu64, count,
                            (range.end - range.at) / offset_size);
  *out = (tile_strings){range.data, count, range.at, range.at + count * offset_size, range.end};
  return KDL_OK;
}

static kdl_status find_string(const tile_strings *strings, uint64_t index, kdl_string *out) {
  if (index >= strings->count)
    return kdl_malformed_at(strings->offsets, "string index",
                            "found %" PRIu64 ", expected less than the %" PRIu64 " strings", index,
                            strings->count);
  const uint8_t *entry = strings->data + strings->offsets + index * 4;
  uint64_t room = strings->end - strings->bytes;
  uint64_t from = kdl_load_u32(entry);
  uint64_t to = index + 1 < strings->count ? kdl_load_u32(entry + 4) : room;
  if (from > to || to > room)
    return kdl_malformed_at(strings->offsets + index * 4, "string offset",
                            "found %" PRIu64 " to %" PRIu64
                            ", expected them in order and at most %" PRIu64,
                            from, to, room);
  *out = (kdl_string){(const char *)strings->data + strings->bytes + from, (size_t)(to - from)};
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Functions                                                                                    */

/* Skips an attribute: of those in the hints of a function, none has another tag. */
static kdl_status skip_attribute(tile_range *range, unsigned depth) {
  uint8_t tag, flag;
  uint64_t value, count;
  uint64_t start = range->at;
  KDL_TRY(read_byte(range, "attribute", &tag));
  switch (tag) {
  case attribute_integer: /* type and value */
    KDL_TRY(read_varint(range, "attribute", &value));
    return read_varint(range, "attribute", &value);
  case attribute_bool:
    return read_byte(range, "attribute", &flag);
  case attribute_type:
  case attribute_string:
    return read_varint(range, "attribute", &value);
  case attribute_array:
  case attribute_dictionary:
  case attribute_hints:
    break;
  default:
    return kdl_malformed_at(start, "attribute", "found tag %u, expected one that hints have", tag);
  }
  if (depth == deepest_attribute)
    return kdl_malformed_at(start, "attribute", "found more than %d levels, expected fewer",
                            deepest_attribute);
  KDL_TRY(read_varint(range, "attribute", &count));
  for (; count; --count) {
    if (tag != attribute_array)
      KDL_TRY(read_varint(range, "attribute", &value)); /* the key */
    KDL_TRY(skip_attribute(range, depth + 1));
  }
  return KDL_OK;
}

/* A function: name, type, flags, debug information, hints, and the size of its body. */
static kdl_status read_function(tile_range *range, uint64_t *out_name, bool *out_is_entry) {
  uint64_t value;
  uint8_t flags;
  KDL_TRY(read_varint(range, "function name", out_name));
  KDL_TRY(read_varint(range, "function type", &value));
  KDL_TRY(read_byte(range, "function flags", &flags));
  KDL_TRY(read_varint(range, "function location", &value));
  if (flags & function_has_hints)
    KDL_TRY(skip_attribute(range, 0));
  KDL_TRY(read_varint(range, "function size", &value));
  *out_is_entry = flags & function_is_entry;
  return skip_bytes(range, value, "function size");
}

/* ------------------------------------------------------------------------------------------ */
/* The reader                                                                                   */

static kdl_status check_header(const uint8_t *data, size_t size) {
  if (size < major_at || memcmp(data, KDL_MAGIC_TILE_IR, major_at) != 0)
    return kdl_malformed_at(0, "magic", "expected \\x7fTileIR\\0");
  if (size < header_size)
    return kdl_malformed_at(0, "header", "found %zu bytes, expected %d", size, header_size);
  return KDL_OK;
}

static kdl_status tile_ir_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  KDL_TRY(check_header(data, size));
  snprintf(target->triple, sizeof target->triple, "nvptx64-nvidia-cuda");
  /* Bytecode is for no architecture; nvFatbin writes the first that the language supports. */
  snprintf(target->arch, sizeof target->arch, "sm_80");
  target->offload_kind = KDL_OFFLOAD_CUDA;
  target->version_major = data[major_at];
  target->version_minor = data[minor_at];
  return KDL_OK;
}

static kdl_status tile_ir_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                       void *user) {
  tile_sections sections;
  tile_strings strings;
  KDL_TRY(check_header(data, size));
  if (((uint32_t)data[major_at] << 8 | data[minor_at]) > newest_version)
    return kdl_fail(KDL_UNSUPPORTED,
                    "tileir image: its kernels cannot be read: found version %u.%u, expected at "
                    "most %" PRIu32 ".%" PRIu32,
                    data[major_at], data[minor_at], newest_version >> 8, newest_version & 0xff);
  KDL_TRY(read_sections(data, size, &sections));
  KDL_TRY(read_strings(&sections.strings, &strings));
  tile_range *functions = &sections.functions;
  uint64_t count = 0;
  if (functions->at != functions->end)
    KDL_TRY(read_varint(functions, "number of functions", &count));
  for (; count; --count) {
    uint64_t name;
    bool is_entry;
    kdl_string text;
    KDL_TRY(read_function(functions, &name, &is_entry));
    if (!is_entry)
      continue;
    KDL_TRY(find_string(&strings, name, &text));
    if (visit(user, text.data, text.length) != 0)
      return KDL_OK;
  }
  return KDL_OK;
}

const kdl_image_readers kdl_tile_ir_readers = {
    .target = tile_ir_read_target,
    .kernels = tile_ir_read_kernels,
};
