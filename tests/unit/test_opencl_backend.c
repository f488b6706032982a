/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The OpenCL backend against the fake driver: what it does, and which calls it makes for it. */
#include "opencl_support.h"

#include "backends/common/arguments.h"

#include <pthread.h>

enum { count = 300 };

typedef struct {
  void *device, *queue, *module;
  kdl_backend_kernel saxpy;
  uint64_t x, y;
} setup;

static setup begin(void) {
  setup s = {.device = open_device(0)};
  s.queue = make_queue(s.device);
  s.module = load_source(s.device, good_source);
  s.saxpy = find_kernel(s.device, s.module, "saxpy");
  float x[count], y[count];
  for (int i = 0; i < count; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  assert_ok(driver->alloc(s.device, sizeof x, &s.x));
  assert_ok(driver->alloc(s.device, sizeof y, &s.y));
  assert_ok(driver->write(s.device, s.queue, s.x, 0, x, sizeof x));
  assert_ok(driver->write(s.device, s.queue, s.y, 0, y, sizeof y));
  return s;
}

static void assert_clean(void) {
  assert_int_equal(ask_fake("fake_alive"), 0);
  assert_int_equal(ask_fake("fake_opencl_races"), 0);
  assert_int_equal(ask_fake("fake_opencl_stale"), 0);
}

static void end(const setup *s) {
  assert_ok(driver->free(s->device, s->x));
  assert_ok(driver->free(s->device, s->y));
  driver->module_unload(s->device, s->module);
  driver->queue_destroy(s->device, s->queue);
  assert_clean();
}

static kdl_status run_scaled(const setup *s, float a) {
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(3, 128);
  return launch(&s->saxpy, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n));
}

static kdl_status run_saxpy(const setup *s) {
  return run_scaled(s, 2);
}

/* y was 1 and grew by 2x so often. */
static void assert_result(const setup *s, int launches) {
  float y[count];
  assert_ok(driver->read(s->device, s->queue, y, s->y, 0, sizeof y));
  assert_ok(driver->queue_sync(s->device, s->queue));
  for (int i = 0; i < count; ++i)
    assert_true(y[i] == 1 + 2 * (float)i * (float)launches);
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

/* Calls since the last question: arguments set as values and as memory, and launches. */
static void assert_calls(unsigned values, unsigned memories, unsigned launches) {
  if (memory_is("buffer")) {
    assert_int_equal(calls_of("clSetKernelArg"), values + memories);
  } else {
    assert_int_equal(calls_of("clSetKernelArg"), values);
    assert_int_equal(calls_of(set_call()), memories);
  }
  assert_int_equal(calls_of("clEnqueueNDRangeKernel"), launches);
  assert_int_equal(calls_of("clFlush"), 0);
  clear_log();
}

static void test_arguments_are_set_where_they_differ(void **state) {
  (void)state;
  setup s = begin();
  clear_log();
  assert_ok(run_saxpy(&s));
  assert_calls(2, 2, 1);
  assert_ok(run_saxpy(&s));
  assert_ok(run_saxpy(&s));
  assert_calls(0, 0, 2);
  assert_ok(run_scaled(&s, 0));
  assert_calls(1, 0, 1);
  assert_ok(run_scaled(&s, 0));
  assert_calls(0, 0, 1);
  assert_result(&s, 3);
  /* Another shape is no argument. */
  uint32_t n = count;
  float a = 0;
  kdl_launch_desc desc = shape_of(6, 64);
  clear_log();
  assert_ok(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &s.x, &s.y, &n)));
  assert_calls(0, 0, 1);
  /* Other memory: the two that changed places. */
  assert_ok(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &s.y, &s.x, &n)));
  assert_calls(0, 2, 1);
  end(&s);
}

