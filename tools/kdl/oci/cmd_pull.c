/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl pull: the images that devices choose, or all, of a bundle in a folder or a registry. */
#include "base/error.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/report.h"
#include "commands.h"
#include "container/writer.h"
#include "oci/choice.h"
#include "oci/layout.h"
#include "oci/remote.h"
#include "oci/store.h"
#include "oci/written.h"
#include "system/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
  const cli_args *args;
  oci_reference from;
  const char *output;
  const char *folder; /* where blobs are */
  cli_bytes text;     /* of the manifest */
  oci_manifest manifest;
  bool *fetched; /* for each layer */
  size_t count;
  cli_bytes *blobs;
  kdl_arena arena;
} pulling;

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static kdl_status add_images(pulling *pull, kdl_writer *writer) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < pull->manifest.layer_count && status == KDL_OK; ++i) {
    const oci_layer *layer = &pull->manifest.layers[i];
    if (!pull->fetched[i])
      continue;
    status = oci_layout_map(pull->folder, layer->digest, layer->size, &pull->blobs[i]);
    if (status != KDL_OK)
      break;
    const kdl_writer_image image = {.size = sizeof image,
                                    .declared_kind = layer->image.declared_kind,
                                    .offload_kind = layer->image.offload_kind,
                                    .flags = layer->image.flags,
                                    .pairs = layer->image.pairs,
                                    .pair_count = layer->image.pair_count,
                                    .data = pull->blobs[i].data,
                                    .data_size = pull->blobs[i].size};
    status = kdl_writer_add(writer, &image);
    if (status == KDL_BAD_CALL) {
      kdl_error_prefix("%s", pull->from.text);
      status = KDL_BAD_FILE;
    }
  }
  return status;
}

typedef struct {
  const pulling *pull;
  kdl_writer *writer;
} writing;

static kdl_status write_checked(const writing *what, int fd) {
  const pulling *pull = what->pull;
  kdl_status status = kdl_writer_write(what->writer, fd, pull->output);
  return status == KDL_OK
             ? oci_written_check(fd, pull->from.text, pull->folder, &pull->manifest, pull->fetched)
             : status;
}

static kdl_status copy_file(int from, int to, const char *name) {
  char piece[1 << 16];
  size_t size = 0;
  if (lseek(from, 0, SEEK_SET) != 0)
    return kdl_fail(kdl_status_of(errno), "%s: cannot write: %s", name, strerror(errno));
  do {
    if (!kdl_fd_read(from, piece, sizeof piece, &size))
      return kdl_fail(kdl_status_of(errno), "%s: cannot write: %s", name, strerror(errno));
    if (!kdl_fd_write(to, piece, size))
      return kdl_fd_write_failed(name);
  } while (size == sizeof piece);
  return KDL_OK;
}

