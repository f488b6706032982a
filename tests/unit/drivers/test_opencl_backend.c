/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The OpenCL backend against the fake driver: what it does, and which calls it makes for it. */
#include "opencl_setup.h"

/* ------------------------------------------------------------------------------------------ */
/* Shapes                                                                                       */

static void a_block_is_suggested(void **state) {
  (void)state;
  setup s = begin();
  check_suggested_block(&s, 256);
  end(&s);
}

static void a_block_that_the_source_demands(void **state) {
  (void)state;
  setup s = begin();
  void *loaded = load_source(
      s.device, "kernel __attribute__((reqd_work_group_size(8, 4, 2))) void tiled(int a) {}");
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, loaded, "tiled", NULL, &kernel));
  check_required_block(&kernel, 8, 4, 2);
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  int a = 0;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&a)));
  desc = shape_of(1, 64);
  assert_fails(launch(&kernel, s.queue, &desc, KDL_ARGS(&a)), KDL_DEVICE,
               "opencl:0: clEnqueueNDRangeKernel \"tiled\" with grid 1x1x1, block 64x1x1, 0 bytes "
               "of dynamic group memory: CL_INVALID_WORK_GROUP_SIZE (-54)");
  assert_int_equal(kdl_error_code(), -54);
  driver->image_unload(s.device, loaded);
  end(&s);
}

static void a_block_that_is_too_large(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = "saxpy", .block = {64, 32, 1}};
  assert_fails(driver->kernel_find(s.device, s.loaded, &request, &kernel), KDL_DEVICE,
               "opencl:0: block 64x32x1 has more than the 1024 work-items that the driver allows "
               "for \"saxpy\"");
  end(&s);
}

static void what_opencl_does_not_have(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  assert_int_equal(kernel.param_count, 0);
  assert_non_null(kernel.params); /* known to be none */
  kdl_launch_desc desc = shape_of(1, 1);
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  static const char words[] = "opencl:0: OpenCL has neither cooperative launches nor clusters";
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED, words);
  desc.flags = 0;
  desc.cluster[0] = 2;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED, words);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Queues and contexts                                                                          */

/* There is no waiting for the device's own queue, the first one that is made on it. */
static void the_devices_own_queue_is_flushed(void **state) {
  (void)state;
  void *device = open_device(1);
  void *own = make_queue(device), *other = make_queue(device);
  void *loaded = load_source(device, CL_EMPTY);
  kdl_backend_kernel kernel = find_kernel(device, loaded, "empty");
  kdl_launch_desc desc = shape_of(1, 64);
  for (int i = 0; i < 2; ++i) {
    clear_log();
    assert_ok(launch(&kernel, own, &desc, KDL_NO_ARGS));
    assert_int_equal(calls_of("clEnqueueNDRangeKernel"), 1);
    assert_int_equal(calls_of("clFlush"), 1);
    assert_ok(launch(&kernel, other, &desc, KDL_NO_ARGS));
    assert_int_equal(calls_of("clFlush"), 1);
  }
  driver->image_unload(device, loaded);
  driver->queue_destroy(device, other);
  driver->queue_destroy(device, own);
  assert_clean();
}

static void *create_queue(void *context, unsigned device, uint64_t properties) {
  void *(*create)(void *, void *, uint64_t, int32_t *);
  void *(*id)(unsigned);
  get_fake("clCreateCommandQueue", &create);
  get_fake("fake_opencl_device_id", &id);
  int32_t error;
  void *queue = create(context, id(device), properties, &error);
  assert_non_null(queue);
  return queue;
}

static void release_queue(void *queue) {
  int32_t (*release)(void *);
  get_fake("clReleaseCommandQueue", &release);
  assert_int_equal(release(queue), 0);
}

