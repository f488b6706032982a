/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The vocabulary of keys that say more of an image than its triple and arch (docs/metadata.md). All
 * are optional; an absent key is no constraint. A must-check key whose value cannot be read makes
 * the image ineligible; a may-use key whose value cannot be read is as good as absent.
 */
#ifndef KDL_TARGET_RULES_METADATA_H
#define KDL_TARGET_RULES_METADATA_H

#include "lib/inspect/gpu_targets.h"
#include "lib/target/features/feature.h"
#include "lib/target/target.h"

typedef enum kdl_key {
  KDL_KEY_MIN_SM,
  KDL_KEY_MIN_GFX,
  KDL_KEY_REQUIRES_FEATURES,
  KDL_KEY_VARIANT_PRIORITY,
  KDL_KEY_VARIANT_TAG,
  KDL_KEY_COUNT,
} kdl_key;

typedef struct kdl_key_row {
  kdl_string name;
  const char *grammar;
  bool must_check;
} kdl_key_row;

const kdl_key_row *kdl_key_get(kdl_key key);

/* KDL_KEY_COUNT where the name is none of them. */
kdl_key kdl_key_find(kdl_string name);

typedef struct kdl_metadata {
  kdl_string value[KDL_KEY_COUNT]; /* `data` is NULL where the key is absent */
  unsigned malformed;              /* keys whose value cannot be read, as 1 << key */
  uint8_t min_sm_major, min_sm_minor;
  const kdl_amdgcn_processor *min_gfx;
  kdl_feature_set required;
  bool requires_unknown; /* a token this library does not know for the image's target */
  uint32_t priority;
} kdl_metadata;

/* Reads the keys of an image for a target of that class. */
void kdl_metadata_read(const kdl_pair *pairs, size_t count, kdl_feature_class which,
                       kdl_metadata *out_metadata);

/* One value by itself, for tools that write or verify it. The position is in the value. */
bool kdl_metadata_check(kdl_key key, kdl_string value, kdl_parse_error *out_error);

/* The first token of a list that the class does not know; a NULL `data` where there is none. */
kdl_string kdl_metadata_unknown_token(kdl_string list, kdl_feature_class which);

#endif
