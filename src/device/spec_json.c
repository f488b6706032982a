/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/spec_json.h"

#include "base/error.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "base/text.h"
#include "device/spec_values.h"

#include <inttypes.h>

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

/* "a+b" as ["a", "b"], or where the parts are numbers, as [8, 16]. */
static void write_list(const char *joined, bool numbers, FILE *file) {
  const char *quote = numbers ? "" : "\"";
  fprintf(file, "[%s", quote);
  for (; *joined; ++joined) {
    if (*joined == '+')
      fprintf(file, "%s, %s", quote, quote);
    else
      putc(*joined, file);
  }
  fprintf(file, "%s]", quote);
}

static void write_value(const kdl_device_spec *spec, const kdl_spec_key *key, FILE *file) {
  char text[KDL_SPEC_TOKENS];
  kdl_spec_value_print(spec, key, &(kdl_out){text, sizeof text, 0});
  switch (key->kind) {
  case KDL_SPEC_KIND_ORDINAL:
  case KDL_SPEC_KIND_BYTES:
  case KDL_SPEC_KIND_COUNT:
    fprintf(file, "%" PRIu64, kdl_spec_value_number(spec, key));
    break;
  case KDL_SPEC_KIND_FLAG:
    fputs(kdl_spec_value_number(spec, key) ? "true" : "false", file);
    break;
  case KDL_SPEC_KIND_TOKENS:
  case KDL_SPEC_KIND_SIZES:
    write_list(text, key->kind == KDL_SPEC_KIND_SIZES, file);
    break;
  case KDL_SPEC_KIND_TEXT:
  case KDL_SPEC_KIND_CLASS:
  case KDL_SPEC_KIND_UUID:
  case KDL_SPEC_KIND_PCI:
  case KDL_SPEC_KIND_VERSION:
    kdl_json_write_string(file, kdl_text_of(text));
    break;
  }
}

void kdl_device_spec_write_members(const kdl_device_spec *spec, int indent, FILE *file) {
  fprintf(file, "%*s\"backend\": \"%s\",\n%*s\"arch\": ", indent, "",
          kdl_backend_name(spec->backend), indent, "");
  kdl_json_write_string(file, kdl_text_of(spec->arch));
  size_t count;
  const kdl_spec_key *keys = kdl_spec_keys(&count);
  for (size_t i = 0; i < count; ++i) {
    if (!kdl_spec_value_known(spec, &keys[i]))
      continue;
    fprintf(file, ",\n%*s\"%s\": ", indent, "", keys[i].name);
    write_value(spec, &keys[i], file);
  }
}

