/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl pull: fetches the images that devices select, or all, of a bundle in a folder or a
 * registry. */
#include "lib/inspect/libraries.h"
#include "pack/commands.h"
#include "pack/oci/candidates.h"
#include "pack/oci/layout.h"
#include "pack/oci/remote.h"
#include "pack/oci/store.h"
#include "support/base/error.h"
#include "support/system/file.h"
#include "tools/common/images/kinds.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

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
  const char *folder; /* with the blobs */
  cli_bytes text;     /* of the manifest */
  oci_manifest manifest;
  bool *fetched; /* per layer */
  size_t count;
  cli_bytes *blobs;
  kdl_arena arena;
} pull_state;

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static kdl_status add_images(pull_state *pull, kdl_writer *writer) {
  for (size_t i = 0; i < pull->manifest.layer_count; ++i) {
    const oci_layer *layer = &pull->manifest.layers[i];
    if (!pull->fetched[i])
      continue;
    KDL_TRY(oci_layout_map_blob(pull->folder, layer->digest, layer->size, &pull->blobs[i]));
    const kdl_writer_image image =
        oci_image_header_for_writer(&layer->image, pull->blobs[i].data, pull->blobs[i].size);
    kdl_status status = kdl_writer_add(writer, &image);
    if (status == KDL_BAD_CALL) {
      kdl_error_prefix("%s", pull->from.text);
      return KDL_BAD_FILE;
    }
    KDL_TRY(status);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Checking the output before the rename                                                        */

static kdl_status check_pulled_image(kdl_library *lib, size_t index, const char *folder,
                                     const oci_layer *layer) {
  char found[OCI_DIGEST_SIZE], path[PATH_MAX];
  const void *data;
  size_t size;
  KDL_TRY(kdl_image_bytes(lib, index, &data, &size));
  oci_digest_of(data, size, found);
  if (strcmp(found, layer->digest) == 0)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE, "%s: found bytes with the digest %s, expected %s",
                  oci_layout_blob_path(folder, layer->digest, path) ? path : folder, found,
                  layer->digest);
}

/* The outermost images are in the order of the layers. */
static kdl_status check_images(kdl_library *lib, const pull_state *pull) {
  size_t next = 0;
  for (size_t i = 0; i < pull->manifest.layer_count; ++i) {
    if (!pull->fetched[i])
      continue;
    if (!cli_outer_next(lib, &next))
      return kdl_fail(KDL_BAD_FILE, "%s: found fewer images in the file than were written",
                      pull->from.text);
    KDL_TRY(check_pulled_image(lib, next++, pull->folder, &pull->manifest.layers[i]));
  }
  return KDL_OK;
}

static kdl_status check_file_digest(const cli_bytes *file, const char *name,
                                    const oci_manifest *manifest) {
  char found[OCI_DIGEST_SIZE];
  oci_digest_of(file->data, file->size, found);
  if (strcmp(found, manifest->file_digest) == 0)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE,
                  "%s: found images that make a file with the digest %s, expected %s, which "
                  "the manifest says",
                  name, found, manifest->file_digest);
}

/* Checks the written file: by digests, that its images are the fetched blobs; and where all were
 * fetched and the manifest has a digest of the file, that it matches. The blobs may have changed
 * since they were checked, so the file itself is read. */
