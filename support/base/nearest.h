/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which name may have been meant by a word that names nothing. */
#ifndef KDL_BASE_NEAREST_H
#define KDL_BASE_NEAREST_H

#include <kdl/kdl.h>

typedef struct kdl_nearest {
  kdl_string word;
  const char *best; /* NULL while no candidate is near enough to be what was meant */
  size_t distance;  /* of `best` */
} kdl_nearest;

static inline kdl_nearest kdl_nearest_to(kdl_string word) {
  return (kdl_nearest){.word = word};
}

/* Keeps the candidate where it is nearer than those before it. Upper and lower case are the same.
 */
void kdl_nearest_add(kdl_nearest *nearest, const char *candidate);

#endif
