/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether an image would run on a device, from its description alone. */
#ifndef KDL_LIB_INSPECT_MATCH_H
#define KDL_LIB_INSPECT_MATCH_H

#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kdl_device_spec;

/* The description of an image by its metadata. Nothing is copied. */
typedef struct kdl_image_claim {
  kdl_image_kind kind;
  kdl_string triple;
  kdl_string arch;
  const kdl_pair *pairs; /* duplicate keys: the last one counts */
  size_t pair_count;
  uint32_t version; /* of PTX or SPIR-V, as KDL_VERSION_OF of lib/inspect/targets.h; 0: not known */
} kdl_image_claim;

typedef struct kdl_claim_match {
  kdl_image_kind kind; /* made precise by the triple: an AMD "object" is HSACO */
  uint64_t rank;       /* of the images that run on a device, the highest is first */
  const char *fit;     /* "exact", "lower minor", ...; NULL where it does not run */
  const char *reason;  /* the code of the first reason where it does not run */
} kdl_claim_match;

/* Fails where the spec's arch or tokens are wrong, which parsing and discovery exclude. */
kdl_status kdl_claim_fit(const kdl_image_claim *image, const struct kdl_device_spec *device,
                         kdl_claim_match *out_match);

/* Whether code for a CPU needs features that its claim lacks. False where one of them cannot be
 * read, or the families differ. */
bool kdl_claim_lacks_features(const kdl_image_claim *claim, const kdl_image_claim *needed);

#endif