/* A draft is checked where it is. A pipe or a device is given nothing that was not checked. */
static kdl_status write_output(void *user, int fd) {
  const writing *what = user;
  struct stat info;
  bool is_stdout = strcmp(what->pull->output, "-") == 0;
  if (!is_stdout && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    return write_checked(what, fd);
  int checked;
  KDL_TRY(oci_store_make_file(&checked));
  kdl_status status = write_checked(what, checked);
  if (status == KDL_OK)
    status = copy_file(checked, fd, is_stdout ? "<stdout>" : what->pull->output);
  close(checked);
  return status;
}

static kdl_status assemble(pulling *pull) {
  kdl_writer *writer = NULL;
  pull->blobs = calloc(pull->manifest.layer_count, sizeof *pull->blobs);
  kdl_status status = pull->blobs ? kdl_writer_create(pull->manifest.format, &writer)
                                  : kdl_fail(KDL_NO_MEMORY, "%s: out of memory", pull->from.text);
  if (status == KDL_OK)
    status = add_images(pull, writer);
  if (status == KDL_OK)
    status = cli_output_save_by(pull->output, write_output, &(writing){pull, writer});
  kdl_writer_destroy(writer);
  for (size_t i = 0; pull->blobs && i < pull->manifest.layer_count; ++i)
    cli_bytes_free(&pull->blobs[i]);
  free(pull->blobs);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The choice                                                                                   */

static kdl_status choose(pulling *pull) {
  const oci_manifest *manifest = &pull->manifest;
  pull->fetched = calloc(manifest->layer_count, sizeof *pull->fetched);
  if (!pull->fetched)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", pull->from.text);
  kdl_status status = oci_choose(pull->args, manifest, pull->from.text, pull->fetched);
  for (size_t i = 0; i < manifest->layer_count; ++i)
    pull->count += pull->fetched[i];
  if (status == KDL_OK && pull->count == 0)
    status = kdl_fail(KDL_NO_MATCH, "%s: no image is for a device of --for", pull->from.text);
  return status;
}

static kdl_status say(const pulling *pull) {
  uint64_t bytes = 0, all = 0;
  for (size_t i = 0; i < pull->manifest.layer_count; ++i) {
    all += pull->manifest.layers[i].size;
    bytes += pull->fetched[i] ? pull->manifest.layers[i].size : 0;
  }
  FILE *to = strcmp(pull->output, "-") == 0 ? stderr : stdout;
  fprintf(to, "%s: %zu of %zu images, %" PRIu64 " of %" PRIu64 " bytes\n", pull->output,
          pull->count, pull->manifest.layer_count, bytes, all);
  return cli_output_flush();
}

/* ------------------------------------------------------------------------------------------ */
/* From a folder, from a registry                                                               */

static kdl_status read_manifest(pulling *pull) {
  kdl_status status =
      oci_manifest_read(pull->from.text, pull->text.data, pull->text.size, &pull->manifest);
  return status == KDL_OK ? choose(pull) : status;
}

static kdl_status from_folder(pulling *pull, bool is_dry) {
  char digest[OCI_DIGEST_TEXT];
  uint64_t size = 0;
  pull->folder = pull->from.folder;
  kdl_status status = oci_layout_find(&pull->from, digest, &size);
  if (status == KDL_OK && size > OCI_LIMIT_MANIFEST)
    status =
        kdl_fail(KDL_BAD_FILE, "%s: found a manifest of %" PRIu64 " bytes, expected at most %d",
                 pull->from.text, size, OCI_LIMIT_MANIFEST);
  if (status == KDL_OK)
    status = oci_layout_copy(pull->folder, digest, size, &pull->text);
  if (status == KDL_OK)
    status = read_manifest(pull);
  return status == KDL_OK && !is_dry ? assemble(pull) : status;
}

static kdl_status from_registry(pulling *pull, bool is_dry) {
  oci_store store;
  kdl_status status = oci_remote_check(pull->args, &pull->from);
  if (status == KDL_OK)
    status = oci_store_open(&store);
  if (status != KDL_OK)
    return status;
  pull->folder = store.folder;
  status = oci_remote_manifest(pull->args, &pull->from, &pull->text);
  if (status == KDL_OK)
    status = read_manifest(pull);
  if (status == KDL_OK && !is_dry)
    status =
        oci_remote_fetch(pull->args, &pull->from, store.folder, &pull->manifest, pull->fetched);
  if (status == KDL_OK && !is_dry)
    status = assemble(pull);
  if (status == KDL_OK && !is_dry)
    oci_store_drop(&store, &pull->manifest, pull->fetched);
  oci_store_close(&store);
  pull->folder = NULL;
  return status;
}

static kdl_status run(pulling *pull) {
  bool is_dry = cli_args_has(pull->args, "dry-run");
  kdl_status status = oci_reference_parse(&pull->arena, pull->args->operands[0], &pull->from);
  if (status != KDL_OK)
    return status;
  pull->output = cli_args_value(pull->args, "output");
  if (!pull->output)
    pull->output = kdl_arena_format(&pull->arena, "%s.offload", oci_reference_base(&pull->from));
  if (!pull->output)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", pull->from.text);
  if (!is_dry && strcmp(pull->output, "-") != 0)
    status = cli_output_check(pull->output);
  if (status == KDL_OK)
    status = pull->from.folder ? from_folder(pull, is_dry) : from_registry(pull, is_dry);
  return status == KDL_OK ? say(pull) : status;
}

int cli_run_pull(const cli_args *args) {
  pulling pull = {.args = args};
  kdl_status status = run(&pull);
  oci_manifest_free(&pull.manifest);
  cli_bytes_free(&pull.text);
  free(pull.fetched);
  kdl_arena_free(&pull.arena);
  return cli_finish(status);
}
