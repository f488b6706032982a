/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/layout.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/json/reader.h"
#include "support/system/file.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char layout_text[] = "{\"imageLayoutVersion\": \"1.0.0\"}\n";

static kdl_status create_folder(const char *path) {
  char end[PATH_MAX];
  KDL_TRY(kdl_folder_resolve(path, "make the folder", end));
  return mkdir(end, 0777) == 0 || errno == EEXIST
             ? KDL_OK
             : kdl_fail(kdl_status_from_errno(errno), "%s: cannot make the folder: %s", path,
                        strerror(errno));
}

enum { version_room = 32 };

static kdl_status read_layout_key(kdl_json *json, const char *key, void *out_version) {
  return strcmp(key, "imageLayoutVersion") == 0 ? kdl_json_string(json, out_version, version_room)
                                                : kdl_json_skip(json);
}

static kdl_status check_layout_version(const char *path) {
  cli_bytes bytes;
  kdl_json json;
  char version[version_room] = "";
  KDL_TRY(cli_bytes_read_file(path, &bytes));
  kdl_json_start(&json, path, bytes.data, bytes.size);
  kdl_status status = kdl_json_members(&json, read_layout_key, version);
  if (status == KDL_OK && !kdl_starts_with(version, "1."))
    status = kdl_fail(KDL_BAD_FILE, "%s: imageLayoutVersion: found \"%s\", expected 1.0.0", path,
                      version);
  cli_bytes_free(&bytes);
  return status;
}

kdl_status oci_layout_create(const char *folder) {
  static const char *const below[] = {"", "/blobs", "/blobs/sha256"};
  char path[PATH_MAX];
  if (strlen(folder) > PATH_MAX - 128)
    return kdl_fail(KDL_BAD_CALL, "%s: the path has %zu bytes: use less than %d", folder,
                    strlen(folder), PATH_MAX - 128);
  for (size_t i = 0; i < sizeof below / sizeof *below; ++i) {
    snprintf(path, sizeof path, "%s%s", folder, below[i]);
    KDL_TRY(create_folder(path));
  }
  snprintf(path, sizeof path, "%s/oci-layout", folder);
  return access(path, F_OK) == 0 ? check_layout_version(path)
                                 : kdl_file_save(path, layout_text, sizeof layout_text - 1);
}

bool oci_layout_blob_path(const char *folder, const char *digest, char out_path[PATH_MAX]) {
  int used = snprintf(out_path, PATH_MAX, "%s/blobs/sha256/%s", folder,
                      digest + strlen(OCI_DIGEST_PREFIX));
  return used > 0 && used < PATH_MAX;
}

kdl_status oci_layout_map_blob(const char *folder, const char *digest, uint64_t size,
                               cli_bytes *out_bytes) {
  char path[PATH_MAX];
  *out_bytes = (cli_bytes){.data = ""};
  if (!oci_layout_blob_path(folder, digest, path))
    return kdl_fail(KDL_BAD_CALL, "%s: the path is too long", folder);
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read_file(path, &bytes));
  if (bytes.size != size) {
    cli_bytes_free(&bytes);
    return kdl_fail(KDL_BAD_FILE, "%s: found %zu bytes, expected %" PRIu64 ", as the manifest says",
                    path, bytes.size, size);
  }
  *out_bytes = bytes;
  return KDL_OK;
}

/* Frees bytes whose digest differs. */
static kdl_status verify_blob_digest(const char *folder, const char *digest, cli_bytes *bytes) {
  char path[PATH_MAX], found[OCI_DIGEST_SIZE];
  oci_digest_of(bytes->data, bytes->size, found);
  if (strcmp(found, digest) == 0)
    return KDL_OK;
  cli_bytes_free(bytes);
  *bytes = (cli_bytes){.data = ""};
  return kdl_fail(KDL_BAD_FILE, "%s: found bytes with the digest %s, expected %s",
                  oci_layout_blob_path(folder, digest, path) ? path : folder, found, digest);
}

kdl_status oci_layout_copy_blob(const char *folder, const char *digest, uint64_t size,
                                cli_bytes *out_bytes) {
  cli_bytes mapped;
  *out_bytes = (cli_bytes){.data = ""};
  KDL_TRY(oci_layout_map_blob(folder, digest, size, &mapped));
  char *copy = xmalloc(mapped.size);
  memcpy(copy, mapped.data, mapped.size);
  *out_bytes = (cli_bytes){.data = copy, .size = mapped.size, .owned = copy};
  cli_bytes_free(&mapped);
  return verify_blob_digest(folder, digest, out_bytes);
}

kdl_status oci_layout_read_blob(const char *folder, const char *digest, uint64_t size,
                                cli_bytes *out_bytes) {
  KDL_TRY(oci_layout_map_blob(folder, digest, size, out_bytes));
  return verify_blob_digest(folder, digest, out_bytes);
}

kdl_status oci_layout_write_blob(const char *folder, const void *data, size_t size,
                                 char out_digest[OCI_DIGEST_SIZE]) {
  char path[PATH_MAX];
  cli_bytes there;
  oci_digest_of(data, size, out_digest);
  if (!oci_layout_blob_path(folder, out_digest, path))
    return kdl_fail(KDL_BAD_CALL, "%s: the path is too long", folder);
  if (access(path, F_OK) == 0 && oci_layout_read_blob(folder, out_digest, size, &there) == KDL_OK) {
    cli_bytes_free(&there);
    return KDL_OK;
  }
  return kdl_file_save(path, data, size);
}