/* What is freed may come back as other memory at the same address. */
static void test_memory_is_set_again_when_some_was_freed(void **state) {
  (void)state;
  setup s = begin();
  uint64_t other;
  assert_ok(run_saxpy(&s));
  assert_ok(driver->alloc(s.device, 64, &other));
  clear_log();
  assert_ok(run_saxpy(&s));
  assert_calls(0, 0, 1);
  assert_ok(driver->free(s.device, other));
  assert_ok(run_saxpy(&s));
  assert_calls(0, 2, 1);
  assert_ok(run_saxpy(&s));
  assert_calls(0, 0, 1);
  assert_result(&s, 4);
  end(&s);
}

static void test_fresh_memory_at_an_old_address(void **state) {
  (void)state;
  setup s = begin();
  for (int i = 0; i < 10; ++i) {
    assert_ok(run_saxpy(&s));
    assert_ok(driver->free(s.device, s.x));
    assert_ok(driver->alloc(s.device, sizeof(float) * count, &s.x));
    assert_ok(driver->fill(s.device, s.queue, s.x, 0, sizeof(float) * count, "", 1));
  }
  assert_ok(driver->queue_sync(s.device, s.queue));
  end(&s);
}

/* When it is given back nobody tells us. */
static void test_memory_of_the_caller_is_set_every_time(void **state) {
  (void)state;
  setup s = begin();
  if (memory_is("buffer")) {
    void *context = driver->device_native(s.device, KDL_NATIVE_CONTEXT);
    void *(*create)(void *, uint64_t, size_t, void *, int32_t *);
    int32_t (*release)(void *);
    void *symbol = fake_function("clCreateBuffer");
    memcpy(&create, &symbol, sizeof create);
    symbol = fake_function("clReleaseMemObject");
    memcpy(&release, &symbol, sizeof release);
    int32_t error;
    void *mine = create(context, KDL_CL_MEM_READ_WRITE, sizeof(float) * count, NULL, &error);
    assert_non_null(mine);
    uint64_t ours = s.x;
    s.x = (uintptr_t)mine;
    assert_ok(driver->fill(s.device, s.queue, s.x, 0, sizeof(float) * count, "", 1));
    clear_log();
    assert_ok(run_saxpy(&s));
    assert_calls(2, 2, 1);
    assert_ok(run_saxpy(&s));
    assert_calls(0, 2, 1);
    s.x = ours;
    assert_ok(run_saxpy(&s));
    assert_calls(0, 2, 1);
    assert_ok(run_saxpy(&s));
    assert_calls(0, 0, 1);
    assert_int_equal(release(mine), 0);
  }
  assert_result(&s, memory_is("buffer") ? 2 : 0);
  end(&s);
}

static void test_null_is_memory_too(void **state) {
  (void)state;
  setup s = begin();
  void *module = load_source(s.device, "kernel void other(global int *p) {}");
  kdl_backend_kernel kernel = find_kernel(s.device, module, "other");
  uint64_t none = 0;
  kdl_launch_desc desc = shape_of(1, 1);
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&none)));
  clear_log();
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&none)));
  assert_calls(0, 0, 1);
  driver->module_unload(s.device, module);
  end(&s);
}

static void test_arguments_of_every_size(void **state) {
  (void)state;
  setup s = begin();
  void *module = load_source(
      s.device, "kernel void other(uchar a, global int *p, short b, double c, float4 d, int e) {}");
  kdl_backend_kernel kernel = find_kernel(s.device, module, "other");
  static const kdl_param_info expected[] = {{0, 1}, {8, 8}, {16, 2}, {24, 8}, {32, 16}, {48, 4}};
  assert_int_equal(kernel.param_count, 6);
  assert_memory_equal(kernel.params, expected, sizeof expected);
  assert_int_equal(kernel.packed_size, 52);
  uint8_t a = 1;
  int16_t b = 2;
  double c = 3;
  float d[4] = {4, 5, 6, 7};
  int e = 8;
  kdl_launch_desc desc = shape_of(1, 1);
  clear_log();
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&a, &s.x, &b, &c, &d, &e)));
  assert_calls(5, 1, 1);
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&a, &s.x, &b, &c, &d, &e)));
  assert_calls(0, 0, 1);
  d[3] = 9;
  a = 2;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&a, &s.x, &b, &c, &d, &e)));
  assert_calls(2, 0, 1);
  driver->module_unload(s.device, module);
  end(&s);
}

