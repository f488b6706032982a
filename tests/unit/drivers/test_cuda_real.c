/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Assumptions of the CUDA backend that no fake can prove, on the GPU of this machine. The
 * conformance suite covers everything else. */
#include "support.h"

#include "lib/backends/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>

/* add(out, n): out[0] += n. reserve(): uses dynamic group memory. linger(out): out[0] += 1 after
 * tens of milliseconds. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .shared .align 4 .b8 room[];\n"
    ".visible .entry add(.param .u64 out, .param .u32 n) {\n"
    "  .reg .b32 %r<3>;\n  .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d1, [out];\n  cvta.to.global.u64 %d2, %d1;\n"
    "  ld.param.u32 %r1, [n];\n  atom.global.add.u32 %r2, [%d2], %r1;\n  ret;\n}\n"
    ".visible .entry reserve() {\n  .reg .b32 %r<2>;\n  mov.u32 %r1, 1;\n"
    "  st.shared.u32 [room+65536], %r1;\n  ret;\n}\n"
    ".visible .entry linger(.param .u64 out) {\n"
    "  .reg .pred %p<2>;\n  .reg .b32 %r<2>;\n  .reg .b64 %d<6>;\n"
    "  ld.param.u64 %d1, [out];\n  cvta.to.global.u64 %d2, %d1;\n  mov.u64 %d3, %clock64;\n"
    "again:\n  mov.u64 %d4, %clock64;\n  sub.s64 %d5, %d4, %d3;\n"
    "  setp.lt.s64 %p1, %d5, 50000000;\n  @%p1 bra again;\n"
    "  atom.global.add.u32 %r1, [%d2], 1;\n  ret;\n}\n";

static kdl_device *device;
static kdl_library *lib;
static void *lib_data;
static size_t lib_size;
static kdl_queue *queue;
static kdl_buffer out;

static kdl_string text(const char *words) {
  return (kdl_string){words, strlen(words)};
}

static int open_all(void **state) {
  (void)state;
  kdl_writer *writer;
  kdl_pair pairs[] = {{text("triple"), text("nvptx64-nvidia-cuda")},
                      {text("arch"), text("sm_70")},
                      {text("kdl.kernel.add"), text("sig=ptr<u32> u32; block=1x1x1")},
                      {text("kdl.kernel.reserve"), text("block=1x1x1")},
                      {text("kdl.kernel.linger"), text("sig=ptr<u32>; block=1x1x1")}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_PTX),
                            .offload_kind = KDL_OFFLOAD_CUDA,
                            .pairs = pairs,
                            .pair_count = 5,
                            .data = ptx,
                            .data_size = strlen(ptx)};
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_finish(writer, &lib_data, &lib_size));
  kdl_writer_destroy(writer);
  assert_ok(kdl_open_memory(lib_data, lib_size, NULL, &lib));
  assert_ok(kdl_queue_create(device, NULL, &queue));
  assert_ok(kdl_alloc(device, 4096, &out));
  return 0;
}

static int close_all(void **state) {
  (void)state;
  assert_ok(kdl_free(&out));
  kdl_queue_destroy(queue);
  kdl_close(lib);
  free(lib_data);
  return 0;
}

static kdl_kernel *kernel_named(const char *name) {
  kdl_kernel *kernel;
  assert_ok(kdl_sym(lib, device, name, NULL, &kernel));
  return kernel;
}

static uint32_t value_now(void) {
  uint32_t value = 0;
  assert_ok(kdl_read(queue, &value, &out, 0, sizeof value));
  assert_ok(kdl_sync(queue));
  return value;
}

static kdl_status add(kdl_queue *where, uint32_t n) {
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  return kdl_launch(kernel_named("add"), where, &desc, KDL_ARGS(&out, &n));
}

/* ------------------------------------------------------------------------------------------ */

static void *add_from_thread(void *user) {
  void *current = user;
  kdl_cuda.context_current(&current);
  return (void *)(uintptr_t)(current == NULL && add(queue, 7) == KDL_OK);
}

