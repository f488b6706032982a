/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Logging in: Basic, or a token of the service that the registry names. */
#include "base/error.h"
#include "base/json/reader.h"
#include "base/text.h"
#include "challenge.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { largest_answer = 2 * SESSION_LONGEST_TOKEN };

typedef struct {
  char *text;
  size_t used;
  const char *from;
} token_answer;

static kdl_status begin_answer(void *user, const http_answer *answer) {
  (void)user;
  (void)answer;
  return KDL_OK;
}

static kdl_status put_answer(void *user, const void *data, size_t size) {
  token_answer *to = user;
  if (size > largest_answer - to->used)
    return kdl_fail(KDL_BAD_FILE, "%s: found a token of more than %d bytes, expected less",
                    to->from, largest_answer);
  memcpy(to->text + to->used, data, size);
  to->used += size;
  return KDL_OK;
}

/* It becomes a part of a header. */
static bool is_token(const char *text) {
  for (const char *at = text; *at; ++at) {
    if (*at <= ' ' || *at > '~')
      return false;
  }
  return *text;
}

static kdl_status read_token_key(kdl_json *json, const char *key, void *user) {
  char *token = user;
  bool is_it = strcmp(key, "token") == 0 || (strcmp(key, "access_token") == 0 && !token[0]);
  return is_it ? kdl_json_string(json, token, SESSION_LONGEST_TOKEN) : kdl_json_skip(json);
}

static kdl_status read_token(const token_answer *answer, char *token) {
  kdl_json json;
  token[0] = '\0';
  kdl_json_start(&json, answer->from, answer->text, answer->used);
  KDL_TRY(kdl_json_members(&json, read_token_key, token));
  if (!is_token(token))
    return kdl_fail(KDL_BAD_FILE, "%s: found no token, expected one", answer->from);
  return KDL_OK;
}

static kdl_status make_url(const registry_session *session, const challenge *asked, char *out_url) {
  char scope[1024];
  snprintf(out_url, HTTP_LONGEST_URL, "%s", asked->realm);
  http_normalize(NULL, out_url);
  KDL_TRY(session_check_address(session, out_url, "token service"));
  snprintf(scope, sizeof scope, "repository:%s:%s", session->name,
           session->sends ? "pull,push" : "pull");
  bool fits = (!asked->service[0] || http_add_query(out_url, "service", asked->service)) &&
              http_add_query(out_url, "scope", asked->scope[0] ? asked->scope : scope);
  return fits ? KDL_OK
              : kdl_fail(KDL_BAD_FILE, "%s: token service: the address is too long", session->host);
}

static kdl_status set_authorization(registry_session *session, const char *scheme,
                                    const char *value) {
  if (asprintf(&session->authorization, "%s %s", scheme, value) < 0) {
    session->authorization = NULL;
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", session->host);
  }
  return KDL_OK;
}

static kdl_status ask_token(registry_session *session, const challenge *asked, token_answer *answer,
                            char *token) {
  char url[HTTP_LONGEST_URL], basic[CREDENTIALS_SIZE + 8];
  const http_sink sink = {begin_answer, put_answer, answer};
  const http_request request = {.method = HTTP_GET, .is_small = true, .sink = &sink};
  http_answer found;
  snprintf(basic, sizeof basic, "Basic %s", session->login.basic);
  kdl_status status = make_url(session, asked, url);
  if (status == KDL_OK)
    status =
        http_send(session->client, url, session->login.basic[0] ? basic : NULL, &request, &found);
  if (status == KDL_OK && found.code != 200)
    status = session_refused(session, "a token of the service that it names", &found);
  return status == KDL_OK ? read_token(answer, token) : status;
}

kdl_status session_log_in(registry_session *session, const char *text) {
  challenge asked;
  if (!challenge_read(text, &asked))
    return kdl_fail(
        KDL_BAD_FILE,
        "%s: WWW-Authenticate: found \"%.200s\", expected Basic, or Bearer with a realm",
        session->host, text);
  if (!asked.is_bearer)
    return session->login.basic[0] ? set_authorization(session, "Basic", session->login.basic)
                                   : KDL_OK;
  char from[sizeof asked.realm];
  snprintf(from, sizeof from, "%.*s", http_shown(asked.realm), asked.realm);
  token_answer answer = {.text = malloc(largest_answer), .from = from};
  char *token = malloc(SESSION_LONGEST_TOKEN);
  kdl_status status = answer.text && token
                          ? ask_token(session, &asked, &answer, token)
                          : kdl_fail(KDL_NO_MEMORY, "%s: out of memory", session->host);
  if (status == KDL_OK)
    status = set_authorization(session, "Bearer", token);
  free(token);
  free(answer.text);
  return status;
}
