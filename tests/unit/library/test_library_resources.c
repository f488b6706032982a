/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels use, by the public API: of images of a library, and on a device. */
#include "support.h"

#include <kdl/resources.h>

typedef struct {
  kdl_kernel_resources uses; /* of the kernel that was visited last */
  char name[16];
  size_t count, stop_at;
} visited;

static int visit(void *user, const kdl_string *kernel, const kdl_kernel_resources *uses) {
  visited *to = user;
  to->uses = *uses;
  assert_int_equal(kernel->data[kernel->length], '\0');
  snprintf(to->name, sizeof to->name, "%s", kernel->data);
  return ++to->count == to->stop_at;
}

static void kernels_of_an_image(void **state) {
  (void)state;
  kdl_library *lib = open_golden("images/resources.cubin");
  visited all = {.count = 0}, one = {.stop_at = 1};
  assert_ok(kdl_image_resources(lib, 0, visit, &all));
  assert_int_equal(all.count, 2);
  assert_string_equal(all.name, "plain");
  assert_int_equal(all.uses.size, sizeof all.uses);
  assert_int_equal(all.uses.vector_registers, 10);
  assert_int_equal(all.uses.scalar_registers, KDL_NO_RESOURCE);
  assert_int_equal(all.uses.shared, 5120);
  assert_int_equal(all.uses.effect, KDL_EFFECT_SOME);
  assert_ok(kdl_image_resources(lib, 0, visit, &one));
  assert_int_equal(one.count, 1);
  assert_string_equal(one.name, "fixed");
  assert_fails(kdl_image_resources(lib, 1, visit, &one), KDL_BAD_CALL,
               "images/resources.cubin: image 1 does not exist, expected less than 1");
  kdl_close(lib);
}

/* Numbers without code that can be read, and a kind without numbers. */
static void other_kinds(void **state) {
  (void)state;
  visited all = {.count = 0};
  kdl_library *lib = open_golden("images/params.zebin");
  assert_ok(kdl_image_resources(lib, 0, visit, &all));
  assert_int_equal(all.uses.vector_registers, 128);
  assert_int_equal(all.uses.effect, KDL_EFFECT_UNKNOWN);
  kdl_close(lib);
  lib = open_golden("images/llvm.ptx");
  assert_fails(kdl_image_resources(lib, 0, visit, &all), KDL_UNSUPPORTED,
               "images/llvm.ptx: image 0: ptx image: it does not declare what its kernels use");
  kdl_close(lib);
}

static void occupancy_of_devices(void **state) {
  (void)state;
  kdl_device *h200, *mi250x, *intel;
  kdl_kernel_resources uses = {.size = sizeof uses, .vector_registers = 40, .subgroup = 32};
  kdl_occupancy found = {.size = sizeof found};
  assert_ok(kdl_device_find("h200", &h200));
  assert_ok(kdl_device_find("mi250x", &mi250x));
  assert_ok(kdl_device_find("pvc", &intel));
  assert_ok(kdl_device_occupancy(h200, &uses, 256, 0, &found));
  assert_int_equal(found.groups, 6);
  assert_int_equal(found.subgroups, 48);
  assert_int_equal(found.most_subgroups, 64);
  assert_int_equal(found.limit, KDL_LIMIT_BY_REGISTERS);
  assert_ok(kdl_device_occupancy(h200, &uses, 256, 100 << 10, &found));
  assert_int_equal(found.groups, 2);
  assert_int_equal(found.limit, KDL_LIMIT_BY_SHARED);
  uses.subgroup = 64;
  assert_ok(kdl_device_occupancy(mi250x, &uses, 256, 0, &found));
  assert_int_equal(found.groups, 8);
  assert_int_equal(kdl_device_occupancy(intel, &uses, 256, 0, &found), KDL_UNSUPPORTED);
  assert_int_equal(found.groups, 8);
  assert_fails(kdl_device_occupancy(h200, &uses, 1025, 0, &found), KDL_BAD_CALL,
               "kdl_device_occupancy: found a block of 1025, expected 1 to 1024");
  uses.vector_registers = KDL_NO_RESOURCE;
  assert_fails(kdl_device_occupancy(h200, &uses, 256, 0, &found), KDL_UNSUPPORTED,
               "kdl_device_occupancy: the kernel declares no registers");
  uses.size = 8;
  assert_fails(kdl_device_occupancy(h200, &uses, 256, 0, &found), KDL_BAD_CALL,
               "kdl_device_occupancy: uses.size is 8, expected 88");
  uses.size = sizeof uses;
  found.size = 0;
  assert_fails(kdl_device_occupancy(h200, &uses, 256, 0, &found), KDL_BAD_CALL,
               "kdl_device_occupancy: occupancy.size is 0, expected 24");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_of_an_image),
      cmocka_unit_test(other_kinds),
      cmocka_unit_test(occupancy_of_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
