/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Native code on the Level Zero backend: the driver accepts code for its device, and the parameters
 * are read from the image. */
#include "level_zero_support.h"

#include "zebin_builder.h"

#define ARGUMENT(type, index, size)                                                                \
  "      - arg_type: " type "\n        offset: 32\n        size: " size                            \
  "\n        arg_index: " index "\n"
#define POINTER(index) ARGUMENT("arg_bypointer", index, "8") "        addrspace: global\n"
#define SAXPY                                                                                      \
  "version: '1.39'\nkernels:\n  - name: saxpy\n    payload_arguments:\n" POINTER("1") POINTER("2") \
      ARGUMENT("arg_byvalue", "0", "4") ARGUMENT("arg_byvalue", "3", "4")
#define FILL "  - name: fill\n    payload_arguments:\n"

enum { count = 100 };

static elf_image built;

static void *load(void *device, const char *ze_info) {
  free(built.data);
  built = build_zebin(ip_version(20, 1, 4), ze_info);
  return load_image(device, KDL_IMAGE_ZEBIN, built.data, built.size);
}

static void a_native_kernel_runs(void **state) {
  (void)state;
  void *device = open_device(0), *queue = make_queue(device);
  void *loaded = load(device, SAXPY FILL);
  kdl_backend_kernel kernel = find_kernel(device, loaded, "saxpy");
  static const kdl_param_info params[] = {
      {UINT32_MAX, 4}, {UINT32_MAX, 8}, {UINT32_MAX, 8}, {UINT32_MAX, 4}};
  assert_int_equal(kernel.param_count, 4);
  assert_memory_equal(kernel.params, params, sizeof params);
  uint64_t x, y;
  float a = 2, numbers[count];
  uint32_t n = count;
  for (int i = 0; i < count; ++i)
    numbers[i] = (float)i;
  assert_ok(driver->alloc(device, sizeof numbers, &x));
  assert_ok(driver->alloc(device, sizeof numbers, &y));
  assert_ok(driver->write(device, queue, x, 0, numbers, sizeof numbers));
  assert_ok(driver->write(device, queue, y, 0, numbers, sizeof numbers));
  kdl_launch_desc desc = shape_of(1, 128);
  assert_ok(launch(&kernel, queue, &desc, KDL_ARGS(&a, &x, &y, &n)));
  assert_ok(driver->read(device, queue, numbers, y, 0, sizeof numbers));
  assert_ok(driver->queue_sync(device, queue));
  for (int i = 0; i < count; ++i)
    assert_true(numbers[i] == 3 * (float)i);
  assert_ok(driver->free(device, x));
  assert_ok(driver->free(device, y));
  driver->image_unload(device, loaded);
  driver->queue_destroy(device, queue);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

static void code_for_another_device_is_refused(void **state) {
  (void)state;
  static const uint32_t others[] = {0x030f0007 /* 12.60.7 */, 0x05004000 /* 20.1.0 */, 0};
  void *device = open_device(0), *loaded;
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    elf_image elf = build_zebin(others[i], SAXPY FILL);
    kdl_backend_image image = image_of(KDL_IMAGE_ZEBIN, elf.data, elf.size);
    assert_fails(driver->image_load(device, &image, &loaded), KDL_DEVICE,
                 "level_zero:0: zeModuleCreate: ZE_RESULT_ERROR_INVALID_NATIVE_BINARY "
                 "(0x7800000f)");
    free(elf.data);
  }
}

/* Values take 4 bytes each; the signature gives their size. */
static void small_values_by_their_signature(void **state) {
  (void)state;
  void *device = open_device(0);
  void *loaded = load(device, SAXPY "  - name: fill\n    payload_arguments:\n" POINTER("0")
                                  ARGUMENT("arg_byvalue", "1", "4"));
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = "fill", .sig = {"ptr<u8> u8", 10}};
  assert_ok(driver->kernel_find(device, loaded, &request, &kernel));
  assert_int_equal(kernel.params[1].size, 1);
  request.sig = (kdl_string){"ptr<u8> u64", 11};
  assert_ok(driver->kernel_find(device, loaded, &request, &kernel));
  assert_int_equal(kernel.params[1].size, 4);
  request.sig = (kdl_string){"u64 u8", 6};
  assert_fails(driver->kernel_find(device, loaded, &request, &kernel), KDL_UNSUPPORTED,
               "level_zero:0: parameter 0 is a value by the signature and memory by the image");
  driver->image_unload(device, loaded);
}

static void what_is_not_told_must_be_signed_for(void **state) {
  (void)state;
  void *device = open_device(0);
  void *loaded = load(device, SAXPY "  - name: fill\n    payload_arguments:\n" POINTER("1"));
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = "fill"};
  assert_fails(driver->kernel_find(device, loaded, &request, &kernel), KDL_UNSUPPORTED,
               "level_zero:0: parameter 0: neither the driver, the image nor a signature tells "
               "whether it is memory or a value, or it is an image or a sampler");
  request.sig = (kdl_string){"u32 ptr<f32>", 12};
  assert_ok(driver->kernel_find(device, loaded, &request, &kernel));
  assert_int_equal(kernel.param_count, 2);
  driver->image_unload(device, loaded);
  free(built.data);
}

int main(int argc, char **argv) {
  (void)argc;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_native_kernel_runs),
      cmocka_unit_test(code_for_another_device_is_refused),
      cmocka_unit_test(small_values_by_their_signature),
      cmocka_unit_test(what_is_not_told_must_be_signed_for),
  };
  return run_backend_tests(argv, &kdl_built_in_level_zero, tests);
}
