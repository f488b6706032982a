/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The keys of one image (lib/inspect/metadata.h), read for its target. */
#ifndef KDL_LIB_TARGET_RULES_METADATA_H
#define KDL_LIB_TARGET_RULES_METADATA_H

#include "lib/inspect/metadata.h"
#include "lib/inspect/targets.h"
#include "lib/target/target.h"

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

/* The first token of a list that the class does not know; a NULL `data` where there is none. */
kdl_string kdl_metadata_unknown_token(kdl_string list, kdl_feature_class which);

#endif
