/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * References to bundles:
 *
 *     oci:DIR[:TAG][@DIGEST]                      a folder in OCI's image layout
 *     [https://]HOST[:PORT]/NAME[:TAG][@DIGEST]   a registry
 *
 * Names and tags are checked by the rules of OCI's distribution specification.
 */
#ifndef KDL_PACK_OCI_REFERENCE_H
#define KDL_PACK_OCI_REFERENCE_H

#include "pack/oci/digest.h"
#include "support/base/arena.h"

#include <stdbool.h>

#define OCI_DEFAULT_TAG "latest"

typedef struct oci_reference {
  const char *text;             /* as given, for messages */
  const char *folder;           /* NULL: a registry */
  const char *host;             /* with the port; "" for a folder */
  const char *name;             /* "" for a folder */
  const char *tag;              /* "": none */
  char digest[OCI_DIGEST_SIZE]; /* "": none */
  bool is_secure; /* https: written in the reference, or because the host is not this machine */
} oci_reference;

/* `text` and the arena must outlive the reference. */
kdl_status oci_reference_parse(kdl_arena *arena, const char *text, oci_reference *out_reference);

/* The last component of the name or folder, as a file name. */
const char *oci_reference_base(const oci_reference *reference);

/* Whether a host, with or without a port, is this machine: localhost, 127.0.0.0/8, [::1]. */
bool oci_host_is_local(const char *host);

#endif
