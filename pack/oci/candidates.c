/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/candidates.h"

#include "support/base/error.h"
#include "tools/common/images/keep_for_devices.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The library of candidates                                                                    */

static kdl_status add_candidates(const oci_manifest *manifest, kdl_writer *writer,
                                 size_t *layer_of) {
  for (size_t i = 0, count = 0; i < manifest->layer_count; ++i) {
    const oci_layer *layer = &manifest->layers[i];
    if (layer->choice != OCI_CHOICE_DEVICES)
      continue;
    for (size_t c = 0; c < layer->candidate_count; ++c) {
      const kdl_writer_image image = oci_image_header_for_writer(&layer->candidates[c], NULL, 0);
      KDL_TRY(kdl_writer_add(writer, &image));
      layer_of[count++] = i;
    }
  }
  return KDL_OK;
}

static size_t count_candidates(const oci_manifest *manifest) {
  size_t count = 0;
  for (size_t i = 0; i < manifest->layer_count; ++i)
    count +=
        manifest->layers[i].choice == OCI_CHOICE_DEVICES ? manifest->layers[i].candidate_count : 0;
  return count;
}

kdl_status oci_candidates_open(const oci_manifest *manifest, const char *name,
                               oci_candidates *out_candidates) {
  size_t count = count_candidates(manifest), size = 0;
  const kdl_open_opts opts = {.size = sizeof opts, .name = name};
  kdl_writer *writer;
  *out_candidates = (oci_candidates){.input = {.name = name}};
  if (count == 0)
    return KDL_OK;
  out_candidates->layer_of = xcalloc(count, sizeof *out_candidates->layer_of);
  KDL_TRY(kdl_writer_create(KDL_FORMAT_V2, &writer));
  kdl_status status = add_candidates(manifest, writer, out_candidates->layer_of);
  if (status == KDL_OK)
    status = kdl_writer_finish(writer, &out_candidates->data, &size);
  kdl_writer_destroy(writer);
  if (status == KDL_BAD_CALL) {
    kdl_error_prefix("%s", name);
    return KDL_BAD_FILE;
  }
  KDL_TRY(status);
  return kdl_open_memory(out_candidates->data, size, &opts, &out_candidates->input.lib);
}

void oci_candidates_close(oci_candidates *candidates) {
  kdl_close(candidates->input.lib);
  free(candidates->layer_of);
  free(candidates->data);
}

/* ------------------------------------------------------------------------------------------ */
/* Choosing                                                                                     */

typedef struct {
  const oci_candidates *candidates;
  const bool *kept;
} candidate_notes;

static void note_candidate(void *user, size_t index, const char *why) {
  const candidate_notes *what = user;
  kdl_image_info image = cli_image_at(what->candidates->input.lib, index);
  cli_note("image %zu (%s%s%.64s): %s: %s", what->candidates->layer_of[index],
           kdl_image_kind_name(image.kind), image.arch.length ? " " : "", image.arch.data,
           what->kept[index] ? "fetched" : "left", why);
}

static kdl_status select_candidates(const cli_args *args, const oci_candidates *candidates,
                                    bool *fetched) {
  size_t count = kdl_image_count(candidates->input.lib);
  bool *kept = xcalloc(count, sizeof *kept);
  candidate_notes what = {candidates, kept};
  kdl_status status = cli_keep_for_devices(
      args, &candidates->input, cli_args_has(args, "verbose") ? note_candidate : NULL, &what, kept);
  for (size_t i = 0; i < count && status == KDL_OK; ++i)
    fetched[candidates->layer_of[i]] |= kept[i];
  free(kept);
  return status;
}

kdl_status oci_select_layers(const cli_args *args, const oci_manifest *manifest, const char *name,
                             bool *out_fetched) {
  oci_candidates candidates;
  size_t unknown = 0;
  bool takes_all = !cli_args_has(args, "for");
  for (size_t i = 0; i < manifest->layer_count; ++i) {
    unknown += manifest->layers[i].choice == OCI_CHOICE_UNKNOWN;
    out_fetched[i] = takes_all || manifest->layers[i].choice != OCI_CHOICE_DEVICES;
  }
  if (takes_all)
    return KDL_OK;
  kdl_status status = oci_candidates_open(manifest, name, &candidates);
  if (status == KDL_OK && candidates.input.lib)
    status = select_candidates(args, &candidates, out_fetched);
  oci_candidates_close(&candidates);
  if (status == KDL_NO_MATCH && unknown) {
    cli_note("%s; %zu images tell nothing of themselves in the manifest: all are fetched",
             kdl_error_message(), unknown);
    memset(out_fetched, true, manifest->layer_count * sizeof *out_fetched);
    return KDL_OK;
  }
  return status;
}
