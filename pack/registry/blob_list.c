/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/digest.h"
#include "pack/registry/transfer.h"
#include "support/base/error.h"
#include "tools/common/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next line; *out_more is false at the end. */
static kdl_status next_blob_entry(const char **at, const char *end, blob_list_entry *out_line,
                                  bool *out_more) {
  char line[160];
  const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
  *out_more = stop != NULL;
  if (!stop)
    return *at == end ? KDL_OK : kdl_fail(KDL_BAD_CALL, "--list: found half a line");
  snprintf(line, sizeof line, "%.*s", (size_t)(stop - *at) < sizeof line ? (int)(stop - *at) : 0,
           *at);
  *at = stop + 1;
  char *size = strchr(line, ' '), *rest = NULL;
  if (size) {
    *size++ = '\0';
    snprintf(out_line->digest, sizeof out_line->digest, "%.79s", line);
    out_line->size = strtoull(size, &rest, 10);
  }
  if (!size || !*size || *rest || !oci_digest_is_valid(out_line->digest))
    return kdl_fail(KDL_BAD_CALL, "--list: found \"%s\", expected a digest and a size", line);
  return KDL_OK;
}

kdl_status blob_list_walk(const char *list, blob_visit *visit, registry_session *session,
                          const char *folder) {
  cli_bytes bytes;
  blob_list_entry blob;
  bool more = true;
  kdl_status status = KDL_OK;
  KDL_TRY(cli_bytes_read(list, &bytes));
  const char *at = bytes.data, *end = at + bytes.size;
  while (status == KDL_OK && more) {
    status = next_blob_entry(&at, end, &blob, &more);
    if (status == KDL_OK && more)
      status = visit(session, &blob, folder);
  }
  cli_bytes_free(&bytes);
  return status;
}
