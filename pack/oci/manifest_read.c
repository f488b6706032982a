/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/manifest.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest_type = 256 };

typedef struct {
  kdl_json json;
  oci_manifest *manifest;
  size_t capacity;
  char type[longest_type]; /* artifactType */
  char media[longest_type];
} reader;

/* ------------------------------------------------------------------------------------------ */
/* Layers                                                                                       */

typedef struct {
  reader *from;
  oci_layer *layer;
  size_t at;
  char type[longest_type];
  bool has_digest, has_size, has_image;
} layer_state;

/* Prefixes the recorded message with the location of the annotation. */
static kdl_status fail_in_annotation(const reader *from, size_t at) {
  char message[512];
  snprintf(message, sizeof message, "%s", kdl_error_message());
  return kdl_json_fail(&from->json, at, "%s", message);
}

static kdl_status read_layer_image_header(layer_state *state) {
  reader *from = state->from;
  kdl_string text = {"", 0};
  oci_image_header *records;
  size_t count = 0, at = kdl_json_at(&from->json);
  KDL_TRY(oci_json_text(&from->json, &from->manifest->arena, &text));
  kdl_status status =
      oci_image_headers_read(&from->manifest->arena, OCI_KEY_IMAGE, text, &records, &count);
  if (status != KDL_OK)
    return status == KDL_BAD_FILE ? fail_in_annotation(from, at) : status;
  if (count != 1)
    return kdl_json_fail(&from->json, at, OCI_KEY_IMAGE ": found %zu images, expected one", count);
  state->layer->image = records[0];
  state->has_image = true;
  return KDL_OK;
}

static kdl_status read_choice(reader *from, oci_layer *layer) {
  kdl_string text = {"", 0};
  oci_image_header *records = NULL;
  size_t at = kdl_json_at(&from->json);
  KDL_TRY(oci_json_text(&from->json, &from->manifest->arena, &text));
  layer->choice = kdl_text_is(text, OCI_CHOICE_ANY_TEXT)       ? OCI_CHOICE_ANY
                  : kdl_text_is(text, OCI_CHOICE_UNKNOWN_TEXT) ? OCI_CHOICE_UNKNOWN
                                                               : OCI_CHOICE_DEVICES;
  if (layer->choice != OCI_CHOICE_DEVICES)
    return KDL_OK;
  kdl_status status = oci_image_headers_read(&from->manifest->arena, OCI_KEY_CHOICE, text, &records,
                                             &layer->candidate_count);
  layer->candidates = records;
  return status == KDL_BAD_FILE ? fail_in_annotation(from, at) : status;
}

static kdl_status read_layer_annotation(kdl_json *json, const char *key, void *user) {
  layer_state *state = user;
  if (strcmp(key, OCI_KEY_IMAGE) == 0)
    return read_layer_image_header(state);
  return strcmp(key, OCI_KEY_CHOICE) == 0 ? read_choice(state->from, state->layer)
                                          : kdl_json_skip(json);
}

static kdl_status read_layer_key(kdl_json *json, const char *key, void *user) {
  layer_state *state = user;
  if (strcmp(key, "mediaType") == 0)
    return kdl_json_string(json, state->type, sizeof state->type);
  if (strcmp(key, "digest") == 0) {
    state->has_digest = true;
    return oci_json_digest(json, state->layer->digest);
  }
  if (strcmp(key, "size") == 0) {
    state->has_size = true;
    return kdl_json_number(json, &state->layer->size);
  }
  return strcmp(key, "annotations") == 0 ? kdl_json_members(json, read_layer_annotation, state)
                                         : kdl_json_skip(json);
}

static kdl_status check_layer(const reader *from, const layer_state *state) {
  const char *lacks = !state->has_digest  ? "digest"
                      : !state->has_size  ? "size"
                      : !state->has_image ? "annotation " OCI_KEY_IMAGE
                                          : NULL;
  if (strcmp(state->type, OCI_IMAGE_TYPE) != 0)
    return kdl_json_fail(&from->json, state->at,
                         "layer: found mediaType \"%s\", expected " OCI_IMAGE_TYPE, state->type);
  return lacks ? kdl_json_fail(&from->json, state->at, "layer: found no %s, expected one", lacks)
               : KDL_OK;
}