/* The thread has no context: a function is refused, and launched in another way. */
static void a_fresh_thread_launches(void **state) {
  (void)state;
  assert_ok(kdl_fill(queue, &out, 0, 4, "\0", 1));
  assert_ok(add(queue, 1));
  pthread_t thread;
  void *good;
  assert_int_equal(pthread_create(&thread, NULL, add_from_thread, &good), 0);
  pthread_join(thread, &good);
  assert_non_null(good);
  assert_int_equal(value_now(), 8);
}

typedef int create_context(void **context, unsigned flags, int device);
typedef int destroy_context(void *context);
typedef int begin_capture(void *stream, int mode);
typedef int end_capture(void *stream, void **graph);

static void *driver_symbol(const char *name) {
  void *symbol = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
  if (!symbol)
    fail_msg("the driver has no %s", name);
  return symbol;
}

/* With another context current, on our stream and on the NULL stream of our context. */
static void another_context_is_current(void **state) {
  (void)state;
  create_context *create;
  destroy_context *destroy;
  void *symbol = driver_symbol("cuCtxCreate_v2");
  memcpy(&create, &symbol, sizeof symbol);
  symbol = driver_symbol("cuCtxDestroy_v2");
  memcpy(&destroy, &symbol, sizeof symbol);
  void *number, *other, *current = NULL;
  kdl_queue *null_queue;
  assert_ok(kdl_queue_adopt(device, NULL, &null_queue));
  assert_ok(kdl_fill(queue, &out, 0, 4, "\0", 1));
  assert_ok(add(queue, 1));
  assert_ok(kdl_sync(queue));
  assert_ok(kdl_device_native(device, KDL_NATIVE_DEVICE, &number));
  assert_int_equal(create(&other, 0, (int)(intptr_t)number), 0);
  assert_ok(add(queue, 10));
  assert_ok(add(null_queue, 100));
  assert_ok(kdl_sync(null_queue));
  assert_int_equal(kdl_cuda.context_current(&current), 0);
  assert_ptr_equal(current, other); /* left as it was */
  assert_int_equal(destroy(other), 0);
  assert_int_equal(value_now(), 111);
  kdl_queue_destroy(null_queue);
}

