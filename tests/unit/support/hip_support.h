/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_TESTS_UNIT_HIP_SUPPORT_H
#define KDL_TESTS_UNIT_HIP_SUPPORT_H

#define DRIVER_ARCH "gfx90a"
#define DRIVER_SPEC "hip:gfx90a:sramecc+:xnack-"
#define DRIVER_WHOLE "libamdhip64.so.7"
#define DRIVER_OLD "libamdhip64.so.5"
#define DRIVER_LIMITS                                                                              \
  " name=\"AMD Instinct MI210\" driver=6.4.43482 memory=1MiB max_block=1024 shared=64KiB "         \
  "units=104"
#define DRIVER_UUID " uuid=00000000-0000-0000-0000-00000000000"
/* The third has no cooperative launches. */
#define DRIVER_DEVICES                                                                             \
  DRIVER_SPEC DRIVER_LIMITS DRIVER_UUID "1 cooperative=yes;" DRIVER_SPEC DRIVER_LIMITS DRIVER_UUID \
                                        "2 cooperative=yes;" DRIVER_SPEC DRIVER_LIMITS DRIVER_UUID \
                                        "3"

#include "driver_support.h"

#include "lib/backends/common/built_in.h"

/* A golden file, read once. */
static inline kdl_backend_image golden_code(const char *name) {
  static uint8_t *bytes[5];
  static size_t sizes[5];
  static const char *const names[] = {"gfx90a.hsaco", "gfx90a_xnack.hsaco", "fixed.hsaco",
                                      "spirv64.spv", "stripped.hsaco"};
  size_t i = 0;
  while (strcmp(names[i], name) != 0)
    ++i;
  if (!bytes[i]) {
    char path[64];
    snprintf(path, sizeof path, "launch/%s", name);
    bytes[i] = read_golden(path, &sizes[i]);
  }
  return image_of(strstr(name, ".spv") ? KDL_IMAGE_SPIRV : KDL_IMAGE_HSACO, bytes[i], sizes[i]);
}

static inline void *load_golden(void *device, const char *name) {
  kdl_backend_image image = golden_code(name);
  return load_image(device, image.kind, image.data, image.data_size);
}

/* The error that hipGetLastError would return to the program. */
static inline int last_error(void) {
  int (*peek)(void);
  get_fake("hipPeekAtLastError", &peek);
  return peek();
}

/* Nothing that libkdl caused. */
static inline void assert_no_last_error(void) {
  assert_int_equal(last_error(), 0);
}

static inline int current_device(void) {
  int (*get)(int *), device = -1;
  get_fake("hipGetDevice", &get);
  assert_int_equal(get(&device), 0);
  return device;
}

static inline void set_device(int device) {
  int (*set)(int);
  get_fake("hipSetDevice", &set);
  assert_int_equal(set(device), 0);
}

#endif
