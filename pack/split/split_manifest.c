/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/split/split.h"

#include "support/base/error.h"
#include "support/json/reader.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"

#include <stdlib.h>
#include <string.h>

enum { version = 1, longest_name = 1024, most_parts = 1 << 16 };

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static void write_digest_json(cli_json *json, const kdl_digest *digest) {
  char text[KDL_DIGEST_TEXT];
  kdl_digest_print(digest, text);
  cli_json_put_text(json, "blake2b-256", text);
}

static void write_part_json(cli_json *json, const split_part *part) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "arch", part->arch);
  cli_json_put_text(json, "file", part->file);
  cli_json_put_number(json, "size", part->size);
  write_digest_json(json, &part->digest);
  cli_json_put_number(json, "images", part->images);
  cli_json_put_number(json, "image_bytes", part->bytes);
  cli_json_put_bool(json, "needed", part->is_needed);
  cli_json_put_bool(json, "mixed", part->is_mixed);
  cli_json_end_object(json);
}

static void write_manifest_json(cli_json *json, const split_manifest *manifest) {
  cli_json_begin_object(json);
  cli_json_put_number(json, "kdl_split", version);
  cli_json_put_text(json, "file", manifest->file);
  cli_json_put_number(json, "size", manifest->size);
  cli_json_put_number(json, "mode", manifest->mode);
  write_digest_json(json, &manifest->digest);
  cli_json_put_object(json, "host");
  cli_json_put_text(json, "file", manifest->host);
  write_digest_json(json, &manifest->host_digest);
  cli_json_end_object(json);
  cli_json_put_array(json, "parts");
  for (size_t i = 0; i < manifest->part_count; ++i)
    write_part_json(json, &manifest->parts[i]);
  cli_json_end_array(json);
  cli_json_end_object(json);
}

