/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Libraries of microkernels as bytes for kdl-ld. Where signatures are looked at
 * (lib/inspect/trust.h), kdl-ld is given all of them in this way, each image checked before, and
 * opens no file by itself: what it parses and links is what was checked, and the link key is made
 * of the same bytes.
 */
#ifndef KDL_BITCODE_UKERNELS_H
#define KDL_BITCODE_UKERNELS_H

#include "ext/jit/linker.h"
#include "lib/inspect/containers.h"
#include "lib/inspect/trust.h"

#include <limits.h>

typedef struct kdl_ukernels {
  kdl_trust_policy policy; /* off: kdl-ld opens the places by itself */
  size_t count;
  kdl_linker_library items[KDL_LINKER_LIBRARIES]; /* names and data are malloc'ed */
  char skipped[512]; /* "; FILE: image N is left out: REASON", of the first; "" where all are in */
} kdl_ukernels;

/* By what the process trusts. The caller frees *out_ukernels, also after a failure. */
kdl_status kdl_ukernels_begin(kdl_ukernels *out_ukernels);
void kdl_ukernels_free(kdl_ukernels *ukernels);

/* Whether bitcode may hold microkernels: an image that lists its kernels, and no microkernels, has
 * none. */
bool kdl_ukernels_may_hold(const kdl_image_info *image);

/* Adds the bitcode of a container that may hold microkernels, and that `wants`, if it is there,
 * answers yes for, as one library. What is not trusted is left out. `name` is for people. */
kdl_status kdl_ukernels_add(kdl_ukernels *ukernels, kdl_container *container, const char *name,
                            bool (*wants)(const void *user, uint32_t image), const void *user);

/* Adds a file or folder, and those of KDL_UKERNEL_PATH in their order. */
kdl_status kdl_ukernels_add_file(kdl_ukernels *ukernels, const char *path);
kdl_status kdl_ukernels_add_search_path(kdl_ukernels *ukernels);

/* The next of KDL_UKERNEL_PATH: false at the end. *at starts as the whole of it. */
bool kdl_ukernel_path_next(const char **at, char out_path[PATH_MAX]);

#endif
