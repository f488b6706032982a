/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libkdl_mlir_runtime, called as compiled code calls it. A process uses one device, so each group
 * of tests runs in a process of its own: the host, fake GPUs, and machines without a device that
 * would do.
 */
#include "launch_support.h"

#include "kdl_mlir.h"
#include "mgpu.h"

#include <dlfcn.h>
#include <sys/wait.h>

enum { items = 1000 };

/* ------------------------------------------------------------------------------------------ */
/* Errors                                                                                       */

static char last_error[4096];
static unsigned error_count;

static void keep_error(void *user, const char *message) {
  (void)user;
  snprintf(last_error, sizeof last_error, "%s", message);
  ++error_count;
}

static int watch_errors(void **state) {
  (void)state;
  kdl_mlir_set_error_handler(keep_error, NULL);
  error_count = 0;
  last_error[0] = 0;
  return 0;
}

#define assert_no_error()                                                                          \
  do {                                                                                             \
    if (error_count)                                                                               \
      fail_msg("%s", last_error);                                                                  \
  } while (0)

/* ------------------------------------------------------------------------------------------ */
/* What the compiler lays out                                                                   */

typedef struct {
  kdl_mlir_library library;
  kdl_mlir_slot slot;
  kdl_mlir_stub stub;
} program;

static void make_program(program *made, const void *data, size_t size, const char *kernel,
                         kdl_mlir_fallback fallback) {
  *made = (program){.library = {.abi = KDL_MLIR_ABI,
                                .policy = KDL_POLICY_BEST,
                                .fallback = fallback,
                                .name = "@kernels",
                                .data = data,
                                .data_size = size}};
  made->stub = (kdl_mlir_stub){.head = {.entry = kdl_mlir_bind},
                               .slot = &made->slot,
                               .library = &made->library,
                               .name = kernel};
  made->slot.kernel = &made->stub.head;
  kdl_mlir_register(&made->library);
}

static void launch(program *of, kdl_queue *stream, const kdl_launch_desc *desc, kdl_args args) {
  kdl_kernel_head *handle = of->slot.kernel;
  void *queue = stream ? ((kdl_queue_head *)stream)->queue : of->slot.queue;
  if (handle->entry(handle, desc, &args, queue) != KDL_OK)
    kdl_mlir_launch_failed(&of->stub, desc);
  if (!stream)
    kdl_mlir_wait();
}

static kdl_launch_desc shape(uint32_t groups, uint32_t block) {
  return (kdl_launch_desc){
      .size = sizeof(kdl_launch_desc), .grid = {groups, 1, 1}, .block = {block, 1, 1}};
}

/* ------------------------------------------------------------------------------------------ */
/* On the host                                                                                  */

static const host_row mark_rows[] = {{.file = "mark1"}};

static void slots_are_bound_by_the_first_launch(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  assert_ptr_equal(mark.slot.kernel, &mark.stub.head);
  uint32_t n = items, *out = calloc(items, sizeof *out);
  kdl_launch_desc desc = shape(4, 256);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_no_error();
  assert_int_equal(out[0], 1000000);
  assert_int_equal(out[999], 1000999);
  kdl_kernel_head *bound = mark.slot.kernel;
  assert_ptr_not_equal(bound, &mark.stub.head);
  assert_non_null(mark.slot.queue);

  memset(out, 0, items * sizeof *out);
  kdl_queue *stream = mgpuStreamCreate();
  launch(&mark, stream, &desc, KDL_ARGS(&out, &n));
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
  assert_no_error();
  assert_ptr_equal(mark.slot.kernel, bound);
  assert_int_equal(out[999], 1000999);

  kdl_mlir_unregister(&mark.library);
  assert_null(mark.library.state);
  free(out);
  free_rows(&lib);
}

static void launches_of_nothing_do_nothing(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  uint32_t n = 0, *out = NULL;
  kdl_launch_desc desc = shape(0, 256);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_no_error();
  kdl_mlir_unregister(&mark.library);
  free_rows(&lib);
}