kdl_status split_manifest_save(const split_manifest *manifest, const char *path) {
  char *text;
  size_t size;
  FILE *file = xtext_stream(&text, &size);
  write_manifest_json(&(cli_json){.file = file}, manifest);
  xtext_close(file);
  kdl_status status = cli_output_save(path, text, size);
  free(text);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

typedef struct {
  kdl_json json;
  split_manifest *manifest;
  size_t capacity;
} reader;

static kdl_status read_manifest_string(reader *from, const char **out_text) {
  char text[longest_name];
  KDL_TRY(kdl_json_string(&from->json, text, sizeof text));
  *out_text = xarena_string(&from->manifest->arena, text, strlen(text)).data;
  return KDL_OK;
}

/* A file in the manifest's folder: names with a path are refused. */
static kdl_status read_file_name(reader *from, const char **out_name) {
  size_t at = kdl_json_at(&from->json);
  const char *name;
  KDL_TRY(read_manifest_string(from, &name));
  if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
    return kdl_json_fail(&from->json, at, "found \"%s\", expected the name of a file in the folder",
                         name);
  *out_name = name;
  return KDL_OK;
}

static int hex_digit_value(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static kdl_status read_manifest_digest(reader *from, kdl_digest *out_digest) {
  char text[KDL_DIGEST_TEXT];
  size_t at = kdl_json_at(&from->json);
  KDL_TRY(kdl_json_string(&from->json, text, sizeof text));
  for (size_t i = 0; i < sizeof out_digest->bytes; ++i) {
    int high = hex_digit_value(text[2 * i]), low = high < 0 ? -1 : hex_digit_value(text[2 * i + 1]);
    if (low < 0)
      return kdl_json_fail(&from->json, at, "found \"%s\", expected 64 hexadecimal digits", text);
    out_digest->bytes[i] = (uint8_t)(high << 4 | low);
  }
  return KDL_OK;
}

/* The keys that an object must have; a bit of `has` for each. */
static const char *const required_keys[] = {"file", "blake2b-256", "arch", "size", "host", "parts"};
enum { has_file = 1, has_digest = 2, has_arch = 4, has_size = 8, has_host = 16, has_parts = 32 };

/* An object of the manifest, and the keys read so far. */
typedef struct {
  reader *from;
  split_part *part; /* for a part */
  unsigned has;
} object;

static void mark_required_key(object *what, const char *key) {
  for (size_t i = 0; i < sizeof required_keys / sizeof *required_keys; ++i) {
    if (strcmp(key, required_keys[i]) == 0)
      what->has |= 1u << i;
  }
}

static kdl_status read_required_members(object *what, kdl_json_member *read, unsigned wanted,
                                        const char *name) {
  kdl_json *json = &what->from->json;
  size_t at = kdl_json_at(json);
  KDL_TRY(kdl_json_members(json, read, what));
  if ((what->has & wanted) != wanted)
    return kdl_json_fail(json, at, "found %s that lacks a key, expected all of them", name);
  return KDL_OK;
}

static kdl_status read_part_key(kdl_json *json, const char *key, void *user) {
  object *what = user;
  split_part *part = what->part;
  mark_required_key(what, key);
  if (strcmp(key, "arch") == 0)
    return read_manifest_string(what->from, &part->arch);
  if (strcmp(key, "file") == 0)
    return read_file_name(what->from, &part->file);
  if (strcmp(key, "size") == 0)
    return kdl_json_number(json, &part->size);
  if (strcmp(key, "blake2b-256") == 0)
    return read_manifest_digest(what->from, &part->digest);
  if (strcmp(key, "images") == 0) {
    uint64_t number;
    KDL_TRY(kdl_json_number(json, &number));
    part->images = (size_t)number;
    return KDL_OK;
  }
  if (strcmp(key, "image_bytes") == 0)
    return kdl_json_number(json, &part->bytes);
  if (strcmp(key, "needed") == 0)
    return kdl_json_boolean(json, &part->is_needed);
  return strcmp(key, "mixed") == 0 ? kdl_json_boolean(json, &part->is_mixed) : kdl_json_skip(json);
}

static kdl_status add_part(kdl_json *json, void *user) {
  reader *from = user;
  split_manifest *manifest = from->manifest;
  if (manifest->part_count == most_parts)
    return kdl_json_fail(json, kdl_json_at(json), "found more than %d parts", most_parts);
  manifest->parts =
      xgrow(manifest->parts, manifest->part_count, &from->capacity, 16, sizeof *manifest->parts);
  split_part *part = &manifest->parts[manifest->part_count++];
  *part = (split_part){.arch = NULL};
  return read_required_members(&(object){from, part, 0}, read_part_key,
                               has_arch | has_file | has_size | has_digest, "a part");
}

static kdl_status read_host_key(kdl_json *json, const char *key, void *user) {
  object *what = user;
  split_manifest *manifest = what->from->manifest;
  mark_required_key(what, key);
  if (strcmp(key, "file") == 0)
    return read_file_name(what->from, &manifest->host);
  return strcmp(key, "blake2b-256") == 0 ? read_manifest_digest(what->from, &manifest->host_digest)
                                         : kdl_json_skip(json);
}

static kdl_status read_manifest_version(reader *from) {
  uint64_t number;
  size_t at = kdl_json_at(&from->json);
  KDL_TRY(kdl_json_number(&from->json, &number));
  if (number != version)
    return kdl_json_fail(&from->json, at, "found version %llu of the manifest, expected %d",
                         (unsigned long long)number, version);
  return KDL_OK;
}

static kdl_status read_manifest_key(kdl_json *json, const char *key, void *user) {
  object *what = user;
  reader *from = what->from;
  split_manifest *manifest = from->manifest;
  bool had_parts = what->has & has_parts;
  mark_required_key(what, key);
  if (strcmp(key, "kdl_split") == 0)
    return read_manifest_version(from);
  if (strcmp(key, "file") == 0)
    return read_file_name(from, &manifest->file);
  if (strcmp(key, "size") == 0)
    return kdl_json_number(json, &manifest->size);
  if (strcmp(key, "mode") == 0) {
    uint64_t mode;
    KDL_TRY(kdl_json_number(json, &mode));
    manifest->mode = (unsigned)mode & 0777;
    return KDL_OK;
  }
  if (strcmp(key, "blake2b-256") == 0)
    return read_manifest_digest(from, &manifest->digest);
  if (strcmp(key, "host") == 0)
    return read_required_members(&(object){from, NULL, 0}, read_host_key, has_file | has_digest,
                                 "a host part");
  if (strcmp(key, "parts") == 0)
    return had_parts ? kdl_json_fail(json, json->at, "found the key \"parts\" twice")
                     : kdl_json_items(json, add_part, from);
  return kdl_json_skip(json);
}

kdl_status split_manifest_read(const char *path, split_manifest *out_manifest) {
  cli_bytes bytes;
  *out_manifest = (split_manifest){.mode = 0644};
  KDL_TRY(cli_bytes_read(path, &bytes));
  reader from = {.manifest = out_manifest};
  kdl_json_start(&from.json, path, bytes.data, bytes.size);
  kdl_status status =
      read_required_members(&(object){&from, NULL, 0}, read_manifest_key,
                            has_file | has_size | has_digest | has_host | has_parts, "a manifest");
  if (status == KDL_OK)
    status = kdl_json_finish(&from.json);
  cli_bytes_free(&bytes);
  if (status != KDL_OK)
    split_manifest_free(out_manifest);
  return status;
}

void split_manifest_free(split_manifest *manifest) {
  free(manifest->parts);
  kdl_arena_free(&manifest->arena);
  *manifest = (split_manifest){.parts = NULL};
}
