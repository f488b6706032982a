/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Public structs begin with `size` and grow at the end, so that a program may be older or newer
 * than the library it runs with. The program passes the size that it was compiled with:
 *
 *     older   fields that it lacks read as 0 and are not written
 *     newer   fields that the library lacks must be 0 when read, and are written as 0
 *
 * A size that no version can have is refused: smaller than the first version, not a multiple of 8,
 * or very large, such as one that was never set.
 */
#ifndef KDL_SUPPORT_BASE_SIZED_H
#define KDL_SUPPORT_BASE_SIZED_H

#include <kdl/kdl.h>

/* What messages call the struct: "kdl_select: opts.size is 12, expected 40". */
typedef struct kdl_sized {
  const char *call, *name;
  size_t first; /* the size of its first version */
  size_t known; /* the size of this version */
} kdl_sized;

/* Copies the program's struct to *out, which has `known` bytes; out->size becomes `known`. */
kdl_status kdl_sized_read(kdl_sized what, const void *given, void *out);

/* Fails unless the size in `out` is one that can be written to. */
kdl_status kdl_sized_check(kdl_sized what, const void *out);

/* Copies `made`, which has `known` bytes, to `out`. The size in `out` was checked and stays. */
void kdl_sized_write(kdl_sized what, const void *made, void *out);

#endif
