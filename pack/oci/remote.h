/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Registries, by kdl-registry: it alone speaks HTTP. It is given files and folders, and says on
 * standard error what failed. */
#ifndef KDL_TOOL_OCI_REMOTE_H
#define KDL_TOOL_OCI_REMOTE_H

#include "pack/oci/manifest.h"
#include "pack/oci/reference.h"
#include "tools/common/input.h"
#include "tools/common/options.h"

/* Whether what is asked for can be: not https and --plain-http together. */
kdl_status oci_remote_check_scheme(const cli_args *args, const oci_reference *reference);

/* The manifest that a reference names, with its digest where it says one. The caller frees
 * *out_bytes. */
kdl_status oci_remote_fetch_manifest(const cli_args *args, const oci_reference *from,
                                     cli_bytes *out_bytes);

/* Fetches layers into a folder, unless they are there. */
kdl_status oci_remote_fetch_layers(const cli_args *args, const oci_reference *from,
                                   const char *folder, const oci_manifest *manifest,
                                   const bool *fetched);

/* Sends a manifest that lies in a layout, and what it names. */
kdl_status oci_remote_push(const cli_args *args, const oci_reference *to, const char *folder,
                           const oci_manifest *manifest, const char *digest, uint64_t size);

#endif
