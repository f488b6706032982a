/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Folders in OCI's image layout:
 *
 *     oci-layout                 the version of the layout
 *     index.json                 manifests, by tag
 *     blobs/sha256/HEX           a blob, named by its digest
 */
#ifndef KDL_PACK_OCI_LAYOUT_H
#define KDL_PACK_OCI_LAYOUT_H

#include "pack/oci/digest.h"
#include "pack/oci/reference.h"
#include "tools/common/input.h"

#include <kdl/kdl.h>

#include <limits.h>
#include <stdint.h>

/* Creates the folder where it does not exist. KDL_BAD_FILE for another version of the layout. */
kdl_status oci_layout_create(const char *folder);

/* Adds a blob, unless it exists. */
kdl_status oci_layout_write_blob(const char *folder, const void *data, size_t size,
                                 char out_digest[OCI_DIGEST_SIZE]);

/* FOLDER/blobs/sha256/HEX. False where that is too long. */
bool oci_layout_blob_path(const char *folder, const char *digest, char out_path[PATH_MAX]);

/* Maps a blob of that size without checking its digest. The caller frees *out_bytes. */
kdl_status oci_layout_map_blob(const char *folder, const char *digest, uint64_t size,
                               cli_bytes *out_bytes);

/* A copy of a blob, whose digest was checked. */
kdl_status oci_layout_copy_blob(const char *folder, const char *digest, uint64_t size,
                                cli_bytes *out_bytes);

/* Maps a blob and checks its digest: for folders that no other process writes to. */
kdl_status oci_layout_read_blob(const char *folder, const char *digest, uint64_t size,
                                cli_bytes *out_bytes);

/* Makes a tag name a manifest in the folder; all other entries of index.json stay as they are. */
kdl_status oci_layout_set_tag(const char *folder, const char *tag, const char *digest,
                              uint64_t size);

/* Finds the manifest that a reference to a folder names. */
kdl_status oci_layout_find_manifest(const oci_reference *reference,
                                    char out_digest[OCI_DIGEST_SIZE], uint64_t *out_size);

#endif
