/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Metadata is numbered from 0 in the order of its records: first all strings, which one record
 * holds, then references to values, then nodes, whose operands are such numbers plus 1.
 *
 * Nodes are not followed from the name "nvvm.annotations": one that pairs a global value with the
 * string "kernel" is an annotation, wherever it hangs.
 */
#include "lib/image/llvm/llvm_bitcode.h"

#include <string.h>

enum {
  metadata_value = 2,
  metadata_node = 3,
  metadata_strings = 35,
};

/* Records that take no number. */
static bool is_unnumbered(uint64_t code) {
  enum { name = 4, kind = 6, named_node = 10, attachment = 36, offset = 38, positions = 39 };
  return code == name || code == kind || code == named_node || code == attachment ||
         code == offset || code == positions;
}

typedef struct {
  uint64_t next;        /* the number of the next metadata */
  uint64_t kernel;      /* the number of the string "kernel", or NO_NUMBER */
  uint64_t first_value; /* the number of values[0] */
  uint64_t value_count;
  uint32_t values[KDL_LIMIT_METADATA_VALUES];
} metadata_walk;

#define NO_NUMBER UINT64_MAX

/* [count, offset of the characters] and a blob: lengths as VBR6, padded, then all characters. */
static void read_string_records(kdl_bitstream *stream, metadata_walk *walk) {
  static const char wanted[] = "kernel";
  const uint64_t wanted_length = sizeof wanted - 1;
  uint64_t count, characters, size;
  if (!kdl_bitstream_value(stream, &count) || !kdl_bitstream_value(stream, &characters))
    return;
  const uint8_t *blob = kdl_bitstream_blob(stream, &size);
  if (!blob || characters > size || count > characters * 8 / 6)
    return;
  kdl_bitstream lengths = {
      .data = blob,
      .end = characters * 8,
      .element = {KDL_BITS_VBR, 6},
      .elements_left = count,
  };
  uint64_t length;
  for (uint64_t i = 0; kdl_bitstream_value(&lengths, &length) && length <= size - characters; ++i) {
    if (length == wanted_length && memcmp(blob + characters, wanted, sizeof wanted - 1) == 0)
      walk->kernel = walk->next + i;
    characters += length;
  }
  walk->next += count;
}

/* [type, value] */
static void read_value_record(kdl_bitstream *stream, metadata_walk *walk,
                              kdl_annotations *annotations) {
  uint64_t type, value;
  if (!kdl_bitstream_value(stream, &type) || !kdl_bitstream_value(stream, &value))
    return;
  if (walk->value_count == 0)
    walk->first_value = walk->next;
  /* Value records are consecutive; ignore one that is not. */
  if (walk->next - walk->first_value != walk->value_count)
    return;
  if (walk->value_count == KDL_LIMIT_METADATA_VALUES)
    annotations->over_limit = walk->kernel != NO_NUMBER;
  else
    walk->values[walk->value_count++] = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* [value, key, setting, key, setting, ...], each a number plus 1, or 0 for null. */
static void read_node_record(kdl_bitstream *stream, const metadata_walk *walk,
                             kdl_annotations *annotations) {
  uint64_t function, key, setting;
  if (walk->kernel == NO_NUMBER || !kdl_bitstream_value(stream, &function) ||
      function <= walk->first_value || function - 1 - walk->first_value >= walk->value_count)
    return;
  uint32_t value = walk->values[function - 1 - walk->first_value];
  while (kdl_bitstream_value(stream, &key) && kdl_bitstream_value(stream, &setting)) {
    if (key != walk->kernel + 1)
      continue;
    if (value >= KDL_LIMIT_GLOBALS)
      annotations->over_limit = true;
    else
      annotations->kernels[value / 8] |= (uint8_t)(1u << value % 8);
  }
}

kdl_status kdl_annotations_read(kdl_bitstream *stream, const kdl_bitentry *metadata,
                                kdl_annotations *annotations) {
  metadata_walk walk = {.kernel = NO_NUMBER};
  kdl_bitblock block;
  kdl_status status = kdl_bitstream_enter(stream, metadata, &block);
  while (status == KDL_OK) {
    kdl_bitentry entry;
    status = kdl_bitstream_next(stream, &block, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      break;
    if (entry.kind != KDL_BITS_RECORD || is_unnumbered(entry.id))
      continue;
    if (entry.id == metadata_strings) {
      read_string_records(stream, &walk);
      continue;
    }
    if (entry.id == metadata_value)
      read_value_record(stream, &walk, annotations);
    else if (entry.id == metadata_node)
      read_node_record(stream, &walk, annotations);
    ++walk.next;
  }
  return status;
}

bool kdl_annotations_has(const kdl_annotations *annotations, uint64_t value) {
  return value < KDL_LIMIT_GLOBALS && (annotations->kernels[value / 8] >> value % 8 & 1);
}
