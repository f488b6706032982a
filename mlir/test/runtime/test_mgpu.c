/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions that MLIR's lowering of the gpu dialect calls, over libkdl: on the host and on fake
 * GPUs of each vendor. */
#include "runtime_support.h"

/* ------------------------------------------------------------------------------------------ */
/* On every device                                                                              */

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

/* What MLIR 22 emits for an async.yield that it does not lower. */
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

/* What MLIR 22 emits for a region that passes on another's token. */
static void events_may_stand_for_streams(void **state) {
  (void)state;
  kdl_queue *stream = mgpuStreamCreate();
  kdl_event *first = mgpuEventCreate(), *second = mgpuEventCreate();
  kdl_queue *as_stream = (kdl_queue *)first;
  mgpuEventRecord(first, stream);
  mgpuEventRecord(second, as_stream);
  mgpuStreamDestroy(as_stream);
  mgpuEventSynchronize(second);
  mgpuEventDestroy(second);
  mgpuStreamDestroy(stream);
  for (int i = 0; i < 100; ++i)
    mgpuEventDestroy(mgpuEventCreate());
  assert_no_error();
}

/* ------------------------------------------------------------------------------------------ */
/* On the host                                                                                  */

/* The calls that #gpu.select_object emits. */
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

/* Loads, launches and unloads: the launch computes, or an error tells why not. */
static void try_host(const void *data, size_t size, uint32_t *out) {
  uint32_t n = items;
  void *params[] = {&out, &n};
  out[999] = 0;
  mgpu_module *module = mgpuModuleLoad(data, size);
  kdl_kernel *kernel = mgpuModuleGetFunction(module, "mark");
  mgpuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL, 2);
  kdl_mlir_wait();
  assert_true(out[999] == 1000999 || *last_error);
  last_error[0] = '\0';
  mgpuModuleUnload(module);
}

/* Every bit before the image, absurd numbers at every place, every length. The copy has no byte
 * beyond its size, for tools that watch memory. */
static void try_containers(const void *data, size_t all, void *out,
                           void (*try_one)(const void *data, size_t size, uint32_t *out)) {
  const size_t headers = 160;
  const uint64_t numbers[] = {
      0, 1, all - 1, all, all + 1, UINT32_MAX, UINT64_MAX - 7, UINT64_MAX, (uint64_t)1 << 63};
  char *copy = malloc(all);
  for (size_t bit = 0; bit < 8 * headers; ++bit) {
    memcpy(copy, data, all);
    copy[bit / 8] ^= (char)(1 << bit % 8);
    try_one(copy, all, out);
  }
  for (size_t at = 0; at + 8 <= headers; at += 4) {
    for (size_t i = 0; i < 2 * sizeof numbers / sizeof *numbers; ++i) {
      memcpy(copy, data, all);
      memcpy(copy + at, &numbers[i / 2], i % 2 ? 8 : 4);
      try_one(copy, all, out);
    }
  }
  free(copy);
  for (size_t i = 0; i < headers + 64; ++i) {
    const size_t size = i < headers ? i : (i - headers) * all / 64;
    copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    try_one(copy, size, out);
    free(copy);
  }
}

static void hostile_containers_are_refused_or_run(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  uint32_t *out = calloc(items, sizeof *out);
  try_containers(lib.data, lib.size, out, try_host);
  free(out);
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

/* The CPU can access its own memory. */
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

/* ------------------------------------------------------------------------------------------ */
/* On a fake GPU                                                                                */

static void copies_go_where_the_addresses_say(void **state) {
  (void)state;
  program saxpy;
  make_program(&saxpy, SAXPY_PTX, strlen(SAXPY_PTX), "saxpy", KDL_MLIR_FALLBACK_ERROR);
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
  mgpuMemcpy(host_y, z + 1, sizeof host_y - sizeof *host_y, stream); /* within an allocation */
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
  mgpu_module *module = mgpuModuleLoadJIT(SAXPY_PTX, 2, UINT64_MAX);
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
  shared[0] = 1; /* the host can access it */
  mgpuMemFree(shared, stream);
  mgpuStreamDestroy(stream);
  mgpuModuleUnload(module);
  assert_int_equal(error_count, 1);
}

/* The fake's memory is the host's. */
static void try_gpu(const void *data, size_t size, uint32_t *out) {
  float x[items] = {[999] = 2}, a = 3, *x_at = x;
  uint32_t n = items;
  void *params[] = {&a, &x_at, &out, &n};
  memset(out, 0, items * sizeof *out);
  mgpuMemHostRegister(x, sizeof x);
  mgpu_module *module = mgpuModuleLoad(data, size);
  kdl_kernel *kernel = mgpuModuleGetFunction(module, "saxpy");
  mgpuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL, 4);
  kdl_mlir_wait();
  mgpuMemHostUnregister(x);
  assert_true(out[999] == 0x40c00000 || *last_error); /* 6 */
  last_error[0] = '\0';
  mgpuModuleUnload(module);
}

