/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/json.h"

#include "support/base/text.h"
#include "support/json/writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void begin_line(const cli_json *json) {
  fprintf(json->file, "\n%*s", (int)json->depth * 2, "");
}

/* What precedes a value: the comma and the new line, unless it follows its key. */
static void begin_value(cli_json *json) {
  if (json->after_key) {
    json->after_key = false;
    return;
  }
  if (json->has_items)
    putc(',', json->file);
  if (json->depth)
    begin_line(json);
  json->has_items = true;
}

static void begin_nested(cli_json *json, char bracket) {
  begin_value(json);
  putc(bracket, json->file);
  ++json->depth;
  json->has_items = false;
}

static void end_nested(cli_json *json, char bracket) {
  --json->depth;
  if (json->has_items)
    begin_line(json);
  putc(bracket, json->file);
  json->has_items = true;
  if (json->depth == 0)
    putc('\n', json->file);
}

void cli_json_begin_object(cli_json *json) {
  begin_nested(json, '{');
}

void cli_json_end_object(cli_json *json) {
  end_nested(json, '}');
}

void cli_json_begin_array(cli_json *json) {
  begin_nested(json, '[');
}

void cli_json_end_array(cli_json *json) {
  end_nested(json, ']');
}

static void put_hex(cli_json *json, kdl_string bytes) {
  for (size_t i = 0; i < bytes.length; ++i)
    fprintf(json->file, "%02x", (unsigned)(unsigned char)bytes.data[i]);
}

static bool is_text(kdl_string bytes) {
  return !memchr(bytes.data, 0, bytes.length) && kdl_utf8_is_valid(bytes.data, bytes.length);
}

void cli_json_key(cli_json *json, const char *key) {
  cli_json_key_bytes(json, (kdl_string){key, strlen(key)});
}

void cli_json_key_bytes(cli_json *json, kdl_string key) {
  begin_value(json);
  if (is_text(key)) {
    kdl_json_write_string(json->file, key);
  } else {
    fputs("\"hex:", json->file);
    put_hex(json, key);
    putc('"', json->file);
  }
  fputs(": ", json->file);
  json->after_key = true;
}

void cli_json_text(cli_json *json, const char *text) {
  cli_json_bytes(json, (kdl_string){text, strlen(text)});
}

void cli_json_bytes(cli_json *json, kdl_string bytes) {
  begin_value(json);
  if (is_text(bytes)) {
    kdl_json_write_string(json->file, bytes);
    return;
  }
  fputs("{\"hex\": \"", json->file);
  put_hex(json, bytes);
  fputs("\"}", json->file);
}

static void put_number(cli_json *json, uint64_t number) {
  begin_value(json);
  fprintf(json->file, "%" PRIu64, number);
}

void cli_json_null(cli_json *json) {
  begin_value(json);
  fputs("null", json->file);
}

void cli_json_put_object(cli_json *json, const char *key) {
  cli_json_key(json, key);
  cli_json_begin_object(json);
}

void cli_json_put_array(cli_json *json, const char *key) {
  cli_json_key(json, key);
  cli_json_begin_array(json);
}

void cli_json_put_text(cli_json *json, const char *key, const char *text) {
  cli_json_key(json, key);
  if (text)
    cli_json_text(json, text);
  else
    cli_json_null(json);
}

void cli_json_put_known(cli_json *json, const char *key, bool is_known, uint64_t number) {
  cli_json_key(json, key);
  if (is_known)
    put_number(json, number);
  else
    cli_json_null(json);
}

void cli_json_put_bytes(cli_json *json, const char *key, kdl_string bytes) {
  cli_json_key(json, key);
  cli_json_bytes(json, bytes);
}

void cli_json_put_number(cli_json *json, const char *key, uint64_t number) {
  cli_json_key(json, key);
  put_number(json, number);
}

void cli_json_put_real(cli_json *json, const char *key, double real, int digits) {
  cli_json_key(json, key);
  if (!isfinite(real)) {
    cli_json_null(json);
    return;
  }
  begin_value(json);
  fprintf(json->file, "%.*f", digits, real);
}

void cli_json_put_bool(cli_json *json, const char *key, bool value) {
  cli_json_key(json, key);
  begin_value(json);
  fputs(value ? "true" : "false", json->file);
}
