/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is to be linked, and everything that the result depends on. The text is what the cache is
 * asked with; the same things are handed to kdl-ld, and besides them only what the rules refuse, so
 * that what is not in the text cannot matter.
 */
#ifndef KDL_BITCODE_LINK_KEY_H
#define KDL_BITCODE_LINK_KEY_H

#include "ext/jit/ukernels.h"
#include "lib/hooks.h"
#include "lib/inspect/devices.h"

#include <limits.h>

typedef struct kdl_link_key {
  char *text;
  size_t length;
  const void *caller; /* the bitcode */
  size_t caller_size;
  kdl_ukernels ukernels; /* where signatures are looked at, all of them, as the text has them */
  char linker[PATH_MAX];
  char device[KDL_SPEC_LINE]; /* what of the device's spec decides how it is linked */
} kdl_link_key;

/* Checks what is to be linked, as all that is run is. The caller frees *out_key, also after a
 * failure. */
kdl_status kdl_link_key_make(const kdl_link_task *task, kdl_link_key *out_key);
void kdl_link_key_free(kdl_link_key *key);

/* What is linked may have been written to since: takes the bytes to link into memory of this
 * process, with the microkernels of the caller's library. */
kdl_status kdl_link_key_snapshot(const kdl_link_task *task, kdl_link_key *key);

/* KDL_OK where the key is that of the bytes that were taken, and of the files beside them as they
 * are now. */
kdl_status kdl_link_key_check(const kdl_link_task *task, const kdl_link_key *key);

#endif
