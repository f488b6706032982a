/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_TESTS_UNIT_LEVEL_ZERO_SUPPORT_H
#define KDL_TESTS_UNIT_LEVEL_ZERO_SUPPORT_H

#define DRIVER_ARCH "20.1.4"
#define DRIVER_SPEC "level_zero:ip=20.1.4"
#define DRIVER_WHOLE "libze_loader.so.1"
#define DRIVER_OLD "libze_loader.so.1"
#define DRIVER_DEVICES                                                                             \
  DRIVER_SPEC " name=\"Intel Arc B580\" memory=1MiB max_block=1024 shared=128KiB cooperative=yes " \
              "il=1.4 uuid=00000000-0000-0000-0000-000000000001;" DRIVER_SPEC                      \
              " name=\"Intel Arc B580\" memory=1MiB max_block=1024 shared=128KiB cooperative=yes " \
              "il=1.4 uuid=00000000-0000-0000-0000-000000000002"

#include "driver_support.h"

#include "lib/backends/common/built_in.h"

static inline kdl_backend_image golden_spirv(const char *name) {
  static const char *const names[] = {"spirv64.spv", "fixed.spv", "group.spv"};
  static uint8_t *bytes[3];
  static size_t sizes[3];
  size_t i = 0;
  while (strcmp(names[i], name) != 0)
    ++i;
  if (!bytes[i]) {
    char path[64];
    snprintf(path, sizeof path, "launch/%s", name);
    bytes[i] = read_golden(path, &sizes[i]);
  }
  return image_of(KDL_IMAGE_SPIRV, bytes[i], sizes[i]);
}

static inline void *load_golden(void *device, const char *name) {
  kdl_backend_image image = golden_spirv(name);
  return load_image(device, image.kind, image.data, image.data_size);
}

/* Commands are never out of order, and nothing waits for ever. */
static inline bool is_order_kept(void) {
  return ask_fake("fake_ze_unordered") == 0 && ask_fake("fake_ze_deadlocks") == 0;
}

#endif
