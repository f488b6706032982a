/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One image of the kind that the first byte picks. */
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
  size_t total;
  unsigned char sum;
} visited;

static int read_name(void *user, const char *name, size_t length) {
  visited *names = user;
  for (size_t i = 0; i < length; ++i)
    names->sum = (unsigned char)(names->sum + (unsigned char)name[i]);
  names->total += length;
  return 0;
}

static void expect_message(kdl_status status) {
  if (status != KDL_OK && kdl_error_message()[0] == '\0')
    abort();
}

/* The container layer prints these. */
static void expect_text(const char *text, size_t capacity) {
  size_t length = strnlen(text, capacity);
  if (length == capacity)
    abort();
  for (size_t i = 0; i < length; ++i) {
    if (text[i] <= ' ' || text[i] > '~')
      abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  kdl_image_kind kind = (kdl_image_kind)(data[0] % (KDL_IMAGE_CL + 1));
  /* A copy, so that the image's end is the allocation's. */
  uint8_t *image = malloc(size);
  if (!image)
    return 0;
  memcpy(image, data + 1, --size);
  uint8_t *exact = realloc(image, size ? size : 1);
  image = exact ? exact : image;
  kdl_image_target target;
  kdl_image_sniff(image, size);
  kdl_status status = kdl_image_read_target(kind, image, size, &target);
  expect_message(status);
  if (status == KDL_OK) {
    expect_text(target.triple, sizeof target.triple);
    expect_text(target.arch, sizeof target.arch);
  }
  visited names = {0};
  expect_message(kdl_image_read_kernels(kind, image, size, read_name, &names));
  if (names.total > 8 * size)
    abort();
  free(image);
  return 0;
}
