/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The inputs of a launch: arguments, shapes, group memory, variables. */
#include "launch_support.h"
#include "support/system/environment.h"

static const host_row rows[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
static host_library made;

static int open_it(void **state) {
  (void)state;
  made = open_rows(rows, 1);
  return 0;
}

static int close_it(void **state) {
  (void)state;
  free_rows(&made);
  return 0;
}

typedef struct {
  double x[3];
} triple;

static void every_size_of_argument_arrives(void **state) {
  (void)state;
  kdl_kernel *mixed = kernel_named(made.lib, "mixed");
  uint8_t a = 200;
  double b = 1.25, host[5] = {0};
  int16_t c = -3;
  triple d = {{1, 2, 4}};
  kdl_buffer out;
  assert_ok(kdl_alloc(the_host(), sizeof host, &out));
  kdl_queue *queue;
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  assert_ok(kdl_launch_items(mixed, queue, kdl_extent1(1), KDL_ARGS(&a, &b, &c, &d, &out)));
  assert_ok(kdl_read(queue, host, &out, 0, sizeof host));
  assert_ok(kdl_sync(queue));
  const double expected[5] = {200, 1.25, -3, 7, 1};
  assert_memory_equal(host, expected, sizeof host);
  kdl_queue_destroy(queue);
  assert_ok(kdl_free(&out));
  assert_ok(kdl_free(&out));
}

static void parameters_lie_as_in_a_struct(void **state) {
  (void)state;
  kdl_kernel *mixed = kernel_named(made.lib, "mixed");
  double out[5] = {0};
  struct {
    uint8_t a;
    double b;
    int16_t c;
    triple d;
    double *out;
  } args = {7, 0.5, 9, {{1, 1, 1}}, out};
  kdl_kernel_info info = info_of(mixed);
  assert_int_equal(info.param_count, 5);
  assert_int_equal(info.params[3].offset, (char *)&args.d - (char *)&args);
  assert_int_equal(info.params[3].size, 24);
  assert_ok(kdl_launch_items(mixed, NULL, kdl_extent1(1),
                             KDL_ARGS(&args.a, &args.b, &args.c, &args.d, &args.out)));
  assert_true(out[0] == 7 && out[1] == 0.5 && out[2] == 9 && out[3] == 3 && out[4] == 1);
}

static void wrong_arguments_are_told_before_the_launch(void **state) {
  (void)state;
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t n = 1;
  uint64_t wide = 1;
  kdl_buffer out = {0, 0, NULL};
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  const void *pointers[] = {&out, &n, NULL};
  size_t sizes[] = {sizeof out, sizeof wide};
  kdl_args args = {1, pointers, NULL};
  assert_fails(kdl_launch_items_call(mark, NULL, &(kdl_extent){1, 1, 1}, &args), KDL_BAD_CALL,
               "mark: found 1 arguments, expected 2");
  args.count = 3;
  assert_fails(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: found 3 arguments, expected 2");
  args = (kdl_args){2, pointers, sizes};
  assert_fails(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: argument 1: found 8 bytes, expected 4");
  sizes[0] = 4;
  assert_fails(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: argument 0: found 4 bytes, expected 8");
  pointers[1] = NULL;
  args.sizes = NULL;
  assert_fails(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: argument 1: found NULL, expected a pointer to its value");
}

/* In a program built for release, and for pointers to functions. */
static void environment_turns_checks_on(void **state) {
  (void)state;
  setenv("KDL_CHECK", "1", 1);
  kdl_environment_reset_cached();
  host_library own = open_rows(rows, 1);
  kdl_kernel *mark = kernel_named(own.lib, "mark");
  uint32_t n = 1, out[1] = {0}, *to = out;
  const void *pointers[] = {&to, &n};
  size_t sizes[] = {8, 2};
  kdl_args args = {2, pointers, sizes};
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  assert_ok(kdl_prefetch(mark));
  unsetenv("KDL_CHECK");
  kdl_environment_reset_cached();
  assert_fails(kdl_launch_call(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: argument 1: found 2 bytes, expected 4");
  assert_int_equal(out[0], 0);
  sizes[1] = 4;
  assert_ok(kdl_launch_call(mark, NULL, &desc, &args));
  assert_int_equal(out[0], 1000000);
  free_rows(&own);
}

/* A buffer has the size of no number, and its address that of some. */
static void a_buffer_for_a_number_of_the_signature_is_refused(void **state) {
  (void)state;
  static const host_row with_sig[] = {
      {"mark1", 0, NULL, NULL, "kdl.kernel.mixed", "sig=u8 f64 i16 bytes<24:8> ptr<f64>"}};
  host_library own = open_rows(with_sig, 1);
  kdl_kernel *mixed = kernel_named(own.lib, "mixed");
  uint8_t a = 1;
  double b = 2, host[5] = {0};
  int16_t c = 3;
  triple d = {{0}};
  kdl_buffer out = kdl_buffer_adopt(the_host(), (uintptr_t)host, sizeof host);
  kdl_extent one = kdl_extent1(1);
  const void *pointers[] = {&a, &out, &c, &d, &out};
  size_t sizes[] = {sizeof a, sizeof out, sizeof c, sizeof d, sizeof out};
  kdl_args args = {5, pointers, sizes};
  assert_fails(
      kdl_launch_items_call(mixed, NULL, &one, &args), KDL_BAD_CALL,
      "mixed: argument 1: found a buffer, expected a number (u8 f64 i16 bytes<24:8> ptr<f64>)");
  assert_true(host[4] == 0);
  pointers[1] = &b;
  sizes[1] = sizeof b;
  assert_ok(kdl_launch_items_call(mixed, NULL, &one, &args));
  assert_true(host[1] == 2);
  free_rows(&own);
}

static void launches_without_a_queue_are_waited_for(void **state) {
  (void)state;
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t n = 1, out[1] = {0}, *to = out;
  kdl_queue *own, *again;
  assert_ok(kdl_launch_items(mark, NULL, kdl_extent1(1), KDL_ARGS(&to, &n)));
  assert_ok(kdl_device_queue(the_host(), &own));
  assert_ok(kdl_sync(own));
  assert_int_equal(out[0], 1000000);
  kdl_queue_destroy(own);
  assert_ok(kdl_device_queue(the_host(), &again));
  assert_ptr_equal(own, again);
  assert_ok(kdl_launch_items(mark, own, kdl_extent1(1), KDL_ARGS(&to, &n)));
  kdl_device *described;
  assert_ok(kdl_device_find("h100", &described));
  assert_int_equal(kdl_device_queue(described, &own), KDL_BAD_CALL);
}

/* A buffer that has no memory is a null pointer, of no device. */
static void buffers_of_other_devices_are_refused(void **state) {
  (void)state;
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  kdl_device *other;
  uint32_t n = 0, out[1] = {0};
  assert_ok(kdl_device_find("cuda:sm_90", &other));
  kdl_buffer buffer = kdl_buffer_adopt(other, (uint64_t)(uintptr_t)out, sizeof out);
  const void *pointers[] = {&buffer, &n};
  const size_t sizes[] = {sizeof buffer, sizeof n};
  kdl_args args = {2, pointers, sizes};
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  assert_int_equal(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL);
  const char *words = "mark: argument 0: found a buffer of cuda:sm_90, expected one of host";
  assert_memory_equal(kdl_error_message(), words, strlen(words));
  buffer.device = NULL;
  assert_int_equal(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL);
  words = "mark: argument 0: found a buffer of no device, expected one of host";
  assert_memory_equal(kdl_error_message(), words, strlen(words));
  buffer.address = 0;
  assert_ok(kdl_launch_checked(mark, NULL, &desc, &args));
}

/* `mark` with its n hidden: a scratch pointer that is NULL, read as 0 elements. */
static void hidden_parameters_are_appended(void **state) {
  (void)state;
  static const host_row hidden[] = {
      {"mark1", 0, NULL, NULL, "kdl.kernel.mark", "sig=ptr<u32>; hidden=1"}};
  host_library own = open_rows(hidden, 1);
  kdl_kernel *mark = kernel_named(own.lib, "mark");
  uint32_t out[1] = {5}, *to = out;
  assert_ok(kdl_launch_items(mark, NULL, kdl_extent1(1), KDL_ARGS(&to)));
  assert_int_equal(out[0], 5);
  assert_int_equal(info_of(mark).param_count, 1);
  assert_fails(kdl_launch_items(mark, NULL, kdl_extent1(1), KDL_ARGS(&to, &to)), KDL_BAD_CALL,
               "mark: found 2 arguments, expected 1 (ptr<u32>)");
  free_rows(&own);
}

static void wrong_shapes_are_told(void **state) {
  (void)state;
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t n = 0;
  kdl_buffer out = {0, 0, NULL};
  kdl_launch_desc desc = kdl_grid(1, 0, 1);
  const void *pointers[] = {&out, &n};
  kdl_args args = {2, pointers, NULL};
  assert_fails(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: desc.grid[1] is 0, expected at least 1");
  assert_int_equal(kdl_launch_call(mark, NULL, &desc, &args), KDL_BAD_CALL);
  desc = kdl_grid(1, 1, 1);
  desc.block[0] = 128, desc.block[1] = 1, desc.block[2] = 1;
  assert_fails(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: desc.block is 128x1x1, expected 256x1x1 of image 0");
  assert_fails(kdl_launch_call(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "found a block of 128x1x1, expected 256x1x1 as the image has it");
  desc.block[0] = 0;
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  assert_fails(kdl_launch_call(mark, NULL, &desc, &args), KDL_UNSUPPORTED,
               "the host has no cooperative launches and no clusters");
  desc.size = 8;
  assert_fails(kdl_launch_checked(mark, NULL, &desc, &args), KDL_BAD_CALL,
               "mark: desc.size is 8, expected 56");
  assert_fails(kdl_launch_items(mark, NULL, kdl_extent1(UINT64_MAX), args), KDL_BAD_CALL,
               "mark: 18446744073709551615 work-items in direction 0 make 72057594037927936 groups "
               "of 256, expected at most 4294967295");
  assert_ok(kdl_launch_items(mark, NULL, kdl_extent3(0, 1, 1), args));
  assert_ok(kdl_launch_items(mark, NULL, kdl_extent3(1, 1, 0), args));
}

static void every_group_runs_once(void **state) {
  (void)state;
  kdl_kernel *count = kernel_named(made.lib, "count");
  static const kdl_extent sizes[] = {{1, 1, 1},    {7, 1, 1},    {3, 5, 2},  {1, 1, 9},
                                     {1000, 1, 1}, {64, 64, 16}, {1, 999, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    size_t total = (size_t)(sizes[i].x * sizes[i].y * sizes[i].z);
    uint32_t *cells = calloc(total + 1, sizeof *cells);
    assert_ok(kdl_launch_items(count, NULL, sizes[i], KDL_ARGS(&cells)));
    for (size_t k = 0; k < total; ++k)
      assert_int_equal(cells[k], 1);
    assert_int_equal(cells[total], 0);
    free(cells);
  }
}

static void group_memory_is_private_and_as_large_as_asked(void **state) {
  (void)state;
  kdl_kernel *scratch = kernel_named(made.lib, "scratch");
  enum { groups = 200 };
  uint32_t cells[groups];
  uint32_t *out = cells;
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  desc.shared = 4096;
  assert_ok(kdl_launch(scratch, NULL, &desc, KDL_ARGS(&out)));
  for (uint32_t i = 0; i < groups; ++i)
    assert_int_equal(cells[i], (4096 + 64) * i);
  desc.shared = UINT32_MAX;
  assert_int_equal(kdl_launch(scratch, NULL, &desc, KDL_ARGS(&out)), KDL_BAD_CALL);
}

static void variables_are_those_of_the_image(void **state) {
  (void)state;
  kdl_kernel *use = kernel_named(made.lib, "use_tally");
  kdl_buffer tally;
  uint32_t host[4], five = 5;
  assert_ok(kdl_global(use, "tally", &tally));
  assert_int_equal(tally.size, 16);
  kdl_queue *queue;
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  assert_ok(kdl_write(queue, &tally, 4, &five, 4));
  uint32_t result = 0, *out = &result;
  assert_ok(kdl_launch_items(use, queue, kdl_extent1(1), KDL_ARGS(&out)));
  assert_ok(kdl_read(queue, host, &tally, 0, sizeof host));
  assert_ok(kdl_sync(queue));
  assert_int_equal(result, 1 + 5);
  assert_int_equal(host[0], 1);
  assert_int_equal(host[2], 77);
  kdl_queue_destroy(queue);
  assert_fails(kdl_global(use, "talley", &tally), KDL_NO_MATCH,
               "t: image 0: found no variable talley");
}

static void a_handle_is_its_question(void **state) {
  (void)state;
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  assert_ptr_equal(kernel_named(made.lib, "mark"), mark);
  kdl_select_opts first = {.size = sizeof first, .policy = KDL_POLICY_FIRST};
  kdl_kernel *other;
  assert_ok(kdl_sym(made.lib, the_host(), "mark", &first, &other));
  assert_ptr_not_equal(other, mark);
  assert_int_equal(kdl_sym(made.lib, the_host(), "marc", NULL, &other), KDL_NO_MATCH);
  assert_string_equal(kdl_error_message(),
                      "no image holds the kernel 'marc'; did you mean 'mark'?");
  assert_fails(kdl_sym(made.lib, the_host(), "", NULL, &other), KDL_BAD_CALL,
               "kdl_sym: found no name, expected that of a kernel");
  kdl_device *elsewhere;
  assert_ok(kdl_device_find("cuda:sm_90", &elsewhere));
  assert_fails(kdl_sym(made.lib, elsewhere, "mark", NULL, &other), KDL_BAD_CALL,
               "cuda:sm_90 is a description, expected a device of this machine: `kdl devices` "
               "lists them");
}

/* The library's images, mapped from a file, are released with its last reference. */
static void a_retained_kernel_outlives_the_close(void **state) {
  (void)state;
  host_library own = open_rows(rows, 1);
  start_listening("load");
  kdl_kernel *mark = kdl_kernel_retain(kernel_named(own.lib, "mark"));
  kdl_close(own.lib);
  own.lib = NULL;
  assert_int_equal(run_mark(mark, 300), 1);
  assert_int_equal(times_said("unloaded"), 0);
  kdl_kernel_release(mark);
  assert_int_equal(times_said("unloaded"), 1);
  stop_listening();
  free_rows(&own);
}

static void two_images_are_two_images(void **state) {
  (void)state;
  for (int round = 0; round < 20; ++round) {
    static const host_row one[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
    static const host_row two[] = {{"mark2", 0, NULL, NULL, NULL, NULL}};
    host_library a = open_rows(one, 1);
    assert_int_equal(run_mark(kernel_named(a.lib, "mark"), 500), 1);
    if (round % 2)
      free_rows(&a);
    host_library b = open_rows(two, 1);
    assert_int_equal(run_mark(kernel_named(b.lib, "mark"), 500), 2);
    if (round % 2 == 0) {
      assert_int_equal(run_mark(kernel_named(a.lib, "mark"), 500), 1);
      free_rows(&a);
    }
    free_rows(&b);
  }
}

static void options_of_an_older_program_are_understood(void **state) {
  (void)state;
  kdl_library *lib;
  kdl_open_opts opts = {.size = offsetof(kdl_open_opts, flags), .name = "old", .flags = 0xffff};
  assert_ok(kdl_open_memory(made.data, made.size, &opts, &lib));
  kdl_close(lib);
  opts.size = sizeof opts;
  assert_fails(kdl_open_memory(made.data, made.size, &opts, &lib), KDL_BAD_CALL,
               "kdl_open: opts.flags is 0xffff, expected no more than 0x7");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_of_argument_arrives),
      cmocka_unit_test(parameters_lie_as_in_a_struct),
      cmocka_unit_test(wrong_arguments_are_told_before_the_launch),
      cmocka_unit_test(environment_turns_checks_on),
      cmocka_unit_test(a_buffer_for_a_number_of_the_signature_is_refused),
      cmocka_unit_test(launches_without_a_queue_are_waited_for),
      cmocka_unit_test(buffers_of_other_devices_are_refused),
      cmocka_unit_test(hidden_parameters_are_appended),
      cmocka_unit_test(wrong_shapes_are_told),
      cmocka_unit_test(every_group_runs_once),
      cmocka_unit_test(group_memory_is_private_and_as_large_as_asked),
      cmocka_unit_test(variables_are_those_of_the_image),
      cmocka_unit_test(a_handle_is_its_question),
      cmocka_unit_test(a_retained_kernel_outlives_the_close),
      cmocka_unit_test(two_images_are_two_images),
      cmocka_unit_test(options_of_an_older_program_are_understood),
  };
  return cmocka_run_group_tests(tests, open_it, close_it);
}