static void test_a_wrong_number_of_arguments(void **state) {
  (void)state;
  setup s = begin();
  float a = 2;
  kdl_launch_desc desc = shape_of(1, 1);
  assert_fails(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &s.x)), KDL_BAD_CALL,
               "saxpy: found 2 arguments, expected 4");
  end(&s);
}

/* A driver that refuses an argument has kept the one before, or none. */
static void test_an_argument_that_failed_is_set_again(void **state) {
  (void)state;
  setup s = begin();
  assert_ok(run_saxpy(&s));
  inject("clSetKernelArg:1:-5");
  assert_fails(run_scaled(&s, 0), KDL_DEVICE,
               "opencl:0: clSetKernelArg of argument 0 of \"saxpy\": CL_OUT_OF_RESOURCES (-5)");
  inject("");
  clear_log();
  assert_ok(run_saxpy(&s));
  assert_calls(2, 2, 1);
  assert_result(&s, 2);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters that are hard to tell                                                             */

static kdl_status find_with(const setup *s, void *module, const char *name, const char *sig,
                            kdl_backend_kernel *out_kernel) {
  kdl_backend_wish wish = {.size = sizeof wish, .name = name};
  if (sig)
    wish.sig = (kdl_string){sig, strlen(sig)};
  *out_kernel = (kdl_backend_kernel){.size = sizeof *out_kernel};
  return driver->kernel_find(s->device, module, &wish, out_kernel);
}

static void test_spirv_tells_its_parameters(void **state) {
  (void)state;
  setup s = begin();
  size_t size;
  uint8_t *bytes = read_golden("images/spirv64.spv", &size);
  void *module = load_image(s.device, KDL_IMAGE_SPIRV, bytes, size);
  assert_int_equal(calls_of(is_old() ? "clCreateProgramWithILKHR" : "clCreateProgramWithIL"), 1);
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, module, "saxpy", NULL, &kernel));
  assert_int_equal(kernel.param_count, 4);
  driver->module_unload(s.device, module);
  free(bytes);
  end(&s);
}

static void test_a_signature_that_contradicts(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, s.module, "saxpy", "f32 ptr<f32> ptr<f32> u32", &kernel));
  assert_fails(find_with(&s, s.module, "saxpy", "f32 ptr<f32> u64 u32", &kernel), KDL_UNSUPPORTED,
               "opencl:0: parameter 2 is a value by the signature and memory by the image");
  assert_fails(find_with(&s, s.module, "saxpy", "ptr<f32> ptr<f32> ptr<f32> u32", &kernel),
               KDL_UNSUPPORTED,
               "opencl:0: parameter 0 is memory by the signature and a value by the image");
  end(&s);
}