static void hostile_containers_on_a_gpu_are_refused_or_run(void **state) {
  (void)state;
  const kdl_pair pairs[] = {{text_of("triple"), text_of("nvptx64-nvidia-cuda")},
                            {text_of("arch"), text_of("sm_80")}};
  const kdl_writer_image image = {.size = sizeof image,
                                  .declared_kind = 5,
                                  .pairs = pairs,
                                  .pair_count = 2,
                                  .data = SAXPY_PTX,
                                  .data_size = sizeof SAXPY_PTX};
  kdl_writer *writer;
  void *data;
  size_t size;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  uint32_t *out = mgpuMemAlloc(items * sizeof *out, NULL, false);
  try_gpu(data, size, out);
  assert_no_error();
  try_containers(data, size, out, try_gpu);
  mgpuMemFree(out, NULL);
  free(data);
}

/* MLIR 22 calls with two arguments, so that the size of MLIR 23 is undefined. Text ends with a NUL;
 * SPIR-V, which contains NULs, does not. */
static void modules_are_compiled_with_a_size_or_without(void **state) {
  (void)state;
  static const uint64_t sizes[] = {sizeof SAXPY_PTX, 0, UINT64_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    mgpu_module *module = mgpuModuleLoadJIT(SAXPY_PTX, 2, sizes[i]);
    assert_non_null(mgpuModuleGetFunction(module, "saxpy"));
    mgpuModuleUnload(module);
  }
  assert_no_error();
  static const uint32_t spirv[] = {
      0x07230203,   0x00010200, 0, 10,  0, /* header */
      3 << 16 | 14, 2,          2,         /* OpMemoryModel Physical64 OpenCL */
      4 << 16 | 15, 6,          1, 'a',    /* OpEntryPoint Kernel %1 "a" */
  };
  /* MLIR counts a NUL after it. */
  mgpu_module *module = mgpuModuleLoadJIT((const char *)spirv, 2, sizeof spirv + 1);
  assert_non_null(module);
  assert_no_error();
  assert_null(mgpuModuleGetFunction(module, "a"));
  assert_non_null(strstr(last_error, "image 0 (spirv"));
  mgpuModuleUnload(module);
}

