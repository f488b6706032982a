/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How the Level Zero backend sets arguments: which calls it makes for them. */
#include "level_zero_setup.h"

/* The second launch is one call, and so is one with another grid. */
static void only_what_differs_is_set(void **state) {
  (void)state;
  setup s = begin();
  float a = 2;
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(3, 128);
  kdl_args args = KDL_ARGS(&a, &s.x, &s.y, &n);
  assert_ok(launch(&s.saxpy, s.queue, &desc, args));
  clear_log();
  assert_ok(launch(&s.saxpy, s.queue, &desc, args));
  desc.grid[0] = 4;
  assert_ok(launch(&s.saxpy, s.queue, &desc, args));
  assert_int_equal(calls_of("zeCommandListAppendLaunchKernel"), 2);
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 0);
  assert_int_equal(calls_of("zeKernelSetGroupSize"), 0);
  a = 0;
  assert_ok(launch(&s.saxpy, s.queue, &desc, args));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 1);
  desc.block[0] = 256;
  assert_ok(launch(&s.saxpy, s.queue, &desc, args));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 1);
  assert_int_equal(calls_of("zeKernelSetGroupSize"), 1);
  /* Another kernel in between has a handle of its own. */
  kdl_backend_kernel empty = find_kernel(s.device, s.loaded, "empty");
  kdl_launch_desc one = shape_of(1, 1);
  assert_ok(launch(&empty, s.queue, &one, KDL_NO_ARGS));
  clear_log();
  assert_ok(launch(&s.saxpy, s.queue, &desc, args));
  assert_ok(launch(&empty, s.queue, &one, KDL_NO_ARGS));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 0);
  assert_int_equal(calls_of("zeKernelSetGroupSize"), 0);
  assert_int_equal(calls_of("zeKernelCreate"), 0);
  assert_result(&s, 3);
  end(&s);
}

/* The driver has looked up what an address stood for: one that comes again is set again. */
static void memory_that_comes_again_is_set_again(void **state) {
  (void)state;
  setup s = begin();
  float a = 1;
  uint32_t n = 1;
  kdl_launch_desc desc = shape_of(1, 32);
  for (int i = 0; i < 8; ++i) {
    uint64_t x;
    float one = 1;
    assert_ok(driver->alloc(s.device, 4, &x));
    assert_ok(driver->write(s.device, s.queue, x, 0, &one, sizeof one));
    assert_ok(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &x, &s.y, &n)));
    assert_ok(driver->queue_sync(s.device, s.queue));
    assert_ok(driver->free(s.device, x));
  }
  float y;
  assert_ok(driver->read(s.device, s.queue, &y, s.y, 0, sizeof y));
  assert_ok(driver->queue_sync(s.device, s.queue));
  assert_true(y == 9);
  end(&s);
}

/* Memory that libkdl did not allocate may be freed behind its back. */
static void memory_of_others_is_always_set(void **state) {
  (void)state;
  setup s = begin();
  uint64_t table, size;
  assert_ok(driver->global_find(s.device, s.loaded, "table", &table, &size));
  assert_int_equal(size, 64);
  assert_ok(driver->fill(s.device, s.queue, table, 0, size, "", 1));
  float a = 1;
  uint32_t n = 16;
  kdl_launch_desc desc = shape_of(1, 32);
  kdl_args args = KDL_ARGS(&a, &table, &s.y, &n);
  assert_ok(launch(&s.saxpy, s.queue, &desc, args));
  for (int i = 0; i < 3; ++i) {
    clear_log();
    assert_ok(launch(&s.saxpy, s.queue, &desc, args));
    assert_int_equal(calls_of("zeKernelSetArgumentValue"), 1);
  }
  end(&s);
}

static void wrong_arguments(void **state) {
  (void)state;
  setup s = begin();
  float a = 2;
  uint32_t n = count;
  uint64_t nowhere = 16;
  kdl_launch_desc desc = shape_of(3, 128);
  assert_fails(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &s.x, &s.y)), KDL_BAD_CALL,
               "saxpy: found 3 arguments, expected 4");
  char expected[256];
  snprintf(expected, sizeof expected,
           "level_zero:0: zeKernelSetArgumentValue of argument 1 of \"saxpy\": "
           "ZE_RESULT_ERROR_INVALID_ARGUMENT (0x78000004)%s",
           is_old() ? "" : ": argument 1 points to no memory of the driver's");
  assert_fails(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &nowhere, &s.y, &n)), KDL_DEVICE,
               expected);
  /* What was refused is not remembered as set. */
  assert_ok(run_saxpy(&s, s.queue));
  assert_result(&s, 1);
  end(&s);
}

/* The metadata completes what is unknown otherwise; it gives the alignment of structures. */
static void a_structure_is_passed(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel sum = find_kernel(s.device, s.loaded, "sum");
  assert_int_equal(sum.param_count, 3);
  assert_int_equal(sum.params[1].size, 12);
  assert_int_equal(sum.params[1].offset, UINT32_MAX);
  kdl_kernel_request request = {
      .size = sizeof request, .name = "sum", .sig = KDL_TEXT("ptr<f32> bytes<12:4> u32")};
  assert_ok(driver->kernel_find(s.device, s.loaded, &request, &sum));
  assert_int_equal(sum.params[1].offset, 8);
  assert_int_equal(sum.params[2].offset, 20);
  float of[3] = {1, 2, 3};
  uint32_t n = 0;
  kdl_launch_desc desc = shape_of(1, 1);
  assert_ok(launch(&sum, s.queue, &desc, KDL_ARGS(&s.y, of, &n)));
  of[2] = 4;
  clear_log();
  assert_ok(launch(&sum, s.queue, &desc, KDL_ARGS(&s.y, of, &n)));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 1);
  end(&s);
}

/* Group memory is not an argument of a launch: its parameter gets the size from the launch. */
static void group_memory(void **state) {
  (void)state;
  setup s = begin();
  void *loaded = load_golden(s.device, "group.spv");
  kdl_backend_kernel kernel = find_kernel(s.device, loaded, "grouped");
  assert_int_equal(kernel.param_count, 2);
  assert_int_equal(kernel.params[1].offset, 8);
  uint32_t n = 1;
  kdl_launch_desc desc = shape_of(1, 64);
  clear_log();
  desc.shared = 256;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x, &n)));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 3);
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x, &n)));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 3);
  desc.shared = 512;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x, &n)));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 4);
  driver->image_unload(s.device, loaded);
  end(&s);
}

int main(int argc, char **argv) {
  (void)argc;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_what_differs_is_set),
      cmocka_unit_test(memory_that_comes_again_is_set_again),
      cmocka_unit_test(memory_of_others_is_always_set),
      cmocka_unit_test(wrong_arguments),
      cmocka_unit_test(a_structure_is_passed),
      cmocka_unit_test(group_memory),
  };
  return run_backend_tests(argv, &kdl_built_in_level_zero, tests);
}
