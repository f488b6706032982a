/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where a bundle lies:
 *
 *     oci:DIR[:TAG][@DIGEST]                      a folder in OCI's image layout
 *     [https://]HOST[:PORT]/NAME[:TAG][@DIGEST]   a registry
 *
 * Names and tags are checked by the rules of OCI's distribution specification.
 */
#ifndef KDL_TOOL_OCI_REFERENCE_H
#define KDL_TOOL_OCI_REFERENCE_H

#include "pack/oci/digest.h"
#include "support/base/arena.h"

#include <stdbool.h>

#define OCI_DEFAULT_TAG "latest"

typedef struct oci_reference {
  const char *text;             /* as it was given, for messages */
  const char *folder;           /* NULL: a registry */
  const char *host;             /* with its port; "" for a folder */
  const char *name;             /* the same */
  const char *tag;              /* "" where none was given */
  char digest[OCI_DIGEST_SIZE]; /* likewise */
  bool is_secure;               /* https, by its own word or since the host is not this machine */
} oci_reference;

/* `text` must outlive the reference, and so must the arena. */
kdl_status oci_reference_parse(kdl_arena *arena, const char *text, oci_reference *out_reference);

/* The last part of the name, or of the folder's, as a file is called. */
const char *oci_reference_base(const oci_reference *reference);

/* Whether a host, with or without a port, is this machine: localhost, 127.0.0.0/8, [::1]. */
bool oci_host_is_local(const char *host);

#endif