/* On an H200 a pointer that PTX does not declare brings the context down: it is a number there. */
static void test_ptx_has_to_declare_its_pointers(void **state) {
  (void)state;
  kdl_arguments list = {.count = 2};
  kdl_backend_wish wish = {.size = sizeof wish, .name = "k", .sig = {"ptr<f32> u64", 12}};
  char fault[256];
  static const char declared[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                 ".entry k(.param .u64 .ptr .global a, .param .u64 b) {}";
  static const char plain[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".entry k(.param .u64 a, .param .u64 b) {}";
  kdl_arguments_show(&list, KDL_IMAGE_PTX, declared, sizeof declared - 1, "k");
  kdl_arguments_sign(&list, &wish);
  assert_true(kdl_arguments_settle(&list, fault, sizeof fault));
  assert_int_equal(list.list[0].kind, KDL_ARGUMENT_MEMORY);
  assert_int_equal(list.list[1].kind, KDL_ARGUMENT_VALUE);
  list = (kdl_arguments){.count = 2};
  kdl_arguments_show(&list, KDL_IMAGE_PTX, plain, sizeof plain - 1, "k");
  kdl_arguments_sign(&list, &wish);
  assert_false(kdl_arguments_settle(&list, fault, sizeof fault));
  assert_string_equal(fault, "parameter 0 is memory by the signature and a value by the image");
  list = (kdl_arguments){.count = 2};
  kdl_arguments_show(&list, KDL_IMAGE_PTX, plain, sizeof plain - 1, "k");
  assert_false(kdl_arguments_settle(&list, fault, sizeof fault)); /* nothing says what they are */
  assert_string_equal(fault, "parameter 0: neither the driver, the image nor a signature tells "
                             "whether it is memory or a value, or it is an image or a sampler");
}

static void test_images_are_no_arguments(void **state) {
  (void)state;
  setup s = begin();
  void *module = load_source(s.device, "kernel void look(int a, read_only image2d_t i) {}");
  kdl_backend_kernel kernel;
  assert_fails(find_with(&s, module, "look", NULL, &kernel), KDL_UNSUPPORTED,
               "opencl:0: parameter 1: neither the driver, the image nor a signature tells whether "
               "it is memory or a value, or it is an image or a sampler");
  driver->module_unload(s.device, module);
  end(&s);
}

static void test_group_memory_is_sized_by_the_launch(void **state) {
  (void)state;
  setup s = begin();
  void *module = load_source(s.device, "kernel void sum(global int *p, local int *s, int n) {}\n"
                                       "kernel void both(local int *s, local int *t) {}");
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, module, "sum", "ptr<i32> i32", &kernel));
  assert_int_equal(kernel.param_count, 2);
  static const kdl_param_info expected[] = {{0, 8}, {8, 4}};
  assert_memory_equal(kernel.params, expected, sizeof expected);
  int n = 5;
  kdl_launch_desc desc = shape_of(1, 64);
  desc.shared = 256;
  clear_log();
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x, &n)));
  assert_calls(2, 1, 1);
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x, &n)));
  assert_calls(0, 0, 1);
  desc.shared = 512;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x, &n)));
  assert_calls(1, 0, 1);
  desc.shared = 0; /* a driver takes no size of 0 */
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x, &n)));
  assert_fails(find_with(&s, module, "both", NULL, &kernel), KDL_UNSUPPORTED,
               "opencl:0: parameters 0 and 1 are both group memory, expected one at most: a launch "
               "has one size for it");
  desc.shared = 16;
  assert_fails(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&n, &s.x, &s.y, &n)), KDL_UNSUPPORTED,
               "opencl:0: found 16 bytes of dynamic group memory, and \"saxpy\" has no parameter "
               "for it");
  driver->module_unload(s.device, module);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

enum { thread_count = 70 };

typedef struct {
  setup *s;
  pthread_barrier_t *together;
  kdl_status status;
} visitor;

static void *visit(void *user) {
  visitor *self = user;
  pthread_barrier_wait(self->together);
  for (int i = 0; i < 3 && self->status == KDL_OK; ++i)
    self->status = run_saxpy(self->s);
  pthread_barrier_wait(self->together); /* nobody ends, and leaves its place to another, before */
  return NULL;
}

static void test_threads_have_kernels_of_their_own(void **state) {
  (void)state;
  setup s = begin();
  pthread_t threads[thread_count];
  visitor visitors[thread_count];
  pthread_barrier_t together;
  pthread_barrier_init(&together, NULL, thread_count);
  assert_ok(run_saxpy(&s));
  clear_log();
  for (int i = 0; i < thread_count; ++i) {
    visitors[i] = (visitor){&s, &together, KDL_OK};
    assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
  }
  for (int i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < thread_count; ++i)
    assert_int_equal(visitors[i].status, KDL_OK);
  /* 63 beside the first; the others make one for each of their three launches. */
  assert_int_equal(calls_of("clCreateKernel"), 63 + 3 * (thread_count - 63));
  assert_int_equal(calls_of("clReleaseKernel"), 3 * (thread_count - 63));
  assert_result(&s, 1 + 3 * thread_count);
  pthread_barrier_destroy(&together);
  end(&s);
}

