/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The HIP backend against the fake runtime: what it does, and which calls it makes for it. */
#include "hip_support.h"

#define BACKEND_KEPT 0
#include "driver_backend.h"

/* The runtime's words, which ROCm 5 has not. */
#define WORDS(text) (is_old() ? "" : ": " text)

static char expected[512];

#define expect(...) snprintf(expected, sizeof expected, __VA_ARGS__)

static void *backend_load(void *device) {
  return load_golden(device, "gfx90a.hsaco");
}

static bool backend_is_clean(void) {
  return current_device() == 0 && last_error() == 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static void a_kernel_runs(void **state) {
  (void)state;
  setup s = begin();
  clear_log();
  assert_ok(run_saxpy(&s, s.queue));
  assert_int_equal(calls_of("hipModuleLaunchKernel"), 1);
  assert_int_equal(calls_of("hipGetDevice"), 0);
  assert_result(&s, 1);
  assert_int_equal(s.saxpy.block[0], 128);
  check_saxpy_params(&s.saxpy);
  end(&s);
}

static void blocks_are_those_of_the_code(void **state) {
  (void)state;
  setup s = begin();
  check_suggested_block(&s, 512);
  /* Compiled for at most 128, which the runtime's suggestion does not consider here. */
  kdl_backend_kernel kernel = find_free(&s, s.loaded, "small");
  assert_int_equal(kernel.suggested[0], 128);
  void *fixed = load_golden(s.device, "fixed.hsaco");
  kernel = find_free(&s, fixed, "fixed");
  check_required_block(&kernel, 32, 2, 1);
  driver->image_unload(s.device, fixed);
  end(&s);
}

static void a_block_is_too_large(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = "small", .block = {16, 16, 1}};
  assert_fails(driver->kernel_find(s.device, s.loaded, &request, &kernel), KDL_BAD_FILE,
               "hip:0: metadata says block=16x16x1, the image was compiled for at most 128 "
               "work-items in a group");
  kernel = find_free(&s, s.loaded, "small");
  kdl_launch_desc desc = shape_of(1, 256);
  expect("hip:0: hipModuleLaunchKernel with grid 1x1x1, block 256x1x1 (compiled for at most 128 "
         "work-items in a group), 0 bytes of dynamic group memory: hipErrorLaunchFailure (719)%s",
         WORDS("unspecified launch failure"));
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_DEVICE, expected);
  assert_int_equal(kdl_error_code(), 719);
  end(&s);
}

static void shapes(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  kdl_launch_desc desc = shape_of(1, 64);
  desc.shared = 64 << 10;
  clear_log();
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of("hipModuleLaunchKernel"), 1);
  desc.shared += 1;
  expect("hip:0: hipModuleLaunchKernel with grid 1x1x1, block 64x1x1, 65537 bytes of dynamic group "
         "memory: hipErrorInvalidValue (1)%s",
         WORDS("invalid argument"));
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_DEVICE, expected);
  desc.shared = 0;
  desc.cluster[0] = 2;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
               "hip:0: found a cluster of groups, expected none: the backend has none");
  desc.cluster[0] = 0;
  desc.flags = 6;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
               "hip:0: found launch flags 0x6, expected KDL_LAUNCH_COOPERATIVE or none");
  end(&s);
}

static void cooperation(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  kdl_launch_desc desc = shape_of(104, 64);
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  if (is_old()) {
    assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
                 "hip:0: cooperative launches need hipModuleLaunchCooperativeKernel, which ROCm "
                 "has from 5.5 on");
    end(&s);
    return;
  }
  clear_log();
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of("hipModuleLaunchCooperativeKernel"), 1);
  desc.grid[0] = 105;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_DEVICE,
               "hip:0: hipModuleLaunchCooperativeKernel with grid 105x1x1, block 64x1x1, 0 bytes "
               "of dynamic group memory: hipErrorCooperativeLaunchTooLarge (720): too many blocks "
               "in cooperative launch");
  end(&s);
}

