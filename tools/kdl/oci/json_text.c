/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "oci/json_text.h"

#include <string.h>

/* Bytes between the quotes, as they stand there. */
static size_t raw_length(const kdl_json *json) {
  size_t begin = kdl_json_at(json) + 1, at = begin;
  while (at < json->size && json->text[at] != '"')
    at += json->text[at] == '\\' && at + 1 < json->size ? 2 : 1;
  return at > begin ? at - begin : 0;
}

kdl_status oci_json_text(kdl_json *json, kdl_arena *arena, kdl_string *out_text) {
  kdl_json_kind kind;
  kdl_status status = kdl_json_peek(json, &kind);
  size_t room = status == KDL_OK && kind == KDL_JSON_STRING ? raw_length(json) + 1 : 1;
  char *text = status == KDL_OK ? kdl_arena_alloc(arena, room) : NULL;
  if (status == KDL_OK && !text)
    status = kdl_fail(KDL_NO_MEMORY, "%s: out of memory", json->name);
  if (status == KDL_OK)
    status = kdl_json_string(json, text, room);
  if (status == KDL_OK)
    *out_text = (kdl_string){text, strlen(text)};
  return status;
}

kdl_status oci_json_digest(kdl_json *json, char out_digest[OCI_DIGEST_TEXT]) {
  char text[OCI_DIGEST_TEXT + 64];
  size_t at = kdl_json_at(json);
  KDL_TRY(kdl_json_string(json, text, sizeof text));
  if (!oci_digest_is_valid(text))
    return kdl_json_fail(json, at, "found \"%s\", expected sha256: and 64 hexadecimal digits",
                         text);
  memcpy(out_digest, text, OCI_DIGEST_TEXT);
  return KDL_OK;
}
