/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/remote.h"

#include "support/base/error.h"
#include "support/base/string_list.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/file.h"
#include "support/system/subprocess.h"
#include "tools/common/memory.h"
#include "tools/common/program_folder.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* kdl-registry limits each transfer itself; this limit is for a program that hangs. */
#define LONGEST_RUN ((int64_t)24 * 60 * 60 * 1000)
#define DEFAULT_LIMIT ((uint64_t)16 << 30)

/* ------------------------------------------------------------------------------------------ */
/* Running it                                                                                   */

static kdl_status read_blob_limit(uint64_t *out_limit) {
  const char *text = kdl_environment(KDL_VARIABLE_REGISTRY_LIMIT);
  *out_limit = DEFAULT_LIMIT;
  if (!text || kdl_size_parse(text, out_limit) == KDL_OK)
    return KDL_OK;
  kdl_error_prefix("KDL_REGISTRY_LIMIT");
  return KDL_BAD_CALL;
}

/* Its error becomes ours; other lines are passed on. */
static void report_registry_messages(char *words, kdl_out *errors) {
  static const char mark[] = "kdl-registry: error: ";
  for (char *line = strtok(words, "\n"); line; line = strtok(NULL, "\n")) {
    if (kdl_starts_with(line, mark))
      kdl_out_format(errors, "%s%s", errors->used ? "\n  " : "", line + sizeof mark - 1);
    else
      cli_text_printf(stderr, "%s\n", line);
  }
}

static kdl_status check_registry_outcome(kdl_subprocess_outcome *outcome, const char *path) {
  static const kdl_status statuses[] = {
      [CLI_EXIT_BAD_INPUT] = KDL_BAD_FILE,
      [CLI_EXIT_USAGE_ERROR] = KDL_BAD_CALL,
      [CLI_EXIT_NO_MATCH] = KDL_NO_MATCH,
  };
  char message[2048] = "";
  kdl_out errors = {message, sizeof message, 0};
  report_registry_messages(outcome->words, &errors);
  bool exited = outcome->end == KDL_SUBPROCESS_EXITED;
  if (exited && outcome->code == CLI_EXIT_SUCCESS)
    return KDL_OK;
  if (exited && message[0] && (size_t)outcome->code < sizeof statuses / sizeof *statuses)
    return kdl_fail(statuses[outcome->code], "%s", message);
  return kdl_fail(KDL_IO, "%s died of %s %d%s%s", path, exited ? "status" : "signal", outcome->code,
                  message[0] ? ": " : "", message);
}

/* It is given `fd` and standard error, its descriptors 3 and 4. */
static kdl_status run_registry_program(const kdl_string_list *line, int fd, uint64_t limit) {
  char path[PATH_MAX];
  const int files[] = {fd, STDERR_FILENO};
  if (line->failed)
    cli_out_of_memory();
  if (!cli_program_file("kdl-registry", path) || access(path, X_OK) != 0)
    return kdl_fail(
        KDL_UNSUPPORTED,
        "kdl-registry not found, expected it in the folder of this program: it speaks to "
        "registries, and is built where libcurl is (Debian: libcurl4-openssl-dev); "
        "folders, as oci:DIR, need none");
  const kdl_subprocess subprocess = {.path = path,
                                     .arguments = line->items,
                                     .environment = (const char *const *)environ,
                                     .files = files,
                                     .file_count = fcntl(STDERR_FILENO, F_GETFD) >= 0 ? 2 : 1,
                                     .milliseconds = LONGEST_RUN,
                                     .largest_file = limit};
  kdl_subprocess_outcome outcome;
  KDL_TRY(kdl_subprocess_run(&subprocess, &outcome));
  return check_registry_outcome(&outcome, path);
}

kdl_status oci_remote_check_scheme(const cli_args *args, const oci_reference *reference) {
  return cli_args_has(args, "plain-http") && kdl_starts_with(reference->text, "https://")
             ? kdl_fail(KDL_BAD_CALL,
                        "%s: https:// and --plain-http exclude each other: use one of them",
                        reference->text)
             : KDL_OK;
}

static void begin_registry_command(const cli_args *args, const oci_reference *reference,
                                   const char *work, kdl_string_list *line) {
  bool is_secure = reference->is_secure && !cli_args_has(args, "plain-http");
  kdl_string_list_append(line, "kdl-registry");
  kdl_string_list_append(line, "--protocol=1");
  kdl_string_list_append_format(line, "--parent=%d", (int)getpid());
  kdl_string_list_append_format(line, "--work=%s", work);
  kdl_string_list_append_format(line, "--scheme=%s", is_secure ? "https" : "http");
  kdl_string_list_append_format(line, "--host=%s", reference->host);
  kdl_string_list_append_format(line, "--name=%s", reference->name);
  if (cli_args_has(args, "plain-http"))
    kdl_string_list_append(line, "--plain-http");
}

