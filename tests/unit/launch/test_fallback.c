/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* If the best image does not load, the next one runs, with its own geometry, and that is logged; if
 * none does, the error lists all of them, also on later calls. */
#include "launch_support.h"

#include "lib/registry/device.h"

#define KEY "kdl.kernel.mark"
#define SIG "sig=ptr<u32> u32"

/* The best is cut short; the second covers another number of work-items a group. */
static const host_row best_is_cut[] = {
    {"mark1", 3000, NULL, "9", KEY, SIG "; block=256x1x1"},
    {"mark2", 0, NULL, "5", KEY, SIG "; block=64x1x1"},
    {"mark3", 0, NULL, "1", KEY, SIG "; block=256x1x1"},
};

static void second_best_computes_the_same(void **state) {
  (void)state;
  start_listening("load");
  host_library made = open_rows(best_is_cut, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  assert_int_equal(run_mark(mark, 1000), 2);
  assert_int_equal(run_mark(mark, 1), 2);
  assert_int_equal(run_mark(mark, 64 * 1000 + 1), 2);
  kdl_kernel_info info = info_of(mark);
  assert_int_equal(info.image, 1);
  assert_int_equal(info.position, 1);
  assert_int_equal(info.image_count, 3);
  assert_int_equal(info.block[0], 64);
  assert_int_equal(info.tile[0], 64);
  assert_int_equal(info.kind, KDL_IMAGE_OBJECT);
  assert_int_equal(info.failure_count, 1);
  assert_int_equal(info.failures[0].image, 0);
  assert_string_equal(info.failures[0].name, "image 0 (object " HOST_ARCH ")");
  assert_int_equal(info.failures[0].status, KDL_BAD_FILE);
  assert_non_null(strstr(info.failures[0].message, "inside the image's 3000 bytes"));
  assert_said("load: mark: image 0 (object " HOST_ARCH ") failed: offset 0x");
  assert_said("inside the image's 3000 bytes; trying the next\n");
  assert_said("load: mark: bound to image 1 (object " HOST_ARCH
              ") of t, fallback: choice 2 of 3\n");
  assert_int_equal(times_said(": loaded on host in "), 1);
  free_rows(&made);
  assert_said("load: t: image 1 (object " HOST_ARCH "): unloaded\n");
  stop_listening();
}

/* A program that was built before the last fields existed gets the ones that it knows. */
static void older_programs_ask_for_less(void **state) {
  (void)state;
  host_library made = open_rows(best_is_cut, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  kdl_kernel_info info = {.size = offsetof(kdl_kernel_info, route), .route = 77};
  assert_ok(kdl_kernel_get(mark, &info));
  assert_int_equal(info.size, offsetof(kdl_kernel_info, route));
  assert_int_equal(info.position, 1);
  assert_int_equal(info.route, 77);
  info.size = sizeof info - 1;
  assert_int_equal(kdl_kernel_get(mark, &info), KDL_BAD_CALL);
  free_rows(&made);
}

/* Tile and block may differ: a group of 32 work-items that covers 128. */
static void tile_counts_not_block(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark4", 0, NULL, NULL, KEY, "block=32x1x1; tile=128x1x1"}};
  host_library made = open_rows(rows, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  start_listening("launch");
  assert_int_equal(run_mark(mark, 1000), 4);
  assert_said("launch: mark: image 0, grid 8x1x1, block 32x1x1, 2 arguments: given\n");
  stop_listening();
  free_rows(&made);
}

static void explicit_grid_is_refused_where_images_disagree(void **state) {
  (void)state;
  host_library made = open_rows(best_is_cut, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t out = 0, n = 1;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)&out, 4);
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  for (int i = 0; i < 2; ++i)
    assert_fails(kdl_launch(mark, NULL, &desc, KDL_ARGS(&buffer, &n)), KDL_BAD_CALL,
                 "mark: image 0 has block=256x1x1 tile=256x1x1 and image 1 has block=64x1x1 "
                 "tile=64x1x1, so that one grid means two problems; use kdl_launch_items");
  assert_int_equal(out, 0);
  free_rows(&made);
}

/* Without keys, or with keys that leave it open, the images themselves say it. */
static void what_images_say_themselves_counts(void **state) {
  (void)state;
  static const host_row rows[][2] = {
      {{"mark1", 0, NULL, "9", NULL, NULL}, {"mark2", 0, NULL, "1", NULL, NULL}},
      {{"mark1", 0, NULL, "9", KEY, SIG}, {"mark2", 0, NULL, "1", KEY, SIG}},
      {{"mark1", 0, NULL, "9", KEY, "block=256x1x1"}, {"mark2", 0, NULL, "1", NULL, NULL}},
      {{"mark1", 0, NULL, "9", NULL, NULL}, {"mark3", 0, NULL, "1", KEY, "block=256x1x1"}},
      {{"mark4", 0, NULL, "9", KEY, "block=32x1x1"}, {"mark4", 0, NULL, "1", NULL, NULL}},
      {{"mark2", 0, NULL, "9", NULL, NULL}, {"mark4", 0, NULL, "1", NULL, NULL}},
  };
  static const char *const refusals[] = {
      "image 0 has block=256x1x1 tile=256x1x1 and image 1 has block=64x1x1 tile=64x1x1",
      "image 0 has block=256x1x1 tile=256x1x1 and image 1 has block=64x1x1 tile=64x1x1",
      "image 0 has block=256x1x1 tile=256x1x1 and image 1 has block=64x1x1 tile=64x1x1",
      NULL,
      NULL,
      "image 0 has block=64x1x1 tile=64x1x1 and image 1 has block=32x1x1 tile=128x1x1",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    host_library made = open_rows(rows[i], 2);
    kdl_kernel *mark = kernel_named(made.lib, "mark");
    uint32_t out[256] = {0}, n = 1;
    kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
    kdl_launch_desc desc = kdl_grid(1, 1, 1);
    kdl_status status = kdl_launch(mark, NULL, &desc, KDL_ARGS(&buffer, &n));
    char expected[256];
    snprintf(expected, sizeof expected,
             "mark: %s, so that one grid means two problems; use kdl_launch_items",
             refusals[i] ? refusals[i] : "");
    if (refusals[i])
      assert_fails(status, KDL_BAD_CALL, expected);
    else
      assert_ok(status);
    free_rows(&made);
  }
}

static void explicit_grid_runs_where_images_agree(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 3000, NULL, "9", KEY, SIG "; block=256x1x1"},
                                  {"mark3", 0, NULL, "1", KEY, SIG "; block=256x1x1"}};
  host_library made = open_rows(rows, 2);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t out[600] = {0}, n = 600;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
  kdl_launch_desc desc = kdl_grid(2, 1, 1);
  assert_ok(kdl_launch(mark, NULL, &desc, KDL_ARGS(&buffer, &n)));
  assert_int_equal(out[511], 3000511);
  assert_int_equal(out[512], 0);
  free_rows(&made);
}