static void *create_context(unsigned device) {
  void *(*create)(const intptr_t *, uint32_t, void *const *, kdl_cl_notify *, void *, int32_t *);
  void *(*id)(unsigned);
  get_fake("clCreateContext", &create);
  get_fake("fake_opencl_device_id", &id);
  void *devices[] = {id(device)};
  const intptr_t properties[] = {KDL_CL_CONTEXT_PLATFORM, (intptr_t)devices[0], 0};
  int32_t error;
  void *context = create(properties, 1, devices, NULL, NULL, &error);
  assert_non_null(context);
  return context;
}

static void a_queue_is_adopted(void **state) {
  (void)state;
  setup s = begin();
  void *context = driver->device_native(s.device, KDL_NATIVE_CONTEXT);
  void *native = create_queue(context, 0, 0);
  void *queue;
  assert_ok(driver->queue_adopt(s.device, native, &queue));
  assert_ptr_equal(driver->queue_native(s.device, queue), native);
  setup there = s;
  there.queue = queue;
  assert_ok(run_saxpy(&there, there.queue));
  /* Without times of events, which the message mentions. */
  void *event;
  double ns;
  assert_ok(driver->event_create(s.device, &event));
  assert_ok(driver->event_record(s.device, event, queue));
  assert_fails(driver->event_elapsed(s.device, event, event, &ns), KDL_DEVICE,
               "opencl:0: clGetEventProfilingInfo: the event was not reached yet, or its queue was "
               "created without CL_QUEUE_PROFILING_ENABLE: CL_PROFILING_INFO_NOT_AVAILABLE (-7)");
  driver->event_destroy(s.device, event);
  driver->queue_destroy(s.device, queue);
  release_queue(native); /* still the caller's */
  assert_result(&s, 1);
  end(&s);
}

static void queues_that_cannot_be_adopted(void **state) {
  (void)state;
  setup s = begin();
  void *queue;
  void *native = create_queue(driver->device_native(s.device, KDL_NATIVE_CONTEXT), 0,
                              KDL_CL_QUEUE_OUT_OF_ORDER);
  assert_fails(driver->queue_adopt(s.device, native, &queue), KDL_UNSUPPORTED,
               "opencl:0: the queue to be adopted works out of order, expected one in order");
  release_queue(native);
  native = create_queue(create_context(0), 0, 0);
  assert_fails(driver->queue_adopt(s.device, native, &queue), KDL_BAD_CALL,
               "opencl:0: the queue to be adopted is one of another context; kdl_device_adopt "
               "takes the caller's context");
  release_queue(native);
  native = create_queue(create_context(1), 1, 0);
  assert_fails(driver->queue_adopt(s.device, native, &queue), KDL_BAD_CALL,
               "opencl:0: the queue to be adopted is one of another device; kdl_device_adopt takes "
               "the caller's context");
  release_queue(native);
  assert_fails(driver->queue_adopt(s.device, NULL, &queue), KDL_BAD_CALL,
               "opencl:0: found NULL to be adopted, expected a cl_command_queue: OpenCL has no "
               "default queue");
  end(&s);
}

/* Memory is then what programs that make contexts have: cl_mem. */
static void a_context_is_adopted(void **state) {
  (void)state;
  open_device(0);
  void *context = create_context(0);
  char kind[16];
  snprintf(kind, sizeof kind, "%s", getenv("KDL_OPENCL_MEMORY"));
  unsetenv("KDL_OPENCL_MEMORY");
  kdl_backend_device desc = {
      .size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 0, .native_context = context};
  void *device, *second;
  assert_ok(driver->device_open(&desc, &device));
  setenv("KDL_OPENCL_MEMORY", kind, 1);
  assert_ptr_equal(driver->device_native(device, KDL_NATIVE_CONTEXT), context);
  assert_non_null(driver->device_native(device, KDL_NATIVE_DEVICE));
  uint64_t memory;
  clear_log();
  assert_ok(driver->alloc(device, 64, &memory));
  assert_int_equal(calls_of("clCreateBuffer"), 1);
  assert_ok(driver->free(device, memory));
  desc.ordinal = 1;
  assert_fails(driver->device_open(&desc, &second), KDL_BAD_CALL,
               "opencl:1: the context to be adopted is one of another device");
  assert_clean();
}