static kdl_status check_written(int fd, const pull_state *pull) {
  const char *name = pull->from.text;
  const oci_manifest *manifest = &pull->manifest;
  char path[32];
  cli_bytes file;
  kdl_library *lib = NULL;
  kdl_open_opts opts = {.size = sizeof opts, .name = name};
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  KDL_TRY(cli_bytes_read_file(path, &file));
  kdl_status status = kdl_open_memory(file.data, file.size, &opts, &lib);
  if (status == KDL_OK)
    status = check_images(lib, pull);
  if (status == KDL_OK && manifest->file_digest[0] && pull->count == manifest->layer_count)
    status = check_file_digest(&file, name, manifest);
  kdl_close(lib);
  cli_bytes_free(&file);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

typedef struct {
  const pull_state *pull;
  kdl_writer *writer;
} pull_output;

static kdl_status write_checked(const pull_output *what, int fd) {
  KDL_TRY(kdl_writer_write(what->writer, fd, what->pull->output));
  return check_written(fd, what->pull);
}

static kdl_status copy_file(int from, int to, const char *name) {
  char piece[1 << 16];
  size_t size = 0;
  if (lseek(from, 0, SEEK_SET) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot write: %s", name, strerror(errno));
  do {
    if (!kdl_fd_read(from, piece, sizeof piece, &size))
      return kdl_fail(kdl_status_from_errno(errno), "%s: cannot write: %s", name, strerror(errno));
    if (!kdl_fd_write(to, piece, size))
      return kdl_fd_write_failed(name);
  } while (size == sizeof piece);
  return KDL_OK;
}

/* A temporary file is checked in place. For a pipe or a device, the data is checked before it is
 * written. */
static kdl_status write_output(void *user, int fd) {
  const pull_output *what = user;
  struct stat info;
  bool is_stdout = strcmp(what->pull->output, "-") == 0;
  if (!is_stdout && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    return write_checked(what, fd);
  int checked;
  KDL_TRY(oci_store_create_temp_file(&checked));
  kdl_status status = write_checked(what, checked);
  if (status == KDL_OK)
    status = copy_file(checked, fd, is_stdout ? "<stdout>" : what->pull->output);
  close(checked);
  return status;
}

static kdl_status write_pulled_file(pull_state *pull) {
  kdl_writer *writer;
  KDL_TRY(kdl_writer_create(pull->manifest.format, &writer));
  pull->blobs = xcalloc(pull->manifest.layer_count, sizeof *pull->blobs);
  kdl_status status = add_images(pull, writer);
  if (status == KDL_OK)
    status = cli_output_save_by(pull->output, write_output, &(pull_output){pull, writer});
  kdl_writer_destroy(writer);
  for (size_t i = 0; i < pull->manifest.layer_count; ++i)
    cli_bytes_free(&pull->blobs[i]);
  free(pull->blobs);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The choice                                                                                   */

static kdl_status select_pull_layers(pull_state *pull) {
  const oci_manifest *manifest = &pull->manifest;
  pull->fetched = xcalloc(manifest->layer_count, sizeof *pull->fetched);
  KDL_TRY(oci_select_layers(pull->args, manifest, pull->from.text, pull->fetched));
  for (size_t i = 0; i < manifest->layer_count; ++i)
    pull->count += pull->fetched[i];
  return pull->count
             ? KDL_OK
             : kdl_fail(KDL_NO_MATCH, "%s: no image is for a device of --for", pull->from.text);
}

static kdl_status print_pull_summary(const pull_state *pull) {
  uint64_t bytes = 0, all = 0;
  for (size_t i = 0; i < pull->manifest.layer_count; ++i) {
    all += pull->manifest.layers[i].size;
    bytes += pull->fetched[i] ? pull->manifest.layers[i].size : 0;
  }
  FILE *to = strcmp(pull->output, "-") == 0 ? stderr : stdout;
  cli_text_printf(to, "%s: %zu of %zu images, %" PRIu64 " of %" PRIu64 " bytes\n", pull->output,
                  pull->count, pull->manifest.layer_count, bytes, all);
  return cli_output_flush();
}

/* ------------------------------------------------------------------------------------------ */
/* From a folder, from a registry                                                               */

static kdl_status read_manifest(pull_state *pull) {
  KDL_TRY(oci_manifest_read(pull->from.text, pull->text.data, pull->text.size, &pull->manifest));
  return select_pull_layers(pull);
}

static kdl_status pull_from_layout(pull_state *pull, bool is_dry) {
  char digest[OCI_DIGEST_SIZE];
  uint64_t size = 0;
  pull->folder = pull->from.folder;
  KDL_TRY(oci_layout_find_manifest(&pull->from, digest, &size));
  if (size > OCI_LIMIT_MANIFEST)
    return kdl_fail(KDL_BAD_FILE, "%s: found a manifest of %" PRIu64 " bytes, expected at most %d",
                    pull->from.text, size, OCI_LIMIT_MANIFEST);
  KDL_TRY(oci_layout_copy_blob(pull->folder, digest, size, &pull->text));
  KDL_TRY(read_manifest(pull));
  return is_dry ? KDL_OK : write_pulled_file(pull);
}

static kdl_status pull_through_store(pull_state *pull, const oci_store *store, bool is_dry) {
  pull->folder = store->folder;
  KDL_TRY(oci_remote_fetch_manifest(pull->args, &pull->from, &pull->text));
  KDL_TRY(read_manifest(pull));
  if (is_dry)
    return KDL_OK;
  KDL_TRY(oci_remote_fetch_layers(pull->args, &pull->from, store->folder, &pull->manifest,
                                  pull->fetched));
  KDL_TRY(write_pulled_file(pull));
  oci_store_remove_blobs(store, &pull->manifest, pull->fetched);
  return KDL_OK;
}

static kdl_status pull_from_registry(pull_state *pull, bool is_dry) {
  oci_store store;
  KDL_TRY(oci_remote_check_scheme(pull->args, &pull->from));
  KDL_TRY(oci_store_open(&store));
  kdl_status status = pull_through_store(pull, &store, is_dry);
  oci_store_close(&store);
  return status;
}

static kdl_status run_pull(pull_state *pull) {
  bool is_dry = cli_args_has(pull->args, "dry-run");
  KDL_TRY(oci_reference_parse(&pull->arena, pull->args->operands[0], &pull->from));
  pull->output = cli_args_value(pull->args, "output");
  if (!pull->output)
    pull->output = xarena_format(&pull->arena, "%s.offload", oci_reference_base(&pull->from));
  if (!is_dry && strcmp(pull->output, "-") != 0)
    KDL_TRY(cli_output_check(pull->output));
  KDL_TRY(pull->from.folder ? pull_from_layout(pull, is_dry) : pull_from_registry(pull, is_dry));
  return print_pull_summary(pull);
}

int cli_run_pull(const cli_args *args) {
  pull_state pull = {.args = args};
  kdl_status status = run_pull(&pull);
  oci_manifest_free(&pull.manifest);
  cli_bytes_free(&pull.text);
  free(pull.fetched);
  kdl_arena_free(&pull.arena);
  return cli_report_status(status);
}
