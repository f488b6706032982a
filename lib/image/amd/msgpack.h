/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * MessagePack, read forward one item at a time: an array or map gives its count, and its elements
 * follow as items of their own. No recursion, no allocation.
 *
 *     kdl_msgpack reader = {data, size, 0, 0};
 *     kdl_msgpack_item item;
 *     status = kdl_msgpack_next(&reader, &item);
 */
#ifndef KDL_IMAGE_AMD_MSGPACK_H
#define KDL_IMAGE_AMD_MSGPACK_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kdl_msgpack_type {
  KDL_MSGPACK_SCALAR, /* nil, a boolean or a number */
  KDL_MSGPACK_STRING,
  KDL_MSGPACK_BINARY, /* also extension types */
  KDL_MSGPACK_ARRAY,  /* `count` items follow */
  KDL_MSGPACK_MAP,    /* `count` pairs of items follow */
} kdl_msgpack_type;

typedef struct kdl_msgpack {
  const uint8_t *data;
  size_t size;
  size_t at;
  uint64_t base; /* where `data` lies in the image, for messages */
} kdl_msgpack;

typedef struct kdl_msgpack_item {
  kdl_msgpack_type type;
  uint64_t count;   /* elements, or bytes of a string or binary */
  const char *text; /* of a string or binary */
  uint64_t offset;  /* in the image */
  bool is_unsigned; /* a number of an unsigned format, whose value is ... */
  uint64_t value;
} kdl_msgpack_item;

/* Reads one item. A count that cannot fit into the bytes left is refused, since every element takes
 * at least one. */
kdl_status kdl_msgpack_next(kdl_msgpack *reader, kdl_msgpack_item *out_item);

/* Skips one item with everything in it. */
kdl_status kdl_msgpack_skip(kdl_msgpack *reader);

bool kdl_msgpack_is(const kdl_msgpack_item *item, const char *text);

#endif
