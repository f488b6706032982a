/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Credentials as `docker login` keeps them: config.json in DOCKER_CONFIG or ~/.docker. */
#ifndef KDL_REGISTRY_DOCKER_CONFIG_H
#define KDL_REGISTRY_DOCKER_CONFIG_H

#include <kdl/kdl.h>

#include <stdbool.h>

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
