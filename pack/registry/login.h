/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Authentication challenges of registries, and stored credentials. */
#ifndef KDL_PACK_REGISTRY_LOGIN_H
#define KDL_PACK_REGISTRY_LOGIN_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* WWW-Authenticate: what a registry requires (challenge.c). */
typedef struct challenge {
  bool is_bearer; /* else Basic */
  char realm[1024];
  char service[512];
  char scope[512];
} challenge;

/* Parses Basic, or Bearer realm="...",service="...",scope="...". False for anything else, and where
 * a part is too long. */
bool challenge_parse(const char *text, challenge *out_challenge);

/* Credentials that `docker login` stored: config.json in DOCKER_CONFIG or ~/.docker
 * (docker_config.c). */
enum { CREDENTIALS_SIZE = 4096 };

typedef struct credentials {
  char basic[CREDENTIALS_SIZE]; /* user and password as base64; "": none */
  bool has_helper;              /* the file names a credential helper, which is not run */
  bool has_identity;            /* the file has an identity token for the host, which is not used */
  char path[4096];              /* of the file, for messages */
} credentials;

/* KDL_OK without credentials where there is no file. */
kdl_status credentials_read(const char *host, credentials *out_credentials);

#endif
