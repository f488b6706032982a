/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Digests as registries name blobs: "sha256:" and 64 hexadecimal digits. */
#ifndef KDL_PACK_OCI_DIGEST_H
#define KDL_PACK_OCI_DIGEST_H

#include "support/base/arena.h"
#include "support/json/reader.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

#define OCI_DIGEST_PREFIX "sha256:"

enum { OCI_DIGEST_HEX = 64, OCI_DIGEST_SIZE = sizeof OCI_DIGEST_PREFIX + OCI_DIGEST_HEX };

void oci_digest_of(const void *data, size_t size, char out_digest[OCI_DIGEST_SIZE]);

/* The digest of a complete file; the descriptor need not be readable. */
kdl_status oci_digest_of_file(int fd, char out_digest[OCI_DIGEST_SIZE]);

/* Only sha256 is accepted, so that the text is safe as part of a path. */
bool oci_digest_is_valid(const char *text);
kdl_status oci_json_digest(kdl_json *json, char out_digest[OCI_DIGEST_SIZE]);

/* A JSON string of any length, in the arena. */
kdl_status oci_json_text(kdl_json *json, kdl_arena *arena, kdl_string *out_text);

#endif
