/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table of a spec's keys and their kinds of value, which the text form, the JSON form and the
 * tests use. */
#ifndef KDL_LIB_DEVICE_SPEC_VALUES_H
#define KDL_LIB_DEVICE_SPEC_VALUES_H

#include "lib/device/spec.h"

typedef enum kdl_spec_kind {
  KDL_SPEC_KIND_TEXT,
  KDL_SPEC_KIND_TOKENS,
  KDL_SPEC_KIND_CLASS,
  KDL_SPEC_KIND_ORDINAL,
  KDL_SPEC_KIND_UUID,
  KDL_SPEC_KIND_PCI,
  KDL_SPEC_KIND_BYTES,
  KDL_SPEC_KIND_COUNT,
  KDL_SPEC_KIND_VERSION,
  KDL_SPEC_KIND_SIZES,
  KDL_SPEC_KIND_FLAG,
  KDL_SPEC_KIND_TOOLS,
} kdl_spec_kind;

typedef struct kdl_spec_key {
  const char *name;
  kdl_spec_kind kind;
  size_t offset; /* of the field in kdl_device_spec */
  size_t size;   /* of the field */
} kdl_spec_key;

const kdl_spec_key *kdl_spec_keys(size_t *out_count);

/* NULL where no key has that name. */
const kdl_spec_key *kdl_spec_key_find(kdl_string name);

/* Whether the spec has a value for the key. */
bool kdl_spec_value_known(const kdl_device_spec *spec, const kdl_spec_key *key);

/* The value as printed after `KEY=`, without quotes. */
void kdl_spec_value_print(const kdl_device_spec *spec, const kdl_spec_key *key, kdl_out *out);

/* Stores a value; false, with the position in the text, where it is not of the key's kind. */
bool kdl_spec_value_parse(kdl_device_spec *spec, const kdl_spec_key *key, kdl_string text,
                          kdl_parse_error *out_error);

/* Stores a number; false where the key's kind is not a number (bytes, count, ordinal), or the
 * number is too large. */
bool kdl_spec_value_set_number(kdl_device_spec *spec, const kdl_spec_key *key, uint64_t number);

/* The value of a key whose kind is a number. */
uint64_t kdl_spec_value_number(const kdl_device_spec *spec, const kdl_spec_key *key);

/* Whether text is valid in a spec: UTF-8 without control characters; else *out_at is the offset of
 * the first invalid byte. */
bool kdl_spec_text_is_clean(kdl_string text, size_t *out_at);

#endif
