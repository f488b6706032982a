/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How the OpenCL backend sets arguments: which calls it makes for them, also from several threads.
 */
#include "opencl_setup.h"

#include "lib/backends/common/arguments/arguments.h"

#include <pthread.h>

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

static void arguments_are_set_where_they_differ(void **state) {
  (void)state;
  setup s = begin();
  clear_log();
  assert_ok(run_saxpy(&s, s.queue));
  assert_calls(2, 2, 1);
  assert_ok(run_saxpy(&s, s.queue));
  assert_ok(run_saxpy(&s, s.queue));
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
static void memory_is_set_again_when_some_was_freed(void **state) {
  (void)state;
  setup s = begin();
  uint64_t other;
  assert_ok(run_saxpy(&s, s.queue));
  assert_ok(driver->alloc(s.device, 64, &other));
  clear_log();
  assert_ok(run_saxpy(&s, s.queue));
  assert_calls(0, 0, 1);
  assert_ok(driver->free(s.device, other));
  assert_ok(run_saxpy(&s, s.queue));
  assert_calls(0, 2, 1);
  assert_ok(run_saxpy(&s, s.queue));
  assert_calls(0, 0, 1);
  assert_result(&s, 4);
  end(&s);
}

static void fresh_memory_at_an_old_address(void **state) {
  (void)state;
  setup s = begin();
  for (int i = 0; i < 10; ++i) {
    assert_ok(run_saxpy(&s, s.queue));
    assert_ok(driver->free(s.device, s.x));
    assert_ok(driver->alloc(s.device, sizeof(float) * count, &s.x));
    assert_ok(driver->fill(s.device, s.queue, s.x, 0, sizeof(float) * count, "", 1));
  }
  assert_ok(driver->queue_sync(s.device, s.queue));
  end(&s);
}

/* When it is freed is unknown. */
static void memory_of_the_caller_is_set_every_time(void **state) {
  (void)state;
  setup s = begin();
  if (memory_is("buffer")) {
    void *context = driver->device_native(s.device, KDL_NATIVE_CONTEXT);
    void *(*create)(void *, uint64_t, size_t, void *, int32_t *);
    int32_t (*release)(void *);
    get_fake("clCreateBuffer", &create);
    get_fake("clReleaseMemObject", &release);
    int32_t error;
    void *mine = create(context, KDL_CL_MEM_READ_WRITE, sizeof(float) * count, NULL, &error);
    assert_non_null(mine);
    uint64_t ours = s.x;
    s.x = (uintptr_t)mine;
    assert_ok(driver->fill(s.device, s.queue, s.x, 0, sizeof(float) * count, "", 1));
    clear_log();
    assert_ok(run_saxpy(&s, s.queue));
    assert_calls(2, 2, 1);
    assert_ok(run_saxpy(&s, s.queue));
    assert_calls(0, 1, 1);
    assert_ok(run_saxpy(&s, s.queue));
    assert_calls(0, 1, 1);
    s.x = ours;
    assert_ok(run_saxpy(&s, s.queue));
    assert_calls(0, 1, 1);
    assert_ok(run_saxpy(&s, s.queue));
    assert_calls(0, 0, 1);
    assert_int_equal(release(mine), 0);
  }
  assert_result(&s, memory_is("buffer") ? 2 : 0);
  end(&s);
}

static void null_is_memory_too(void **state) {
  (void)state;
  setup s = begin();
  void *loaded = load_source(s.device, "kernel void other(global int *p) {}");
  kdl_backend_kernel kernel = find_kernel(s.device, loaded, "other");
  uint64_t none = 0;
  kdl_launch_desc desc = shape_of(1, 1);
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&none)));
  clear_log();
  assert_ok(launch(&kernel, s.queue, &desc, KDL_ARGS(&none)));
  assert_calls(0, 0, 1);
  driver->image_unload(s.device, loaded);
  end(&s);
}

static void arguments_of_every_size(void **state) {
  (void)state;
  setup s = begin();
  void *loaded = load_source(
      s.device, "kernel void other(uchar a, global int *p, short b, double c, float4 d, int e) {}");
  kdl_backend_kernel kernel = find_kernel(s.device, loaded, "other");
  static const kdl_param_info expected[] = {{0, 1}, {8, 8}, {16, 2}, {24, 8}, {32, 16}, {48, 4}};
  assert_int_equal(kernel.param_count, 6);
  assert_memory_equal(kernel.params, expected, sizeof expected);
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
  driver->image_unload(s.device, loaded);
  end(&s);
}

