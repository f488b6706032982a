/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The CUDA backend against the fake driver: what it does, and which calls it makes for it. */
#include "cuda_support.h"

#define BACKEND_KEPT 0
#include "driver_backend.h"

static void *backend_load(void *device) {
  return load_ptx(device, good_ptx);
}

static bool backend_is_clean(void) {
  return ask_fake("fake_cuda_depth") == 0;
}

/* Lets the queue learn that no context is current here. */
static void settle(const setup *s) {
  assert_ok(run_saxpy(s, s->queue));
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static void a_kernel_runs(void **state) {
  (void)state;
  setup s = begin();
  clear_log();
  assert_ok(run_saxpy(&s, s.queue));
  /* One call of the driver where kernels are free of contexts; else one that is refused, since none
   * is current, and from then on the context is made current first. */
  assert_int_equal(calls_of("cuLaunchKernel"), is_bound() ? 2 : 1);
  clear_log();
  assert_ok(run_saxpy(&s, s.queue));
  assert_int_equal(calls_of("cuLaunchKernel"), 1);
  assert_int_equal(calls_of("cuCtxGetCurrent"), is_bound() ? 1 : 0);
  assert_int_equal(calls_of("cuCtxPushCurrent_v2"), is_bound() ? 1 : 0);
  assert_result(&s, 2);
  assert_int_equal(s.saxpy.block[0], 128);
  check_saxpy_params(&s.saxpy);
  end(&s);
}

static void a_block_is_suggested(void **state) {
  (void)state;
  setup s = begin();
  check_suggested_block(&s, 512);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

static int create_context(void **context, int device) {
  int (*create)(void **, unsigned, int);
  get_fake("cuCtxCreate_v2", &create);
  return create(context, 0, device);
}

static int destroy_context(void *context) {
  int (*destroy)(void *);
  get_fake("cuCtxDestroy_v2", &destroy);
  return destroy(context);
}

static int create_stream(void **stream, unsigned flags) {
  int (*create)(void **, unsigned, int);
  get_fake("cuStreamCreateWithPriority", &create);
  return create(stream, flags, 0);
}

static int destroy_stream(void *stream) {
  int (*destroy)(void *);
  get_fake("cuStreamDestroy_v2", &destroy);
  return destroy(stream);
}

static void another_context_is_current(void **state) {
  (void)state;
  setup s = begin();
  void *other, *adopted;
  assert_ok(driver->queue_adopt(s.device, NULL, &adopted));
  assert_int_equal(create_context(&other, 101), 0); /* of the second device; now current */
  assert_ok(run_saxpy(&s, s.queue));
  assert_ok(run_saxpy(&s, adopted)); /* the NULL stream of our context, not of that one */
  assert_int_equal(ask_fake("fake_cuda_depth"), 1);
  assert_int_equal(destroy_context(other), 0);
  assert_result(&s, 2);
  driver->queue_destroy(s.device, adopted);
  end(&s);
}

static void a_stream_is_adopted(void **state) {
  (void)state;
  setup s = begin();
  void *context = driver->device_native(s.device, KDL_NATIVE_CONTEXT);
  int (*push)(void *), (*pop)(void **);
  get_fake("cuCtxPushCurrent_v2", &push);
  get_fake("cuCtxPopCurrent_v2", &pop);
  void *stream;
  assert_int_equal(push(context), 0);
  assert_int_equal(create_stream(&stream, 0), 0);
  assert_int_equal(pop(&context), 0);
  check_adopted_stream(&s, stream);
  assert_int_equal(destroy_stream(stream), 0);
  end(&s);
}

/* A context of the program's own on the same device: the code must run there as it is, or be loaded
 * there. */
static void a_stream_of_another_context(void **state) {
  (void)state;
  setup s = begin();
  void *other, *stream, *queue;
  assert_int_equal(create_context(&other, 100), 0);
  assert_int_equal(create_stream(&stream, 0), 0);
  if (is_bound()) {
    assert_fails(driver->queue_adopt(s.device, stream, &queue), KDL_BAD_CALL,
                 "cuda:0: the stream to be adopted is one of another context than code is loaded "
                 "into; adopt that context first, with kdl_device_adopt, or from CUDA 12 on set "
                 "KDL_CUDA_MODULES=0");
  } else {
    assert_ok(driver->queue_adopt(s.device, stream, &queue));
    assert_ok(run_saxpy(&s, queue));
    driver->queue_destroy(s.device, queue);
  }
  assert_int_equal(destroy_stream(stream), 0);
  assert_int_equal(destroy_context(other), 0);
  assert_result(&s, is_bound() ? 0 : 1);
  end(&s);
}

static void a_stream_of_another_device_is_refused(void **state) {
  (void)state;
  setup s = begin();
  void *other, *stream, *queue;
  assert_int_equal(create_context(&other, 101), 0);
  assert_int_equal(create_stream(&stream, 0), 0);
  assert_fails(driver->queue_adopt(s.device, stream, &queue), KDL_BAD_CALL,
               "cuda:0: the stream to be adopted is one of another device");
  assert_fails(driver->queue_adopt(s.device, &other, &queue), KDL_DEVICE,
               "cuda:0: cuStreamGetCtx: CUDA_ERROR_INVALID_HANDLE (400): invalid resource handle");
  assert_int_equal(destroy_stream(stream), 0);
  assert_int_equal(destroy_context(other), 0);
  end(&s);
}

static void a_context_is_adopted(void **state) {
  (void)state;
  void *context;
  assert_int_equal(create_context(&context, 101), 0);
  kdl_backend_device desc = {
      .size = sizeof desc, .spec = "cuda:sm_90", .ordinal = 1, .native_context = context};
  void *device;
  assert_ok(driver->device_open(&desc, &device));
  assert_ptr_equal(driver->device_native(device, KDL_NATIVE_CONTEXT), context);
  assert_int_equal((intptr_t)driver->device_native(device, KDL_NATIVE_DEVICE), 101);
  uint64_t memory;
  assert_ok(driver->alloc(device, 64, &memory));
  assert_ok(driver->free(device, memory));
  desc.ordinal = 0;
  assert_fails(driver->device_open(&desc, &device), KDL_BAD_CALL,
               "cuda:0: the context to be adopted is one of another device");
  assert_int_equal(destroy_context(context), 0);
  assert_int_equal(ask_fake("fake_cuda_depth"), 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Captures                                                                                     */

static void a_capture_survives(void **state) {
  (void)state;
  setup s = begin();
  int (*begin_capture)(void *, int), (*end_capture)(void *, void **), (*destroy)(void *);
  get_fake("cuStreamBeginCapture_v2", &begin_capture);
  get_fake("cuStreamEndCapture", &end_capture);
  get_fake("cuGraphDestroy", &destroy);
  check_capturing(&s, s.queue, 0);
  assert_int_equal(begin_capture(driver->queue_native(s.device, s.queue), 0), 0);
  check_capturing(&s, s.queue, 1);
  /* Loading, finding and allocating elsewhere do not disturb it; a prepared kernel is captured. */
  void *loaded = load_ptx(s.device, PTX_HEADER PTX_EMPTY);
  find_kernel(s.device, loaded, "empty");
  uint64_t memory;
  assert_ok(driver->alloc(s.device, 64, &memory));
  assert_ok(run_saxpy(&s, s.queue));
  void *graph = NULL;
  assert_int_equal(end_capture(driver->queue_native(s.device, s.queue), &graph), 0);
  assert_non_null(graph);
  assert_int_equal(destroy(graph), 0);
  assert_ok(driver->free(s.device, memory));
  driver->image_unload(s.device, loaded);
  assert_result(&s, 0);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Shapes                                                                                       */

static void group_memory_is_asked_for_once(void **state) {
  (void)state;
  setup s = begin();
  const char *set = is_bound() ? "cuFuncSetAttribute" : "cuKernelSetAttribute";
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  kdl_launch_desc desc = shape_of(1, 1);
  clear_log();
  desc.shared = 48 << 10;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of(set), 0);
  desc.shared = (48 << 10) + 16;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  desc.shared = 227 << 10;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of(set), 1);
  desc.shared += 1;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_BAD_CALL,
               "cuda:0: 232449 bytes of dynamic group memory and 0 of the kernel's own are more "
               "than the 232448 that the device has");
  end(&s);
}

static void clusters_and_cooperation(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  kdl_launch_desc desc = shape_of(16, 32);
  const char *set = is_bound() ? "cuFuncSetAttribute" : "cuKernelSetAttribute";
  settle(&s);
  clear_log();
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of(is_old() ? "cuLaunchCooperativeKernel" : "cuLaunchKernelEx"), 1);
  desc.cluster[0] = 4;
  if (is_old()) {
    assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
                 "cuda:0: cluster launches need cuLaunchKernelEx, which drivers have from CUDA "
                 "11.6 on");
    end(&s);
    return;
  }
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of(set), 0);
  desc.cluster[0] = 16;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of(set), 1);
  assert_int_equal(calls_of("cuLaunchKernelEx"), 4);
  desc.flags = KDL_LAUNCH_EARLY;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  desc.cluster[0] = 0;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of("cuLaunchKernelEx"), 6);
  desc.flags = 6;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
               "cuda:0: found launch flags 0x6, expected KDL_LAUNCH_COOPERATIVE or none");
  end(&s);
}

