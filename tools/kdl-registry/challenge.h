/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* WWW-Authenticate: what a registry asks for. */
#ifndef KDL_REGISTRY_CHALLENGE_H
#define KDL_REGISTRY_CHALLENGE_H

#include <stdbool.h>

typedef struct challenge {
  bool is_bearer; /* else Basic */
  char realm[1024];
  char service[512];
  char scope[512];
} challenge;

/* Basic, or Bearer realm="...",service="...",scope="...". False where it is neither, or a part is
 * too long. */
bool challenge_read(const char *text, challenge *out_challenge);

#endif
