/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fuzz targets share: open a container and ask for everything it can tell. */
#ifndef KDL_TESTS_FUZZ_SUPPORT_H
#define KDL_TESTS_FUZZ_SUPPORT_H

#include <kdl/kdl.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { fuzz_largest_image = 1 << 24 };

static inline int fuzz_count_name(void *user, const kdl_string *name) {
  size_t *count = user;
  if (name->data[name->length] != '\0')
    abort();
  return ++*count > 10000;
}

static inline void fuzz_read_image(kdl_library *lib, size_t index) {
  kdl_image_info info = {.size = sizeof info};
  if (kdl_image_get(lib, index, &info) != KDL_OK)
    abort();
  for (size_t i = 0; i < info.pair_count; ++i) {
    if (info.pairs[i].key.data[info.pairs[i].key.length] != '\0' ||
        info.pairs[i].value.data[info.pairs[i].value.length] != '\0')
      abort();
  }
  if (info.parent != KDL_NO_PARENT && info.parent >= index)
    abort();
  if (info.byte_count > fuzz_largest_image)
    return;
  const void *data;
  size_t size;
  volatile uint8_t sum = 0;
  if (kdl_image_bytes(lib, index, &data, &size) == KDL_OK) {
    if (size != info.byte_count)
      abort();
    for (size_t i = 0; i < size; ++i)
      sum = (uint8_t)(sum + ((const uint8_t *)data)[i]);
  }
  size_t names = 0;
  kdl_image_kernels(lib, index, fuzz_count_name, &names);
}

static inline void fuzz_open_and_read(const uint8_t *data, size_t size) {
  kdl_library *lib;
  if (kdl_open_memory(data, size, NULL, &lib) != KDL_OK) {
    if (kdl_error_message()[0] == '\0')
      abort(); /* every failure has a message */
    return;
  }
  for (size_t i = 0; i < kdl_image_count(lib) && i < 64; ++i)
    fuzz_read_image(lib, i);
  kdl_close(lib);
}

/* The same with `magic` forced over the first bytes, so that no time goes into finding it. */
static inline void fuzz_with_magic(const uint8_t *data, size_t size, const void *magic,
                                   size_t magic_size) {
  if (size < magic_size)
    return;
  uint8_t *copy = malloc(size);
  if (!copy)
    return;
  memcpy(copy, data, size);
  memcpy(copy, magic, magic_size);
  fuzz_open_and_read(copy, size);
  free(copy);
}

#endif
