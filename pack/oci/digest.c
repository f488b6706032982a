/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/digest.h"

#include "support/base/error.h"
#include "tools/common/digests/digests.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <string.h>

void oci_digest_of(const void *data, size_t size, char out_digest[OCI_DIGEST_SIZE]) {
  uint8_t digest[SHA256_SIZE];
  sha256(data, size, digest);
  int used = snprintf(out_digest, OCI_DIGEST_SIZE, "%s", OCI_DIGEST_PREFIX);
  for (size_t i = 0; i < SHA256_SIZE; ++i)
    used += snprintf(out_digest + used, (size_t)(OCI_DIGEST_SIZE - used), "%02x", digest[i]);
}

kdl_status oci_digest_of_file(int fd, char out_digest[OCI_DIGEST_SIZE]) {
  char path[32];
  cli_bytes bytes;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  KDL_TRY(cli_bytes_read(path, &bytes));
  oci_digest_of(bytes.data, bytes.size, out_digest);
  cli_bytes_free(&bytes);
  return KDL_OK;
}

bool oci_digest_is_valid(const char *text) {
  size_t method = strlen(OCI_DIGEST_PREFIX);
  return strncmp(text, OCI_DIGEST_PREFIX, method) == 0 && strlen(text) == OCI_DIGEST_SIZE - 1 &&
         strspn(text + method, "0123456789abcdef") == OCI_DIGEST_HEX;
}

/* The length between the quotes, with escapes. */
static size_t raw_length(const kdl_json *json) {
  size_t begin = kdl_json_at(json) + 1, at = begin;
  while (at < json->size && json->text[at] != '"')
    at += json->text[at] == '\\' && at + 1 < json->size ? 2 : 1;
  return at > begin ? at - begin : 0;
}

kdl_status oci_json_text(kdl_json *json, kdl_arena *arena, kdl_string *out_text) {
  kdl_json_kind kind;
  KDL_TRY(kdl_json_peek(json, &kind));
  size_t room = kind == KDL_JSON_STRING ? raw_length(json) + 1 : 1;
  char *text = xarena_alloc(arena, room);
  KDL_TRY(kdl_json_string(json, text, room));
  *out_text = (kdl_string){text, strlen(text)};
  return KDL_OK;
}

kdl_status oci_json_digest(kdl_json *json, char out_digest[OCI_DIGEST_SIZE]) {
  char text[OCI_DIGEST_SIZE + 64];
  size_t at = kdl_json_at(json);
  KDL_TRY(kdl_json_string(json, text, sizeof text));
  if (!oci_digest_is_valid(text))
    return kdl_json_fail(json, at, "found \"%s\", expected sha256: and 64 hexadecimal digits",
                         text);
  memcpy(out_digest, text, OCI_DIGEST_SIZE);
  return KDL_OK;
}
