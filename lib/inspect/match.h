/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether an image of which only a description is known would run on a device. */
#ifndef KDL_INSPECT_MATCH_H
#define KDL_INSPECT_MATCH_H

#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kdl_device_spec;

/* What an image's metadata says of it. Nothing is copied. */
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
  uint64_t rank;       /* of the images that run on a device, the highest goes first */
  const char *fit;     /* "exact", "lower minor", ...; NULL where it does not run */
  const char *reason;  /* where it does not: the code of the first reason */
} kdl_claim_match;

/* Fails where the spec's arch or tokens are wrong, which parsing and discovery rule out. */
kdl_status kdl_claim_fit(const kdl_image_claim *image, const struct kdl_device_spec *device,
                         kdl_claim_match *out_match);

/* Whether code for a CPU needs features that its claim does not have. False where one of them
 * cannot be read, and where they are of different families. */
bool kdl_claim_lacks_features(const kdl_image_claim *claim, const kdl_image_claim *needed);

#endif
