/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The operations of kdl-registry: fetching and sending manifests and blobs. */
#ifndef KDL_PACK_REGISTRY_TRANSFER_H
#define KDL_PACK_REGISTRY_TRANSFER_H

#include "pack/registry/session.h"

#include <kdl/kdl.h>

#include <stdint.h>

/* Fetches a manifest into an open file. */
kdl_status fetch_manifest(registry_session *session, const char *reference, const char *path);

/* Fetches the blobs of a list, "DIGEST SIZE" per line, into FOLDER/blobs/sha256. Resumes partial
 * files. */
kdl_status fetch_blobs(registry_session *session, const char *list, const char *folder);

/* Sends the blobs of a list that the registry lacks, and then a manifest, from a layout. */
kdl_status send_blobs_and_manifest(registry_session *session, const char *list, const char *folder,
                                   const char *reference, const char *digest, uint64_t size);

/* A line of a list. */
typedef struct blob_list_entry {
  char digest[80];
  uint64_t size;
} blob_list_entry;
typedef kdl_status blob_visit(registry_session *session, const blob_list_entry *blob,
                              const char *folder);

/* Calls `visit` for each line, until one fails. */
kdl_status blob_list_walk(const char *list, blob_visit *visit, registry_session *session,
                          const char *folder);

#endif