static void a_wrong_number_of_arguments(void **state) {
  (void)state;
  setup s = begin();
  float a = 2;
  kdl_launch_desc desc = shape_of(1, 1);
  assert_fails(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &s.x)), KDL_BAD_CALL,
               "saxpy: found 2 arguments, expected 4");
  end(&s);
}

/* A driver that refuses an argument has kept the one before, or none. */
static void an_argument_that_failed_is_set_again(void **state) {
  (void)state;
  setup s = begin();
  assert_ok(run_saxpy(&s, s.queue));
  inject("clSetKernelArg:1:-5");
  assert_fails(run_scaled(&s, 0), KDL_DEVICE,
               "opencl:0: clSetKernelArg of argument 0 of \"saxpy\": CL_OUT_OF_RESOURCES (-5)");
  inject("");
  clear_log();
  assert_ok(run_saxpy(&s, s.queue));
  assert_calls(1, 0, 1);
  assert_result(&s, 2);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters that are hard to determine                                                        */

static void spirv_tells_its_parameters(void **state) {
  (void)state;
  setup s = begin();
  size_t size;
  uint8_t *bytes = read_golden("images/spirv64.spv", &size);
  void *loaded = load_image(s.device, KDL_IMAGE_SPIRV, bytes, size);
  assert_int_equal(calls_of(is_old() ? "clCreateProgramWithILKHR" : "clCreateProgramWithIL"), 1);
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, loaded, "saxpy", NULL, &kernel));
  assert_int_equal(kernel.param_count, 4);
  driver->image_unload(s.device, loaded);
  free(bytes);
  end(&s);
}

static void a_signature_that_contradicts(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, s.loaded, "saxpy", "f32 ptr<f32> ptr<f32> u32", &kernel));
  assert_fails(find_with(&s, s.loaded, "saxpy", "f32 ptr<f32> u64 u32", &kernel), KDL_UNSUPPORTED,
               "opencl:0: parameter 2 is a value by the signature and memory by the image");
  assert_fails(find_with(&s, s.loaded, "saxpy", "ptr<f32> ptr<f32> ptr<f32> u32", &kernel),
               KDL_UNSUPPORTED,
               "opencl:0: parameter 0 is memory by the signature and a value by the image");
  end(&s);
}

/* On an H200 a pointer that PTX does not declare brings the context down: it is a number there. */
static void ptx_has_to_declare_its_pointers(void **state) {
  (void)state;
  kdl_arguments list = {.count = 2};
  kdl_kernel_request request = {.size = sizeof request, .name = "k", .sig = {"ptr<f32> u64", 12}};
  char fault[256];
  static const char declared[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                 ".entry k(.param .u64 .ptr .global a, .param .u64 b) {}";
  static const char plain[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".entry k(.param .u64 a, .param .u64 b) {}";
  kdl_arguments_read_image(
      &list, &(kdl_image_reference){KDL_IMAGE_PTX, declared, sizeof declared - 1}, "k");
  kdl_arguments_read_signature(&list, &request);
  assert_true(kdl_arguments_resolve(&list, fault, sizeof fault));
  assert_int_equal(list.list[0].kind, KDL_ARGUMENT_MEMORY);
  assert_int_equal(list.list[1].kind, KDL_ARGUMENT_VALUE);
  list = (kdl_arguments){.count = 2};
  kdl_arguments_read_image(&list, &(kdl_image_reference){KDL_IMAGE_PTX, plain, sizeof plain - 1},
                           "k");
  kdl_arguments_read_signature(&list, &request);
  assert_false(kdl_arguments_resolve(&list, fault, sizeof fault));
  assert_string_equal(fault, "parameter 0 is memory by the signature and a value by the image");
  list = (kdl_arguments){.count = 2};
  kdl_arguments_read_image(&list, &(kdl_image_reference){KDL_IMAGE_PTX, plain, sizeof plain - 1},
                           "k");
  assert_false(kdl_arguments_resolve(&list, fault, sizeof fault)); /* nothing describes them */
  assert_string_equal(fault, "parameter 0: neither the driver, the image nor a signature tells "
                             "whether it is memory or a value, or it is an image or a sampler");
}

static void images_are_no_arguments(void **state) {
  (void)state;
  setup s = begin();
  void *loaded = load_source(s.device, "kernel void look(int a, read_only image2d_t i) {}");
  kdl_backend_kernel kernel;
  assert_fails(find_with(&s, loaded, "look", NULL, &kernel), KDL_UNSUPPORTED,
               "opencl:0: parameter 1: neither the driver, the image nor a signature tells whether "
               "it is memory or a value, or it is an image or a sampler");
  driver->image_unload(s.device, loaded);
  end(&s);
}

static void group_memory_is_sized_by_the_launch(void **state) {
  (void)state;
  setup s = begin();
  void *loaded = load_source(s.device, "kernel void sum(global int *p, local int *s, int n) {}\n"
                                       "kernel void both(local int *s, local int *t) {}");
  kdl_backend_kernel kernel;
  assert_ok(find_with(&s, loaded, "sum", "ptr<i32> i32", &kernel));
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
  assert_fails(find_with(&s, loaded, "both", NULL, &kernel), KDL_UNSUPPORTED,
               "opencl:0: parameters 0 and 1 are both group memory, expected one at most: a launch "
               "has one size for it");
  desc.shared = 16;
  assert_fails(launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&n, &s.x, &s.y, &n)), KDL_UNSUPPORTED,
               "opencl:0: found 16 bytes of dynamic group memory, and \"saxpy\" has no parameter "
               "for it");
  driver->image_unload(s.device, loaded);
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
    self->status = run_saxpy(self->s, self->s->queue);
  pthread_barrier_wait(
      self->together); /* no thread ends, and leaves its place to another, before */
  return NULL;
}