static void launches_that_fail_tell_why(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program missing, mark;
  make_program(&missing, lib.data, lib.size, "absent", KDL_MLIR_FALLBACK_HOST);
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  uint32_t n = items, *out = NULL;
  kdl_launch_desc desc = shape(4, 256), wrong = shape(4, 32);
  launch(&missing, NULL, &desc, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 1);
  assert_non_null(
      strstr(last_error, "launch of @kernels::@absent: absent: none of 1 images fits "));
  assert_non_null(strstr(last_error, "does not hold the kernel absent"));
  launch(&mark, NULL, &wrong, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 2);
  assert_string_equal(last_error,
                      "launch of @kernels::@mark: found a block of 32x1x1, expected 256x1x1 as the "
                      "image has it");
  kdl_mlir_unregister(&missing.library);
  kdl_mlir_unregister(&mark.library);
  launch(&missing, NULL, &desc, KDL_ARGS(&out, &n));
  assert_string_equal(last_error, "launch of @kernels::@absent: its library is not registered");
  free_rows(&lib);
}

static void other_versions_are_refused(void **state) {
  (void)state;
  kdl_mlir_library library = {.abi = KDL_MLIR_ABI + 1, .name = "@later"};
  kdl_mlir_register(&library);
  assert_int_equal(error_count, 1);
  assert_string_equal(last_error, "@later: found ABI 2, expected 1: the program was compiled for "
                                  "another version of libkdl_mlir_runtime");
  assert_null(library.state);
}

/* The sequence that #gpu.select_object makes. */
static void modules_are_loaded_and_launched(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  mgpu_module *module = mgpuModuleLoad(lib.data, lib.size);
  assert_non_null(module);
  kdl_kernel *kernel = mgpuModuleGetFunction(module, "mark");
  assert_non_null(kernel);
  uint32_t n = items;
  uint32_t *out = mgpuMemAlloc(items * sizeof *out, NULL, false);
  uint32_t seen[items];
  void *params[] = {&out, &n};
  mgpuMemset32(out, 7, items, NULL);
  assert_int_equal(out[0], 7);
  assert_int_equal(out[999], 7);
  kdl_queue *stream = mgpuStreamCreate();
  mgpuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, stream, params, NULL, 2);
  mgpuMemcpy(seen, out, sizeof seen, stream);
  mgpuStreamSynchronize(stream);
  assert_no_error();
  assert_int_equal(seen[999], 1000999);
  mgpuMemset16(out, 0x1234, 2, stream);
  assert_int_equal(out[0], 0x12341234);
  assert_int_equal(out[1], 1000001);
  mgpuLaunchKernel(kernel, 0, 1, 1, 256, 1, 1, 0, stream, params, NULL, 2);
  assert_no_error();
  mgpuStreamDestroy(stream);
  mgpuMemFree(out, NULL);
  mgpuModuleUnload(module);
  free_rows(&lib);
}

static void what_is_no_module_is_refused(void **state) {
  (void)state;
  assert_null(mgpuModuleLoad("neither this nor that, but long enough to be looked at", 54));
  assert_int_equal(error_count, 1);
  assert_memory_equal(last_error, "mgpuModuleLoad: gpu.binary: ", 28);
  assert_null(mgpuModuleGetFunction(NULL, "mark"));
  mgpuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, 0);
  mgpuModuleUnload(NULL);
  assert_int_equal(error_count, 1);
}

/* The CPU reaches its own memory. */
static void host_memory_needs_no_registration(void **state) {
  (void)state;
  float data[6] = {0};
  int64_t words[7] = {0, 0, 0, 2, 3, 3, 1}; /* pointers, offset, sizes, strides */
  mgpu_memref *memref = (mgpu_memref *)words;
  memref->allocated = memref->aligned = (char *)data;
  mgpuMemHostRegisterMemRef(2, memref, sizeof *data);
  mgpuMemHostUnregisterMemRef(2, memref, sizeof *data);
  float *shared = mgpuMemAlloc(64, NULL, true);
  assert_non_null(shared);
  mgpuMemFree(shared, NULL);
  mgpuMemFree(NULL, NULL);
  assert_no_error();
  assert_null(mgpuTensorMapEncodeTiledMemref(2, memref, 7, 0, 0, 0, 0, (int64_t[]){2, 3}));
  assert_int_equal(error_count, 1);
  assert_non_null(strstr(last_error, "mgpuTensorMapEncodeTiledMemref: host:"));
  assert_non_null(strstr(last_error, ": its driver has no way to encode tensor maps"));
}