static void test_a_thread_sets_only_its_own_arguments(void **state) {
  (void)state;
  setup s = begin();
  pthread_barrier_t alone;
  pthread_barrier_init(&alone, NULL, 1);
  assert_ok(run_saxpy(&s));
  visitor other = {&s, &alone, KDL_OK};
  pthread_t thread;
  clear_log();
  pthread_create(&thread, NULL, visit, &other);
  pthread_join(thread, NULL);
  assert_int_equal(other.status, KDL_OK);
  assert_calls(2, 2, 3);
  assert_ok(run_saxpy(&s));
  assert_calls(0, 0, 1);
  assert_result(&s, 5);
  pthread_barrier_destroy(&alone);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Shapes                                                                                       */

static void test_a_block_is_suggested(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, s.module, "saxpy", NULL, &kernel));
  assert_int_equal(kernel.block[0], 0);
  assert_int_equal(kernel.suggested[0], 256);
  assert_int_equal(kernel.suggested[1], 1);
  /* A launch that leaves the block to the image gets it. */
  kdl_launch_desc desc = kdl_grid(2, 1, 1);
  float a = 2;
  uint32_t n = count;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&a, &s.x, &s.y, &n)));
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&a, &s.x, &s.y, &n)));
  assert_result(&s, 2);
  end(&s);
}

static void test_a_block_that_the_source_demands(void **state) {
  (void)state;
  setup s = begin();
  void *module = load_source(
      s.device, "kernel __attribute__((reqd_work_group_size(8, 4, 2))) void tiled(int a) {}");
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, module, "tiled", NULL, &kernel));
  static const uint32_t expected[3] = {8, 4, 2};
  assert_memory_equal(kernel.block, expected, sizeof expected);
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  int a = 0;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&a)));
  desc = shape_of(1, 64);
  assert_fails(launch(&kernel, s.queue, &desc, KDL_ARGS(&a)), KDL_DEVICE,
               "opencl:0: clEnqueueNDRangeKernel \"tiled\" with grid 1x1x1, block 64x1x1, 0 bytes "
               "of dynamic group memory: CL_INVALID_WORK_GROUP_SIZE (-54)");
  assert_int_equal(kdl_error_code(), -54);
  driver->module_unload(s.device, module);
  end(&s);
}

static void test_a_block_that_is_too_large(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_backend_wish wish = {.size = sizeof wish, .name = "saxpy", .block = {64, 32, 1}};
  assert_fails(driver->kernel_find(s.device, s.module, &wish, &kernel), KDL_DEVICE,
               "opencl:0: block 64x32x1 has more than the 1024 work-items that the driver allows "
               "for \"saxpy\"");
  end(&s);
}

static void test_what_opencl_does_not_have(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.module, "empty");
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

/* Nobody can wait for the device's own queue, the first one that is made on it. */
static void test_the_devices_own_queue_is_flushed(void **state) {
  (void)state;
  void *device = open_device(1);
  void *own = make_queue(device), *other = make_queue(device);
  void *module = load_source(device, CL_EMPTY);
  kdl_backend_kernel kernel = find_kernel(device, module, "empty");
  kdl_launch_desc desc = shape_of(1, 64);
  for (int i = 0; i < 2; ++i) {
    clear_log();
    assert_ok(launch(&kernel, own, &desc, KDL_NO_ARGS));
    assert_int_equal(calls_of("clEnqueueNDRangeKernel"), 1);
    assert_int_equal(calls_of("clFlush"), 1);
    assert_ok(launch(&kernel, other, &desc, KDL_NO_ARGS));
    assert_int_equal(calls_of("clFlush"), 1);
  }
  driver->module_unload(device, module);
  driver->queue_destroy(device, other);
  driver->queue_destroy(device, own);
  assert_clean();
}

