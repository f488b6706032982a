/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries on (fake) NVIDIA GPUs through the public interface: falling back, captures, faults. */
#include "cuda_support.h"

#include <stdbool.h>

enum { items = 1000 };

#define NV_TRIPLE "nvptx64-nvidia-cuda"
#define SIG "sig=f32 ptr<f32> ptr<f32> u32; "

typedef struct {
  const char *arch;
  kdl_image_kind kind;
  const char *bytes;
  const char *key; /* of saxpy */
} image_row;

/* One work-item handles four elements. */
static const char wide_ptx[] = PTX_HEADER "// per_item=4\n" PTX_SAXPY;
static const char old_ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n" PTX_SAXPY;
static const char broken_ptx[] = PTX_HEADER "syntax_error\n" PTX_SAXPY;
static const char no_cubin[] = "\177ELF, but not a cubin; this text is longer than a header is, so "
                               "that it can be looked at as if it were one.";

static const image_row rows[] = {
    {"sm_90", KDL_IMAGE_CUBIN, no_cubin, SIG "block=128x1x1"},
    {"sm_90", KDL_IMAGE_PTX, broken_ptx, SIG "block=64x1x1"},
    {"sm_80", KDL_IMAGE_PTX, wide_ptx, SIG "block=128x1x1; tile=512x1x1"},
    {"sm_75", KDL_IMAGE_PTX, old_ptx, SIG "block=128x1x1"},
};

static kdl_string text(const char *chars) {
  return (kdl_string){chars, strlen(chars)};
}

typedef struct {
  kdl_library *lib;
  void *data;
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *saxpy;
  kdl_buffer x, y;
} session;

/* A library of some of the rows. */
static void open_library(session *s, size_t first, size_t last) {
  size_t size;
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = first; i <= last; ++i) {
    kdl_pair pairs[] = {{text("triple"), text(NV_TRIPLE)},
                        {text("arch"), text(rows[i].arch)},
                        {text("kdl.kernel.saxpy"), text(rows[i].key)}};
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = kdl_llvm_image_kind(rows[i].kind),
                              .offload_kind = KDL_OFFLOAD_CUDA,
                              .pairs = pairs,
                              .pair_count = 3,
                              .data = rows[i].bytes,
                              .data_size = strlen(rows[i].bytes)};
    assert_ok(kdl_writer_add(writer, &image));
  }
  assert_ok(kdl_writer_finish(writer, &s->data, &size));
  kdl_writer_destroy(writer);
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open_memory(s->data, size, &opts, &s->lib));
}

