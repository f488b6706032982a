/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The writer, from a script of images and pairs: whatever it accepts must read back the same. */
#include "fuzz_support.h"

#include "lib/inspect/images.h"

enum { most_images = 8, most_pairs = 12 };

typedef struct {
  const uint8_t *at;
  size_t left;
} script;

static uint8_t take_byte(script *input) {
  if (!input->left)
    return 0;
  --input->left;
  return *input->at++;
}

static kdl_string take_string(script *input) {
  size_t length = take_byte(input) % 24;
  if (length > input->left)
    length = input->left;
  kdl_string text = {(const char *)input->at, length};
  input->at += length;
  input->left -= length;
  return text;
}

static int same(kdl_string a, kdl_string b) {
  return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

static void compare(const kdl_writer_image *wrote, kdl_library *lib, size_t index) {
  kdl_image_info info = {.size = sizeof info};
  const void *data;
  size_t size;
  if (kdl_image_get(lib, index, &info) != KDL_OK ||
      kdl_image_bytes(lib, index, &data, &size) != KDL_OK ||
      info.declared_kind != wrote->declared_kind || info.offload_kind != wrote->offload_kind ||
      info.flags != wrote->flags || info.pair_count != wrote->pair_count ||
      size != wrote->data_size || (size && memcmp(data, wrote->data, size) != 0))
    abort();
  for (size_t i = 0; i < info.pair_count; ++i)
    if (!same(info.pairs[i].key, wrote->pairs[i].key) ||
        !same(info.pairs[i].value, wrote->pairs[i].value))
      abort();
}

/* Such a one is read too, and may well be damaged. */
static int holds_a_container(const kdl_writer_image *images, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    kdl_image_kind kind = kdl_image_sniff(images[i].data, images[i].data_size);
    if (kind == KDL_IMAGE_OFFLOAD || kind == KDL_IMAGE_BUNDLE || kind == KDL_IMAGE_FATBIN)
      return 1;
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  script input = {bytes, length};
  int format = take_byte(&input) & 1 ? KDL_FORMAT_V2 : KDL_FORMAT_V1;
  kdl_writer *writer;
  if (kdl_writer_create(format, &writer) != KDL_OK)
    abort();
  static kdl_pair pairs[most_images][most_pairs];
  kdl_writer_image images[most_images];
  size_t count = 0;
  while (input.left && count < most_images) {
    kdl_writer_image *image = &images[count];
    *image = (kdl_writer_image){.size = sizeof *image,
                                .declared_kind = take_byte(&input),
                                .offload_kind = take_byte(&input),
                                .pairs = pairs[count],
                                .pair_count = take_byte(&input) % most_pairs};
    for (size_t i = 0; i < image->pair_count; ++i) {
      pairs[count][i].key = take_string(&input);
      pairs[count][i].value = take_string(&input);
    }
    kdl_string content = take_string(&input);
    image->data = content.data;
    image->data_size = content.length;
    count += kdl_writer_add(writer, image) == KDL_OK;
  }
  void *data;
  size_t size;
  if (count && kdl_writer_finish(writer, &data, &size) == KDL_OK) {
    kdl_library *lib;
    if (kdl_open_memory(data, size, NULL, &lib) == KDL_OK) {
      /* An image that is itself a container adds images of its own; skip those files. */
      if (kdl_image_count(lib) == count)
        for (size_t i = 0; i < count; ++i)
          compare(&images[i], lib, i);
      kdl_close(lib);
    } else if (!holds_a_container(images, count)) {
      abort();
    }
    free(data);
  }
  kdl_writer_destroy(writer);
  return 0;
}
