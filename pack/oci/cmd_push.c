/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl push: stores a bundle as an OCI artifact, in a folder or a registry. */
#include "lib/inspect/libraries.h"
#include "pack/commands.h"
#include "pack/oci/candidates.h"
#include "pack/oci/layout.h"
#include "pack/oci/remote.h"
#include "pack/oci/store.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  cli_input input;
  oci_manifest manifest;
  const char *folder;
  char digest[OCI_DIGEST_SIZE]; /* of the manifest */
  uint64_t size;
} push_state;

/* ------------------------------------------------------------------------------------------ */
/* Layers                                                                                       */

static kdl_status push_image_blob(const push_state *push, size_t index, oci_layer *layer) {
  const kdl_writer_image image = cli_image_describe(&push->input, index, push->manifest.format);
  const void *data;
  size_t size;
  KDL_TRY(cli_image_check_digest(&push->input, index, image.pairs, image.pair_count));
  KDL_TRY(kdl_library_acquire_bytes(push->input.lib, index, &data, &size));
  *layer = (oci_layer){.size = size,
                       .image = {image.declared_kind, image.offload_kind, image.flags, image.pairs,
                                 image.pair_count}};
  kdl_status status = oci_layout_write_blob(push->folder, size ? data : "", size, layer->digest);
  kdl_library_release_bytes(push->input.lib, index);
  return status;
}

static kdl_status push_image_blobs(push_state *push) {
  oci_manifest *manifest = &push->manifest;
  manifest->layers = xcalloc(kdl_image_count(push->input.lib), sizeof *manifest->layers);
  for (size_t i = 0; cli_outer_next(push->input.lib, &i); ++i)
    KDL_TRY(push_image_blob(push, i, &manifest->layers[manifest->layer_count++]));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The output file                                                                              */

static kdl_status rewrite_offload_binary(const push_state *push, int fd) {
  kdl_writer *writer;
  kdl_status status = KDL_OK;
  KDL_TRY(kdl_writer_create(push->manifest.format, &writer));
  for (size_t i = 0; status == KDL_OK && cli_outer_next(push->input.lib, &i); ++i)
    status = cli_image_copy(&push->input, i, push->manifest.format, writer);
  if (status == KDL_OK)
    status = kdl_writer_write(writer, fd, push->input.name);
  kdl_writer_destroy(writer);
  return status;
}

/* Whether pulling all images reproduces the file byte for byte. */
static kdl_status note_file_digest(push_state *push, const char *path) {
  char again[OCI_DIGEST_SIZE], now[OCI_DIGEST_SIZE];
  cli_bytes bytes;
  int fd;
  KDL_TRY(oci_store_create_temp_file(&fd));
  kdl_status status = rewrite_offload_binary(push, fd);
  if (status == KDL_OK)
    status = oci_digest_of_file(fd, again);
  close(fd);
  KDL_TRY(status);
  if (push->input.bytes.data) { /* from a pipe */
    oci_digest_of(push->input.bytes.data, push->input.bytes.size, now);
  } else {
    KDL_TRY(cli_bytes_read(path, &bytes));
    oci_digest_of(bytes.data, bytes.size, now);
    cli_bytes_free(&bytes);
  }
  if (strcmp(again, now) == 0)
    memcpy(push->manifest.file_digest, now, sizeof now);
  else
    cli_note("%s: a pull of all images makes a file laid out otherwise, with the same images and "
             "metadata in the same order",
             push->input.name);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status push_manifest_blob(push_state *push) {
  char *text, config[OCI_DIGEST_SIZE];
  size_t size;
  KDL_TRY(oci_manifest_write(&push->manifest, push->input.name, &text, &size));
  kdl_status status =
      oci_layout_write_blob(push->folder, OCI_EMPTY_DATA, strlen(OCI_EMPTY_DATA), config);
  if (status == KDL_OK)
    status = oci_layout_write_blob(push->folder, text, size, push->digest);
  push->size = size;
  free(text);
  return status;
}

/* Writes blobs before the files that name them, so that the folder is consistent at any time. */
static kdl_status write_layout(push_state *push, const char *path) {
  KDL_TRY(cli_library_check_rewritable(&push->input));
  push->manifest.format = cli_library_format(push->input.lib);
  push->manifest.title = basename(push->input.name);
  if (kdl_image_count(push->input.lib) == 0)
    return kdl_fail(KDL_BAD_FILE, "%s: found no image, expected one or more", push->input.name);
  KDL_TRY(oci_layout_create(push->folder));
  KDL_TRY(push_image_blobs(push));
  KDL_TRY(oci_candidates_describe(&push->input, &push->manifest));
  KDL_TRY(note_file_digest(push, path));
  return push_manifest_blob(push);
}

static kdl_status push_to_registry(push_state *push, const cli_args *args,
                                   const oci_reference *to) {
  oci_store staging;
  KDL_TRY(oci_remote_check_scheme(args, to));
  KDL_TRY(oci_store_open_private(&staging));
  push->folder = staging.folder;
  kdl_status status = write_layout(push, args->operands[0]);
  if (status == KDL_OK)
    status = oci_remote_push(args, to, staging.folder, &push->manifest, push->digest, push->size);
  oci_store_close(&staging);
  return status;
}

static kdl_status push_to_reference(const cli_args *args, const oci_reference *to) {
  const char *path = args->operands[0];
  push_state push = {.folder = NULL};
  if (*to->digest)
    return kdl_fail(KDL_BAD_CALL,
                    "%s: unexpected digest: use a tag: what is pushed has the digest that it has",
                    to->text);
  KDL_TRY(cli_input_open(path, &push.input));
  push.folder = to->folder;
  kdl_status status = to->folder ? write_layout(&push, path) : push_to_registry(&push, args, to);
  if (status == KDL_OK && to->folder)
    status = oci_layout_set_tag(to->folder, *to->tag ? to->tag : OCI_DEFAULT_TAG, push.digest,
                                push.size);
  if (status == KDL_OK) {
    if (to->folder)
      cli_text_printf(stdout, "oci:%s@%s\n", to->folder, push.digest);
    else
      cli_text_printf(stdout, "%s/%s@%s\n", to->host, to->name, push.digest);
    status = cli_output_flush();
  }
  oci_manifest_free(&push.manifest);
  cli_input_close(&push.input);
  return status;
}

int cli_run_push(const cli_args *args) {
  kdl_arena arena = {.blocks = NULL};
  oci_reference to;
  kdl_status status = oci_reference_parse(&arena, args->operands[1], &to);
  if (status == KDL_OK)
    status = push_to_reference(args, &to);
  kdl_arena_free(&arena);
  return cli_report_status(status);
}