/* MLIR 23 passes the grid first, then the cluster, which may be zero, then the block. */
static void groups_cooperate(void **state) {
  (void)state;
  mgpu_module *module = mgpuModuleLoadJIT(SAXPY_PTX, 2, sizeof SAXPY_PTX);
  kdl_kernel *kernel = mgpuModuleGetFunction(module, "saxpy");
  kdl_queue *stream = mgpuStreamCreate();
  float host_x[items], host_y[items] = {0}, a = 3;
  uint32_t n = items;
  for (int i = 0; i < items; ++i)
    host_x[i] = (float)i;
  float *x = mgpuMemAlloc(sizeof host_x, stream, false);
  float *y = mgpuMemAlloc(sizeof host_y, stream, false);
  mgpuMemcpy(x, host_x, sizeof host_x, stream);
  mgpuMemcpy(y, host_y, sizeof host_y, stream);
  void *params[] = {&a, &x, &y, &n};
  mgpuLaunchKernelCooperative(kernel, 4, 1, 1, 0, 0, 0, 256, 1, 1, 0, stream, params, NULL);
  mgpuMemcpy(host_y, y, sizeof host_y, stream);
  mgpuStreamSynchronize(stream);
  assert_no_error();
  assert_float_equal(host_y[999], 2997, 0);
  mgpuLaunchKernelCooperative(kernel, 4, 1, 1, 2, 1, 1, 4096, 1, 1, 0, stream, params, NULL);
  assert_int_equal(error_count, 1);
  assert_string_equal(
      last_error, "mgpuLaunchKernelCooperative: cuda:0: cuLaunchKernelEx with grid 4x1x1, block "
                  "4096x1x1, 0 bytes of dynamic group memory: CUDA_ERROR_INVALID_VALUE (1): "
                  "invalid argument");
  mgpuMemFree(x, stream);
  mgpuMemFree(y, stream);
  mgpuStreamDestroy(stream);
  mgpuModuleUnload(module);
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

static void tensor_maps_are_put_where_the_caller_says(void **state) {
  (void)state;
  uint64_t map[16] = {0};
  mgpuTensorMapEncodeTiled(map, 7, 2, (void *)0x1000, (uint64_t[]){128, 64}, (uint64_t[]){512},
                           (uint32_t[]){32, 16}, (uint32_t[]){2, 1}, 0, 3, 1, 0);
  assert_no_error();
  const uint64_t expected[] = {7, 2, 0x1000, 2, 0, 3, 1, 0, 128, 64, 512, 32, 16};
  assert_memory_equal(map, expected, sizeof expected);
}

/* A launch without a stream, as #gpu.select_object emits it: the driver creates one stream. */
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
  mgpuStreamDestroy(second); /* without a wait */
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

/* ------------------------------------------------------------------------------------------ */
/* On GPUs of other vendors                                                                     */

static void shared_memory_is_had_and_given_back(void **state) {
  (void)state;
  kdl_queue *stream = mgpuStreamCreate();
  uint32_t seen[4] = {0};
  uint32_t *shared = mgpuMemAlloc(sizeof seen, stream, true);
  assert_non_null(shared);
  shared[3] = 4; /* the host can access it */
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

static const struct CMUnitTest host_tests[] = {
    TEST(modules_are_loaded_and_launched),
    TEST(what_is_no_module_is_refused),
    TEST(hostile_containers_are_refused_or_run),
    TEST(host_memory_needs_no_registration),
    TEST(events_order_streams),
    TEST(events_outlive_their_first_destruction),
    TEST(streams_may_stand_for_events),
    TEST(events_may_stand_for_streams),
};
static const struct CMUnitTest cuda_tests[] = {
    TEST(copies_go_where_the_addresses_say),
    TEST(modules_are_compiled_with_a_size_or_without),
    TEST(hostile_containers_on_a_gpu_are_refused_or_run),
    TEST(groups_cooperate),
    TEST(registered_memory_is_reached_by_kernels),
    TEST(tensor_maps_count_from_the_fastest_dimension),
    TEST(tensor_maps_are_put_where_the_caller_says),
    TEST(streams_are_used_again),
    TEST(events_order_streams),
    TEST(events_outlive_their_first_destruction),
    TEST(streams_may_stand_for_events),
    TEST(events_may_stand_for_streams),
};
static const struct CMUnitTest hip_tests[] = {
    TEST(shared_memory_is_had_and_given_back),
    TEST(registered_memory_has_an_address_on_the_device),
    TEST(events_order_streams),
    TEST(events_outlive_their_first_destruction),
    TEST(streams_may_stand_for_events),
    TEST(events_may_stand_for_streams),
};
static const struct CMUnitTest level_zero_tests[] = {
    TEST(shared_memory_is_had_and_given_back),
    TEST(host_memory_cannot_be_registered),
    TEST(events_order_streams),
    TEST(events_outlive_their_first_destruction),
    TEST(streams_may_stand_for_events),
    TEST(events_may_stand_for_streams),
};

static const machine machines[] = {
    MACHINE("host", NULL, host_tests),
    MACHINE("cuda", FAKE_GPU, cuda_tests),
    MACHINE("hip", "hip:gfx942:sramecc+:xnack- driver=6.4.43482 memory=1GiB", hip_tests),
    MACHINE("level_zero", "level_zero:pvc memory=1GiB", level_zero_tests),
};

int main(int argc, char **argv) {
  (void)argc;
  return run_machines(machines, sizeof machines / sizeof *machines, argv);
}