static void what_the_driver_refuses_is_told(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  kdl_launch_desc desc = shape_of(1, 2048);
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_DEVICE,
               "cuda:0: cuLaunchKernel with grid 1x1x1, block 2048x1x1, 0 bytes of dynamic group "
               "memory: CUDA_ERROR_INVALID_VALUE (1): invalid argument");
  assert_int_equal(kdl_error_code(), 1);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Memory and events                                                                            */

static void fills_and_copies(void **state) {
  (void)state;
  setup s = begin();
  check_fills(&s);
  /* The same word over and over is one fill. */
  clear_log();
  assert_ok(driver->fill(s.device, s.queue, s.x, 0, 64, "abcdabcdabcdabcd", 16));
  assert_int_equal(calls_of("cuMemsetD32Async"), 1);
  assert_int_equal(calls_of("cuMemsetD2D32Async"), 0);
  end(&s);
}

static void events_order_and_time_work(void **state) {
  (void)state;
  check_events("cuda:0: cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (400): invalid resource "
               "handle");
}

static void events_are_asked_without_waiting(void **state) {
  (void)state;
  check_query(set_fault, "cuEventQuery:1+:600", "cuEventQuery:1+:700",
              "cuda:0: cuEventQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access "
              "was encountered");
}

static void free_memory_is_told(void **state) {
  (void)state;
  check_memory_info();
}

