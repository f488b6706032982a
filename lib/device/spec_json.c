/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/spec.h"

#include "lib/device/spec_values.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/json/reader.h"
#include "support/json/writer.h"

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
  case KDL_SPEC_KIND_TOOLS:
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
static kdl_status read_spec_list(kdl_json *json, bool numbers, kdl_out *out) {
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

/* Reads the value as text, from any JSON form that its kind has. */
static kdl_status read_spec_text(kdl_json *json, const kdl_spec_key *key, char *text, size_t room) {
  bool flag;
  kdl_status status;
  switch (key->kind) {
  case KDL_SPEC_KIND_TOKENS:
  case KDL_SPEC_KIND_SIZES:
    text[0] = '\0';
    return read_spec_list(json, key->kind == KDL_SPEC_KIND_SIZES, &(kdl_out){text, room, 0});
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

static kdl_status read_spec_value(kdl_json *json, const kdl_spec_key *key, kdl_device_spec *spec) {
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
  status = read_spec_text(json, key, text, sizeof text);
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
  KDL_TRY(kdl_json_peek(json, &kind)); /* moves over blanks */
  size_t start = json->at;
  KDL_TRY(kdl_json_string(json, name, sizeof name));
  if (kdl_backend_parse(kdl_text_of(name), &spec->backend))
    return KDL_OK;
  char names[128];
  kdl_out out = {names, sizeof names, 0};
  kdl_out_backends(&out, ", ");
  return kdl_json_fail(json, start, "found the backend \"%s\", expected one of %s", name, names);
}

typedef struct {
  size_t index; /* of the requested device */
  size_t count; /* of the devices read so far */
  kdl_device_routes *out_routes;
} device_query;

/* What an object turned out to be while its members are read: a spec, or a list of specs. */
typedef struct {
  kdl_device_spec *spec;
  kdl_device_routes *routes; /* receives its further routes; NULL: it may have none */
  device_query *list;        /* receives its "devices"; NULL: it may have none */
  bool has_backend;
  bool has_devices;
} spec_reader;

static kdl_status read_routes(kdl_json *json, kdl_device_routes *routes);
static kdl_status read_devices(kdl_json *json, device_query *want);

static kdl_status read_spec_member(kdl_json *json, const char *name, spec_reader *into) {
  if (into->list && strcmp(name, "devices") == 0) {
    into->has_devices = true;
    return read_devices(json, into->list);
  }
  if (into->routes && strcmp(name, "routes") == 0)
    return read_routes(json, into->routes);
  if (strcmp(name, "backend") == 0) {
    into->has_backend = true;
    return read_backend(json, into->spec);
  }
  if (strcmp(name, "arch") == 0)
    return kdl_json_string(json, into->spec->arch, sizeof into->spec->arch);
  const kdl_spec_key *key = kdl_spec_key_find(kdl_text_of(name));
  return key ? read_spec_value(json, key, into->spec) : kdl_json_skip(json);
}

/* Checks a complete spec: it has backend and arch, and compiles. */
static kdl_status check_spec_complete(const kdl_json *json, size_t start, const spec_reader *from) {
  kdl_device_rule rule;
  if (!from->has_backend || !from->spec->arch[0])
    return kdl_json_fail(json, start, "found a device without \"%s\", expected one with it",
                         from->has_backend ? "arch" : "backend");
  if (kdl_device_spec_compile(from->spec, &rule) == KDL_OK)
    return KDL_OK;
  char message[512];
  snprintf(message, sizeof message, "%s", kdl_error_message());
  return kdl_json_fail(json, start, "%s", message);
}

static kdl_status read_spec_object(kdl_json *json, spec_reader *into) {
  kdl_json_kind kind;
  kdl_status status = kdl_json_peek(json, &kind); /* moves over blanks */
  size_t start = json->at;
  char name[32];
  bool more;
  *into->spec = (kdl_device_spec){0};
  if (status == KDL_OK)
    status = kdl_json_begin(json, KDL_JSON_OBJECT);
  while (status == KDL_OK &&
         (status = kdl_json_next_key(json, name, sizeof name, &more)) == KDL_OK && more)
    status = read_spec_member(json, name, into);
  return status == KDL_OK && !into->has_devices ? check_spec_complete(json, start, into) : status;
}

/* Appends the further routes to the first, which is the enclosing object. */
static kdl_status read_routes(kdl_json *json, kdl_device_routes *routes) {
  bool more;
  kdl_json_kind kind;
  kdl_status status = kdl_json_peek(json, &kind);
  routes->count = 1;
  if (status == KDL_OK && kind == KDL_JSON_NULL)
    return kdl_json_skip(json);
  if (status == KDL_OK)
    status = kdl_json_begin(json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(json, &more)) == KDL_OK && more) {
    if (routes->count == KDL_LIMIT_ROUTES)
      return kdl_json_fail(json, json->at, "found more than %d routes, expected no more",
                           KDL_LIMIT_ROUTES);
    status = read_spec_object(json, &(spec_reader){.spec = &routes->specs[routes->count++]});
  }
  return status;
}

/* A device, or where `may_list`, an object with the array "devices". */
static kdl_status read_device(kdl_json *json, device_query *want, bool may_list) {
  kdl_device_routes routes;
  spec_reader from = {.spec = &routes.specs[0], .routes = &routes, .list = may_list ? want : NULL};
  routes.count = 1;
  kdl_status status = read_spec_object(json, &from);
  if (status != KDL_OK || from.has_devices)
    return status;
  if (want->count++ == want->index) {
    want->out_routes->count = routes.count;
    memcpy(want->out_routes->specs, routes.specs, routes.count * sizeof *routes.specs);
  }
  return KDL_OK;
}

static kdl_status read_devices(kdl_json *json, device_query *want) {
  bool more;
  kdl_status status = kdl_json_begin(json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(json, &more)) == KDL_OK && more)
    status = read_device(json, want, false);
  return status;
}

kdl_status kdl_device_routes_read_json(const char *name, const void *data, size_t size,
                                       size_t index, kdl_device_routes *out_routes,
                                       size_t *out_count) {
  kdl_json json;
  kdl_json_start(&json, name, data, size);
  device_query want = {.index = index, .out_routes = out_routes};
  kdl_json_kind kind;
  KDL_TRY(kdl_json_peek(&json, &kind));
  KDL_TRY(kind == KDL_JSON_ARRAY ? read_devices(&json, &want) : read_device(&json, &want, true));
  KDL_TRY(kdl_json_finish(&json));
  if (index >= want.count)
    return kdl_fail(KDL_NO_MATCH, "%s: found %zu device%s, expected one with index %zu", name,
                    want.count, want.count == 1 ? "" : "s", index);
  *out_count = want.count;
  return KDL_OK;
}
