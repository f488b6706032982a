/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The file to thin, from which the new one is written: it must not change meanwhile. */
#ifndef KDL_PACK_THIN_SOURCE_H
#define KDL_PACK_THIN_SOURCE_H

#include "tools/common/input.h"

#include <sys/stat.h>

typedef struct thin_source {
  const char *path;
  const char *name; /* for messages */
  cli_bytes bytes;
  int fd;           /* of the mapped file; -1: a pipe */
  struct stat info; /* of the file when it was opened */
} thin_source;

/* The caller closes *out_source. */
kdl_status thin_source_open(const char *path, thin_source *out_source);
void thin_source_close(thin_source *source);

/* KDL_IO where the file was written to since; with `in_place`, also where its name now means
 * another file, which would be lost. */
kdl_status thin_source_check(const thin_source *source, bool in_place);
bool thin_source_is_replaced(const thin_source *source);

/* Gives the new file for `path` the mode and the extended attributes of the old one. */
void thin_source_copy_attributes(const thin_source *source, int to, const char *path);

/* Prints a note for a replaced file with hard links, which keep the old contents. */
void thin_source_note_links(const thin_source *source);

#endif