static void host_memory(void **state) {
  (void)state;
  check_host_memory("cuda:0: cuMemFreeHost: CUDA_ERROR_INVALID_VALUE (1): invalid argument");
  setup s = begin();
  void *data;
  inject("cuMemHostAlloc:1+:2");
  assert_fails(driver->alloc_host(s.device, 64, &data), KDL_NO_MEMORY,
               "cuda:0: cuMemHostAlloc of 64 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  inject("");
  end(&s);
}

static void memory_runs_out(void **state) {
  (void)state;
  check_memory_runs_out("cuda:0: cuMemAlloc_v2 of 2097152 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out "
                        "of memory");
}

static void an_illegal_address_shows_when_waiting(void **state) {
  (void)state;
  check_illegal_address(700, "cuda:0: cuStreamQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal "
                             "memory access was encountered");
}

/* ------------------------------------------------------------------------------------------ */
/* Code                                                                                         */

static void globals(void **state) {
  (void)state;
  setup s = begin();
  check_table(&s);
  check_missing_global(&s, is_bound()
                               ? "cuda:0: cuModuleGetGlobal_v2 \"chair\": CUDA_ERROR_NOT_FOUND "
                                 "(500): named symbol not found"
                               : "cuda:0: cuLibraryGetGlobal \"chair\": CUDA_ERROR_NOT_FOUND "
                                 "(500): named symbol not found");
  end(&s);
}

static void a_kernel_is_missing(void **state) {
  (void)state;
  check_missing_kernel(is_bound() ? "cuda:0: cuModuleGetFunction \"sgemm\": CUDA_ERROR_NOT_FOUND "
                                    "(500): named symbol not found"
                                  : "cuda:0: cuLibraryGetKernel \"sgemm\": CUDA_ERROR_NOT_FOUND "
                                    "(500): named symbol not found");
}

static void machine_code(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = read_golden("images/sm_90a.cubin", &size);
  void *device = open_device(0);
  void *loaded;
  kdl_backend_image image = image_of(KDL_IMAGE_CUBIN, bytes, size);
  assert_ok(driver->image_load(device, &image, &loaded));
  find_kernel(device, loaded, "fill");
  driver->image_unload(device, loaded);
  free(bytes);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

/* Code for another GPU is refused when it is loaded, or when its kernel is. */
static void machine_code_for_another(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = read_golden("images/sm_75.cubin", &size);
  void *device = open_device(0);
  void *loaded;
  kdl_backend_image image = image_of(KDL_IMAGE_CUBIN, bytes, size);
  if (is_bound()) {
    assert_fails(driver->image_load(device, &image, &loaded), KDL_DEVICE,
                 "cuda:0: cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image "
                 "is available for execution on the device");
  } else {
    kdl_backend_kernel kernel = {.size = sizeof kernel};
    kdl_kernel_request request = {.size = sizeof request, .name = "fill"};
    assert_ok(driver->image_load(device, &image, &loaded));
    assert_fails(driver->kernel_find(device, loaded, &request, &kernel), KDL_DEVICE,
                 "cuda:0: cuKernelGetFunction: CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel "
                 "image is available for execution on the device");
    driver->image_unload(device, loaded);
  }
  free(bytes);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

static void garbage(void **state) {
  (void)state;
  void *device = open_device(0);
  void *loaded;
  kdl_backend_image image = image_of(KDL_IMAGE_CUBIN, "not a cubin at all", 18);
  assert_fails(driver->image_load(device, &image, &loaded), KDL_DEVICE,
               is_bound() ? "cuda:0: cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (200): device "
                            "kernel image is invalid"
                          : "cuda:0: cuLibraryLoadData: CUDA_ERROR_INVALID_IMAGE (200): device "
                            "kernel image is invalid");
  image.kind = KDL_IMAGE_HSACO;
  assert_int_equal(driver->image_load(device, &image, &loaded), KDL_UNSUPPORTED);
  assert_non_null(
      strstr(kdl_error_message(), "cuda:0: found an image of kind hsaco, expected cubin, ptx"));
  assert_int_equal(ask_fake("fake_alive"), 0);
}

static void the_compiler_is_quoted(void **state) {
  (void)state;
  void *device = open_device(0);
  void *loaded;
  const char *text = PTX_HEADER "syntax_error\n";
  kdl_backend_image image = image_of(KDL_IMAGE_PTX, text, strlen(text));
  char expected[512];
  snprintf(expected, sizeof expected,
           "cuda:0: %s: ptxas application ptx input, line 7; fatal   : Parsing error near "
           "'syntax_error': syntax error; ptxas fatal   : Ptx assembly aborted due to errors: "
           "CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed",
           is_bound() ? "cuModuleLoadDataEx" : "cuLibraryLoadData");
  assert_fails(driver->image_load(device, &image, &loaded), KDL_DEVICE, expected);
  setenv("KDL_CUDA_JIT_MAX_REGISTERS", "many", 1);
  assert_fails(driver->image_load(device, &image, &loaded), KDL_BAD_CALL,
               "KDL_CUDA_JIT_MAX_REGISTERS: found \"many\", expected 1 to 255");
  unsetenv("KDL_CUDA_JIT_MAX_REGISTERS");
  assert_int_equal(ask_fake("fake_alive"), 0);
}

static void devices_share_code(void **state) {
  (void)state;
  setup s = begin();
  void *second = open_device(1);
  clear_log();
  void *loaded = load_ptx(second, good_ptx);
  assert_int_equal(calls_of("cuLibraryLoadData"), 0);
  assert_int_equal(calls_of("cuModuleLoadDataEx"), is_bound() ? 1 : 0);
  kdl_backend_kernel kernel = find_kernel(second, loaded, "empty");
  void *queue = make_queue(second);
  kdl_launch_desc desc = shape_of(1, 1);
  assert_ok(launch(&kernel, queue, &desc, KDL_NO_ARGS));
  assert_ok(run_saxpy(&s, s.queue));
  driver->image_unload(second, loaded);
  assert_int_equal(calls_of("cuLibraryUnload"), 0);
  assert_ok(run_saxpy(&s, s.queue)); /* the first device's still works */
  driver->queue_destroy(second, queue);
  assert_result(&s, 2);
  end(&s);
}

int main(int argc, char **argv) {
  (void)argc;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_runs),
      cmocka_unit_test(a_block_is_suggested),
      cmocka_unit_test(a_kernel_without_parameters),
      cmocka_unit_test(a_fresh_thread_launches),
      cmocka_unit_test(another_context_is_current),
      cmocka_unit_test(a_stream_is_adopted),
      cmocka_unit_test(a_stream_of_another_context),
      cmocka_unit_test(a_stream_of_another_device_is_refused),
      cmocka_unit_test(a_context_is_adopted),
      cmocka_unit_test(a_capture_survives),
      cmocka_unit_test(group_memory_is_asked_for_once),
      cmocka_unit_test(clusters_and_cooperation),
      cmocka_unit_test(what_the_driver_refuses_is_told),
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
      cmocka_unit_test(machine_code),
      cmocka_unit_test(machine_code_for_another),
      cmocka_unit_test(garbage),
      cmocka_unit_test(the_compiler_is_quoted),
      cmocka_unit_test(devices_share_code),
  };
  return run_backend_tests(argv, &kdl_built_in_cuda, tests);
}
