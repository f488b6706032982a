/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Discovery on the CUDA driver of this machine, and that it leaves no context. */
#include "device_support.h"
#include "same_spec.h"

#include "lib/registry/discover.h"

#include <dlfcn.h>

static kdl_discovery *found;

static void devices_are_described(void **state) {
  (void)state;
  for (size_t i = 0; i < found->route_count; ++i) {
    const kdl_device_spec *spec = &found->routes[i];
    assert_int_equal(spec->backend, KDL_BACKEND_CUDA);
    assert_memory_equal(spec->arch, "sm_", 3);
    assert_true(spec->name[0] && spec->driver[0] && spec->uuid.known);
    assert_true(spec->memory > (uint64_t)1 << 30);
    assert_int_equal(spec->subgroups, 32);
    assert_true(spec->shared >= 48 << 10 && spec->max_block >= 1024 && spec->units);
    kdl_device_spec again = spec_of(line_of(spec));
    assert_true(is_same_spec(spec, &again));
    puts(line_of(spec));
  }
}

static void no_context_was_created(void **state) {
  (void)state;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  assert_non_null(library);
  int (*current)(void **) = NULL;
  int (*primary)(int, unsigned *, int *) = NULL;
  void *symbol = dlsym(library, "cuCtxGetCurrent");
  memcpy(&current, &symbol, sizeof symbol);
  symbol = dlsym(library, "cuDevicePrimaryCtxGetState");
  memcpy(&primary, &symbol, sizeof symbol);
  void *context = library;
  assert_int_equal(current(&context), 0);
  assert_null(context);
  for (size_t i = 0; i < found->route_count; ++i) {
    unsigned flags;
    int active = 1;
    assert_int_equal(primary((int)found->routes[i].ordinal.value, &flags, &active), 0);
    assert_false(active);
  }
}

int main(void) {
  kdl_discover_opts opts = {.backends = 1u << KDL_BACKEND_CUDA};
  if (kdl_discover(&opts, &found) != KDL_OK)
    return 1;
  if (found->reports[0].state != KDL_DRIVER_USABLE) {
    printf("skipped: CUDA %s: %s\n", kdl_driver_state_names[found->reports[0].state],
           found->reports[0].words);
    kdl_discovery_free(found);
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_are_described),
      cmocka_unit_test(no_context_was_created),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  kdl_discovery_free(found);
  return failed;
}