static void error_lists_the_chain_and_is_remembered(void **state) {
  (void)state;
  static const host_row rows[] = {
      {"no_description", 0, NULL, "9", KEY, SIG},
      {"other_abi", 0, NULL, "8", KEY, SIG},
      {"mark1", 40, NULL, "7", KEY, SIG},
      {"mark2", 0, NULL, "6", KEY, SIG "; block=128x1x1"},
      {"mark2", 0, NULL, "5", KEY, "sig=ptr<u32> u64"},
      {"mark2", 0, NULL, "4", KEY, "sig=ptr<u32> u32 u32"},
  };
  static const char expected[] =
      "t: mark: none of 6 images could be loaded on host: image 0 (object " HOST_ARCH
      "): mark: found no symbol kdl_host_kernel_mark, expected the description of a host kernel: "
      "see <kdl/kernel.h>; image 1 (object " HOST_ARCH
      "): mark: found host ABI 99 of 56 bytes, expected 1 of 56; image 2 (object " HOST_ARCH
      "): offset 0x0: ELF header: found none, expected a shared object; image 3 (object " HOST_ARCH
      "): metadata says block=128x1x1, the image itself 64x1x1; image 4 (object " HOST_ARCH
      "): metadata says that parameter 1 is u64 of 8 bytes, the image itself that it has 4; image "
      "5 "
      "(object " HOST_ARCH "): metadata says 3 parameters and 0 hidden ones, the image itself 2";
  host_library made = open_rows(rows, 6);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  start_listening("load");
  for (int i = 0; i < 3; ++i)
    assert_fails(kdl_prefetch(mark), KDL_BAD_FILE, expected);
  uint32_t n = 1;
  kdl_buffer none = {0, 0, NULL};
  assert_fails(kdl_launch_items(mark, NULL, kdl_extent1(n), KDL_ARGS(&none, &n)), KDL_BAD_FILE,
               expected);
  assert_int_equal(times_said("trying the next"), 5);
  stop_listening();
  free_rows(&made);
}

