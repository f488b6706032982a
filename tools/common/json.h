/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A streaming JSON writer, indented by two. The output is always valid UTF-8: text with a NUL or
 * invalid bytes is written as {"hex": "00ff"}, and such a key as "hex:00ff".
 */
#ifndef KDL_TOOLS_COMMON_JSON_H
#define KDL_TOOLS_COMMON_JSON_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
  FILE *file;
  unsigned depth;
  bool has_items; /* at this depth: a comma comes next */
  bool after_key;
} cli_json;

void cli_json_begin_object(cli_json *json);
void cli_json_end_object(cli_json *json);
void cli_json_begin_array(cli_json *json);
void cli_json_end_array(cli_json *json);

void cli_json_key(cli_json *json, const char *key);
void cli_json_key_bytes(cli_json *json, kdl_string key);

void cli_json_text(cli_json *json, const char *text);
void cli_json_bytes(cli_json *json, kdl_string bytes);
void cli_json_null(cli_json *json);

/* Writes a member: its key, and its value or the start of it. A NULL text is null. */
void cli_json_put_object(cli_json *json, const char *key);
void cli_json_put_array(cli_json *json, const char *key);
void cli_json_put_text(cli_json *json, const char *key, const char *text);
void cli_json_put_bytes(cli_json *json, const char *key, kdl_string bytes);
void cli_json_put_number(cli_json *json, const char *key, uint64_t number);
void cli_json_put_known(cli_json *json, const char *key, bool is_known,
                        uint64_t number); /* or null */
/* With that many digits after the point; null for NaN and infinity. */
void cli_json_put_real(cli_json *json, const char *key, double real, int digits);
void cli_json_put_bool(cli_json *json, const char *key, bool value);

#endif
