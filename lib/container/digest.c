/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/libraries.h"

#include "lib/container/container.h"
#include "lib/container/writer.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { method_length = sizeof KDL_DIGEST_METHOD - 1, value_length = KDL_DIGEST_VALUE - 1 };

static void digest_value(const void *data, size_t size, char out_value[KDL_DIGEST_VALUE]) {
  kdl_digest digest = kdl_digest_of(data, size);
  memcpy(out_value, KDL_DIGEST_METHOD, method_length);
  kdl_digest_print(&digest, out_value + method_length);
}

bool kdl_digest_is_readable(kdl_string value, size_t *out_position) {
  size_t at = 0;
  while (at < value.length && at < value_length &&
         (at < method_length ? value.data[at] == KDL_DIGEST_METHOD[at]
                             : (value.data[at] >= '0' && value.data[at] <= '9') ||
                                   (value.data[at] >= 'a' && value.data[at] <= 'f')))
    ++at;
  *out_position = at;
  return at == value_length && value.length == value_length;
}

kdl_status kdl_digest_check(const kdl_pair *pairs, size_t count, const void *data, size_t size) {
  const kdl_string *expected = kdl_find_value(pairs, count, KDL_DIGEST_KEY);
  size_t position;
  if (!expected)
    return KDL_OK;
  if (!kdl_digest_is_readable(*expected, &position))
    return kdl_fail(KDL_BAD_FILE,
                    KDL_DIGEST_KEY ": position %zu: found \"%.128s\", expected " KDL_DIGEST_METHOD
                                   " and %d hexadecimal digits in lower case",
                    position, expected->data, 2 * KDL_DIGEST_SIZE);
  char found[KDL_DIGEST_VALUE];
  digest_value(data, size, found);
  if (memcmp(found, expected->data, value_length) != 0)
    return kdl_fail(KDL_BAD_FILE,
                    KDL_DIGEST_KEY ": found %s, expected %s: the image is not what was written",
                    found, expected->data);
  return KDL_OK;
}

static bool is_digest(kdl_string key) {
  return kdl_text_is(key, KDL_DIGEST_KEY);
}

static kdl_status add_with_digest(kdl_writer *writer, const kdl_writer_image *image,
                                  kdl_image_ref ref, const char *value) {
  kdl_pair *pairs = calloc(image->pair_count + 1, sizeof *pairs);
  if (!pairs)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for metadata");
  kdl_writer_image digested = *image;
  digested.pairs = pairs;
  digested.pair_count = 0;
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (!is_digest(image->pairs[i].key))
      pairs[digested.pair_count++] = image->pairs[i];
  }
  pairs[digested.pair_count++] =
      (kdl_pair){{KDL_DIGEST_KEY, sizeof KDL_DIGEST_KEY - 1}, {value, value_length}};
  kdl_status status = kdl_writer_add_ref(writer, &digested, ref);
  free(pairs);
  return status;
}

kdl_status kdl_writer_add_with_digest(kdl_writer *writer, const kdl_writer_image *image) {
  kdl_writer_image whole;
  const kdl_image_ref ref = {NULL, 0};
  char value[KDL_DIGEST_VALUE];
  KDL_TRY(KDL_GIVEN(writer, image));
  KDL_TRY(kdl_writer_image_read("kdl_writer_add_with_digest", image, &whole));
  if (whole.data_size == 0)
    return kdl_writer_add_ref(writer, &whole, ref);
  digest_value(whole.data, whole.data_size, value);
  return add_with_digest(writer, &whole, ref, value);
}

kdl_status kdl_writer_add_ref_digested(kdl_writer *writer, const kdl_writer_image *image,
                                       kdl_image_ref ref) {
  if (image->data_size == 0)
    return kdl_writer_add_ref(writer, image, ref);
  const void *data;
  size_t size;
  char value[KDL_DIGEST_VALUE];
  KDL_TRY(kdl_container_acquire_bytes(ref.container, ref.index, &data, &size));
  digest_value(data, size, value);
  kdl_container_release_bytes(ref.container, ref.index);
  return add_with_digest(writer, image, ref, value);
}