static void events_order_streams(void **state) {
  (void)state;
  kdl_queue *stream = mgpuStreamCreate();
  kdl_event *event = mgpuEventCreate();
  mgpuEventRecord(event, stream);
  mgpuStreamWaitEvent(stream, event);
  mgpuEventSynchronize(event);
  mgpuEventDestroy(event);
  mgpuStreamDestroy(stream);
  assert_no_error();
}

static void events_outlive_their_first_destruction(void **state) {
  (void)state;
  kdl_queue *stream = mgpuStreamCreate();
  kdl_event *event = mgpuEventCreate();
  mgpuEventRecord(event, stream);
  mgpuEventDestroy(event);
  mgpuStreamWaitEvent(stream, event);
  mgpuEventDestroy(event);
  for (int i = 0; i < 100; ++i)
    mgpuEventDestroy(mgpuEventCreate());
  mgpuEventDestroy(NULL);
  mgpuStreamDestroy(stream);
  assert_no_error();
}

/* What MLIR 22 makes of an async.yield that it does not lower. */
static void streams_may_stand_for_events(void **state) {
  (void)state;
  kdl_queue *first = mgpuStreamCreate(), *second = mgpuStreamCreate();
  kdl_event *as_event = (kdl_event *)first;
  mgpuStreamWaitEvent(second, as_event);
  mgpuEventSynchronize(as_event);
  mgpuEventDestroy(as_event);
  mgpuEventDestroy(as_event);
  mgpuStreamSynchronize(first);
  mgpuStreamDestroy(first);
  mgpuStreamDestroy(second);
  assert_no_error();
}

static void devices_cannot_be_changed_in_use(void **state) {
  (void)state;
  assert_null(mgpuMemAlloc(0, NULL, false));
  mgpuSetDefaultDevice(0);
  assert_no_error();
  mgpuSetDefaultDevice(3);
  assert_string_equal(last_error, "mgpuSetDefaultDevice: found device number 3, expected less than "
                                  "1: so many of host are here");
}

static const struct CMUnitTest host_tests[] = {
    cmocka_unit_test_setup(slots_are_bound_by_the_first_launch, watch_errors),
    cmocka_unit_test_setup(launches_of_nothing_do_nothing, watch_errors),
    cmocka_unit_test_setup(launches_that_fail_tell_why, watch_errors),
    cmocka_unit_test_setup(other_versions_are_refused, watch_errors),
    cmocka_unit_test_setup(modules_are_loaded_and_launched, watch_errors),
    cmocka_unit_test_setup(what_is_no_module_is_refused, watch_errors),
    cmocka_unit_test_setup(host_memory_needs_no_registration, watch_errors),
    cmocka_unit_test_setup(events_order_streams, watch_errors),
    cmocka_unit_test_setup(events_outlive_their_first_destruction, watch_errors),
    cmocka_unit_test_setup(streams_may_stand_for_events, watch_errors),
    cmocka_unit_test_setup(devices_cannot_be_changed_in_use, watch_errors),
};

/* ------------------------------------------------------------------------------------------ */
/* On a fake GPU                                                                                */

static const char saxpy_ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) { ret; }\n";

/* A binary for GPUs alone does not go with one that only the CPU takes. */
static void constructors_touch_no_driver(void **state) {
  (void)state;
  char log[4096] = "";
  program saxpy;
  make_program(&saxpy, saxpy_ptx, strlen(saxpy_ptx), "saxpy", KDL_MLIR_FALLBACK_ERROR);
  mgpu_module *module = mgpuModuleLoadJIT(saxpy_ptx, 2);
  assert_no_error();
  FILE *file = fopen(getenv("KDL_FAKE_LOG"), "r");
  if (file) {
    assert_null(fgets(log, sizeof log, file));
    fclose(file);
  }
  mgpuModuleUnload(module);
  kdl_mlir_unregister(&saxpy.library);
}

