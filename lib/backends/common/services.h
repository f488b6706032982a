/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The services that libkdl offers to built-in backends and plug-ins, and what built-in backends
 * share. */
#ifndef KDL_LIB_BACKENDS_COMMON_SERVICES_H
#define KDL_LIB_BACKENDS_COMMON_SERVICES_H

#include "lib/inspect/targets.h"

#include <kdl/backend.h>

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const kdl_backend_services kdl_core_services;

/* KDL_UNSUPPORTED where drivers of the family load no images of that kind, by the rows of
 * lib/inspect/kinds.def. The message begins with "BACKEND:ORDINAL". */
kdl_status kdl_image_kind_check(const kdl_backend_image *image, kdl_target_family family,
                                const char *backend, uint32_t ordinal);

/* Returns a new object to the caller, or frees it if its creation failed; returns the status. */
static inline kdl_status kdl_return_or_free(kdl_status status, void *made, void **out_made) {
  if (status == KDL_OK)
    *out_made = made;
  else
    free(made);
  return status;
}

/* Joins a compiler's lines by "; ", truncated to the buffer. */
static inline void kdl_join_lines(const char *lines, char *text, size_t size) {
  static const char blank[] = "\r\n ";
  size_t used = 0;
  for (const char *at = lines + strspn(lines, blank); *at && used + 3 < size; ++at) {
    if (*at != '\n' && *at != '\r') {
      text[used++] = *at;
    } else if (at[strspn(at, blank)]) {
      text[used++] = ';';
      text[used++] = ' ';
      at += strspn(at, blank) - 1;
    }
  }
  while (used && strchr(blank, text[used - 1]))
    --used;
  text[used] = '\0';
}

/* The shortest pattern that gives the same bytes; `size` is a power of two. */
static inline size_t kdl_shorten_pattern(const uint8_t *pattern, size_t size) {
  while (size > 1 && memcmp(pattern, pattern + size / 2, size / 2) == 0)
    size /= 2;
  return size;
}

#endif
