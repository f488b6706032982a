/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Folders that blobs pass through on their way from and to a registry. What is fetched lies in the
 * cache's folder, so that a pull that was interrupted goes on where it ended:
 *
 *     registry/blobs/sha256/HEX            a blob
 *     registry/blobs/sha256/HEX.partial    the beginning of one
 *     registry/lock                        shared by those that read and write them
 */
#ifndef KDL_TOOL_OCI_STORE_H
#define KDL_TOOL_OCI_STORE_H

#include "pack/oci/manifest.h"

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>

typedef struct oci_store {
  char folder[PATH_MAX];
  int lock; /* -1: the folder is ours alone, and goes when it is closed */
} oci_store;

/* In the cache's folder, from which what was left a week ago is removed unless another process is
 * at work; where KDL_CACHE is not on, one of its own below TMPDIR. The caller closes *out_store. */
kdl_status oci_store_open(oci_store *out_store);

/* Always one of its own, for what is to be sent. */
kdl_status oci_store_open_private(oci_store *out_store);

/* A file without a name below TMPDIR, which goes when it is closed. */
kdl_status oci_store_create_temp_file(int *out_fd);

/* Removes blobs that are part of a file now, unless another process is at work. */
void oci_store_remove_blobs(const oci_store *store, const oci_manifest *manifest,
                            const bool *fetched);
void oci_store_close(oci_store *store);

#endif