static void copies_go_where_the_addresses_say(void **state) {
  (void)state;
  program saxpy;
  make_program(&saxpy, saxpy_ptx, strlen(saxpy_ptx), "saxpy", KDL_MLIR_FALLBACK_ERROR);
  float host_x[items], host_y[items], a = 2;
  uint32_t n = items;
  for (int i = 0; i < items; ++i)
    host_x[i] = (float)i;
  kdl_queue *stream = mgpuStreamCreate();
  float *x = mgpuMemAlloc(sizeof host_x, stream, false);
  float *y = mgpuMemAlloc(sizeof host_y, stream, false);
  float *z = mgpuMemAlloc(sizeof host_y, stream, false);
  mgpuMemcpy(x, host_x, sizeof host_x, stream);
  mgpuMemset32(y, 0x3f800000, items, stream);
  kdl_launch_desc desc = shape(4, 256);
  launch(&saxpy, stream, &desc, KDL_ARGS(&a, &x, &y, &n));
  mgpuMemcpy(z, y, sizeof host_y, stream);
  mgpuMemcpy(host_y, z + 1, sizeof host_y - sizeof *host_y, stream); /* inside an allocation */
  mgpuStreamSynchronize(stream);
  assert_no_error();
  assert_float_equal(host_y[0], 3, 0);
  assert_float_equal(host_y[998], 1999, 0);
  mgpuMemcpy(host_x, host_y, sizeof host_x, stream);
  assert_float_equal(host_x[998], 1999, 0);
  mgpuMemFree(x, stream);
  mgpuMemFree(y, stream);
  mgpuMemFree(z, stream);
  mgpuStreamDestroy(stream);
  kdl_mlir_unregister(&saxpy.library);
  assert_no_error();
}

static void registered_memory_is_reached_by_kernels(void **state) {
  (void)state;
  mgpu_module *module = mgpuModuleLoadJIT(saxpy_ptx, 2);
  kdl_kernel *kernel = mgpuModuleGetFunction(module, "saxpy");
  float x[items], y[items] = {0}, a = 3;
  const float *x_at = x;
  float *y_at = y;
  uint32_t n = items;
  for (int i = 0; i < items; ++i)
    x[i] = (float)i;
  mgpuMemHostRegister(x, sizeof x);
  int64_t words[5] = {0, 0, 0, items, 1};
  mgpu_memref *memref = (mgpu_memref *)words;
  memref->allocated = memref->aligned = (char *)y;
  mgpuMemHostRegisterMemRef(1, memref, sizeof *y);
  void *params[] = {&a, &x_at, &y_at, &n};
  kdl_queue *stream = mgpuStreamCreate();
  mgpuLaunchClusterKernel(kernel, 2, 1, 1, 4, 1, 1, 256, 1, 1, 0, stream, params, NULL);
  mgpuStreamSynchronize(stream);
  assert_no_error();
  assert_float_equal(y[999], 2997, 0);
  mgpuMemHostUnregister(x);
  mgpuMemHostUnregisterMemRef(1, memref, sizeof *y);
  mgpuMemHostUnregister(x);
  assert_string_equal(last_error, "mgpuMemHostUnregister: cuMemHostUnregister: error 713");
  float *shared = mgpuMemAlloc(64, stream, true);
  assert_non_null(shared);
  shared[0] = 1; /* the host reaches it */
  mgpuMemFree(shared, stream);
  mgpuStreamDestroy(stream);
  mgpuModuleUnload(module);
  assert_int_equal(error_count, 1);
}

static void tensor_maps_count_from_the_fastest_dimension(void **state) {
  (void)state;
  enum { float32 = 7 };
  int64_t words[7] = {0, 0, 0, 64, 128, 128, 1};
  mgpu_memref *memref = (mgpu_memref *)words;
  memref->aligned = (char *)0x1000;
  void *map = mgpuTensorMapEncodeTiledMemref(2, memref, float32, 0, 3, 1, 0, (int64_t[]){16, 32});
  assert_no_error();
  uint64_t seen[16];
  memcpy(seen, map, sizeof seen); /* the fake's memory is the host's */
  const uint64_t expected[] = {float32, 2, 0x1000, 1, 0, 3, 1, 0, 128, 64, 512, 32, 16};
  assert_memory_equal(seen, expected, sizeof expected);
  assert_null(mgpuTensorMapEncodeTiledMemref(6, memref, float32, 0, 0, 0, 0, (int64_t[]){1}));
  assert_int_equal(error_count, 1);
}

