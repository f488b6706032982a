/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/manifest.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

static void write_descriptor_json(cli_json *json, const char *type, const char *digest,
                                  uint64_t size) {
  cli_json_put_text(json, "mediaType", type);
  cli_json_put_text(json, "digest", digest);
  cli_json_put_number(json, "size", size);
}

static void write_image_headers_json(cli_json *json, const char *key,
                                     const oci_image_header *records, size_t count) {
  char *text = oci_image_headers_write(records, count);
  cli_json_put_text(json, key, text);
  free(text);
}

static void write_choice_json(cli_json *json, const oci_layer *layer) {
  if (layer->choice == OCI_CHOICE_ANY)
    cli_json_put_text(json, OCI_KEY_CHOICE, OCI_CHOICE_ANY_TEXT);
  else if (layer->choice == OCI_CHOICE_UNKNOWN)
    cli_json_put_text(json, OCI_KEY_CHOICE, OCI_CHOICE_UNKNOWN_TEXT);
  else if (layer->candidates != &layer->image)
    write_image_headers_json(json, OCI_KEY_CHOICE, layer->candidates, layer->candidate_count);
}

/* The file name that other tools give to a layer: "3-sm_90". */
static void write_title_json(cli_json *json, const oci_layer *layer, size_t index) {
  char title[96];
  kdl_string arch = {"image", 5};
  for (size_t i = 0; i < layer->image.pair_count; ++i) {
    if (kdl_text_is(layer->image.pairs[i].key, "arch") && layer->image.pairs[i].value.length)
      arch = layer->image.pairs[i].value;
  }
  kdl_out out = {title, sizeof title, 0};
  kdl_out_format(&out, "%zu-", index);
  for (size_t i = 0; i < arch.length && i < 64; ++i) {
    char c = arch.data[i];
    bool is_plain = kdl_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    kdl_is_one_of(c, "._-+");
    kdl_out_format(&out, "%c", is_plain ? c : '_');
  }
  cli_json_put_text(json, OCI_KEY_TITLE, title);
}

static void write_layer_json(cli_json *json, const oci_layer *layer, size_t index) {
  cli_json_begin_object(json);
  write_descriptor_json(json, OCI_IMAGE_TYPE, layer->digest, layer->size);
  cli_json_put_object(json, "annotations");
  write_image_headers_json(json, OCI_KEY_IMAGE, &layer->image, 1);
  write_choice_json(json, layer);
  write_title_json(json, layer, index);
  cli_json_end_object(json);
  cli_json_end_object(json);
}

static void write_manifest_json(cli_json *json, const oci_manifest *manifest) {
  cli_json_begin_object(json);
  cli_json_put_number(json, "schemaVersion", 2);
  cli_json_put_text(json, "mediaType", OCI_MANIFEST_TYPE);
  cli_json_put_text(json, "artifactType", OCI_BUNDLE_TYPE);
  cli_json_put_object(json, "config");
  write_descriptor_json(json, OCI_EMPTY_TYPE, OCI_EMPTY_DIGEST, strlen(OCI_EMPTY_DATA));
  cli_json_put_text(json, "data", "e30=");
  cli_json_end_object(json);
  cli_json_put_array(json, "layers");
  for (size_t i = 0; i < manifest->layer_count; ++i)
    write_layer_json(json, &manifest->layers[i], i);
  cli_json_end_array(json);
  cli_json_put_object(json, "annotations");
  cli_json_put_text(json, OCI_KEY_FORMAT, manifest->format == KDL_FORMAT_V1 ? "v1" : "v2");
  if (manifest->file_digest[0])
    cli_json_put_text(json, OCI_KEY_FILE_DIGEST, manifest->file_digest);
  cli_json_put_text(json, OCI_KEY_TITLE, manifest->title);
  cli_json_end_object(json);
  cli_json_end_object(json);
}

kdl_status oci_manifest_write(const oci_manifest *manifest, const char *name, char **out_text,
                              size_t *out_size) {
  char *text;
  size_t size;
  FILE *file = xtext_stream(&text, &size);
  write_manifest_json(&(cli_json){.file = file}, manifest);
  xtext_close(file);
  if (size > OCI_LIMIT_MANIFEST || manifest->layer_count > OCI_LIMIT_LAYERS) {
    free(text);
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found %zu images whose metadata makes a manifest of %zu bytes, expected "
                    "at most %d images and %d bytes, which registries take: push parts of it, "
                    "or without the keys kdl.kernel.NAME",
                    name, manifest->layer_count, size, OCI_LIMIT_LAYERS, OCI_LIMIT_MANIFEST);
  }
  *out_text = text;
  *out_size = size;
  return KDL_OK;
}
