/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* "Did you mean": the known name that is nearest to an unknown word. */
#ifndef KDL_SUPPORT_BASE_NEAREST_H
#define KDL_SUPPORT_BASE_NEAREST_H

#include <kdl/kdl.h>

typedef struct kdl_nearest {
  kdl_string word;
  const char *best; /* NULL while no candidate is near enough */
  size_t distance;  /* of `best` */
} kdl_nearest;

static inline kdl_nearest kdl_nearest_to(kdl_string word) {
  return (kdl_nearest){.word = word};
}

/* Takes the candidate as `best` if it is nearer than all before it. Case is ignored. */
void kdl_nearest_add(kdl_nearest *nearest, const char *candidate);

#endif