static void missing_symbols_are_found_when_loading(void **state) {
  (void)state;
  static const host_row rows[] = {{"missing_symbol", 0, NULL, "2", KEY, SIG},
                                  {"mark1", 0, NULL, "1", KEY, SIG}};
  host_library made = open_rows(rows, 2);
  start_listening("load");
  assert_int_equal(run_mark(kernel_named(made.lib, "mark"), 10), 1);
  assert_said("it needs 'no_such_function', which it does not define and a host image cannot count "
              "on: <kdl/host_abi.h> lists what it can; trying the next");
  stop_listening();
  free_rows(&made);
}

/* What the CPU lacks is never loaded: the rules refuse it before. */
static void images_that_the_cpu_lacks_are_not_tried(void **state) {
  (void)state;
#if defined(__x86_64__)
  static const host_row rows[] = {{"mark1", 0, "x86-64+amx_bf16+amx_fp8+avx10_2", "9", KEY, SIG},
                                  {"mark3", 0, NULL, "1", KEY, SIG}};
  host_library made = open_rows(rows, 2);
  start_listening("load,select");
  assert_int_equal(run_mark(kernel_named(made.lib, "mark"), 10), 3);
  assert_int_equal(times_said("image 0 (object x86-64+amx_bf16+amx_fp8+avx10_2): loaded"), 0);
  stop_listening();
  free_rows(&made);
#else
  skip();
#endif
}

#if defined(__x86_64__)
static int times_asked;

static bool refuse_amx(void) {
  ++times_asked;
  return false;
}

/* A system that refuses AMX: it is asked when the image that needs it would be loaded. */
static void refused_permission_is_a_reason_like_another(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 3000, NULL, "9", KEY, SIG},
                                  {"mark1", 0, "sapphirerapids", "5", KEY, SIG},
                                  {"mark3", 0, NULL, "1", KEY, SIG}};
  kdl_select_device route;
  kdl_device_spec spec;
  char *line = "host:sapphirerapids";
  kdl_device host = {.is_here = true, .route_count = 1, .routes = {&route}, .spec_lines = {line}};
  assert_ok(kdl_device_spec_parse(line, &spec));
  assert_ok(kdl_select_device_init(&spec, &route));
  bool (*before)(void) = kdl_request_amx;
  kdl_request_amx = refuse_amx;
  host_library made = open_rows(rows, 3);
  kdl_kernel *mark;
  start_listening("load");
  assert_ok(kdl_sym(made.lib, &host, "mark", NULL, &mark));
  assert_int_equal(times_asked, 0);
  assert_int_equal(run_mark(mark, 300), 3);
  assert_int_equal(times_asked, 1);
  assert_said("mark: image 1 (object sapphirerapids) failed: it needs AMX, and the system refused "
              "permission to use it; trying the next");
  assert_int_equal(times_said("image 1 (object sapphirerapids): loaded"), 0);
  stop_listening();
  free_rows(&made);
  kdl_request_amx = before;
  free(atomic_load(&host.runtime));
}
#endif

static void host_images_can_be_forbidden(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 0, NULL, NULL, KEY, SIG}};
  host_library made = make_library(rows, 1);
  kdl_open_opts opts = {.size = sizeof opts, .name = "t", .flags = KDL_OPEN_NO_HOST};
  assert_ok(kdl_open_memory(made.data, made.size, &opts, &made.lib));
  assert_fails(kdl_prefetch(kernel_named(made.lib, "mark")), KDL_UNSUPPORTED,
               "t: mark: none of 1 images could be loaded on host: image 0 (object " HOST_ARCH
               "): the library was opened with KDL_OPEN_NO_HOST, and what runs on this device "
               "runs in this process");
  free_rows(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(second_best_computes_the_same),
      cmocka_unit_test(older_programs_ask_for_less),
      cmocka_unit_test(tile_counts_not_block),
      cmocka_unit_test(explicit_grid_is_refused_where_images_disagree),
      cmocka_unit_test(what_images_say_themselves_counts),
      cmocka_unit_test(explicit_grid_runs_where_images_agree),
      cmocka_unit_test(error_lists_the_chain_and_is_remembered),
      cmocka_unit_test(missing_symbols_are_found_when_loading),
      cmocka_unit_test(images_that_the_cpu_lacks_are_not_tried),
#if defined(__x86_64__)
      cmocka_unit_test(refused_permission_is_a_reason_like_another),
#endif
      cmocka_unit_test(host_images_can_be_forbidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
