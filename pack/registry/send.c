/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/layout.h"
#include "pack/oci/manifest.h"
#include "pack/registry/transfer.h"
#include "support/base/error.h"
#include "tools/common/input.h"

#include <stdio.h>
#include <string.h>

enum { small_body = 1 << 20 };

/* Whether the registry has a blob with that digest; registries check digests on upload. */
static kdl_status has_blob(registry_session *session, const char *digest, bool *out_has) {
  char where[128];
  http_response response;
  const http_request request = {.method = HTTP_HEAD, .is_small = true};
  snprintf(where, sizeof where, "blobs/%s", digest);
  KDL_TRY(session_request(session, where, &request, &response));
  *out_has = response.code == 200;
  return *out_has || response.code == 404 ? KDL_OK
                                          : session_fail_response(session, where, &response);
}

static kdl_status begin_upload(registry_session *session, char out_url[HTTP_LIMIT_URL]) {
  static const char where[] = "blobs/uploads/";
  http_response response;
  const http_request request = {.method = HTTP_POST, .is_small = true};
  KDL_TRY(session_request(session, where, &request, &response));
  if (response.code != 202)
    KDL_TRY(session_fail_response(session, where, &response));
  if (!response.location[0])
    return kdl_fail(KDL_BAD_FILE, "%s/%s: upload: found no Location, expected one", session->host,
                    session->name);
  memcpy(out_url, response.location, HTTP_LIMIT_URL);
  return KDL_OK;
}

static kdl_status send_bytes(registry_session *session, const char *digest,
                             const cli_bytes *bytes) {
  char url[HTTP_LIMIT_URL];
  http_response response;
  const http_request request = {.method = HTTP_PUT,
                                .content_type = "application/octet-stream",
                                .body = bytes->data,
                                .body_size = bytes->size,
                                .is_small = bytes->size <= small_body};
  KDL_TRY(begin_upload(session, url));
  if (!http_add_query(url, "digest", digest))
    return kdl_fail(KDL_BAD_FILE, "%s: upload: the address is too long", session->host);
  KDL_TRY(session_request(session, url, &request, &response));
  if (response.code != 201)
    KDL_TRY(session_fail_response(session, "upload", &response));
  return KDL_OK;
}

static kdl_status send_blob(registry_session *session, const blob_list_entry *blob,
                            const char *folder) {
  cli_bytes bytes;
  bool has = false;
  KDL_TRY(has_blob(session, blob->digest, &has));
  if (has)
    return KDL_OK;
  KDL_TRY(oci_layout_read_blob(folder, blob->digest, blob->size, &bytes));
  kdl_status status = send_bytes(session, blob->digest, &bytes);
  cli_bytes_free(&bytes);
  return status;
}

static kdl_status send_manifest(registry_session *session, const char *reference,
                                const char *digest, const cli_bytes *bytes) {
  char where[256];
  http_response response;
  const http_request request = {.method = HTTP_PUT,
                                .content_type = OCI_MANIFEST_TYPE,
                                .body = bytes->data,
                                .body_size = bytes->size,
                                .is_small = bytes->size <= small_body};
  snprintf(where, sizeof where, "manifests/%s", reference);
  KDL_TRY(session_request(session, where, &request, &response));
  if (response.code != 201)
    KDL_TRY(session_fail_response(session, where, &response));
  if (response.digest[0] && strcmp(response.digest, digest) != 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s/%s: found that the registry keeps the manifest as %s, expected %s",
                    session->host, session->name, response.digest, digest);
  return KDL_OK;
}

kdl_status send_blobs_and_manifest(registry_session *session, const char *list, const char *folder,
                                   const char *reference, const char *digest, uint64_t size) {
  cli_bytes manifest;
  KDL_TRY(blob_list_walk(list, send_blob, session, folder));
  KDL_TRY(oci_layout_read_blob(folder, digest, size, &manifest));
  kdl_status status = send_manifest(session, reference, digest, &manifest);
  cli_bytes_free(&manifest);
  return status;
}
