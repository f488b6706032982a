/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Folders in OCI's image layout:
 *
 *     oci-layout                 which version of it
 *     index.json                 manifests, by tag
 *     blobs/sha256/HEX           a blob, under its digest
 */
#ifndef KDL_TOOL_OCI_LAYOUT_H
#define KDL_TOOL_OCI_LAYOUT_H

#include "pack/oci/digest.h"
#include "pack/oci/reference.h"
#include "tools/common/input.h"

#include <kdl/kdl.h>

#include <limits.h>
#include <stdint.h>

/* Makes the folder where it is not there. KDL_BAD_FILE where it is another version's. */
kdl_status oci_layout_create(const char *folder);

/* Puts a blob into it, unless it is there. */
kdl_status oci_layout_write_blob(const char *folder, const void *data, size_t size,
                                 char out_digest[OCI_DIGEST_SIZE]);

/* FOLDER/blobs/sha256/HEX. False where that is too long. */
bool oci_layout_blob_path(const char *folder, const char *digest, char out_path[PATH_MAX]);

/* A blob of that size, mapped, whatever its bytes are. The caller frees *out_bytes. */
kdl_status oci_layout_map_blob(const char *folder, const char *digest, uint64_t size,
                               cli_bytes *out_bytes);

/* A copy of it, which has that digest. */
kdl_status oci_layout_copy_blob(const char *folder, const char *digest, uint64_t size,
                                cli_bytes *out_bytes);

/* A blob mapped that had that digest: of a folder that others do not write. */
kdl_status oci_layout_read_blob(const char *folder, const char *digest, uint64_t size,
                                cli_bytes *out_bytes);

/* Has a tag name a manifest that is in the folder; all other entries of index.json stay as they
 * are. */
kdl_status oci_layout_set_tag(const char *folder, const char *tag, const char *digest,
                              uint64_t size);

/* The manifest that a reference to a folder names. */
kdl_status oci_layout_find_manifest(const oci_reference *reference,
                                    char out_digest[OCI_DIGEST_SIZE], uint64_t *out_size);

#endif
