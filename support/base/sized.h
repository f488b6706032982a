/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Public structs begin with `size` and grow at the end, so that a program may be older or newer
 * than the library it runs with. A program gives the size that it knows:
 *
 *     older   fields that it does not know count as 0 when they are read, and are not written
 *     newer   fields that the library does not know must be 0 when they are read, and are written 0
 *
 * A size that no version can have is refused: below the first version's, not a multiple of 8, or
 * absurdly large, as one that was never set.
 */
#ifndef KDL_BASE_SIZED_H
#define KDL_BASE_SIZED_H

#include <kdl/kdl.h>

/* What is told of a struct: "kdl_select: opts.size is 12, expected 40". */
typedef struct kdl_sized {
  const char *call, *name;
  size_t first; /* the size of its first version */
  size_t known; /* of this one */
} kdl_sized;

/* Copies what the program gave to *out, which is of `known` bytes, as is its size then. */
kdl_status kdl_sized_read(kdl_sized what, const void *given, void *out);

/* Whether `out` has a size that can be written to. */
kdl_status kdl_sized_check(kdl_sized what, const void *out);

/* Copies `made`, which is of `known` bytes, to `out`, whose size was checked and stays. */
void kdl_sized_write(kdl_sized what, const void *made, void *out);

#endif