/* A launch without a stream, as #gpu.select_object makes it: the driver is asked for one stream. */
static void streams_are_used_again(void **state) {
  (void)state;
  kdl_queue *first = mgpuStreamCreate();
  mgpuStreamSynchronize(first);
  mgpuStreamDestroy(first);
  mgpuStreamDestroy(first);
  kdl_queue *second = mgpuStreamCreate();
  assert_ptr_equal(second, first);
  kdl_queue *third = mgpuStreamCreate();
  assert_ptr_not_equal(third, second);
  mgpuStreamSynchronize(third);
  mgpuStreamDestroy(second); /* nobody waited for it */
  mgpuStreamDestroy(third);
  kdl_queue *many[20];
  for (int i = 0; i < 20; ++i)
    many[i] = mgpuStreamCreate();
  for (int i = 0; i < 20; ++i) {
    mgpuStreamSynchronize(many[i]);
    mgpuStreamDestroy(many[i]);
  }
  mgpuStreamDestroy(NULL);
  assert_no_error();
}

static void tensor_maps_are_put_where_the_caller_says(void **state) {
  (void)state;
  uint64_t map[16] = {0};
  mgpuTensorMapEncodeTiled(map, 7, 2, (void *)0x1000, (uint64_t[]){128, 64}, (uint64_t[]){512},
                           (uint32_t[]){32, 16}, (uint32_t[]){2, 1}, 0, 3, 1, 0);
  assert_no_error();
  const uint64_t expected[] = {7, 2, 0x1000, 2, 0, 3, 1, 0, 128, 64, 512, 32, 16};
  assert_memory_equal(map, expected, sizeof expected);
}

static const struct CMUnitTest cuda_tests[] = {
    cmocka_unit_test_setup(constructors_touch_no_driver, watch_errors),
    cmocka_unit_test_setup(copies_go_where_the_addresses_say, watch_errors),
    cmocka_unit_test_setup(registered_memory_is_reached_by_kernels, watch_errors),
    cmocka_unit_test_setup(tensor_maps_count_from_the_fastest_dimension, watch_errors),
    cmocka_unit_test_setup(tensor_maps_are_put_where_the_caller_says, watch_errors),
    cmocka_unit_test_setup(streams_are_used_again, watch_errors),
    cmocka_unit_test_setup(events_order_streams, watch_errors),
    cmocka_unit_test_setup(events_outlive_their_first_destruction, watch_errors),
    cmocka_unit_test_setup(streams_may_stand_for_events, watch_errors),
};

/* ------------------------------------------------------------------------------------------ */
/* On GPUs of other vendors                                                                     */

static void shared_memory_is_had_and_given_back(void **state) {
  (void)state;
  kdl_queue *stream = mgpuStreamCreate();
  uint32_t seen[4] = {0};
  uint32_t *shared = mgpuMemAlloc(sizeof seen, stream, true);
  assert_non_null(shared);
  shared[3] = 4; /* the host reaches it */
  mgpuMemcpy(seen, shared, sizeof seen, stream);
  mgpuStreamSynchronize(stream);
  assert_int_equal(seen[3], 4);
  mgpuMemFree(shared, stream);
  mgpuStreamDestroy(stream);
  assert_no_error();
}

static void registered_memory_has_an_address_on_the_device(void **state) {
  (void)state;
  float x[4] = {0};
  mgpuMemHostRegister(x, sizeof x);
  mgpu_memref_1d there = mgpuMemGetDeviceMemRef1dFloat(x, x, 1, 3, 1);
  assert_no_error();
  assert_ptr_equal(there.aligned, x);
  assert_int_equal(there.offset, 1);
  assert_int_equal(there.size, 3);
  assert_int_equal(there.stride, 1);
  mgpuMemHostUnregister(x);
  assert_no_error();
  int32_t y[1];
  assert_null(mgpuMemGetDeviceMemRef1dInt32(y, y, 0, 1, 1).aligned);
  assert_string_equal(last_error,
                      "mgpuMemGetDeviceMemRef1dInt32: hipHostGetDevicePointer: error 1");
}

