/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/formats.h"

#include "lib/image/readers.h"
#include "support/base/bytes.h"

#include <inttypes.h>
#include <string.h>

/* Formats by the first byte, 0xc0 to 0xdf: a big-endian length of `length_bytes` follows, then
 * `fixed` bytes in addition to those that the length counts. */
typedef struct {
  kdl_msgpack_type type;
  uint8_t length_bytes;
  uint8_t fixed;
  bool is_valid;
} format;

enum { first_unsigned = 0xcc, last_unsigned = 0xcf };

static const format formats[32] = {
    [0x00] = {KDL_MSGPACK_SCALAR, 0, 0, true}, /* nil */
    [0x02] = {KDL_MSGPACK_SCALAR, 0, 0, true}, /* false */
    [0x03] = {KDL_MSGPACK_SCALAR, 0, 0, true}, /* true */
    [0x04] = {KDL_MSGPACK_BINARY, 1, 0, true}, /* bin 8, 16, 32 */
    [0x05] = {KDL_MSGPACK_BINARY, 2, 0, true},
    [0x06] = {KDL_MSGPACK_BINARY, 4, 0, true},
    [0x07] = {KDL_MSGPACK_BINARY, 1, 1, true}, /* ext 8, 16, 32: a type byte, then data */
    [0x08] = {KDL_MSGPACK_BINARY, 2, 1, true},
    [0x09] = {KDL_MSGPACK_BINARY, 4, 1, true},
    [0x0a] = {KDL_MSGPACK_SCALAR, 0, 4, true}, /* float 32, 64 */
    [0x0b] = {KDL_MSGPACK_SCALAR, 0, 8, true},
    [0x0c] = {KDL_MSGPACK_SCALAR, 0, 1, true}, /* uint 8, 16, 32, 64 */
    [0x0d] = {KDL_MSGPACK_SCALAR, 0, 2, true},
    [0x0e] = {KDL_MSGPACK_SCALAR, 0, 4, true},
    [0x0f] = {KDL_MSGPACK_SCALAR, 0, 8, true},
    [0x10] = {KDL_MSGPACK_SCALAR, 0, 1, true}, /* int 8, 16, 32, 64 */
    [0x11] = {KDL_MSGPACK_SCALAR, 0, 2, true},
    [0x12] = {KDL_MSGPACK_SCALAR, 0, 4, true},
    [0x13] = {KDL_MSGPACK_SCALAR, 0, 8, true},
    [0x14] = {KDL_MSGPACK_BINARY, 0, 2, true}, /* fixext 1, 2, 4, 8, 16 with their type byte */
    [0x15] = {KDL_MSGPACK_BINARY, 0, 3, true},
    [0x16] = {KDL_MSGPACK_BINARY, 0, 5, true},
    [0x17] = {KDL_MSGPACK_BINARY, 0, 9, true},
    [0x18] = {KDL_MSGPACK_BINARY, 0, 17, true},
    [0x19] = {KDL_MSGPACK_STRING, 1, 0, true}, /* str 8, 16, 32 */
    [0x1a] = {KDL_MSGPACK_STRING, 2, 0, true},
    [0x1b] = {KDL_MSGPACK_STRING, 4, 0, true},
    [0x1c] = {KDL_MSGPACK_ARRAY, 2, 0, true}, /* array 16, 32 */
    [0x1d] = {KDL_MSGPACK_ARRAY, 4, 0, true},
    [0x1e] = {KDL_MSGPACK_MAP, 2, 0, true}, /* map 16, 32 */
    [0x1f] = {KDL_MSGPACK_MAP, 4, 0, true},
};

/* Type and count by the first byte alone, where it holds both. */
static bool read_short_form(uint8_t first, kdl_msgpack_item *item) {
  if (first < 0x80 || first >= 0xe0) {
    item->type = KDL_MSGPACK_SCALAR;
    item->is_unsigned = first < 0x80;
    item->value = item->is_unsigned ? first : 0;
  } else if (first < 0x90) {
    item->type = KDL_MSGPACK_MAP;
    item->count = first & 0x0f;
  } else if (first < 0xa0) {
    item->type = KDL_MSGPACK_ARRAY;
    item->count = first & 0x0f;
  } else if (first < 0xc0) {
    item->type = KDL_MSGPACK_STRING;
    item->count = first & 0x1f;
  } else {
    return false;
  }
  return true;
}

static kdl_status truncated(const kdl_msgpack *reader, uint64_t offset, uint64_t wanted) {
  return kdl_malformed_at(offset, "MessagePack",
                          "found %zu bytes, expected %" PRIu64 " for this item",
                          reader->size - reader->at, wanted);
}

static kdl_status read_long_form(kdl_msgpack *reader, uint8_t first, kdl_msgpack_item *item) {
  const format *form = &formats[first - 0xc0];
  if (!form->is_valid)
    return kdl_malformed_at(item->offset, "MessagePack",
                            "found 0x%02x, which begins no item, expected one", first);
  item->type = form->type;
  if (form->length_bytes > reader->size - reader->at)
    return truncated(reader, item->offset, form->length_bytes);
  for (uint8_t i = 0; i < form->length_bytes; ++i)
    item->count = item->count << 8 | reader->data[reader->at++];
  if (form->fixed > reader->size - reader->at)
    return truncated(reader, item->offset, form->fixed);
  item->is_unsigned = first >= first_unsigned && first <= last_unsigned;
  for (uint8_t i = 0; item->is_unsigned && i < form->fixed; ++i)
    item->value = item->value << 8 | reader->data[reader->at + i];
  reader->at += form->fixed;
  return KDL_OK;
}

kdl_status kdl_msgpack_next(kdl_msgpack *reader, kdl_msgpack_item *out_item) {
  kdl_msgpack_item item = {.offset = reader->base + reader->at};
  if (reader->at == reader->size)
    return truncated(reader, item.offset, 1);
  uint8_t first = reader->data[reader->at++];
  if (!read_short_form(first, &item)) {
    kdl_status status = read_long_form(reader, first, &item);
    if (status != KDL_OK)
      return status;
  }
  uint64_t least = item.type == KDL_MSGPACK_MAP ? item.count * 2 : item.count;
  if (least > reader->size - reader->at)
    return truncated(reader, item.offset, least);
  if (item.type == KDL_MSGPACK_STRING || item.type == KDL_MSGPACK_BINARY) {
    item.text = (const char *)reader->data + reader->at;
    reader->at += (size_t)item.count;
  }
  *out_item = item;
  return KDL_OK;
}

kdl_status kdl_msgpack_skip(kdl_msgpack *reader) {
  for (uint64_t pending = 1; pending > 0; --pending) {
    kdl_msgpack_item item;
    kdl_status status = kdl_msgpack_next(reader, &item);
    if (status != KDL_OK)
      return status;
    if (item.type == KDL_MSGPACK_ARRAY)
      pending += item.count;
    else if (item.type == KDL_MSGPACK_MAP)
      pending += 2 * item.count;
  }
  return KDL_OK;
}

bool kdl_msgpack_is(const kdl_msgpack_item *item, const char *text) {
  return item->type == KDL_MSGPACK_STRING && item->count == strlen(text) &&
         memcmp(item->text, text, (size_t)item->count) == 0;
}
