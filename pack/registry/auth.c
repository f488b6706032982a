/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Authentication: Basic, or a token of the service that the registry names. */
#include "pack/registry/login.h"
#include "pack/registry/session.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/json/reader.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { largest_answer = 2 * SESSION_LIMIT_TOKEN };

/* Whether the text is safe in a header. */
static bool is_header_token(const char *text) {
  for (const char *at = text; *at; ++at) {
    if (*at <= ' ' || *at > '~')
      return false;
  }
  return *text;
}

static kdl_status read_token_key(kdl_json *json, const char *key, void *user) {
  char *token = user;
  bool is_it = strcmp(key, "token") == 0 || (strcmp(key, "access_token") == 0 && !token[0]);
  return is_it ? kdl_json_string(json, token, SESSION_LIMIT_TOKEN) : kdl_json_skip(json);
}

static kdl_status read_token(const http_text_buffer *response, char *token) {
  kdl_json json;
  token[0] = '\0';
  kdl_json_start(&json, response->from, response->text, response->used);
  KDL_TRY(kdl_json_members(&json, read_token_key, token));
  if (!is_header_token(token))
    return kdl_fail(KDL_BAD_FILE, "%s: found no token, expected one", response->from);
  return KDL_OK;
}

static kdl_status make_token_url(const registry_session *session, const challenge *asked,
                                 char *out_url) {
  char scope[1024];
  snprintf(out_url, HTTP_LIMIT_URL, "%s", asked->realm);
  http_normalize(NULL, out_url);
  KDL_TRY(session_check_url(session, out_url, "token service"));
  snprintf(scope, sizeof scope, "repository:%s:%s", session->name,
           session->needs_push_scope ? "pull,push" : "pull");
  bool fits = (!asked->service[0] || http_add_query(out_url, "service", asked->service)) &&
              http_add_query(out_url, "scope", asked->scope[0] ? asked->scope : scope);
  return fits ? KDL_OK
              : kdl_fail(KDL_BAD_FILE, "%s: token service: the address is too long", session->host);
}

/* Requests a token from the service that the registry names. */
static kdl_status request_token(registry_session *session, const challenge *asked,
                                http_text_buffer *response, char *token) {
  char url[HTTP_LIMIT_URL], basic[CREDENTIALS_SIZE + 8];
  const http_sink sink = http_text_sink(response);
  const http_request request = {.method = HTTP_GET, .is_small = true, .sink = &sink};
  http_response found;
  snprintf(basic, sizeof basic, "Basic %s", session->credentials.basic);
  KDL_TRY(make_token_url(session, asked, url));
  KDL_TRY(http_send(session->client, url, session->credentials.basic[0] ? basic : NULL, &request,
                    &found));
  if (found.code != 200)
    return session_fail_response(session, "a token of the service that it names", &found);
  return read_token(response, token);
}

kdl_status session_log_in(registry_session *session, const char *text) {
  challenge asked;
  if (!challenge_parse(text, &asked))
    return kdl_fail(
        KDL_BAD_FILE,
        "%s: WWW-Authenticate: found \"%.200s\", expected Basic, or Bearer with a realm",
        session->host, text);
  if (!asked.is_bearer) {
    if (session->credentials.basic[0])
      session->authorization = xasprintf("Basic %s", session->credentials.basic);
    return KDL_OK;
  }
  char from[sizeof asked.realm], *token = xmalloc(SESSION_LIMIT_TOKEN);
  snprintf(from, sizeof from, "%.*s", http_display_length(asked.realm), asked.realm);
  http_text_buffer response = {from, "token", xmalloc(largest_answer), largest_answer, 0};
  kdl_status status = request_token(session, &asked, &response, token);
  if (status == KDL_OK)
    session->authorization = xasprintf("Bearer %s", token);
  free(token);
  free(response.text);
  return status;
}
