/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The check of a file that a pull has written, before it gets its name: what blobs held a moment
 * before they were copied is no proof. */
#ifndef KDL_TOOL_OCI_WRITTEN_H
#define KDL_TOOL_OCI_WRITTEN_H

#include "oci/manifest.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/* Whether the images of the file are the blobs of FOLDER that `fetched` says, by their digests;
 * where these are all, and the manifest has a digest of the whole, whether the file has that.
 * `name` is the reference, for messages. */
kdl_status oci_written_check(int fd, const char *name, const char *folder,
                             const oci_manifest *manifest, const bool *fetched);

#endif