static void *create_queue(void *context, unsigned device, uint64_t properties) {
  void *(*create)(void *, void *, uint64_t, int32_t *);
  void *(*id)(unsigned);
  void *symbol = fake_function("clCreateCommandQueue");
  memcpy(&create, &symbol, sizeof create);
  symbol = fake_function("fake_opencl_device_id");
  memcpy(&id, &symbol, sizeof id);
  int32_t error;
  void *queue = create(context, id(device), properties, &error);
  assert_non_null(queue);
  return queue;
}

static void release_queue(void *queue) {
  int32_t (*release)(void *);
  void *symbol = fake_function("clReleaseCommandQueue");
  memcpy(&release, &symbol, sizeof release);
  assert_int_equal(release(queue), 0);
}

static void *create_context(unsigned device) {
  void *(*create)(const intptr_t *, uint32_t, void *const *, kdl_cl_notify *, void *, int32_t *);
  void *(*id)(unsigned);
  void *symbol = fake_function("clCreateContext");
  memcpy(&create, &symbol, sizeof create);
  symbol = fake_function("fake_opencl_device_id");
  memcpy(&id, &symbol, sizeof id);
  void *devices[] = {id(device)};
  const intptr_t properties[] = {KDL_CL_CONTEXT_PLATFORM, (intptr_t)devices[0], 0};
  int32_t error;
  void *context = create(properties, 1, devices, NULL, NULL, &error);
  assert_non_null(context);
  return context;
}

