/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A manifest from anywhere: what is read of it is whole, can be opened as a library to choose from,
 * and written again says the same. */
#include "fuzz_support.h"
#include "pack/oci/candidates.h"
#include "pack/oci/manifest.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const oci_manifest *a, const oci_manifest *b) {
  if (a->layer_count != b->layer_count || a->format != b->format ||
      strcmp(a->file_digest, b->file_digest) != 0)
    abort();
  for (size_t i = 0; i < a->layer_count; ++i) {
    const oci_layer *one = &a->layers[i], *other = &b->layers[i];
    if (one->size != other->size || strcmp(one->digest, other->digest) != 0 ||
        one->choice != other->choice || one->candidate_count != other->candidate_count ||
        one->image.pair_count != other->image.pair_count)
      abort();
    for (size_t k = 0; k < one->image.pair_count; ++k) {
      const kdl_pair *pair = &one->image.pairs[k], *again = &other->image.pairs[k];
      if (pair->value.length != again->value.length ||
          memcmp(pair->value.data, again->value.data, pair->value.length) != 0)
        abort();
    }
  }
}

static void write_again(const oci_manifest *manifest) {
  char *text;
  size_t size;
  oci_manifest again;
  if (oci_manifest_write(manifest, "fuzz", &text, &size) != KDL_OK)
    return;
  if (oci_manifest_read("again", text, size, &again) != KDL_OK)
    abort();
  check_same(manifest, &again);
  oci_manifest_free(&again);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  oci_manifest manifest;
  oci_candidates candidates;
  if (oci_manifest_read("fuzz", data, size, &manifest) == KDL_OK) {
    for (size_t i = 0; i < manifest.layer_count; ++i) {
      if (!oci_digest_is_valid(manifest.layers[i].digest))
        abort();
    }
    if (oci_candidates_open(&manifest, "fuzz", &candidates) == KDL_OK && candidates.input.lib) {
      for (size_t i = 0; i < kdl_image_count(candidates.input.lib) && i < 64; ++i)
        fuzz_read_image(candidates.input.lib, i);
    }
    oci_candidates_close(&candidates);
    write_again(&manifest);
  } else if (kdl_error_message()[0] == '\0') {
    abort();
  }
  oci_manifest_free(&manifest);
  return 0;
}