static int launch_raw(void *function, void *stream) {
  uint32_t n = 1000;
  uint64_t address = out.address;
  void *params[] = {&address, &n};
  return kdl_cuda.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

typedef struct {
  void *function, *stream;
  int error;
} raw_launch;

static void *launch_raw_from_thread(void *user) {
  raw_launch *raw = user;
  raw->error = launch_raw(raw->function, raw->stream);
  return NULL;
}

/* What libkdl relies on: where the context of a CUfunction is not current, the driver either
 * refuses it, and has then done nothing, or launches it where it belongs. */
static void a_misplaced_function_is_refused_or_runs(void **state) {
  (void)state;
  create_context *create;
  destroy_context *destroy;
  void *symbol = driver_symbol("cuCtxCreate_v2");
  memcpy(&create, &symbol, sizeof symbol);
  symbol = driver_symbol("cuCtxDestroy_v2");
  memcpy(&destroy, &symbol, sizeof symbol);
  raw_launch raw = {0};
  void *number, *other;
  pthread_t thread;
  assert_ok(kdl_fill(queue, &out, 0, 4, "\0", 1));
  assert_ok(kdl_kernel_native(kernel_named("add"), &raw.function));
  assert_ok(kdl_queue_native(queue, &raw.stream));
  assert_int_equal(pthread_create(&thread, NULL, launch_raw_from_thread, &raw), 0);
  pthread_join(thread, NULL);
  assert_ok(kdl_device_native(device, KDL_NATIVE_DEVICE, &number));
  assert_int_equal(create(&other, 0, (int)(intptr_t)number), 0);
  int elsewhere = launch_raw(raw.function, raw.stream);
  assert_int_equal(destroy(other), 0);
  printf("cuLaunchKernel of a CUfunction returns %d without a context, %d in another\n", raw.error,
         elsewhere);
  assert_int_equal(value_now(), 1000 * (raw.error == 0) + 1000 * (elsewhere == 0));
}

/* On a stream that stands for whichever context is current, such a function is refused and does not
 * run in that one. */
static void a_misplaced_function_is_refused_on_the_default_streams(void **state) {
  (void)state;
  create_context *create;
  destroy_context *destroy;
  void *symbol = driver_symbol("cuCtxCreate_v2");
  memcpy(&create, &symbol, sizeof symbol);
  symbol = driver_symbol("cuCtxDestroy_v2");
  memcpy(&destroy, &symbol, sizeof symbol);
  void *number, *other;
  raw_launch raw = {0};
  assert_ok(kdl_fill(queue, &out, 0, 4, "\0", 1));
  assert_ok(kdl_sync(queue));
  assert_ok(kdl_kernel_native(kernel_named("add"), &raw.function));
  assert_ok(kdl_device_native(device, KDL_NATIVE_DEVICE, &number));
  for (uintptr_t stream = 0; stream <= KDL_CUDA_STREAM_LAST_SPECIAL; ++stream) {
    pthread_t thread;
    raw.stream = (void *)stream;
    assert_int_equal(pthread_create(&thread, NULL, launch_raw_from_thread, &raw), 0);
    pthread_join(thread, NULL);
    assert_int_not_equal(raw.error, 0);
    assert_int_equal(create(&other, 0, (int)(intptr_t)number), 0);
    int elsewhere = launch_raw(raw.function, raw.stream);
    assert_int_equal(destroy(other), 0);
    assert_int_not_equal(elsewhere, 0);
  }
  assert_int_equal(value_now(), 0);
}

/* Nor does a launch from a thread without a context break a capture. */
static void a_fresh_thread_is_captured(void **state) {
  (void)state;
  begin_capture *begin;
  end_capture *end;
  destroy_context *destroy;
  void *symbol = driver_symbol("cuStreamBeginCapture_v2");
  memcpy(&begin, &symbol, sizeof symbol);
  symbol = driver_symbol("cuStreamEndCapture");
  memcpy(&end, &symbol, sizeof symbol);
  symbol = driver_symbol("cuGraphDestroy");
  memcpy(&destroy, &symbol, sizeof symbol);
  void *stream, *graph = NULL, *good;
  pthread_t thread;
  assert_ok(kdl_queue_native(queue, &stream));
  assert_ok(add(queue, 1));
  assert_ok(kdl_sync(queue));
  assert_int_equal(begin(stream, 2), 0); /* relaxed: more than one thread takes part */
  assert_int_equal(pthread_create(&thread, NULL, add_from_thread, NULL), 0);
  pthread_join(thread, &good);
  assert_int_equal(end(stream, &graph), 0);
  assert_non_null(good);
  assert_non_null(graph);
  assert_int_equal(destroy(graph), 0);
}

/* A library that is closed while one of its kernels runs goes when that has finished. */
static void closing_waits(void **state) {
  (void)state;
  kdl_library *own;
  kdl_kernel *linger;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  assert_ok(kdl_fill(queue, &out, 0, 4, "\0", 1));
  assert_ok(kdl_open_memory(lib_data, lib_size, NULL, &own));
  assert_ok(kdl_sym(own, device, "linger", NULL, &linger));
  assert_ok(kdl_launch(linger, queue, &desc, KDL_ARGS(&out)));
  kdl_close(own);
  assert_int_equal(value_now(), 1);
}

static void a_capture_survives(void **state) {
  (void)state;
  begin_capture *begin;
  end_capture *end;
  destroy_context *destroy;
  void *symbol = driver_symbol("cuStreamBeginCapture_v2");
  memcpy(&begin, &symbol, sizeof symbol);
  symbol = driver_symbol("cuStreamEndCapture");
  memcpy(&end, &symbol, sizeof symbol);
  symbol = driver_symbol("cuGraphDestroy");
  memcpy(&destroy, &symbol, sizeof symbol);
  void *stream, *graph = NULL;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  desc.shared = 65536 + 4;
  kdl_kernel *reserve = kernel_named("reserve");
  assert_ok(kdl_queue_native(queue, &stream));
  assert_ok(add(queue, 1)); /* loads `add` */
  assert_ok(kdl_sync(queue));
  assert_int_equal(begin(stream, 0), 0);
  assert_int_equal(kdl_launch(reserve, queue, &desc, KDL_NO_ARGS), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "kdl_prefetch"));
  assert_ok(add(queue, 1));
  /* Loading elsewhere leaves the capture alone. */
  assert_ok(kdl_prefetch(reserve));
  kdl_buffer more;
  assert_ok(kdl_alloc(device, 64, &more));
  assert_int_equal(end(stream, &graph), 0);
  assert_non_null(graph);
  assert_int_equal(destroy(graph), 0);
  assert_ok(kdl_free(&more));
}

