/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Libraries of microkernels as bytes for kdl-ld. Where signatures are checked
 * (lib/inspect/trust.h), kdl-ld gets every library in this way, each image checked, and opens no
 * file itself. So it links the checked bytes, and the link key is made of the same bytes.
 */
#ifndef KDL_EXT_JIT_UKERNELS_H
#define KDL_EXT_JIT_UKERNELS_H

#include "ext/jit/linker.h"
#include "lib/hooks.h"
#include "lib/inspect/libraries.h"

#include <limits.h>

typedef struct kdl_ukernels {
  kdl_trust_policy policy; /* off: kdl-ld opens the libraries itself */
  size_t count;
  kdl_linker_library items[KDL_LINKER_LIBRARIES]; /* names and data are malloc'ed */
  char skipped[512]; /* "; FILE: image N is left out: REASON", of the first; "" where all are in */
} kdl_ukernels;

/* Starts with the trust policy of the process. The caller frees *out_ukernels, also after a
 * failure. */
kdl_status kdl_ukernels_begin(kdl_ukernels *out_ukernels);
void kdl_ukernels_free(kdl_ukernels *ukernels);

/* Whether bitcode may contain microkernels: not if it lists kernels and no microkernels. */
bool kdl_ukernels_may_hold(const kdl_image_info *image);

/* Adds, as one library, the bitcode of a library that may contain microkernels and for which
 * `wants` returns true (NULL: all). Untrusted images are left out. `name` is for messages. */
kdl_status kdl_ukernels_add(kdl_ukernels *ukernels, kdl_library *lib, const char *name,
                            bool (*wants)(const void *user, uint32_t image), const void *user);

/* Adds a file or folder, or those of KDL_UKERNEL_PATH in order. */
kdl_status kdl_ukernels_add_file(kdl_ukernels *ukernels, const char *path);
kdl_status kdl_ukernels_add_search_path(kdl_ukernels *ukernels);

/* The next path of KDL_UKERNEL_PATH: false at the end. *at starts at its beginning. */
bool kdl_ukernel_path_next(const char **at, char out_path[PATH_MAX]);

#endif
