/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints a kernel's key: fields in the order of kdl_kernel_field, then unknown fields verbatim. */
#ifndef KDL_TEST_KERNEL_KEY_TEXT_H
#define KDL_TEST_KERNEL_KEY_TEXT_H

#include "lib/target/kernel_key.h"

typedef struct {
  const char *name;
  const uint32_t *extent;  /* three numbers, or NULL */
  unsigned long long rest; /* where it is one number */
} key_field;

static inline void out_key_signature(kdl_out *out, kdl_string sig) {
  kdl_param param;
  const char *join = "";
  for (size_t at = 0; kdl_signature_next(sig, &at, &param, NULL); join = " ")
    kdl_out_format(out, "%s%.*s", join, (int)param.text.length, param.text.data);
}

static inline bool is_known_field(kdl_string field, const key_field *known) {
  kdl_string name = {field.data, kdl_text_find(field, 0, "=")};
  for (size_t i = 0; i < KDL_KERNEL_FIELD_COUNT; ++i) {
    if (kdl_text_is(name, known[i].name))
      return true;
  }
  return false;
}

static inline void out_kernel_key(kdl_out *out, const kdl_kernel_key *key) {
  const key_field fields[KDL_KERNEL_FIELD_COUNT] = {
      [KDL_KERNEL_SIG] = {"sig", NULL, 0},
      [KDL_KERNEL_BLOCK] = {"block", key->block, 0},
      [KDL_KERNEL_TILE] = {"tile", key->tile, 0},
      [KDL_KERNEL_SHARED] = {"shared", NULL, key->shared},
      [KDL_KERNEL_HIDDEN] = {"hidden", NULL, key->hidden},
      [KDL_KERNEL_COOP] = {"coop", NULL, key->coop},
      [KDL_KERNEL_CLUSTER] = {"cluster", key->cluster, 0},
      [KDL_KERNEL_SUBGROUP] = {"subgroup", NULL, key->subgroup},
      [KDL_KERNEL_MIN_MEMORY] = {"min_memory", NULL, key->min_memory},
      [KDL_KERNEL_REV] = {"rev", NULL, key->rev},
      [KDL_KERNEL_CONST] = {"const", NULL, 0},
      [KDL_KERNEL_NAMES] = {"", NULL, 0}, /* these are printed verbatim */
      [KDL_KERNEL_WHEN] = {"", NULL, 0},
      [KDL_KERNEL_SHAPE] = {"", NULL, 0},
      [KDL_KERNEL_EFFECTS] = {"", NULL, 0},
      [KDL_KERNEL_TRIAL] = {"", NULL, 0},
      [KDL_KERNEL_NUMERICS] = {"", NULL, 0},
      [KDL_KERNEL_SPECIALIZE] = {"", NULL, 0},
  };
  const char *join = "";
  for (size_t i = 0; i < KDL_KERNEL_FIELD_COUNT; ++i) {
    const uint32_t *extent = fields[i].extent;
    if (!kdl_kernel_has(key, (kdl_kernel_field)i) || !*fields[i].name)
      continue;
    kdl_out_format(out, "%s%s=", join, fields[i].name);
    if (i == KDL_KERNEL_SIG)
      out_key_signature(out, key->sig);
    else if (i == KDL_KERNEL_CONST)
      kdl_out_format(out, "%.*s", (int)key->constants.length, key->constants.data);
    else if (extent)
      kdl_out_format(out, "%ux%ux%u", extent[0], extent[1], extent[2]);
    else
      kdl_out_format(out, "%llu", fields[i].rest);
    join = "; ";
  }
  for (size_t at = 0; at < key->text.length;) {
    size_t end = kdl_text_find(key->text, at, ";");
    size_t next = end + 1;
    while (at < end && key->text.data[at] == ' ')
      ++at;
    while (end > at && key->text.data[end - 1] == ' ')
      --end;
    kdl_string field = {key->text.data + at, end - at};
    if (field.length && !is_known_field(field, fields)) {
      kdl_out_format(out, "%s%.*s", join, (int)field.length, field.data);
      join = "; ";
    }
    at = next;
  }
}

#endif
