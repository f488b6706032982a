/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Requests to one repository of a registry: logged in where it asks for that, and redirected. What
 * logs in goes to the registry's own address, and to no other that it names but its token
 * service. */
#ifndef KDL_REGISTRY_SESSION_H
#define KDL_REGISTRY_SESSION_H

#include "pack/registry/http.h"
#include "pack/registry/login.h"

#include <kdl/kdl.h>

#include <stdbool.h>

enum { SESSION_LIMIT_TOKEN = 64 * 1024 };

typedef struct registry_session {
  http *client;
  const char *scheme, *host, *name;
  bool allows_plain_http; /* of other hosts than this machine: --plain-http */
  bool needs_push_scope;  /* asks for the right to push */
  char base[HTTP_LIMIT_URL];
  credentials credentials;
  char *authorization; /* the header's value, once it is known */
} registry_session;

kdl_status session_open(registry_session *out_session);
void session_close(registry_session *session);

/* To a path below /v2/NAME/, or to a whole address that the registry gave. An answer of 400 or
 * more is no failure. */
kdl_status session_request(registry_session *session, const char *where,
                           const http_request *request, http_response *out_response);

/* The failure for an answer that was not expected; `what` was asked for. */
kdl_status session_fail_response(const registry_session *session, const char *what,
                                 const http_response *response);

/* Whether an address may be asked at all: https, or http where that is allowed. Else says so. */
kdl_status session_check_url(const registry_session *session, const char *url, const char *why);

/* auth.c: answers a challenge. KDL_OK with a new `authorization`, or without one where the registry
 * asks for what cannot be given. */
kdl_status session_log_in(registry_session *session, const char *text);

#endif
