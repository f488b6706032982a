/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_OPEN_NO_HOST on the drivers of this machine: OpenCL drivers for CPUs, PoCL on a test machine,
 * compile code and run it in this process. */
#include "support.h"

#include "lib/registry/device.h"

#include <stdbool.h>
#include <stdlib.h>

static const char source[] = "kernel void fill(global uint *p) { p[get_global_id(0)] = 7; }\n";
static kdl_device *cpu;
static void *library;
static size_t library_size;

static void make_library(void) {
  static const kdl_pair pairs[] = {{{"triple", 6}, {"spir64-unknown-unknown", 22}},
                                   {{"kdl.kind", 8}, {"cl", 2}}};
  kdl_writer *writer;
  kdl_writer_image image = {.size = sizeof image,
                            .pairs = pairs,
                            .pair_count = sizeof pairs / sizeof *pairs,
                            .data = source,
                            .data_size = sizeof source - 1};
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_finish(writer, &library, &library_size));
  kdl_writer_destroy(writer);
}

static kdl_library *open_with(uint32_t flags) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t", .flags = flags};
  assert_ok(kdl_open_memory(library, library_size, &opts, &lib));
  return lib;
}

static void compiled_and_run_without_the_flag(void **state) {
  (void)state;
  kdl_library *lib = open_with(0);
  kdl_kernel *kernel;
  assert_ok(kdl_sym(lib, cpu, "fill", NULL, &kernel));
  assert_ok(kdl_prefetch(kernel));
  kdl_close(lib);
}

static void refused_with_it(void **state) {
  (void)state;
  kdl_library *lib = open_with(KDL_OPEN_NO_HOST);
  kdl_kernel *kernel;
  assert_ok(kdl_sym(lib, cpu, "fill", NULL, &kernel));
  assert_int_equal(kdl_prefetch(kernel), KDL_UNSUPPORTED);
  assert_non_null(strstr(kdl_error_message(), "the library was opened with KDL_OPEN_NO_HOST, and "
                                              "what runs on this device runs in this process"));
  kdl_close(lib);
}

static void no_such_device_is_chosen(void **state) {
  (void)state;
  kdl_library *lib = open_with(KDL_OPEN_NO_HOST);
  kdl_device *device = NULL;
  kdl_status status = kdl_device_for(lib, "fill", NULL, &device);
  if (status == KDL_OK)
    assert_false(kdl_device_is_process(device, 0));
  else
    assert_int_equal(status, KDL_NO_MATCH);
  kdl_close(lib);
}

/* PoCL keeps what it compiled: not in the user's home. */
static char kept[] = "/tmp/kdl-no-host-XXXXXX";

static void remove_kept(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", kept);
  if (system(command) != 0)
    fprintf(stderr, "%s is left\n", kept);
}

int main(void) {
  char text[32];
  if (!mkdtemp(kept) || setenv("POCL_CACHE_DIR", kept, 1) != 0)
    return 1;
  atexit(remove_kept);
  for (unsigned i = 0; i < 16 && !cpu; ++i) {
    kdl_device *device;
    snprintf(text, sizeof text, "opencl:%u", i);
    if (kdl_device_find(text, &device) != KDL_OK)
      break;
    if (kdl_device_spec_class(&device->routes[0]->spec) == KDL_DEVICE_CPU)
      cpu = device;
  }
  if (!cpu) {
    puts("skipped: no OpenCL driver for CPUs (Debian: ocl-icd-libopencl1 and pocl-opencl-icd)");
    return 77;
  }
  make_library();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused_with_it),
      cmocka_unit_test(no_such_device_is_chosen),
      cmocka_unit_test(compiled_and_run_without_the_flag),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(library);
  return failed;
}
