/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What registries and files say of logging in. */
#ifndef KDL_REGISTRY_LOGIN_H
#define KDL_REGISTRY_LOGIN_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* WWW-Authenticate: what a registry asks for (challenge.c). */
typedef struct challenge {
  bool is_bearer; /* else Basic */
  char realm[1024];
  char service[512];
  char scope[512];
} challenge;

/* Basic, or Bearer realm="...",service="...",scope="...". False where it is neither, or a part is
 * too long. */
bool challenge_parse(const char *text, challenge *out_challenge);

/* Credentials as `docker login` keeps them: config.json in DOCKER_CONFIG or ~/.docker
 * (docker_config.c). */
enum { CREDENTIALS_SIZE = 4096 };

typedef struct credentials {
  char basic[CREDENTIALS_SIZE]; /* user and password as base64; "" where there are none */
  bool has_helper;              /* the file names a program that keeps them, which is not asked */
  bool has_identity;            /* it has an identity token for the host, which is not used */
  char path[4096];              /* of the file, for messages */
} credentials;

/* KDL_OK without any where there is no file. */
kdl_status credentials_read(const char *host, credentials *out_credentials);

#endif
