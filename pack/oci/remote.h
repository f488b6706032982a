/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Access to registries by kdl-registry, the only program that speaks HTTP. It gets files and
 * folders, and reports errors on standard error. */
#ifndef KDL_PACK_OCI_REMOTE_H
#define KDL_PACK_OCI_REMOTE_H

#include "pack/oci/manifest.h"
#include "pack/oci/reference.h"
#include "tools/common/input.h"
#include "tools/common/options.h"

/* Refuses a reference with https together with --plain-http. */
kdl_status oci_remote_check_scheme(const cli_args *args, const oci_reference *reference);

/* Fetches the manifest that a reference names, and checks the reference's digest, if any. The
 * caller frees *out_bytes. */
kdl_status oci_remote_fetch_manifest(const cli_args *args, const oci_reference *from,
                                     cli_bytes *out_bytes);

/* Fetches layers into a folder, except those that it has. */
kdl_status oci_remote_fetch_layers(const cli_args *args, const oci_reference *from,
                                   const char *folder, const oci_manifest *manifest,
                                   const bool *fetched);

/* Sends a manifest of a layout, and the blobs that it names. */
kdl_status oci_remote_push(const cli_args *args, const oci_reference *to, const char *folder,
                           const oci_manifest *manifest, const char *digest, uint64_t size);

#endif
