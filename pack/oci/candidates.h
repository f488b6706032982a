/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Selects layers for devices by the manifest alone: its candidates form a library without bytes, to
 * which the library's own rules apply. */
#ifndef KDL_PACK_OCI_CANDIDATES_H
#define KDL_PACK_OCI_CANDIDATES_H

#include "pack/oci/manifest.h"
#include "tools/common/input.h"
#include "tools/common/options.h"

#include <stdbool.h>

typedef struct oci_candidates {
  cli_input input;  /* the library is NULL where no layer has a candidate */
  size_t *layer_of; /* per image of the library */
  void *data;
} oci_candidates;

/* The caller closes *out_candidates, also after a failure. */
kdl_status oci_candidates_open(const oci_manifest *manifest, const char *name,
                               oci_candidates *out_candidates);
void oci_candidates_close(oci_candidates *candidates);

/* Sets the flags of the layers that the devices of --for select; of all layers without --for. */
kdl_status oci_select_layers(const cli_args *args, const oci_manifest *manifest, const char *name,
                             bool *out_fetched);

/* Fills in the candidates of a manifest whose layers are the outermost images of a library, and
 * marks those that cannot be described without their bytes. */
kdl_status oci_candidates_describe(const cli_input *input, oci_manifest *manifest);

#endif