static void more_group_memory_than_is_usual(void **state) {
  (void)state;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  desc.shared = 65536 + 4;
  assert_ok(kdl_launch(kernel_named("reserve"), queue, &desc, KDL_NO_ARGS));
  assert_ok(kdl_sync(queue));
}

static void clusters(void **state) {
  (void)state;
  if (!strstr(kdl_device_spec_text(device), "cluster="))
    skip();
  uint32_t n = 1;
  kdl_launch_desc desc = kdl_grid(16, 1, 1);
  assert_ok(kdl_fill(queue, &out, 0, 4, "\0", 1));
  desc.cluster[0] = 8;
  assert_ok(kdl_launch(kernel_named("add"), queue, &desc, KDL_ARGS(&out, &n)));
  desc.cluster[0] = 16; /* more than every device has */
  assert_ok(kdl_launch(kernel_named("add"), queue, &desc, KDL_ARGS(&out, &n)));
  assert_int_equal(value_now(), 32);
}

/* Patterns of several words go to the driver as columns. */
static void wide_fills(void **state) {
  (void)state;
  static const char pattern[17] = "0123456789abcdef";
  char bytes[4096];
  assert_ok(kdl_fill(queue, &out, 0, sizeof bytes, pattern, 16));
  assert_ok(kdl_fill(queue, &out, 64, 1024, pattern, 8));
  assert_ok(kdl_read(queue, bytes, &out, 0, sizeof bytes));
  assert_ok(kdl_sync(queue));
  for (size_t i = 0; i < sizeof bytes; ++i)
    assert_int_equal(bytes[i], pattern[i >= 64 && i < 1088 ? (i - 64) % 8 : i % 16]);
}

static void the_compiler_is_quoted(void **state) {
  (void)state;
  kdl_library *broken;
  kdl_kernel *kernel;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  desc.block[0] = desc.block[1] = desc.block[2] = 1;
  const char *bad = ".version 7.0\n.target sm_70\n.address_size 64\n"
                    ".visible .entry bad() { no_such_instruction; ret; }\n";
  assert_ok(kdl_open_memory(bad, strlen(bad), NULL, &broken));
  assert_ok(kdl_sym(broken, device, "bad", NULL, &kernel));
  assert_int_not_equal(kdl_launch(kernel, queue, &desc, KDL_NO_ARGS), KDL_OK);
  puts(kdl_error_message());
  assert_non_null(strstr(kdl_error_message(), "no_such_instruction"));
  assert_int_equal(kdl_error_code(), 218);
  kdl_close(broken);
  assert_ok(add(queue, 1)); /* the context is none the worse */
  assert_ok(kdl_sync(queue));
}

int main(void) {
  if (kdl_device_find("cuda:0", &device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fresh_thread_launches),
      cmocka_unit_test(another_context_is_current),
      cmocka_unit_test(a_misplaced_function_is_refused_or_runs),
      cmocka_unit_test(a_misplaced_function_is_refused_on_the_default_streams),
      cmocka_unit_test(a_fresh_thread_is_captured),
      cmocka_unit_test(closing_waits),
      cmocka_unit_test(a_capture_survives),
      cmocka_unit_test(more_group_memory_than_is_usual),
      cmocka_unit_test(clusters),
      cmocka_unit_test(wide_fills),
      cmocka_unit_test(the_compiler_is_quoted),
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
