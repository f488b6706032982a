/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * JSON (RFC 8259), read in the order it is written, without allocating.
 *
 *     static kdl_status read_member(kdl_json *json, const char *key, void *memory) {
 *       return strcmp(key, "memory") == 0 ? kdl_json_number(json, memory) : kdl_json_skip(json);
 *     }
 *
 *     kdl_json json;
 *     kdl_json_start(&json, "devices.json", data, size);
 *     status = kdl_json_members(&json, read_member, &memory);
 *     if (status == KDL_OK)
 *       status = kdl_json_finish(&json);
 *
 * Each function fails with KDL_BAD_FILE and "NAME: line 3, column 7: found ..., expected ...".
 * After a failure the reader must not be used. Nesting is limited to KDL_JSON_DEPTH.
 */
#ifndef KDL_SUPPORT_JSON_READER_H
#define KDL_SUPPORT_JSON_READER_H

#include "support/base/error.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KDL_JSON_DEPTH = 32, KDL_JSON_KEY = 512 };

typedef enum kdl_json_kind {
  KDL_JSON_OBJECT,
  KDL_JSON_ARRAY,
  KDL_JSON_STRING,
  KDL_JSON_NUMBER,
  KDL_JSON_BOOLEAN,
  KDL_JSON_NULL,
} kdl_json_kind;

typedef struct kdl_json {
  const char *name; /* of the file, for messages */
  const char *text;
  size_t size;
  size_t at;
  unsigned depth;
  uint64_t begun; /* a bit per level: an item has been read */
  uint64_t array; /* a bit per level: it is an array */
} kdl_json;

/* `name` and `data` are not copied and must outlive the reader. */
void kdl_json_start(kdl_json *json, const char *name, const void *data, size_t size);

/* The kind of the next value, by its first character. */
kdl_status kdl_json_peek(kdl_json *json, kdl_json_kind *out_kind);

/* Enters the next value, which must be an object or array as `kind` asks. */
kdl_status kdl_json_begin(kdl_json *json, kdl_json_kind kind);

/* Moves to the next member of the innermost object; at its end leaves it and sets *out_more to
 * false. A key that does not fit is truncated, so that it equals no key shorter than `room - 1`. */
kdl_status kdl_json_next_key(kdl_json *json, char *key, size_t room, bool *out_more);

/* Moves to the next item of the innermost array, or leaves it. */
kdl_status kdl_json_next_item(kdl_json *json, bool *out_more);

/* Reads the complete value of a member or an item. */
typedef kdl_status kdl_json_member(kdl_json *json, const char *key, void *user);
typedef kdl_status kdl_json_item(kdl_json *json, void *user);

/* Calls `read` for each member or item of the next value, an object or array, until one fails. Keys
 * are truncated to KDL_JSON_KEY - 1 bytes. */
kdl_status kdl_json_members(kdl_json *json, kdl_json_member *read, void *user);
kdl_status kdl_json_items(kdl_json *json, kdl_json_item *read, void *user);

/* The next value, which must be of that kind. A string is decoded to UTF-8; it must fit with its
 * NUL and must contain none. A number must be an integer and not negative. */
kdl_status kdl_json_string(kdl_json *json, char *text, size_t room);
kdl_status kdl_json_number(kdl_json *json, uint64_t *out_number);
kdl_status kdl_json_real(kdl_json *json, double *out_real); /* any number */
kdl_status kdl_json_boolean(kdl_json *json, bool *out_boolean);

/* Skips the next value of any kind, and checks its syntax. */
kdl_status kdl_json_skip(kdl_json *json);

/* Fails unless only blanks follow the outermost value. */
kdl_status kdl_json_finish(kdl_json *json);

/* The offset of the next value, for kdl_json_fail. */
size_t kdl_json_at(const kdl_json *json);

/* Records "NAME: line 3, column 7: " and the message, for the value at `offset`. */
kdl_status kdl_json_fail(const kdl_json *json, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Never KDL_OK, visibly for compilers: see support/base/error.h. */
#define kdl_json_fail(...) kdl_not_ok(kdl_json_fail(__VA_ARGS__))

#endif
