/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Discovery on the OpenCL platforms of this machine: PoCL on a machine for tests. */
#include "device_support.h"
#include "same_spec.h"

#include "lib/registry/discover.h"

static kdl_discovery *found;

static void devices_are_described(void **state) {
  (void)state;
  assert_true(found->device_count > 0);
  for (size_t i = 0; i < found->route_count; ++i) {
    const kdl_device_spec *spec = &found->routes[i];
    assert_int_equal(spec->backend, KDL_BACKEND_OPENCL);
    assert_true(spec->name[0] && spec->platform[0] && spec->driver[0]);
    assert_true(spec->memory && spec->units && spec->max_block);
    kdl_device_spec again = spec_of(line_of(spec));
    assert_true(is_same_spec(spec, &again));
    puts(line_of(spec));
  }
}

/* PoCL as Debian 12 has it runs on the CPU and takes no SPIR-V. */
static void pocl_is_described(void **state) {
  (void)state;
  for (size_t i = 0; i < found->route_count; ++i) {
    const kdl_device_spec *spec = &found->routes[i];
    if (strcmp(spec->platform, "Portable Computing Language") != 0 || spec->il)
      continue;
    assert_int_equal(spec->device_class, KDL_DEVICE_CPU);
    assert_string_equal(spec->arch, "spirv64");
    assert_non_null(strstr(spec->features, "fp64"));
    return;
  }
  skip();
}

int main(void) {
  kdl_discover_opts opts = {.backends = 1u << KDL_BACKEND_OPENCL};
  if (kdl_discover(&opts, &found) != KDL_OK)
    return 1;
  if (found->reports[0].state != KDL_DRIVER_USABLE) {
    printf("skipped: OpenCL %s: %s (Debian: ocl-icd-libopencl1 and pocl-opencl-icd)\n",
           kdl_driver_state_names[found->reports[0].state], found->reports[0].words);
    kdl_discovery_free(found);
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_are_described),
      cmocka_unit_test(pocl_is_described),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  kdl_discovery_free(found);
  return failed;
}