static void host_memory_cannot_be_registered(void **state) {
  (void)state;
  float x[4];
  mgpuMemHostRegister(x, sizeof x);
  assert_int_equal(error_count, 1);
  assert_non_null(strstr(last_error, "mgpuMemHostRegister: level_zero:"));
  assert_non_null(strstr(last_error, ": its driver has no way to register host memory"));
}

static const struct CMUnitTest hip_tests[] = {
    cmocka_unit_test_setup(shared_memory_is_had_and_given_back, watch_errors),
    cmocka_unit_test_setup(registered_memory_has_an_address_on_the_device, watch_errors),
    cmocka_unit_test_setup(events_order_streams, watch_errors),
    cmocka_unit_test_setup(events_outlive_their_first_destruction, watch_errors),
    cmocka_unit_test_setup(streams_may_stand_for_events, watch_errors),
};
static const struct CMUnitTest level_zero_tests[] = {
    cmocka_unit_test_setup(shared_memory_is_had_and_given_back, watch_errors),
    cmocka_unit_test_setup(host_memory_cannot_be_registered, watch_errors),
    cmocka_unit_test_setup(events_order_streams, watch_errors),
    cmocka_unit_test_setup(events_outlive_their_first_destruction, watch_errors),
    cmocka_unit_test_setup(streams_may_stand_for_events, watch_errors),
};

/* ------------------------------------------------------------------------------------------ */
/* Which device                                                                                 */

/* A library for the CPU that says that the CPU is not to run it. */
static void the_host_waits_to_be_asked(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_ERROR);
  uint32_t n = items, *out = calloc(items, sizeof *out);
  kdl_launch_desc desc = shape(4, 256);
  kdl_args args = KDL_ARGS(&out, &n);
  assert_int_equal(mark.slot.kernel->entry(mark.slot.kernel, &desc, &args, NULL), KDL_NO_MATCH);
  kdl_mlir_launch_failed(&mark.stub, &desc);
  assert_string_equal(
      last_error,
      "launch of @kernels::@mark: only the CPU could run it, and its binary says fallback = "
      "error: compile it with fallback = host, or set KDL_DEVICE=host");
  setenv("KDL_DEVICE", "host", 1);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 1);
  assert_int_equal(out[999], 1000999);
  kdl_mlir_unregister(&mark.library);
  free(out);
  free_rows(&lib);
}

/* With a GPU in the machine that one of two binaries cannot use, both go to the CPU. */
static void all_binaries_share_a_device(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  uint32_t n = items, *out = calloc(items, sizeof *out);
  kdl_launch_desc desc = shape(4, 256);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_no_error();
  assert_int_equal(out[999], 1000999);
  program saxpy;
  make_program(&saxpy, saxpy_ptx, strlen(saxpy_ptx), "saxpy", KDL_MLIR_FALLBACK_HOST);
  launch(&saxpy, NULL, &desc, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 1);
  assert_non_null(strstr(last_error, "launch of @kernels::@saxpy: saxpy: none of 1 images fits "));
  assert_non_null(strstr(last_error, "built for NVIDIA GPUs (sm_80)"));
  kdl_mlir_unregister(&mark.library);
  kdl_mlir_unregister(&saxpy.library);
  free(out);
  free_rows(&lib);
}

