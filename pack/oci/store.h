/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Folders for blobs that come from or go to a registry. Fetched blobs are in the cache's folder, so
 * that an interrupted pull can resume:
 *
 *     registry/blobs/sha256/HEX            a blob
 *     registry/blobs/sha256/HEX.partial    an incomplete blob
 *     registry/lock                        shared by processes that read and write them
 */
#ifndef KDL_PACK_OCI_STORE_H
#define KDL_PACK_OCI_STORE_H

#include "pack/oci/manifest.h"

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>

typedef struct oci_store {
  char folder[PATH_MAX];
  int lock; /* -1: a private folder, removed when closed */
} oci_store;

/* Opens the folder in the cache, and removes week-old files unless another process uses it. Where
 * KDL_CACHE is not on, creates a private folder below TMPDIR. The caller closes *out_store. */
kdl_status oci_store_open(oci_store *out_store);

/* Always a private folder, for blobs to send. */
kdl_status oci_store_open_private(oci_store *out_store);

/* An unnamed file below TMPDIR, removed when it is closed. */
kdl_status oci_store_create_temp_file(int *out_fd);

/* Removes blobs that were written to the output, unless another process uses the folder. */
void oci_store_remove_blobs(const oci_store *store, const oci_manifest *manifest,
                            const bool *fetched);
void oci_store_close(oci_store *store);

#endif