/* Frees the command line and closes its file, unless that is -1. */
static void finish_registry_command(kdl_string_list *line, int fd) {
  if (fd >= 0)
    close(fd);
  kdl_arena_free(line->arena);
}

static kdl_status write_temp_file(const char *name, const void *data, size_t size, int *out_fd) {
  *out_fd = kdl_memory_file_create(name, KDL_MEMORY_FILE_INHERITED, data, size);
  return *out_fd >= 0 ? KDL_OK
                      : kdl_fail(kdl_status_from_errno(errno), "cannot make a file in memory: %s",
                                 strerror(errno));
}

/* ------------------------------------------------------------------------------------------ */
/* Manifests                                                                                    */

kdl_status oci_remote_fetch_manifest(const cli_args *args, const oci_reference *from,
                                     cli_bytes *out_bytes) {
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list line = {.arena = &arena};
  int fd = -1;
  void *data = NULL;
  size_t size = 0;
  begin_registry_command(args, from, "manifest", &line);
  kdl_string_list_append_format(&line, "--reference=%s",
                                *from->digest ? from->digest
                                : *from->tag  ? from->tag
                                              : OCI_DEFAULT_TAG);
  kdl_string_list_append(&line, "--file=/proc/self/fd/3");
  kdl_status status = write_temp_file("kdl-manifest", "", 0, &fd);
  if (status == KDL_OK)
    status = run_registry_program(&line, fd, OCI_LIMIT_MANIFEST);
  if (status == KDL_OK)
    status = kdl_memory_file_read(fd, "kdl-registry", OCI_LIMIT_MANIFEST, &data, &size);
  if (status == KDL_OK)
    *out_bytes = (cli_bytes){.data = data, .size = size, .owned = data};
  finish_registry_command(&line, fd);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Blobs                                                                                        */

/* "DIGEST SIZE" for each wanted layer; where `wanted` is NULL, for all layers and the config. */
static kdl_status write_blob_list(const oci_manifest *manifest, const bool *wanted, uint64_t limit,
                                  const char *name, int *out_fd) {
  char *text;
  size_t size;
  uint64_t sum = 0;
  FILE *file = xtext_stream(&text, &size);
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < manifest->layer_count && status == KDL_OK; ++i) {
    const oci_layer *layer = &manifest->layers[i];
    if (wanted && !wanted[i])
      continue;
    if (layer->size > limit - sum)
      status = kdl_fail(KDL_BAD_FILE,
                        "%s: found images of more than %" PRIu64
                        " bytes, expected at most that many: KDL_REGISTRY_LIMIT allows more",
                        name, limit);
    else
      sum += layer->size;
    fprintf(file, "%s %" PRIu64 "\n", layer->digest, layer->size);
  }
  if (!wanted)
    fprintf(file, "%s %zu\n", OCI_EMPTY_DIGEST, strlen(OCI_EMPTY_DATA));
  xtext_close(file);
  if (status == KDL_OK)
    status = write_temp_file("kdl-blobs", text, size, out_fd);
  free(text);
  return status;
}

kdl_status oci_remote_fetch_layers(const cli_args *args, const oci_reference *from,
                                   const char *folder, const oci_manifest *manifest,
                                   const bool *fetched) {
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list line = {.arena = &arena};
  uint64_t limit = 0;
  int fd = -1;
  begin_registry_command(args, from, "fetch", &line);
  kdl_string_list_append_format(&line, "--folder=%s", folder);
  kdl_string_list_append(&line, "--list=/proc/self/fd/3");
  if (isatty(STDERR_FILENO))
    kdl_string_list_append(&line, "--progress");
  kdl_status status = read_blob_limit(&limit);
  if (status == KDL_OK)
    status = write_blob_list(manifest, fetched, limit, from->text, &fd);
  if (status == KDL_OK)
    status = run_registry_program(&line, fd, limit);
  finish_registry_command(&line, fd);
  return status;
}

kdl_status oci_remote_push(const cli_args *args, const oci_reference *to, const char *folder,
                           const oci_manifest *manifest, const char *digest, uint64_t size) {
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list line = {.arena = &arena};
  int fd = -1;
  begin_registry_command(args, to, "push", &line);
  kdl_string_list_append_format(&line, "--reference=%s", *to->tag ? to->tag : OCI_DEFAULT_TAG);
  kdl_string_list_append_format(&line, "--folder=%s", folder);
  kdl_string_list_append(&line, "--list=/proc/self/fd/3");
  kdl_string_list_append_format(&line, "--manifest=%s", digest);
  kdl_string_list_append_format(&line, "--size=%" PRIu64, size);
  kdl_status status = write_blob_list(manifest, NULL, UINT64_MAX, to->text, &fd);
  if (status == KDL_OK)
    status = run_registry_program(&line, fd, UINT32_MAX);
  finish_registry_command(&line, fd);
  return status;
}
