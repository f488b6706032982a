/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Builds libraries in memory from rows of words, for tests of selection. */
#ifndef KDL_TESTS_UNIT_LIBRARY_BUILDER_H
#define KDL_TESTS_UNIT_LIBRARY_BUILDER_H

#include "support.h"

/* One image. `keys` is "key=value|key=value"; its few bytes have no recognisable kind, so that the
 * declared kind counts. */
typedef struct image_row {
  uint16_t declared_kind; /* LLVM's number: 1 object, 2 bitcode, 3 cubin, 5 PTX, 6 SPIR-V */
  const char *triple;
  const char *arch;
  const char *keys;
} image_row;

#define NV_TRIPLE "nvptx64-nvidia-cuda"
#define AMD_TRIPLE "amdgcn-amd-amdhsa"
#define X86_TRIPLE "x86_64-unknown-linux-gnu"
#define SPIRV_TRIPLE "spirv64-unknown-unknown"

typedef struct built_library {
  kdl_library *lib;
  void *data;
  size_t size;
} built_library;

static inline void add_row(kdl_writer *writer, const image_row *row) {
  char keys[512];
  kdl_pair pairs[16] = {{{"triple", 6}, {row->triple, strlen(row->triple)}},
                        {{"arch", 4}, {row->arch, strlen(row->arch)}}};
  size_t count = 2;
  snprintf(keys, sizeof keys, "%s", row->keys ? row->keys : "");
  for (char *pair = strtok(keys, "|"); pair; pair = strtok(NULL, "|")) {
    char *value = strchr(pair, '=');
    assert_non_null(value);
    *value++ = '\0';
    pairs[count].key = (kdl_string){pair, strlen(pair)};
    pairs[count++].value = (kdl_string){value, strlen(value)};
  }
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = row->declared_kind,
                            .pairs = pairs,
                            .pair_count = count,
                            .data = "no image",
                            .data_size = 8};
  assert_ok(kdl_writer_add(writer, &image));
}

static inline built_library build_library(const image_row *rows, size_t count) {
  built_library built = {0};
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = 0; i < count; ++i)
    add_row(writer, &rows[i]);
  assert_ok(kdl_writer_finish(writer, &built.data, &built.size));
  kdl_writer_destroy(writer);
  assert_ok(kdl_open_memory(built.data, built.size, NULL, &built.lib));
  return built;
}

static inline void free_library(built_library *built) {
  kdl_close(built->lib);
  free(built->data);
}

static inline kdl_device *device_named(const char *text) {
  kdl_device *device = NULL;
  assert_ok(kdl_device_find(text, &device));
  return device;
}

enum { nothing = -1 };

/* The index of the chosen image, or `nothing`. */
static inline int chosen(built_library *built, const char *device, const char *kernel,
                         kdl_policy policy) {
  kdl_selection choice = {.size = sizeof choice};
  kdl_select_opts opts = {.size = sizeof opts, .policy = policy};
  kdl_status status = kdl_select(built->lib, device_named(device), kernel, &opts, &choice);
  if (status == KDL_NO_MATCH)
    return nothing;
  assert_ok(status);
  return (int)choice.image;
}

#endif
