/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is to be linked, and everything that the result depends on. The text is what the cache is
 * asked with; the same things are handed to kdl-ld, and besides them only what the rules refuse, so
 * that what is not in the text cannot matter.
 */
#ifndef KDL_BITCODE_LINK_KEY_H
#define KDL_BITCODE_LINK_KEY_H

#include "library/library.h"
#include "registry/runtime.h"

#include <limits.h>

/* One image of bitcode for one device. */
typedef struct kdl_link_task {
  kdl_library *lib;
  uint32_t image;
  const kdl_runtime *runtime;
  const char *kernel;    /* the one to keep; NULL: all */
  const char *constants; /* bitcode/constants.h; NULL: none */
} kdl_link_task;

typedef struct kdl_link_key {
  char *text;
  size_t length;
  const void *caller; /* the bitcode */
  size_t caller_size;
  char linker[PATH_MAX];
  char device[KDL_SPEC_LINE]; /* what of the device's spec decides how it is linked */
} kdl_link_key;

/* The caller frees *out_key, also after a failure. */
kdl_status kdl_link_key_make(const kdl_link_task *task, kdl_link_key *out_key);
void kdl_link_key_free(kdl_link_key *key);

/* Whether an image of the caller's library is one to look for microkernels in. */
bool kdl_link_key_includes(const kdl_link_task *task, kdl_catalog *catalog, uint32_t image);

/* Its bytes, as kdl-ld is given them: one that is not signed by a key that is trusted, where that
 * is asked for, is refused here, and a digest by kdl-ld. */
kdl_status kdl_link_key_bytes(kdl_container *container, uint32_t image, const void **out_data,
                              size_t *out_size);

/* Whether kdl-ld is not given it because its signature is not one that is trusted; the reason is
 * recorded. */
bool kdl_link_key_leaves_out(const kdl_link_task *task, kdl_catalog *catalog, uint32_t image);

/* The next of KDL_UKERNEL_PATH: false at the end. *at starts as the whole of it. */
bool kdl_ukernel_path_next(const char **at, char out_path[PATH_MAX]);

#endif