static void urgent_queues(void **state) {
  (void)state;
  void *device = open_device(0);
  for (int priority = -1; priority <= 1; ++priority) {
    void *queue;
    assert_ok(driver->queue_create(device, priority, &queue));
    driver->queue_destroy(device, queue);
  }
  assert_clean();
}

/* ------------------------------------------------------------------------------------------ */
/* Memory and events                                                                            */

static void fills_and_copies(void **state) {
  (void)state;
  setup s = begin();
  check_fills(&s);
  end(&s);
}

static void memory_that_is_not_there(void **state) {
  (void)state;
  setup s = begin();
  uint64_t memory;
  kdl_status status = driver->alloc(s.device, 2 << 20, &memory);
  assert_int_equal(status, KDL_NO_MEMORY);
  assert_non_null(strstr(kdl_error_message(), " of 2097152 bytes: CL_"));
  assert_fails(driver->free(s.device, 0x1234), KDL_BAD_CALL,
               "opencl:0: found 0x1234 to be freed, expected what kdl_alloc gave");
  assert_ok(driver->alloc(s.device, 64, &memory));
  assert_ok(driver->free(s.device, memory));
  assert_int_equal(driver->free(s.device, memory), KDL_BAD_CALL);
  end(&s);
}

static void events_order_and_time_work(void **state) {
  (void)state;
  setup s = begin();
  void *first, *last;
  double ns = 0;
  assert_ok(driver->event_create(s.device, &first));
  assert_ok(driver->event_create(s.device, &last));
  assert_null(driver->event_native(s.device, first));
  assert_ok(driver->event_sync(s.device, first)); /* nothing was recorded: nothing to wait for */
  assert_ok(driver->event_wait(s.device, first, s.queue));
  assert_fails(driver->event_elapsed(s.device, first, last, &ns), KDL_BAD_CALL,
               "opencl:0: the event was not recorded");
  assert_ok(driver->event_record(s.device, first, s.queue));
  assert_non_null(driver->event_native(s.device, first));
  assert_ok(driver->event_record(s.device, last, s.queue));
  assert_ok(driver->event_record(s.device, last, s.queue));
  assert_ok(driver->event_wait(s.device, last, s.queue));
  assert_ok(driver->event_sync(s.device, last));
  assert_ok(driver->event_elapsed(s.device, first, last, &ns));
  assert_true(ns == 500000);
  assert_ok(driver->event_elapsed(s.device, last, first, &ns));
  assert_true(ns == -500000);
  driver->event_destroy(s.device, first);
  driver->event_destroy(s.device, last);
  end(&s);
}

static void set_state(const char *how) {
  bool is_running = how && strcmp(how, "running") == 0;
  setenv("KDL_FAKE_SETTINGS", is_running ? "opencl.running=1" : "", 1);
  inject(how && !is_running ? how : "");
}

static void event_query(void **state) {
  (void)state;
  check_query(set_state, "running", "clGetEventInfo:1+:-58",
              "opencl:0: clGetEventInfo: CL_INVALID_EVENT (-58)");
}