void kdl_device_spec_write_json(const kdl_device_spec *spec, int indent, FILE *file) {
  fputs("{\n", file);
  kdl_device_spec_write_members(spec, indent + 2, file);
  fprintf(file, "\n%*s}", indent, "");
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* An array of strings, or of whole numbers, as the text that the spec's line would have. */
static kdl_status read_list(kdl_json *json, bool numbers, kdl_out *out) {
  bool more;
  kdl_status status = kdl_json_begin(json, KDL_JSON_ARRAY);
  const char *join = "";
  while (status == KDL_OK && (status = kdl_json_next_item(json, &more)) == KDL_OK && more) {
    char word[KDL_SPEC_NAME];
    uint64_t number;
    status = numbers ? kdl_json_number(json, &number) : kdl_json_string(json, word, sizeof word);
    if (status != KDL_OK)
      break;
    if (numbers)
      snprintf(word, sizeof word, "%" PRIu64, number);
    kdl_out_format(out, "%s%s", join, word);
    join = "+";
  }
  return status;
}

/* Reads the value as text, whatever form its kind has in JSON. */
static kdl_status read_text(kdl_json *json, const kdl_spec_key *key, char *text, size_t room) {
  bool flag;
  kdl_status status;
  switch (key->kind) {
  case KDL_SPEC_KIND_TOKENS:
  case KDL_SPEC_KIND_SIZES:
    text[0] = '\0';
    return read_list(json, key->kind == KDL_SPEC_KIND_SIZES, &(kdl_out){text, room, 0});
  case KDL_SPEC_KIND_FLAG:
    status = kdl_json_boolean(json, &flag);
    if (status == KDL_OK)
      snprintf(text, room, "%s", flag ? "yes" : "no");
    return status;
  default:
    return kdl_json_string(json, text, room);
  }
}

static bool is_number(const kdl_spec_key *key) {
  return key->kind == KDL_SPEC_KIND_ORDINAL || key->kind == KDL_SPEC_KIND_BYTES ||
         key->kind == KDL_SPEC_KIND_COUNT;
}

static kdl_status read_value(kdl_json *json, const kdl_spec_key *key, kdl_device_spec *spec) {
  kdl_json_kind kind;
  kdl_status status = kdl_json_peek(json, &kind);
  if (status != KDL_OK)
    return status;
  size_t start = json->at;
  if (kind == KDL_JSON_NULL)
    return kdl_json_skip(json);
  if (is_number(key) && kind != KDL_JSON_STRING) {
    uint64_t number;
    status = kdl_json_number(json, &number);
    if (status == KDL_OK && !kdl_spec_value_set_number(spec, key, number))
      return kdl_json_fail(json, start, "found %" PRIu64 ", expected for %s: a number below 2^32",
                           number, key->name);
    return status;
  }
  char text[2 * KDL_SPEC_TOKENS];
  status = read_text(json, key, text, sizeof text);
  if (status != KDL_OK || (text[0] == '\0' && key->kind != KDL_SPEC_KIND_CLASS))
    return status;
  kdl_parse_error error;
  if (kdl_spec_value_parse(spec, key, kdl_text_of(text), &error))
    return KDL_OK;
  char message[256];
  kdl_out out = {message, sizeof message, 0};
  kdl_out_parse_error(&out, kdl_text_of(text), error);
  return kdl_json_fail(json, start, "%s: %s", key->name, message);
}

static kdl_status read_backend(kdl_json *json, kdl_device_spec *spec) {
  char name[32];
  kdl_json_kind kind;
  kdl_status status = kdl_json_peek(json, &kind); /* moves over blanks */
  size_t start = json->at;
  if (status == KDL_OK)
    status = kdl_json_string(json, name, sizeof name);
  if (status == KDL_OK && !kdl_backend_parse(kdl_text_of(name), &spec->backend))
    return kdl_json_fail(json, start,
                         "found the backend \"%s\", expected host, cuda, hip, level_zero or opencl",
                         name);
  return status;
}

/* What an object has shown to be while its members are read: a spec, or a list of them. */
typedef struct {
  kdl_device_spec spec;
  bool has_backend;
  bool has_devices;
} reading;

static kdl_status read_member(kdl_json *json, const char *name, reading *into) {
  if (strcmp(name, "backend") == 0) {
    into->has_backend = true;
    return read_backend(json, &into->spec);
  }
  if (strcmp(name, "arch") == 0)
    return kdl_json_string(json, into->spec.arch, sizeof into->spec.arch);
  const kdl_spec_key *key = kdl_spec_key_find(kdl_text_of(name));
  return key ? read_value(json, key, &into->spec) : kdl_json_skip(json);
}

/* A spec that was read whole: both parts that it must have, and a meaning. */
static kdl_status finish(const kdl_json *json, size_t start, const reading *from) {
  kdl_device_rule rule;
  if (!from->has_backend || !from->spec.arch[0])
    return kdl_json_fail(json, start, "found a device without \"%s\", expected one with it",
                         from->has_backend ? "arch" : "backend");
  if (kdl_device_spec_compile(&from->spec, &rule) == KDL_OK)
    return KDL_OK;
  char message[512];
  snprintf(message, sizeof message, "%s", kdl_error_message());
  return kdl_json_fail(json, start, "%s", message);
}

typedef struct {
  size_t index; /* of the one that is wanted */
  size_t count; /* of those read so far */
  kdl_device_spec *out_spec;
} wanted;

static void take(wanted *want, const kdl_device_spec *spec) {
  if (want->count++ == want->index)
    *want->out_spec = *spec;
}

static kdl_status read_array(kdl_json *json, wanted *want);

/* An object is a spec, or where `may_list`, an object with the array "devices". */
static kdl_status read_object(kdl_json *json, bool may_list, wanted *want) {
  kdl_json_kind kind;
  kdl_status status = kdl_json_peek(json, &kind); /* moves over blanks */
  size_t start = json->at;
  reading from = {.has_backend = false};
  char name[32];
  bool more;
  if (status == KDL_OK)
    status = kdl_json_begin(json, KDL_JSON_OBJECT);
  while (status == KDL_OK &&
         (status = kdl_json_next_key(json, name, sizeof name, &more)) == KDL_OK && more) {
    bool is_list = may_list && strcmp(name, "devices") == 0;
    from.has_devices |= is_list;
    status = is_list ? read_array(json, want) : read_member(json, name, &from);
  }
  if (status != KDL_OK || from.has_devices)
    return status;
  status = finish(json, start, &from);
  if (status == KDL_OK)
    take(want, &from.spec);
  return status;
}

static kdl_status read_array(kdl_json *json, wanted *want) {
  bool more;
  kdl_status status = kdl_json_begin(json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(json, &more)) == KDL_OK && more)
    status = read_object(json, false, want);
  return status;
}

kdl_status kdl_device_spec_read_json(const char *name, const void *data, size_t size, size_t index,
                                     kdl_device_spec *out_spec, size_t *out_count) {
  kdl_json json;
  kdl_json_start(&json, name, data, size);
  kdl_device_spec spec;
  wanted want = {.index = index, .out_spec = &spec};
  kdl_json_kind kind;
  kdl_status status = kdl_json_peek(&json, &kind);
  if (status == KDL_OK)
    status = kind == KDL_JSON_ARRAY ? read_array(&json, &want) : read_object(&json, true, &want);
  if (status == KDL_OK)
    status = kdl_json_finish(&json);
  if (status != KDL_OK)
    return status;
  if (index >= want.count)
    return kdl_fail(KDL_NO_MATCH, "%s: found %zu device%s, expected one with index %zu", name,
                    want.count, want.count == 1 ? "" : "s", index);
  *out_spec = spec;
  *out_count = want.count;
  return KDL_OK;
}
