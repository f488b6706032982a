/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is linked, and everything that the result depends on: the cache is searched by this text.
 * kdl-ld gets the same inputs, and otherwise only images that the rules refuse, so that nothing
 * outside the text can change the result.
 */
#ifndef KDL_EXT_JIT_LINK_KEY_H
#define KDL_EXT_JIT_LINK_KEY_H

#include "ext/jit/ukernels.h"
#include "lib/hooks.h"
#include "lib/inspect/devices.h"

#include <limits.h>

typedef struct kdl_link_key {
  char *text;
  size_t length;
  const void *caller; /* the bitcode */
  size_t caller_size;
  kdl_ukernels ukernels; /* all of them, where signatures are checked */
  char linker[PATH_MAX];
  char device[KDL_SPEC_LINE]; /* the part of the device's spec that the link depends on */
} kdl_link_key;

/* Makes the key. Verifies the image first, as before every load. The caller frees *out_key, also
 * after a failure. */
kdl_status kdl_link_key_make(const kdl_link_task *task, kdl_link_key *out_key);
void kdl_link_key_free(kdl_link_key *key);

/* Copies the bytes to link, with the microkernels of the caller's library, into private memory: the
 * file may have changed since the key was made. */
kdl_status kdl_link_key_snapshot(const kdl_link_task *task, kdl_link_key *key);

/* KDL_OK where the key matches the copied bytes and the current state of the other files. */
kdl_status kdl_link_key_check(const kdl_link_task *task, const kdl_link_key *key);

/* ------------------------------------------------------------------------------------------ */
/* Linking an image of a library for a device                                                   */

typedef struct kdl_link_result {
  void *image; /* malloc'ed, a NUL follows */
  size_t size;
  char *notes;                  /* for the cache; malloc'ed */
  char uncacheable_reason[256]; /* why it must not be cached; "" where it may */
  bool out_of_memory;           /* the reason is that memory ran out */
} kdl_link_result;

/* Takes the snapshot of the key, and links it. `name` is for messages. */
kdl_status kdl_link_run(const kdl_link_task *task, kdl_link_key *key, const kdl_link_limits *limits,
                        const char *name, kdl_link_result *out_result);

#endif