static void an_error_of_the_device_shows_when_waiting(void **state) {
  (void)state;
  setup s = begin();
  uint64_t small;
  assert_ok(driver->alloc(s.device, 4, &small)); /* the kernel reads on behind it */
  setup wrong = s;
  wrong.x = small;
  assert_ok(run_saxpy(&wrong, wrong.queue));
  assert_fails(driver->queue_sync(s.device, s.queue), KDL_DEVICE,
               "opencl:0: clFinish: CL_OUT_OF_RESOURCES (-5)");
  assert_int_equal(kdl_error_code(), -5);
  tell_fake("fake_heal");
  assert_ok(driver->free(s.device, small));
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Programs                                                                                     */

static kdl_status load(void *device, kdl_image_kind kind, const char *text, const kdl_pair *pairs,
                       size_t pair_count) {
  kdl_backend_image image = image_of(kind, text, strlen(text));
  image.pairs = pairs;
  image.pair_count = pair_count;
  void *loaded;
  kdl_status status = driver->image_load(device, &image, &loaded);
  if (status == KDL_OK)
    driver->image_unload(device, loaded);
  return status;
}

#define TEXT(literal) {literal, sizeof(literal) - 1}

static void what_the_compiler_says_is_told(void **state) {
  (void)state;
  void *device = open_device(0);
  assert_fails(load(device, KDL_IMAGE_CL, "kernel void k() { syntax_error }", NULL, 0), KDL_DEVICE,
               "opencl:0: clBuildProgram: <kernel>:3:7: error: use of undeclared identifier "
               "'syntax_error'; 1 error generated.: CL_BUILD_PROGRAM_FAILURE (-11)");
  assert_int_equal(kdl_error_code(), -11);
  assert_ok(load(device, KDL_IMAGE_CL, "kernel void remarkable() {}", NULL, 0));
  assert_clean();
}

static void versions_and_options(void **state) {
  (void)state;
  void *device = open_device(0);
  kdl_pair good[] = {{TEXT("kdl.kind"), TEXT("cl")}, {TEXT("kdl.cl_std"), TEXT("CL3.0")}};
  kdl_pair unknown[] = {{TEXT("kdl.cl_std"), TEXT("CL9.9")}};
  kdl_pair bad[] = {{TEXT("kdl.cl_std"), TEXT("CL3.0 -DX")}};
  assert_ok(load(device, KDL_IMAGE_CL, CL_EMPTY, good, 2));
  int32_t refused = -43;
  assert_int_equal(load(device, KDL_IMAGE_CL, CL_EMPTY, unknown, 1), KDL_DEVICE);
  assert_int_equal(kdl_error_code(), refused); /* by the driver, which was given it */
  assert_fails(load(device, KDL_IMAGE_CL, CL_EMPTY, bad, 1), KDL_BAD_FILE,
               "kdl.cl_std: found \"CL3.0 -DX\", expected a version as in CL1.2");
  setenv("KDL_OPENCL_OPTIONS", "-DN=4 -cl-fast-relaxed-math", 1);
  assert_ok(load(device, KDL_IMAGE_CL, CL_EMPTY, good, 2));
  setenv("KDL_OPENCL_OPTIONS", "-nonsense", 1);
  assert_int_equal(load(device, KDL_IMAGE_CL, CL_EMPTY, NULL, 0), KDL_DEVICE);
  assert_int_equal(kdl_error_code(), refused);
  char long_options[1024];
  memset(long_options, 'x', sizeof long_options - 1);
  long_options[sizeof long_options - 1] = '\0';
  setenv("KDL_OPENCL_OPTIONS", long_options, 1);
  assert_fails(load(device, KDL_IMAGE_CL, CL_EMPTY, NULL, 0), KDL_BAD_CALL,
               "opencl:0: KDL_OPENCL_OPTIONS: found 1023 bytes, expected fewer than 512");
  unsetenv("KDL_OPENCL_OPTIONS");
  assert_clean();
}

static void kinds_of_images(void **state) {
  (void)state;
  void *device = open_device(0), *second = open_device(1);
  assert_fails(load(device, KDL_IMAGE_OBJECT, "x", NULL, 0), KDL_UNSUPPORTED,
               "opencl:0: found an image of kind object, expected spirv, cl, ptx or machine code "
               "of a GPU");
  assert_fails(load(second, KDL_IMAGE_SPIRV, "x", NULL, 0), KDL_UNSUPPORTED,
               "opencl:1: the device takes no SPIR-V");
  assert_int_equal(load(device, KDL_IMAGE_SPIRV, "no SPIR-V", NULL, 0), KDL_DEVICE);
  assert_non_null(strstr(kdl_error_message(), "clCreateProgramWithIL: CL_INVALID_VALUE (-30)"));
  assert_fails(load(device, KDL_IMAGE_PTX, ".version 8.0\n.target sm_80\n", NULL, 0), KDL_DEVICE,
               "opencl:0: clCreateProgramWithBinary: CL_INVALID_BINARY (-42)");
  assert_fails(load(device, KDL_IMAGE_ZEBIN, "\177ELF", NULL, 0), KDL_DEVICE,
               "opencl:0: clCreateProgramWithBinary: CL_INVALID_BINARY (-42)");
  assert_clean();
}

static void a_kernel_is_missing(void **state) {
  (void)state;
  check_missing_kernel("opencl:0: clCreateKernel \"sgemm\": CL_INVALID_KERNEL_NAME (-46)");
}

static void kernels_have_a_handle(void **state) {
  (void)state;
  setup s = begin();
  assert_non_null(driver->kernel_native(s.device, s.saxpy.context));
  end(&s);
}

static void variables_are_found(void **state) {
  (void)state;
  setup s = begin();
  uint64_t address, size;
  if (memory_is("usm")) {
    assert_ok(driver->global_find(s.device, s.loaded, "weight", &address, &size));
    assert_int_equal(size, 4);
    assert_fails(driver->global_find(s.device, s.loaded, "chair", &address, &size), KDL_NO_MATCH,
                 "opencl:0: found no variable \"chair\" in the program");
  } else {
    assert_fails(driver->global_find(s.device, s.loaded, "weight", &address, &size),
                 KDL_UNSUPPORTED,
                 "opencl:0: variable \"weight\": OpenCL gives no access to the variables of a "
                 "program");
  }
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static void devices_that_do_not_open(void **state) {
  (void)state;
  void *device;
  kdl_backend_device desc = {.size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 7};
  assert_fails(driver->device_open(&desc, &device), KDL_DEVICE,
               "opencl:7: no platform shows it any more");
  char kind[16];
  snprintf(kind, sizeof kind, "%s", getenv("KDL_OPENCL_MEMORY"));
  void *context = create_context(1);
  desc = (kdl_backend_device){
      .size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 1, .native_context = context};
  setenv("KDL_OPENCL_MEMORY", "paper", 1);
  assert_fails(driver->device_open(&desc, &device), KDL_BAD_CALL,
               "opencl:1: KDL_OPENCL_MEMORY: found \"paper\", expected usm, svm or buffer");
  if (is_old()) {
    setenv("KDL_OPENCL_MEMORY", "usm", 1);
    assert_fails(driver->device_open(&desc, &device), KDL_UNSUPPORTED,
                 "opencl:1: KDL_OPENCL_MEMORY=usm, which the device does not offer");
  }
  setenv("KDL_OPENCL_MEMORY", kind, 1);
  assert_clean();
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_memory(argv, &result))
    return result;
  if (!open_backend())
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_block_is_suggested),
      cmocka_unit_test(a_block_that_the_source_demands),
      cmocka_unit_test(a_block_that_is_too_large),
      cmocka_unit_test(what_opencl_does_not_have),
      cmocka_unit_test(the_devices_own_queue_is_flushed),
      cmocka_unit_test(a_queue_is_adopted),
      cmocka_unit_test(queues_that_cannot_be_adopted),
      cmocka_unit_test(a_context_is_adopted),
      cmocka_unit_test(urgent_queues),
      cmocka_unit_test(fills_and_copies),
      cmocka_unit_test(memory_that_is_not_there),
      cmocka_unit_test(events_order_and_time_work),
      cmocka_unit_test(event_query),
      cmocka_unit_test(an_error_of_the_device_shows_when_waiting),
      cmocka_unit_test(what_the_compiler_says_is_told),
      cmocka_unit_test(versions_and_options),
      cmocka_unit_test(kinds_of_images),
      cmocka_unit_test(a_kernel_is_missing),
      cmocka_unit_test(kernels_have_a_handle),
      cmocka_unit_test(variables_are_found),
      cmocka_unit_test(devices_that_do_not_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