/* Memory on the other GPU tells which one was meant: the second has less. */
static void programs_choose_by_number(void **state) {
  (void)state;
  mgpuSetDefaultDevice(2);
  assert_null(mgpuMemAlloc(64, NULL, false));
  assert_string_equal(last_error, "mgpuMemAlloc: found device number 2, expected less than 2: so "
                                  "many of cuda are here");
  mgpuSetDefaultDevice(1);
  void *small = mgpuMemAlloc(1 << 20, NULL, false);
  assert_non_null(small);
  assert_int_equal(error_count, 1);
  assert_null(mgpuMemAlloc(1 << 26, NULL, false));
  assert_int_equal(error_count, 2);
  mgpuMemFree(small, NULL);
  mgpuSetDefaultDevice(1);
  assert_int_equal(error_count, 2);
  mgpuSetDefaultDevice(0);
  assert_string_equal(last_error,
                      "mgpuSetDefaultDevice: found device number 0, expected the one in use: a "
                      "program uses one device, chosen before the first allocation, stream or "
                      "launch");
}

static void the_environment_chooses_first(void **state) {
  (void)state;
  setenv("KDL_DEVICE", "cuda:1", 1);
  mgpuSetDefaultDevice(0);
  assert_null(mgpuMemAlloc(1 << 26, NULL, false));
  assert_int_equal(error_count, 1);
  assert_non_null(strstr(last_error, "cuda:1"));
}

static const struct CMUnitTest refusal_tests[] = {
    cmocka_unit_test_setup(the_host_waits_to_be_asked, watch_errors)};
static const struct CMUnitTest sharing_tests[] = {
    cmocka_unit_test_setup(all_binaries_share_a_device, watch_errors)};
static const struct CMUnitTest number_tests[] = {
    cmocka_unit_test_setup(programs_choose_by_number, watch_errors)};
static const struct CMUnitTest environment_tests[] = {
    cmocka_unit_test_setup(the_environment_chooses_first, watch_errors)};

/* ------------------------------------------------------------------------------------------ */
/* One process each                                                                             */

#define FAKE_GPU                                                                                   \
  "cuda:sm_90 driver=13.0 memory=1GiB max_block=1024 shared=48KiB shared_optin=227KiB"
#define TWO_GPUS FAKE_GPU "; cuda:sm_90 driver=13.0 memory=32MiB"

typedef struct {
  const char *name;
  const char *devices; /* of the fake driver; NULL: no driver */
  const struct CMUnitTest *tests;
  size_t count;
} machine;

#define MACHINE(name, devices, tests) {name, devices, tests, sizeof(tests) / sizeof *(tests)}

static const machine machines[] = {
    MACHINE("host", NULL, host_tests),
    MACHINE("cuda", FAKE_GPU, cuda_tests),
    MACHINE("hip", "hip:gfx942:sramecc+:xnack- driver=6.4.43482 memory=1GiB", hip_tests),
    MACHINE("level_zero", "level_zero:pvc memory=1GiB", level_zero_tests),
    MACHINE("refusal", NULL, refusal_tests),
    MACHINE("sharing", FAKE_GPU, sharing_tests),
    MACHINE("number", TWO_GPUS, number_tests),
    MACHINE("environment", TWO_GPUS, environment_tests),
};
enum { machine_count = sizeof machines / sizeof *machines };

static int run_here(const char *name) {
  for (size_t i = 0; i < machine_count; ++i) {
    if (strcmp(machines[i].name, name) == 0)
      return _cmocka_run_group_tests(name, machines[i].tests, machines[i].count, NULL, NULL);
  }
  return 1;
}

static int run_machine(const machine *at, char **argv) {
  pid_t child = fork();
  if (child == 0) {
    char log[64];
    snprintf(log, sizeof log, "/tmp/kdl-mlir-%d", (int)getpid());
    setenv("KDL_TEST_MACHINE", at->name, 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    setenv("LD_LIBRARY_PATH", at->devices ? KDL_TEST_FAKES "/whole" : "/nonexistent", 1);
    setenv("KDL_FAKE_DEVICES", at->devices ? at->devices : "", 1);
    setenv("KDL_FAKE_LOG", log, 1);
    unsetenv("KDL_DEVICE");
    execv("/proc/self/exe", argv);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv) {
  (void)argc;
  const char *name = getenv("KDL_TEST_MACHINE");
  int result = 0;
  if (name) {
    result = run_here(name);
    unlink(getenv("KDL_FAKE_LOG"));
    return result;
  }
  for (size_t i = 0; i < machine_count; ++i)
    result |= run_machine(&machines[i], argv);
  return result;
}
