/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/registry/session.h"

#include "pack/oci/reference.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_redirects = 10 };

/* The API of Docker's registry has another host than its name. */
static const char docker_hub[] = "docker.io", hub_address[] = "registry-1.docker.io",
                  hub_login[] = "index.docker.io";

kdl_status session_open(registry_session *out_session) {
  bool is_hub = strcmp(out_session->host, docker_hub) == 0;
  int used =
      snprintf(out_session->base, sizeof out_session->base, "%s://%s/v2/%s/", out_session->scheme,
               is_hub ? hub_address : out_session->host, out_session->name);
  if (used < 0 || (size_t)used >= sizeof out_session->base)
    return kdl_fail(KDL_BAD_CALL, "%s/%s: the name is too long", out_session->host,
                    out_session->name);
  KDL_TRY(session_check_url(out_session, out_session->base, "the registry"));
  KDL_TRY(credentials_read(is_hub ? hub_login : out_session->host, &out_session->credentials));
  bool is_secure = strcmp(out_session->scheme, "https") == 0;
  return http_open(is_secure ? "https" : "http,https", &out_session->client);
}

void session_close(registry_session *session) {
  http_close(session->client);
  free(session->authorization);
}

kdl_status session_check_url(const registry_session *session, const char *url, const char *why) {
  char host[HTTP_LIMIT_URL];
  bool is_plain;
  int shown = http_display_length(url);
  if (!http_host_of(url, host, sizeof host, &is_plain))
    return kdl_fail(KDL_BAD_FILE, "%s/%s: %s: found the address \"%.*s\", expected one of https",
                    session->host, session->name, why, shown, url);
  if (!is_plain)
    return KDL_OK;
  if (strcmp(session->scheme, "https") == 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s/%s: %s: found %.*s, expected https, as the registry itself has it",
                    session->host, session->name, why, shown, url);
  if (!oci_host_is_local(host) && !session->allows_plain_http)
    return kdl_fail(KDL_BAD_FILE,
                    "%s/%s: %s: found %.*s, expected https, or a host that is this machine: "
                    "--plain-http allows it",
                    session->host, session->name, why, shown, url);
  return KDL_OK;
}

static bool is_redirect(const http_request *request, const http_response *response) {
  bool keeps_method = request->method == HTTP_GET || request->method == HTTP_HEAD;
  return response->code == 307 || response->code == 308 ||
         (keeps_method &&
          (response->code == 301 || response->code == 302 || response->code == 303));
}

/* Sends the request, and again after authentication where the registry requires it. */
static kdl_status request_authenticated(registry_session *session, const char *url,
                                        const http_request *request, http_response *out_response) {
  kdl_status status =
      http_send(session->client, url, session->authorization, request, out_response);
  if (status != KDL_OK || out_response->code != 401 || !out_response->challenge[0])
    return status;
  free(session->authorization);
  session->authorization = NULL;
  KDL_TRY(session_log_in(session, out_response->challenge));
  return session->authorization
             ? http_send(session->client, url, session->authorization, request, out_response)
             : KDL_OK;
}

kdl_status session_request(registry_session *session, const char *where,
                           const http_request *request, http_response *out_response) {
  char url[HTTP_LIMIT_URL];
  bool is_whole = strstr(where, "://") != NULL;
  int used = snprintf(url, sizeof url, "%s%s", is_whole ? "" : session->base, where);
  if (used < 0 || (size_t)used >= sizeof url)
    return kdl_fail(KDL_BAD_FILE, "%s/%s: found an address of %d bytes, expected less than %zu",
                    session->host, session->name, used, sizeof url);
  for (int hop = 0; hop <= most_redirects; ++hop) {
    kdl_status status = session_check_url(session, url, hop ? "redirect" : "upload");
    if (status == KDL_OK)
      status = http_same_origin(url, session->base)
                   ? request_authenticated(session, url, request, out_response)
                   : http_send(session->client, url, NULL, request, out_response);
    if (status != KDL_OK || !is_redirect(request, out_response))
      return status;
    if (!out_response->location[0])
      return kdl_fail(KDL_BAD_FILE, "%.*s: found a redirect without an address, expected one",
                      http_display_length(url), url);
    memcpy(url, out_response->location, sizeof url);
  }
  return kdl_fail(KDL_BAD_FILE,
                  "%s/%s: found more than %d redirects, expected fewer: the last to %.*s",
                  session->host, session->name, most_redirects, http_display_length(url), url);
}

kdl_status session_fail_response(const registry_session *session, const char *what,
                                 const http_response *response) {
  char found[512];
  http_describe(response, found, sizeof found);
  bool is_login = response->code == 401 || response->code == 403;
  bool has_any = session->credentials.basic[0] != '\0';
  const char *advice =
      !is_login ? ""
      : has_any ? ": the credentials of config.json do not allow it"
      : session->credentials.has_identity
          ? ": config.json has an \"identitytoken\" for the host, which is not used"
      : session->credentials.has_helper
          ? ": config.json has no \"auth\" for the host, and names a program that "
            "keeps credentials, which is not asked"
          : ": `docker login` keeps credentials for it in config.json";
  return kdl_fail(response->code == 404 ? KDL_NO_MATCH : KDL_BAD_FILE,
                  "%s/%s: %s: found %s, expected it%s", session->host, session->name, what, found,
                  advice);
}
