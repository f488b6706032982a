/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/registry/login.h"

#include "support/base/error.h"
#include "support/json/reader.h"
#include "support/system/variables.h"
#include "tools/common/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { largest_file = 1 << 20 };

typedef struct {
  const char *host;
  credentials *out;
} reader;

/* Keys are hosts, or URLs in the form of older versions: https://HOST/v1/. */
static bool key_is_for(const char *key, const char *host) {
  const char *at = strstr(key, "://");
  at = at ? at + 3 : key;
  size_t length = strcspn(at, "/");
  return strlen(host) == length && strncmp(at, host, length) == 0 &&
         (!at[length] || strcmp(at + length, "/") == 0 || strcmp(at + length, "/v1") == 0 ||
          strcmp(at + length, "/v1/") == 0 || strcmp(at + length, "/v2") == 0 ||
          strcmp(at + length, "/v2/") == 0);
}

/* null counts as absent. Other errors are reported by the function that reads the value. */
static bool is_null(kdl_json *json) {
  kdl_json_kind kind;
  return kdl_json_peek(json, &kind) == KDL_OK && kind == KDL_JSON_NULL;
}

static bool is_base64(const char *text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  return *text && text[strspn(text, digits)] == '\0';
}

static kdl_status read_auth_key(kdl_json *json, const char *key, void *user) {
  credentials *out = user;
  bool has_value = !is_null(json);
  size_t begin = json->at;
  kdl_status status = has_value && strcmp(key, "auth") == 0
                          ? kdl_json_string(json, out->basic, sizeof out->basic)
                          : kdl_json_skip(json);
  bool is_empty = !has_value || json->at - begin <= strlen("\"\"");
  out->has_identity |= !is_empty && strcmp(key, "identitytoken") == 0;
  return status;
}

/* `docker login` writes an identity token together with an "auth" without a password. */
static kdl_status read_auth(kdl_json *json, credentials *out) {
  kdl_status status = kdl_json_members(json, read_auth_key, out);
  /* The value is a secret and must not appear in messages. */
  if (status == KDL_OK && out->basic[0] && !is_base64(out->basic))
    status = kdl_fail(KDL_BAD_FILE, "%s: auth: expected base64", json->name);
  if (out->has_identity)
    out->basic[0] = '\0';
  return status;
}

static kdl_status read_host(kdl_json *json, const char *key, void *user) {
  const reader *from = user;
  return key_is_for(key, from->host) && !from->out->basic[0] && !is_null(json)
             ? read_auth(json, from->out)
             : kdl_json_skip(json);
}

static kdl_status read_config_key(kdl_json *json, const char *key, void *user) {
  reader *from = user;
  bool has_value = !is_null(json);
  from->out->has_helper |=
      has_value && (strcmp(key, "credsStore") == 0 || strcmp(key, "credHelpers") == 0);
  return has_value && strcmp(key, "auths") == 0 ? kdl_json_members(json, read_host, from)
                                                : kdl_json_skip(json);
}

kdl_status credentials_read(const char *host, credentials *out_credentials) {
  const char *folder = kdl_environment(KDL_VARIABLE_DOCKER_CONFIG),
             *home = kdl_environment(KDL_VARIABLE_HOME);
  cli_bytes bytes;
  kdl_json json;
  *out_credentials = (credentials){.has_helper = false};
  char *path = out_credentials->path;
  size_t capacity = sizeof out_credentials->path;
  int used = folder && *folder ? snprintf(path, capacity, "%s/config.json", folder)
             : home && *home   ? snprintf(path, capacity, "%s/.docker/config.json", home)
                               : 0;
  if (used <= 0 || (size_t)used >= capacity || access(path, F_OK) != 0)
    return KDL_OK;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_json_start(&json, path, bytes.data, bytes.size);
  kdl_status status =
      bytes.size > largest_file
          ? kdl_fail(KDL_BAD_FILE, "%s: found %zu bytes, expected at most %d", path, bytes.size,
                     largest_file)
          : kdl_json_members(&json, read_config_key, &(reader){host, out_credentials});
  cli_bytes_free(&bytes);
  return status;
}