static void test_a_queue_is_adopted(void **state) {
  (void)state;
  setup s = begin();
  void *context = driver->device_native(s.device, KDL_NATIVE_CONTEXT);
  void *native = create_queue(context, 0, 0);
  void *queue;
  assert_ok(driver->queue_adopt(s.device, native, &queue));
  assert_ptr_equal(driver->queue_native(s.device, queue), native);
  setup there = s;
  there.queue = queue;
  assert_ok(run_saxpy(&there));
  /* Without the times of events, which the message says. */
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

static void test_queues_that_cannot_be_adopted(void **state) {
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
static void test_a_context_is_adopted(void **state) {
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

static void test_urgent_queues(void **state) {
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

static void test_fills_and_copies(void **state) {
  (void)state;
  setup s = begin();
  static const uint8_t pattern[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  uint8_t bytes[64];
  for (size_t size = 1; size <= 16; size *= 2) {
    assert_ok(driver->fill(s.device, s.queue, s.x, 0, 64, "", 1));
    assert_ok(driver->fill(s.device, s.queue, s.x, 16, 32, pattern, size));
    assert_ok(driver->copy(s.device, s.queue, s.y, 4, s.x, 0, 60));
    assert_ok(driver->read(s.device, s.queue, bytes, s.y, 4, 60));
    for (size_t i = 0; i < 60; ++i)
      assert_int_equal(bytes[i], i >= 16 && i < 48 ? pattern[(i - 16) % size] : 0);
  }
  end(&s);
}

static void test_memory_that_is_not_there(void **state) {
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

static void test_events(void **state) {
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

static void test_an_error_of_the_device_shows_when_waiting(void **state) {
  (void)state;
  setup s = begin();
  uint64_t small;
  assert_ok(driver->alloc(s.device, 4, &small)); /* the kernel reads on behind it */
  setup wrong = s;
  wrong.x = small;
  assert_ok(run_saxpy(&wrong));
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
  void *module;
  kdl_status status = driver->module_load(device, &image, &module);
  if (status == KDL_OK)
    driver->module_unload(device, module);
  return status;
}

#define TEXT(literal) {literal, sizeof(literal) - 1}

static void test_what_the_compiler_says_is_told(void **state) {
  (void)state;
  void *device = open_device(0);
  assert_fails(load(device, KDL_IMAGE_CL, "kernel void k() { syntax_error }", NULL, 0), KDL_DEVICE,
               "opencl:0: clBuildProgram: <kernel>:3:7: error: use of undeclared identifier "
               "'syntax_error'; 1 error generated.: CL_BUILD_PROGRAM_FAILURE (-11)");
  assert_int_equal(kdl_error_code(), -11);
  assert_ok(load(device, KDL_IMAGE_CL, "kernel void remarkable() {}", NULL, 0));
  assert_clean();
}

static void test_versions_and_options(void **state) {
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

static void test_kinds_of_images(void **state) {
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

static void test_a_kernel_is_missing(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel;
  assert_fails(find_with(&s, s.module, "sgemm", NULL, &kernel), KDL_NO_MATCH,
               "opencl:0: clCreateKernel \"sgemm\": CL_INVALID_KERNEL_NAME (-46)");
  assert_non_null(driver->kernel_native(s.device, s.saxpy.context));
  end(&s);
}

static void test_variables(void **state) {
  (void)state;
  setup s = begin();
  uint64_t address, size;
  if (memory_is("usm")) {
    assert_ok(driver->global_find(s.device, s.module, "weight", &address, &size));
    assert_int_equal(size, 4);
    assert_fails(driver->global_find(s.device, s.module, "chair", &address, &size), KDL_NO_MATCH,
                 "opencl:0: found no variable \"chair\" in the program");
  } else {
    assert_fails(driver->global_find(s.device, s.module, "weight", &address, &size),
                 KDL_UNSUPPORTED,
                 "opencl:0: variable \"weight\": OpenCL gives no access to the variables of a "
                 "program");
  }
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static void test_devices_that_do_not_open(void **state) {
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
  start_log();
  driver = kdl_opencl_backend_open(&kdl_backend_services);
  void *device = NULL, *own = NULL;
  kdl_backend_device desc = {.size = sizeof desc, .spec = DRIVER_SPEC};
  if (driver->device_open(&desc, &device) != KDL_OK ||
      driver->queue_create(device, 0, &own) != KDL_OK)
    return 1;
  driver->queue_destroy(device, own); /* the one of launches that name none */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arguments_are_set_where_they_differ),
      cmocka_unit_test(test_memory_is_set_again_when_some_was_freed),
      cmocka_unit_test(test_fresh_memory_at_an_old_address),
      cmocka_unit_test(test_memory_of_the_caller_is_set_every_time),
      cmocka_unit_test(test_null_is_memory_too),
      cmocka_unit_test(test_arguments_of_every_size),
      cmocka_unit_test(test_a_wrong_number_of_arguments),
      cmocka_unit_test(test_an_argument_that_failed_is_set_again),
      cmocka_unit_test(test_spirv_tells_its_parameters),
      cmocka_unit_test(test_a_signature_that_contradicts),
      cmocka_unit_test(test_ptx_has_to_declare_its_pointers),
      cmocka_unit_test(test_images_are_no_arguments),
      cmocka_unit_test(test_group_memory_is_sized_by_the_launch),
      cmocka_unit_test(test_threads_have_kernels_of_their_own),
      cmocka_unit_test(test_a_thread_sets_only_its_own_arguments),
      cmocka_unit_test(test_a_block_is_suggested),
      cmocka_unit_test(test_a_block_that_the_source_demands),
      cmocka_unit_test(test_a_block_that_is_too_large),
      cmocka_unit_test(test_what_opencl_does_not_have),
      cmocka_unit_test(test_the_devices_own_queue_is_flushed),
      cmocka_unit_test(test_a_queue_is_adopted),
      cmocka_unit_test(test_queues_that_cannot_be_adopted),
      cmocka_unit_test(test_a_context_is_adopted),
      cmocka_unit_test(test_urgent_queues),
      cmocka_unit_test(test_fills_and_copies),
      cmocka_unit_test(test_memory_that_is_not_there),
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_an_error_of_the_device_shows_when_waiting),
      cmocka_unit_test(test_what_the_compiler_says_is_told),
      cmocka_unit_test(test_versions_and_options),
      cmocka_unit_test(test_kinds_of_images),
      cmocka_unit_test(test_a_kernel_is_missing),
      cmocka_unit_test(test_variables),
      cmocka_unit_test(test_devices_that_do_not_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