/* The runtime is not asked to launch: it would report a kernel that crashed. */
static void a_device_without_cooperation(void **state) {
  (void)state;
  void *device = open_device(2), *queue = make_queue(device);
  void *loaded = backend_load(device);
  kdl_backend_kernel kernel = find_kernel(device, loaded, "empty");
  kdl_launch_desc desc = shape_of(1, 64);
  assert_ok(launch(&kernel, queue, &desc, KDL_NO_ARGS));
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  clear_log();
  assert_fails(launch(&kernel, queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
               is_old()
                   ? "hip:2: cooperative launches need hipModuleLaunchCooperativeKernel, which "
                     "ROCm has from 5.5 on"
                   : "hip:2: the device has no cooperative launches");
  assert_int_equal(calls_of("hipModuleLaunchCooperativeKernel"), 0);
  assert_int_equal(calls_of("hipModuleLaunchKernel"), 0);
  driver->image_unload(device, loaded);
  driver->queue_destroy(device, queue);
  assert_int_equal(ask_fake("fake_alive"), BACKEND_KEPT);
  assert_true(backend_is_clean());
}

/* ------------------------------------------------------------------------------------------ */
/* Devices and streams                                                                          */

/* Also the loaded image's functions and variables are asked for with its device current: the
 * runtime aborts where it is not. */
static void another_device_is_current(void **state) {
  (void)state;
  setup s = begin();
  void *adopted;
  uint64_t address, size;
  assert_ok(driver->queue_adopt(s.device, NULL, &adopted));
  set_device(1);
  find_kernel(s.device, s.loaded, "empty");
  assert_ok(driver->global_find(s.device, s.loaded, "table", &address, &size));
  assert_ok(run_saxpy(&s, s.queue));
  assert_ok(run_saxpy(&s, adopted)); /* the NULL stream of our device, not of that one */
  assert_int_equal(current_device(), 1);
  assert_result(&s, 2);
  assert_int_equal(current_device(), 1);
  set_device(0);
  driver->queue_destroy(s.device, adopted);
  end(&s);
}

static void *create_stream(unsigned flags) {
  int (*create)(void **, unsigned);
  void *stream = NULL;
  get_fake("hipStreamCreateWithFlags", &create);
  assert_int_equal(create(&stream, flags), 0);
  return stream;
}

static int destroy_stream(void *stream) {
  int (*destroy)(void *);
  get_fake("hipStreamDestroy", &destroy);
  return destroy(stream);
}

static void a_stream_is_adopted(void **state) {
  (void)state;
  setup s = begin();
  void *stream = create_stream(0), *queue;
  check_adopted_stream(&s, stream);
  assert_ok(driver->queue_adopt(s.device, stream, &queue));
  clear_log();
  assert_ok(run_saxpy(&s, queue));
  assert_int_equal(calls_of("hipGetDevice"), 0);
  driver->queue_destroy(s.device, queue);
  assert_int_equal(destroy_stream(stream), 0);
  assert_result(&s, 2);
  end(&s);
}

static void a_stream_of_another_device_is_refused(void **state) {
  (void)state;
  setup s = begin();
  void *queue;
  set_device(1);
  void *stream = create_stream(0);
  set_device(0);
  assert_fails(driver->queue_adopt(s.device, stream, &queue), KDL_BAD_CALL,
               "hip:0: the stream to be adopted is one of another device");
  assert_int_equal(destroy_stream(stream), 0);
  assert_fails(driver->queue_adopt(s.device, stream, &queue), KDL_BAD_CALL,
               "hip:0: the stream to be adopted is none");
  end(&s);
}

static void handles(void **state) {
  (void)state;
  void *device = open_device(1), *other;
  assert_ptr_equal(open_device(1), device);
  assert_int_equal((intptr_t)driver->device_native(device, KDL_NATIVE_DEVICE), 1);
  assert_null(driver->device_native(device, KDL_NATIVE_CONTEXT));
  kdl_backend_device desc = {
      .size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 1, .native_context = &desc};
  assert_fails(driver->device_open(&desc, &other), KDL_BAD_CALL,
               "hip:1: found a context to be adopted, expected none: HIP has one a device, which "
               "the whole process shares");
  desc = (kdl_backend_device){.size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 7};
  expect("hip:7: hipSetDevice: hipErrorInvalidDevice (101)%s", WORDS("invalid device ordinal"));
  assert_fails(driver->device_open(&desc, &other), KDL_DEVICE, expected);
  assert_no_last_error();
}

static void a_capture_survives(void **state) {
  (void)state;
  setup s = begin();
  int (*begin_capture)(void *, int), (*end_capture)(void *, void **), (*destroy)(void *);
  get_fake("hipStreamBeginCapture", &begin_capture);
  get_fake("hipStreamEndCapture", &end_capture);
  get_fake("hipGraphDestroy", &destroy);
  void *stream = create_stream(0), *adopted, *null_stream;
  assert_ok(driver->queue_adopt(s.device, stream, &adopted));
  assert_ok(driver->queue_adopt(s.device, NULL, &null_stream));
  check_capturing(&s, null_stream, 0);
  assert_int_equal(begin_capture(stream, 0), 0);
  check_capturing(&s, s.queue, 0);
  check_capturing(&s, adopted, 1);
  /* The NULL stream would wait for it. */
  check_capturing(&s, null_stream, 1);
  /* Loading, finding and allocating elsewhere do not disturb it; a prepared kernel is captured. */
  void *loaded = load_golden(s.device, "fixed.hsaco");
  find_free(&s, loaded, "fixed");
  uint64_t memory;
  assert_ok(driver->alloc(s.device, 64, &memory));
  assert_ok(run_saxpy(&s, adopted));
  void *graph = NULL;
  assert_int_equal(end_capture(stream, &graph), 0);
  assert_non_null(graph);
  assert_int_equal(destroy(graph), 0);
  assert_ok(driver->free(s.device, memory));
  driver->image_unload(s.device, loaded);
  driver->queue_destroy(s.device, adopted);
  driver->queue_destroy(s.device, null_stream);
  assert_int_equal(destroy_stream(stream), 0);
  assert_result(&s, 0);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Memory and events                                                                            */

static void fills_and_copies(void **state) {
  (void)state;
  setup s = begin();
  static const uint8_t pattern[16] = "abcdefghijklmno";
  check_fills(&s);
  /* The same word over and over is one fill; four words, each once, then doubled. */
  clear_log();
  assert_ok(driver->fill(s.device, s.queue, s.x, 0, 64, "abcdabcdabcdabcd", 16));
  assert_int_equal(calls_of("hipMemsetD32Async"), 1);
  clear_log();
  assert_ok(driver->fill(s.device, s.queue, s.x, 0, 112, pattern, 16));
  assert_int_equal(calls_of("hipMemsetD32Async"), 4);
  assert_int_equal(calls_of("hipMemcpyDtoDAsync"), 3);
  end(&s);
}

static void events_order_and_time_work(void **state) {
  (void)state;
  expect("hip:0: hipEventElapsedTime: hipErrorInvalidHandle (400)%s",
         WORDS("invalid resource handle"));
  check_events(expected);
}

static void events_are_asked_without_waiting(void **state) {
  (void)state;
  expect("hip:0: hipEventQuery: hipErrorIllegalAddress (700)%s",
         WORDS("an illegal memory access was encountered"));
  check_query(set_fault, "hipEventQuery:1+:600", "hipEventQuery:1+:700", expected);
}

static void free_memory_is_told(void **state) {
  (void)state;
  check_memory_info();
}

static void host_memory(void **state) {
  (void)state;
  expect("hip:0: hipHostFree: hipErrorInvalidValue (1)%s", WORDS("invalid argument"));
  check_host_memory(expected);
}

static void memory_runs_out(void **state) {
  (void)state;
  expect("hip:0: hipMalloc of 2097152 bytes: hipErrorOutOfMemory (2)%s", WORDS("out of memory"));
  check_memory_runs_out(expected);
}

static void an_illegal_address_shows_when_waiting(void **state) {
  (void)state;
  expect("hip:0: hipStreamSynchronize: hipErrorIllegalAddress (700)%s",
         WORDS("an illegal memory access was encountered"));
  check_illegal_address(700, expected);
}

/* ------------------------------------------------------------------------------------------ */
/* Code                                                                                         */

static void globals(void **state) {
  (void)state;
  setup s = begin();
  check_table(&s);
  check_weight(&s);
  expect("hip:0: hipModuleGetGlobal \"chair\": hipErrorNotFound (500)%s",
         WORDS("named symbol not found"));
  check_missing_global(&s, expected);
  end(&s);
}

static void a_kernel_is_missing(void **state) {
  (void)state;
  expect("hip:0: hipModuleGetFunction \"sgemm\": hipErrorNotFound (500)%s",
         WORDS("named symbol not found"));
  check_missing_kernel(expected);
}

/* Wherever it is cut, the runtime never sees what it would read beyond the end of. */
static void code_is_cut_off(void **state) {
  (void)state;
  void *device = open_device(0), *loaded;
  kdl_backend_image whole = golden_code("gfx90a.hsaco");
  for (size_t size = 0; size < whole.data_size; size += 61) {
    uint8_t *bytes = malloc(size ? size : 1);
    memcpy(bytes, whole.data, size);
    kdl_backend_image image = image_of(KDL_IMAGE_HSACO, bytes, size);
    assert_int_equal(driver->image_load(device, &image, &loaded), KDL_BAD_FILE);
    assert_ptr_equal(strstr(kdl_error_message(), "hip:0: the code object is damaged: offset 0x"),
                     kdl_error_message());
    free(bytes);
  }
  assert_int_equal(ask_fake("fake_alive"), 0);
}

/* The runtime does not survive it: the fake neither. */
static void code_is_stripped(void **state) {
  (void)state;
  void *device = open_device(0), *loaded;
  kdl_backend_image image = golden_code("stripped.hsaco");
  assert_fails(driver->image_load(device, &image, &loaded), KDL_BAD_FILE,
               "hip:0: the code object is stripped: found no section .symtab, expected one: HIP "
               "crashes without. Link it without -s, and do not strip it");
  assert_int_equal(ask_fake("fake_alive"), 0);
}

static void code_lies_anywhere(void **state) {
  (void)state;
  void *device = open_device(0);
  kdl_backend_image whole = golden_code("gfx90a.hsaco");
  uint8_t *bytes = malloc(whole.data_size + 8);
  for (size_t offset = 0; offset < 8; ++offset) {
    memcpy(bytes + offset, whole.data, whole.data_size);
    void *loaded = load_image(device, KDL_IMAGE_HSACO, bytes + offset, whole.data_size);
    find_kernel(device, loaded, "saxpy");
    driver->image_unload(device, loaded);
  }
  free(bytes);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

static void code_for_another(void **state) {
  (void)state;
  void *device = open_device(0), *loaded;
  kdl_backend_image image = golden_code("gfx90a_xnack.hsaco");
  assert_fails(driver->image_load(device, &image, &loaded), KDL_DEVICE,
               is_old() ? "hip:0: hipModuleLoadData: hipErrorNoBinaryForGpu (209)"
                        : "hip:0: hipModuleLoadData: hipErrorInvalidImage (200): device kernel "
                          "image is invalid");
  image.kind = KDL_IMAGE_PTX;
  assert_fails(driver->image_load(device, &image, &loaded), KDL_UNSUPPORTED,
               "hip:0: found an image of kind ptx, expected hsaco or spirv");
  image = image_of(KDL_IMAGE_HSACO, "not a code object at all", 24);
  assert_fails(driver->image_load(device, &image, &loaded), KDL_BAD_FILE,
               "hip:0: the code object is damaged: offset 0x0: e_ident: found no ELF "
               "header, expected 7f 45 4c 46");
  assert_int_equal(ask_fake("fake_alive"), 0);
  assert_no_last_error();
}

/* Compiled by ROCm from 6.4 on. Its parameters have no offsets of their own. */
static void spirv_is_loaded(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_image image = golden_code("spirv64.spv");
  void *loaded;
  if (is_old()) {
    assert_fails(driver->image_load(s.device, &image, &loaded), KDL_DEVICE,
                 "hip:0: hipModuleLoadData: hipErrorNoBinaryForGpu (209)");
    end(&s);
    return;
  }
  loaded = load_golden(s.device, "spirv64.spv");
  setup compiled = s;
  compiled.saxpy = find_kernel(s.device, loaded, "saxpy");
  assert_ok(run_saxpy(&compiled, s.queue));
  assert_result(&s, 1);
  check_saxpy_params(&compiled.saxpy);
  kdl_backend_kernel sum = find_kernel(s.device, loaded, "sum");
  assert_int_equal(sum.param_count, 3);
  assert_int_equal(sum.params[1].size, 12);
  assert_int_equal(sum.params[1].offset, UINT32_MAX);
  assert_int_equal(sum.params[2].offset, UINT32_MAX);
  driver->image_unload(s.device, loaded);
  end(&s);
}

int main(int argc, char **argv) {
  (void)argc;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_runs),
      cmocka_unit_test(blocks_are_those_of_the_code),
      cmocka_unit_test(a_block_is_too_large),
      cmocka_unit_test(a_kernel_without_parameters),
      cmocka_unit_test(shapes),
      cmocka_unit_test(cooperation),
      cmocka_unit_test(a_device_without_cooperation),
      cmocka_unit_test(a_fresh_thread_launches),
      cmocka_unit_test(another_device_is_current),
      cmocka_unit_test(a_stream_is_adopted),
      cmocka_unit_test(a_stream_of_another_device_is_refused),
      cmocka_unit_test(handles),
      cmocka_unit_test(a_capture_survives),
      cmocka_unit_test(fills_and_copies),
      cmocka_unit_test(copies_between_devices),
      cmocka_unit_test(events_order_and_time_work),
      cmocka_unit_test(events_are_asked_without_waiting),
      cmocka_unit_test(free_memory_is_told),
      cmocka_unit_test(host_memory),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(an_illegal_address_shows_when_waiting),
      cmocka_unit_test(globals),
      cmocka_unit_test(a_kernel_is_missing),
      cmocka_unit_test(code_is_cut_off),
      cmocka_unit_test(code_is_stripped),
      cmocka_unit_test(code_lies_anywhere),
      cmocka_unit_test(code_for_another),
      cmocka_unit_test(spirv_is_loaded),
  };
  return run_backend_tests(argv, &kdl_built_in_hip, tests);
}
