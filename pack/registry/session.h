/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Requests to one repository of a registry, with authentication and redirects. Credentials are sent
 * to the registry's own address and to its token service, and to no other address that it names. */
#ifndef KDL_PACK_REGISTRY_SESSION_H
#define KDL_PACK_REGISTRY_SESSION_H

#include "pack/registry/http.h"
#include "pack/registry/login.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdint.h>

enum { SESSION_LIMIT_TOKEN = 64 * 1024 };

typedef struct registry_session {
  http *client;
  const char *scheme, *host, *name;
  bool allows_plain_http; /* for hosts other than this machine: --plain-http */
  bool needs_push_scope;  /* requests push permission */
  char base[HTTP_LIMIT_URL];
  credentials credentials;
  char *authorization; /* the header's value, once known */
  uint64_t bytes_all;  /* of the blobs to fetch */
  uint64_t bytes_done; /* of those that are fetched */
} registry_session;

kdl_status session_open(registry_session *out_session);
void session_close(registry_session *session);

/* Requests a path below /v2/NAME/, or a complete URL that the registry returned. A response of 400
 * or more is not a failure. */
kdl_status session_request(registry_session *session, const char *where,
                           const http_request *request, http_response *out_response);

/* The failure for an unexpected response; the message names `what`. */
kdl_status session_fail_response(const registry_session *session, const char *what,
                                 const http_response *response);

/* Fails unless a URL is allowed: https, or http where that was permitted. */
kdl_status session_check_url(const registry_session *session, const char *url, const char *why);

/* auth.c: answers a challenge. KDL_OK with a new `authorization`, or without one where the registry
 * requires something unsupported. */
kdl_status session_log_in(registry_session *session, const char *text);

#endif