/* Stops at the first failure. */
static kdl_status prepare(session *s) {
  float x[items], y[items];
  for (int i = 0; i < items; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  kdl_status status = kdl_device_find("cuda:0", &s->device);
  if (status == KDL_OK)
    status = kdl_queue_create(s->device, NULL, &s->queue);
  if (status == KDL_OK)
    status = kdl_alloc(s->device, sizeof x, &s->x);
  if (status == KDL_OK)
    status = kdl_alloc(s->device, sizeof y, &s->y);
  if (status == KDL_OK)
    status = kdl_write(s->queue, &s->x, 0, x, sizeof x);
  if (status == KDL_OK)
    status = kdl_write(s->queue, &s->y, 0, y, sizeof y);
  if (status == KDL_OK)
    status = kdl_sym(s->lib, s->device, "saxpy", NULL, &s->saxpy);
  return status;
}

static kdl_status run(session *s, kdl_queue *queue) {
  float a = 2;
  uint32_t n = items;
  return kdl_launch_items(s->saxpy, queue, kdl_extent1(items), KDL_ARGS(&a, &s->x, &s->y, &n));
}

static kdl_status check(session *s, int launches) {
  float y[items];
  kdl_status status = kdl_read(s->queue, y, &s->y, 0, sizeof y);
  if (status == KDL_OK)
    status = kdl_sync(s->queue);
  for (int i = 0; i < items && status == KDL_OK; ++i)
    assert_true(y[i] == 1 + 2 * (float)i * (float)launches);
  return status;
}

static void put_away(session *s) {
  (void)kdl_free(&s->x);
  (void)kdl_free(&s->y);
  kdl_close(s->lib);
  kdl_queue_destroy(s->queue);
  free(s->data);
}

static session begin(size_t first, size_t last) {
  session s = {0};
  open_library(&s, first, last);
  assert_ok(prepare(&s));
  return s;
}

/* The queue that launches without one go to lives as long as the device. */
enum { alive_always = 1 };

static void end(session *s) {
  put_away(s);
  assert_int_equal(ask_fake("fake_alive"), alive_always);
  assert_int_equal(ask_fake("fake_cuda_depth"), 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Falling back                                                                                 */

static char said[4096];

static void keep_line(void *user, const char *topic, const char *line) {
  (void)user, (void)topic;
  size_t used = strlen(said);
  snprintf(said + used, sizeof said - used, "%s\n", line);
}

/* The two best do not load; the third has another tile. */
static void test_the_third_best_gives_the_right_numbers(void **state) {
  (void)state;
  session s = begin(0, 2);
  said[0] = '\0';
  kdl_set_log("load", keep_line, NULL);
  assert_ok(run(&s, s.queue));
  kdl_set_log(NULL, NULL, NULL);
  assert_ok(check(&s, 1));
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(s.saxpy, &info));
  assert_int_equal(info.image, 2);
  assert_int_equal(info.place, 2);
  assert_int_equal(info.tile[0], 512);
  assert_int_equal(info.param_count, 4);
  if (!strstr(said, "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid; trying the "
                    "next\n") ||
      !strstr(said, "Parsing error near 'syntax_error': syntax error; ptxas fatal") ||
      !strstr(said, "saxpy: bound to image 2 (ptx sm_80) of t, fallback: choice 3 of 3\n"))
    fail_msg("KDL_DEBUG=load said: %s", said);
  end(&s);
}

static void test_none_loads(void **state) {
  (void)state;
  session s = begin(0, 1);
  char expected[1024];
  const char *call = is_old() ? "cuModuleLoadDataEx" : "cuLibraryLoadData";
  snprintf(expected, sizeof expected,
           "t: saxpy: none of 2 images could be loaded on cuda: image 0 (cubin sm_90): cuda:0: %s: "
           "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid; image 1 (ptx sm_90): "
           "cuda:0: %s: ptxas application ptx input, line 7; fatal   : Parsing error near "
           "'syntax_error': syntax error; ptxas fatal   : Ptx assembly aborted due to errors: "
           "CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed",
           call, call);
  assert_fails(run(&s, s.queue), KDL_DEVICE, expected);
  assert_int_equal(kdl_error_code(), 200);
  end(&s);
}

static void test_launches_without_a_queue(void **state) {
  (void)state;
  session s = begin(2, 2);
  assert_ok(run(&s, NULL));
  assert_ok(check(&s, 1));
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Captures                                                                                     */

typedef int begin_capture_function(void *stream, int mode);
typedef int end_capture_function(void *stream, void **graph);
typedef int destroy_function(void *graph);

static void test_a_first_launch_leaves_a_capture_alone(void **state) {
  (void)state;
  session s = begin(2, 2);
  begin_capture_function *begin_capture;
  end_capture_function *end_capture;
  destroy_function *destroy;
  void *symbol = fake_function("cuStreamBeginCapture_v2");
  memcpy(&begin_capture, &symbol, sizeof symbol);
  symbol = fake_function("cuStreamEndCapture");
  memcpy(&end_capture, &symbol, sizeof symbol);
  symbol = fake_function("cuGraphDestroy");
  memcpy(&destroy, &symbol, sizeof symbol);
  void *stream, *graph;
  assert_ok(kdl_queue_native(s.queue, &stream));
  assert_int_equal(begin_capture(stream, 0), 0);
  assert_fails(run(&s, s.queue), KDL_BAD_CALL,
               "saxpy: its first launch would load it, which breaks the capture on this queue; "
               "call kdl_prefetch before the capture begins");
  assert_int_equal(end_capture(stream, &graph), 0);
  assert_int_equal(destroy(graph), 0);
  assert_ok(kdl_prefetch(s.saxpy));
  assert_int_equal(begin_capture(stream, 0), 0);
  assert_ok(run(&s, s.queue));
  assert_int_equal(end_capture(stream, &graph), 0);
  assert_int_equal(destroy(graph), 0);
  assert_ok(check(&s, 0)); /* captured, not run */
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Two devices                                                                                  */

static void test_two_devices(void **state) {
  (void)state;
  session s = begin(2, 2);
  kdl_device *second;
  kdl_queue *queue;
  kdl_kernel *saxpy;
  kdl_buffer x, y;
  float host[items], a = 3;
  uint32_t n = items;
  assert_ok(kdl_device_find("cuda:1", &second));
  assert_ptr_not_equal(second, s.device);
  assert_ok(kdl_queue_create(second, NULL, &queue));
  assert_ok(kdl_alloc(second, sizeof host, &x));
  assert_ok(kdl_alloc(second, sizeof host, &y));
  assert_ok(kdl_copy(queue, &x, 0, &s.x, 0, sizeof host));
  assert_ok(kdl_fill(queue, &y, 0, sizeof host, "", 1));
  assert_ok(kdl_sym(s.lib, second, "saxpy", NULL, &saxpy));
  assert_ok(kdl_launch_items(saxpy, queue, kdl_extent1(items), KDL_ARGS(&a, &x, &y, &n)));
  assert_ok(kdl_read(queue, host, &y, 0, sizeof host));
  assert_ok(kdl_sync(queue));
  for (int i = 0; i < items; ++i)
    assert_true(host[i] == 3 * (float)i);
  assert_ok(run(&s, s.queue));
  assert_ok(check(&s, 1));
  assert_ok(kdl_free(&x));
  assert_ok(kdl_free(&y));
  kdl_queue_destroy(queue);
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 2 * alive_always);
}

/* ------------------------------------------------------------------------------------------ */
/* Faults                                                                                       */

/* Whatever fails, the message names the driver's error, and nothing stays behind. */
static void test_each_call_fails_once(void **state) {
  (void)state;
  unsigned told = 0, alive = ask_fake("fake_alive"), faults = 1;
  for (unsigned n = 1; faults && n < 400; ++n) {
    char rule[32];
    session s = {0};
    open_library(&s, 2, 2);
    snprintf(rule, sizeof rule, "*:%u:719", n);
    inject(rule);
    kdl_status status = prepare(&s);
    if (status == KDL_OK)
      status = run(&s, s.queue);
    if (status == KDL_OK)
      status = check(&s, 1);
    faults = ask_fake("fake_faults");
    inject("");
    if (status != KDL_OK) {
      ++told;
      assert_int_equal(status, KDL_DEVICE);
      assert_int_equal(kdl_error_code(), 719);
      assert_non_null(strstr(kdl_error_message(), "CUDA_ERROR_LAUNCH_FAILED (719)"));
    }
    put_away(&s);
    if (ask_fake("fake_alive") != alive || ask_fake("fake_cuda_depth") != 0)
      fail_msg("call %u left something behind after: %s", n, kdl_error_message());
  }
  assert_int_equal(faults, 0);
  assert_true(told > 10);
}

/* Out of memory while the best image is loaded: the next one is taken. */
static void test_a_failed_load_falls_back(void **state) {
  (void)state;
  session s = begin(2, 3);
  inject(is_old() ? "cuModuleLoadDataEx:1:2" : "cuLibraryLoadData:1:2");
  assert_ok(run(&s, s.queue));
  inject("");
  assert_ok(check(&s, 1));
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(s.saxpy, &info));
  assert_int_equal(info.place, 1);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Forks                                                                                        */

static void test_a_child_is_told(void **state) {
  (void)state;
  session s = begin(2, 2);
  assert_ok(run(&s, s.queue));
  pid_t child = fork();
  if (child == 0)
    _exit(run(&s, s.queue) == KDL_DEVICE && strstr(kdl_error_message(), "fork") ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_ok(check(&s, 1));
  put_away(&s);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_third_best_gives_the_right_numbers),
      cmocka_unit_test(test_none_loads),
      cmocka_unit_test(test_launches_without_a_queue),
      cmocka_unit_test(test_a_first_launch_leaves_a_capture_alone),
      cmocka_unit_test(test_a_failed_load_falls_back),
      cmocka_unit_test(test_two_devices),
      cmocka_unit_test(test_each_call_fails_once),
      cmocka_unit_test(test_a_child_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
