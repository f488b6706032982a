/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/registry/login.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A value with or without quotes; fails where it does not fit. */
static const char *parse_challenge_value(const char *at, char *out, size_t capacity) {
  size_t used = 0;
  bool is_quoted = *at == '"';
  at += is_quoted;
  while (*at && (is_quoted ? *at != '"' : !strchr(", \t", *at))) {
    if (is_quoted && at[0] == '\\' && at[1])
      ++at;
    if (used + 1 >= capacity)
      return NULL;
    out[used++] = *at++;
  }
  out[used] = '\0';
  if (is_quoted && *at != '"')
    return NULL;
  return at + is_quoted;
}

static const char *skip_characters(const char *at, const char *characters) {
  return at + strspn(at, characters);
}

bool challenge_parse(const char *text, challenge *out_challenge) {
  char ignored[1024];
  *out_challenge = (challenge){.is_bearer = strncasecmp(text, "Bearer", 6) == 0};
  if (!out_challenge->is_bearer)
    return strncasecmp(text, "Basic", 5) == 0 && (!text[5] || text[5] == ' ');
  const char *at = skip_characters(text + 6, " \t");
  while (*at) {
    size_t length = strcspn(at, "= \t,");
    const char *key = at;
    at = skip_characters(at + length, " \t");
    if (*at != '=')
      break; /* another challenge begins */
    at = skip_characters(at + 1, " \t");
    bool is_realm = length == 5 && strncasecmp(key, "realm", 5) == 0;
    bool is_service = length == 7 && strncasecmp(key, "service", 7) == 0;
    bool is_scope = length == 5 && strncasecmp(key, "scope", 5) == 0;
    at = is_realm ? parse_challenge_value(at, out_challenge->realm, sizeof out_challenge->realm)
         : is_service
             ? parse_challenge_value(at, out_challenge->service, sizeof out_challenge->service)
         : is_scope ? parse_challenge_value(at, out_challenge->scope, sizeof out_challenge->scope)
                    : parse_challenge_value(at, ignored, sizeof ignored);
    if (!at)
      return false;
    at = skip_characters(at, " \t,");
  }
  return out_challenge->realm[0] != '\0';
}