static kdl_status read_layer(kdl_json *json, void *user) {
  reader *from = user;
  oci_manifest *manifest = from->manifest;
  if (manifest->layer_count == OCI_LIMIT_LAYERS)
    return kdl_json_fail(json, kdl_json_at(json),
                         "layers: found more than %d, expected at most that many",
                         OCI_LIMIT_LAYERS);
  manifest->layers =
      xgrow(manifest->layers, manifest->layer_count, &from->capacity, 16, sizeof *manifest->layers);
  oci_layer *layer = &manifest->layers[manifest->layer_count];
  layer_state state = {.from = from, .layer = layer, .at = kdl_json_at(json)};
  *layer = (oci_layer){.choice = OCI_CHOICE_DEVICES};
  KDL_TRY(kdl_json_members(json, read_layer_key, &state));
  KDL_TRY(check_layer(from, &state));
  ++manifest->layer_count;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The manifest                                                                                 */

static kdl_status read_format(reader *from) {
  char text[16];
  size_t at = kdl_json_at(&from->json);
  KDL_TRY(kdl_json_string(&from->json, text, sizeof text));
  from->manifest->format = strcmp(text, "v1") == 0   ? KDL_FORMAT_V1
                           : strcmp(text, "v2") == 0 ? KDL_FORMAT_V2
                                                     : 0;
  return from->manifest->format
             ? KDL_OK
             : kdl_json_fail(&from->json, at, OCI_KEY_FORMAT ": found \"%s\", expected v1 or v2",
                             text);
}

static kdl_status read_annotation(kdl_json *json, const char *key, void *user) {
  reader *from = user;
  if (strcmp(key, OCI_KEY_FORMAT) == 0)
    return read_format(from);
  return strcmp(key, OCI_KEY_FILE_DIGEST) == 0 ? oci_json_digest(json, from->manifest->file_digest)
                                               : kdl_json_skip(json);
}

/* Reads the keys that name the type of a manifest. */
static kdl_status read_type_key(kdl_json *json, const char *key, void *user) {
  reader *from = user;
  if (strcmp(key, "artifactType") == 0)
    return kdl_json_string(json, from->type, sizeof from->type);
  return strcmp(key, "mediaType") == 0 ? kdl_json_string(json, from->media, sizeof from->media)
                                       : kdl_json_skip(json);
}

static kdl_status read_manifest_key(kdl_json *json, const char *key, void *user) {
  reader *from = user;
  if (strcmp(key, "annotations") == 0)
    return kdl_json_members(json, read_annotation, from);
  if (strcmp(key, "layers") != 0)
    return read_type_key(json, key, from);
  return from->manifest->layer_count
             ? kdl_json_fail(json, kdl_json_at(json), "found a second list of layers, expected one")
             : kdl_json_items(json, read_layer, from);
}

/* Types are read in a first pass, since keys come in any order: a manifest of something else need
 * not have a bundle's keys. */
static kdl_status read_types(reader *from) {
  kdl_json start = from->json;
  KDL_TRY(kdl_json_members(&from->json, read_type_key, from));
  KDL_TRY(kdl_json_finish(&from->json));
  from->json = start;
  if (from->media[0] && strcmp(from->media, OCI_MANIFEST_TYPE) != 0)
    return kdl_fail(KDL_BAD_FILE, "%s: found mediaType \"%s\", expected " OCI_MANIFEST_TYPE,
                    from->json.name, from->media);
  if (strcmp(from->type, OCI_BUNDLE_TYPE) != 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found artifactType \"%s\", expected " OCI_BUNDLE_TYPE
                    ", as kdl push writes it",
                    from->json.name, from->type);
  return KDL_OK;
}

static kdl_status read_manifest(reader *from) {
  KDL_TRY(kdl_json_members(&from->json, read_manifest_key, from));
  KDL_TRY(kdl_json_finish(&from->json));
  if ((!from->manifest->format || !from->manifest->layer_count))
    return kdl_fail(KDL_BAD_FILE, "%s: found no %s, expected one or more", from->json.name,
                    from->manifest->format ? "layers" : "annotation " OCI_KEY_FORMAT);
  return KDL_OK;
}

kdl_status oci_manifest_read(const char *name, const void *data, size_t size,
                             oci_manifest *out_manifest) {
  reader from = {.manifest = out_manifest};
  *out_manifest = (oci_manifest){.title = ""};
  if (size > OCI_LIMIT_MANIFEST)
    return kdl_fail(KDL_BAD_FILE, "%s: found a manifest of %zu bytes, expected at most %d", name,
                    size, OCI_LIMIT_MANIFEST);
  kdl_json_start(&from.json, name, data, size);
  KDL_TRY(read_types(&from));
  KDL_TRY(read_manifest(&from));
  /* The array of layers may have been reallocated. */
  for (size_t i = 0; i < out_manifest->layer_count; ++i) {
    oci_layer *layer = &out_manifest->layers[i];
    if (layer->choice != OCI_CHOICE_DEVICES || layer->candidates)
      continue;
    layer->candidates = &layer->image;
    layer->candidate_count = 1;
  }
  return KDL_OK;
}

void oci_manifest_free(oci_manifest *manifest) {
  free(manifest->layers);
  kdl_arena_free(&manifest->arena);
}