static void threads_have_kernels_of_their_own(void **state) {
  (void)state;
  setup s = begin();
  pthread_t threads[thread_count];
  visitor visitors[thread_count];
  pthread_barrier_t together;
  pthread_barrier_init(&together, NULL, thread_count);
  assert_ok(run_saxpy(&s, s.queue));
  clear_log();
  for (int i = 0; i < thread_count; ++i) {
    visitors[i] = (visitor){&s, &together, KDL_OK};
    assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
  }
  for (int i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < thread_count; ++i)
    assert_int_equal(visitors[i].status, KDL_OK);
  /* 63 in addition to the first; the others create one for each of their three launches. */
  assert_int_equal(calls_of("clCreateKernel"), 63 + 3 * (thread_count - 63));
  assert_int_equal(calls_of("clReleaseKernel"), 3 * (thread_count - 63));
  assert_result(&s, 1 + 3 * thread_count);
  pthread_barrier_destroy(&together);
  end(&s);
}

static void a_thread_sets_only_its_own_arguments(void **state) {
  (void)state;
  setup s = begin();
  pthread_barrier_t alone;
  pthread_barrier_init(&alone, NULL, 1);
  assert_ok(run_saxpy(&s, s.queue));
  visitor other = {&s, &alone, KDL_OK};
  pthread_t thread;
  clear_log();
  pthread_create(&thread, NULL, visit, &other);
  pthread_join(thread, NULL);
  assert_int_equal(other.status, KDL_OK);
  assert_calls(2, 2, 3);
  assert_ok(run_saxpy(&s, s.queue));
  assert_calls(0, 0, 1);
  assert_result(&s, 5);
  pthread_barrier_destroy(&alone);
  end(&s);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_memory(argv, &result))
    return result;
  if (!open_backend())
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arguments_are_set_where_they_differ),
      cmocka_unit_test(memory_is_set_again_when_some_was_freed),
      cmocka_unit_test(fresh_memory_at_an_old_address),
      cmocka_unit_test(memory_of_the_caller_is_set_every_time),
      cmocka_unit_test(null_is_memory_too),
      cmocka_unit_test(arguments_of_every_size),
      cmocka_unit_test(a_wrong_number_of_arguments),
      cmocka_unit_test(an_argument_that_failed_is_set_again),
      cmocka_unit_test(spirv_tells_its_parameters),
      cmocka_unit_test(a_signature_that_contradicts),
      cmocka_unit_test(ptx_has_to_declare_its_pointers),
      cmocka_unit_test(images_are_no_arguments),
      cmocka_unit_test(group_memory_is_sized_by_the_launch),
      cmocka_unit_test(threads_have_kernels_of_their_own),
      cmocka_unit_test(a_thread_sets_only_its_own_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
