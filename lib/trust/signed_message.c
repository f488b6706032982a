/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/trust.h"

#include "support/base/error.h"
#include "support/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pair and its index, which orders equal keys. */
typedef struct {
  kdl_pair pair;
  size_t number;
} numbered_pair;

static int compare_numbered(const void *left, const void *right) {
  const numbered_pair *first = left, *second = right;
  const kdl_pair *a = &first->pair, *b = &second->pair;
  size_t common = a->key.length < b->key.length ? a->key.length : b->key.length;
  int order = memcmp(a->key.data, b->key.data, common);
  if (order == 0)
    order = (a->key.length > b->key.length) - (a->key.length < b->key.length);
  return order ? order : (first->number > second->number) - (first->number < second->number);
}

static kdl_status fail_no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for what is signed");
}

static size_t pairs_to_sign(const kdl_signed_image *image, numbered_pair *out_pairs,
                            bool *out_has_digest) {
  size_t count = 0;
  *out_has_digest = false;
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (kdl_text_is(image->pairs[i].key, KDL_SIGNATURE_KEY))
      continue;
    *out_has_digest |= kdl_text_is(image->pairs[i].key, "kdl.digest");
    out_pairs[count] = (numbered_pair){image->pairs[i], count};
    ++count;
  }
  qsort(out_pairs, count, sizeof *out_pairs, compare_numbered);
  return count;
}

static kdl_status write_signed_image(FILE *out, const kdl_signed_image *image) {
  bool has_digest = false;
  numbered_pair *pairs = calloc(image->pair_count + 1, sizeof *pairs);
  if (!pairs)
    return fail_no_memory();
  size_t count = pairs_to_sign(image, pairs, &has_digest);
  fprintf(out, "kdl image 1: %zu keys, kinds %u %u, flags %u\n", count, image->declared_kind,
          image->offload_kind, image->flags);
  for (size_t i = 0; i < count; ++i) {
    const kdl_pair *pair = &pairs[i].pair;
    fprintf(out, "%zu:", pair->key.length);
    fwrite(pair->key.data, 1, pair->key.length, out);
    fprintf(out, "=%zu:", pair->value.length);
    fwrite(pair->value.data, 1, pair->value.length, out);
    fputc('\n', out);
  }
  free(pairs);
  return has_digest ? KDL_OK
                    : kdl_fail(KDL_BAD_FILE,
                               "kdl.digest: found none, expected one, which stands for the image's "
                               "bytes in what is signed: `kdl sign` adds it");
}

kdl_status kdl_signed_message(const kdl_signed_image *images, size_t count, kdl_string *out_text) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = kdl_text_stream(&text, &size);
  if (!out)
    return fail_no_memory();
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < count && status == KDL_OK; ++i)
    status = write_signed_image(out, &images[i]);
  bool failed = ferror(out);
  failed |= fclose(out) != 0;
  if (failed && status == KDL_OK)
    status = fail_no_memory();
  if (status == KDL_OK)
    *out_text = (kdl_string){text, size};
  else
    free(text);
  return status;
}
