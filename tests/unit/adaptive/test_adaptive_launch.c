/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The policy `adaptive` in launches on the host: real images, and a clock of the test's. */
#include "adaptive_support.h"
#include "launch_support.h"

#define KEY "kdl.kernel.mark"
#define SIG "sig=ptr<u32> u32; names=out n; shape=n"
#define SAFE "; effects=idempotent"

/* Every launch takes a millisecond. */
static uint64_t step_clock(void) {
  return __atomic_add_fetch(&fake_ns, 1000000, __ATOMIC_RELAXED);
}

static const kdl_select_opts adaptive = {.size = sizeof adaptive, .policy = KDL_POLICY_ADAPTIVE};

static kdl_kernel *adaptive_kernel(kdl_library *lib) {
  kdl_kernel *kernel = NULL;
  assert_ok(kdl_sym(lib, the_host(), "mark", &adaptive, &kernel));
  return kernel;
}

static int begin(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_EXPLORE", "200,50%", 1);
  kdl_adaptive_clock = step_clock;
  return 0;
}

/* Which variants ran, as bits. */
static unsigned run_often(kdl_kernel *mark, uint32_t n, unsigned times) {
  unsigned seen = 0;
  for (unsigned i = 0; i < times; ++i)
    seen |= 1u << run_mark(mark, n);
  return seen;
}

static const host_row safe_rows[] = {{"mark1", 0, NULL, "9", KEY, SIG SAFE},
                                     {"mark2", 0, NULL, "5", KEY, SIG SAFE},
                                     {"mark3", 0, NULL, "1", KEY, SIG SAFE}};

static void variants_are_tried_in_launches(void **state) {
  (void)state;
  host_library made = open_rows(safe_rows, 3);
  kdl_kernel *mark = adaptive_kernel(made.lib);
  assert_ptr_not_equal(mark, kernel_named(made.lib, "mark"));
  assert_ptr_equal(mark, adaptive_kernel(made.lib));
  assert_int_equal(run_often(mark, 100, 200), 1u << 1 | 1u << 2 | 1u << 3);
  unsigned last = 1u << run_mark(mark, 100);
  assert_int_equal(run_often(mark, 100, 50), last); /* decided */
  assert_int_equal(run_often(kernel_named(made.lib, "mark"), 100, 50), 1u << 1);
  free_rows(&made);
  made = open_rows(safe_rows, 3); /* as the next process */
  assert_int_equal(run_often(adaptive_kernel(made.lib), 100, 100), last);
  free_rows(&made);
}

static void the_environment_names_the_policy(void **state) {
  (void)state;
  setenv("KDL_POLICY", "adaptive", 1);
  kdl_environment_reset_cached();
  host_library made = open_rows(safe_rows, 3);
  assert_int_equal(run_often(kernel_named(made.lib, "mark"), 100, 200),
                   1u << 1 | 1u << 2 | 1u << 3);
  free_rows(&made);
  unsetenv("KDL_POLICY");
  kdl_environment_reset_cached();
}

/* Only variants that declare that they may be replaced are tried. */
static void undeclared_variants_are_not_tried(void **state) {
  (void)state;
  static const host_row undeclared[] = {{"mark1", 0, NULL, "9", KEY, SIG},
                                        {"mark2", 0, NULL, "5", KEY, SIG}};
  static const host_row adding[] = {{"mark1", 0, NULL, "9", KEY, SIG "; effects=add"},
                                    {"mark2", 0, NULL, "5", KEY, SIG "; effects=add"}};
  static const host_row safe[] = {{"mark1", 0, NULL, "9", KEY, SIG "; effects=add; trial=safe"},
                                  {"mark2", 0, NULL, "5", KEY, SIG "; effects=add; trial=safe"},
                                  {"mark3", 0, NULL, "4", KEY, SIG "; trial=safe"},
                                  {"mark4", 0, NULL, "3", KEY, SIG "; effects=add"}};
  static const host_row exact[] = {{"mark1", 0, NULL, "9", KEY, SIG SAFE "; numerics=exact"},
                                   {"mark2", 0, NULL, "5", KEY, SIG SAFE},
                                   {"mark3", 0, NULL, "4", KEY, SIG SAFE "; numerics=exact"}};
  static const struct {
    const host_row *rows;
    size_t count;
    unsigned seen;
  } cases[] = {{undeclared, 2, 2}, {adding, 2, 2}, {safe, 4, 2 | 4}, {exact, 3, 2 | 8}};
  for (size_t i = 0; i < 4; ++i) {
    use_empty_cache();
    setenv("KDL_EXPLORE", "200,50%", 1);
    host_library made = open_rows(cases[i].rows, cases[i].count);
    assert_int_equal(run_often(adaptive_kernel(made.lib), 100, 150), cases[i].seen);
    free_rows(&made);
  }
}

static void images_that_do_not_load_are_left_out(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 3000, NULL, "9", KEY, SIG SAFE},
                                  {"mark2", 0, NULL, "5", KEY, SIG SAFE},
                                  {"mark3", 3000, NULL, "3", KEY, SIG SAFE},
                                  {"mark4", 0, NULL, "1", KEY, SIG SAFE}};
  host_library made = open_rows(rows, 4);
  assert_int_equal(run_often(adaptive_kernel(made.lib), 100, 150), 1u << 2 | 1u << 4);
  free_rows(&made);
  static const host_row none[] = {{"mark1", 3000, NULL, "9", KEY, SIG SAFE},
                                  {"mark2", 3000, NULL, "5", KEY, SIG SAFE}};
  made = open_rows(none, 2);
  uint32_t out = 0, n = 1;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)&out, 4);
  for (int i = 0; i < 3; ++i)
    assert_int_equal(
        kdl_launch_items(adaptive_kernel(made.lib), NULL, kdl_extent1(1), KDL_ARGS(&buffer, &n)),
        KDL_BAD_FILE);
  free_rows(&made);
}

static void conditions_hold_for_what_is_tried(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 0, NULL, "9", KEY, SIG SAFE "; when=n<=104"},
                                  {"mark2", 0, NULL, "5", KEY, SIG SAFE "; when=n>=102"},
                                  {"mark3", 0, NULL, "1", KEY, SIG SAFE}};
  host_library made = open_rows(rows, 3);
  kdl_kernel *mark = adaptive_kernel(made.lib);
  assert_int_equal(run_often(mark, 100, 150), 1u << 1 | 1u << 3);
  assert_int_equal(run_often(mark, 103, 150), 1u << 1 | 1u << 2 | 1u << 3);
  assert_int_equal(run_often(mark, 105, 150), 1u << 2 | 1u << 3);
  free_rows(&made);
}

/* The first image and the last have conditions, whatever number of images lies between. */
static void kernels_may_have_hundreds_of_images(void **state) {
  (void)state;
  static const size_t counts[] = {28, 29, 32, 33, 63, 64, 65, 128, limit_rows};
  static host_row rows[limit_rows];
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    const size_t count = counts[i];
    for (int has_last = 0; has_last < 2; ++has_last) {
      begin(state);
      for (size_t k = 0; k < count; ++k)
        rows[k] = (host_row){"mark2", 0, NULL, "5", KEY, SIG SAFE};
      rows[0] = (host_row){"mark1", 0, NULL, "9", KEY, SIG SAFE "; when=n>=102"};
      rows[count - 1] =
          (host_row){"mark3", 0, NULL, "1", KEY, has_last ? SIG SAFE "; when=n<=99" : SIG SAFE};
      host_library made = open_rows(rows, count);
      kdl_kernel *mark = adaptive_kernel(made.lib);
      assert_int_equal(run_often(mark, 100, 40) & ~(1u << 3), 1u << 2);
      assert_int_equal(run_often(mark, 103, 40) & 1u << 1, 1u << 1);
      free_rows(&made);
    }
  }
}

/* No more than 64 are tried; others run where none of those loads. */
static void images_behind_those_that_are_tried_run_too(void **state) {
  (void)state;
  static host_row rows[limit_rows];
  for (size_t i = 0; i < limit_rows; ++i)
    rows[i] = (host_row){"mark1", 3000, NULL, "5", KEY, SIG SAFE};
  rows[limit_rows - 1] = (host_row){"mark4", 0, NULL, "1", KEY, SIG SAFE};
  host_library made = open_rows(rows, limit_rows);
  assert_int_equal(run_often(adaptive_kernel(made.lib), 100, 20), 1u << 4);
  free_rows(&made);
}

/* None may be tried, and the first one is not for the launch: the next one that is for it runs. */
static void conditions_hold_where_nothing_is_tried(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 0, NULL, "9", KEY, SIG "; when=n>=102"},
                                  {"mark2", 0, NULL, "5", KEY, SIG},
                                  {"mark3", 0, NULL, "1", KEY, SIG "; when=n>=102"}};
  host_library made = open_rows(rows, 3);
  kdl_kernel *mark = adaptive_kernel(made.lib);
  assert_int_equal(run_often(mark, 100, 20), 1u << 2);
  assert_int_equal(run_often(mark, 103, 20), 1u << 1);
  free_rows(&made);
}

static void a_native_handle_pins(void **state) {
  (void)state;
  host_library made = open_rows(safe_rows, 3);
  kdl_kernel *mark = adaptive_kernel(made.lib), *variant;
  void *native;
  uint32_t n = 100;
  const void *pointers[] = {NULL, &n};
  const kdl_args args = {2, pointers, NULL};
  kdl_extent items = kdl_extent1(n);
  assert_ok(kdl_kernel_variant(mark, &items, &args, &variant));
  assert_int_equal(info_of(variant).image, 0);
  assert_int_equal(run_often(variant, 100, 100), 1u << 1);
  assert_ok(kdl_kernel_native(mark, &native));
  assert_int_equal(run_often(mark, 100, 200), 1u << 1);
  free_rows(&made);
}

static kdl_status launch_grid(kdl_kernel *mark, uint32_t groups, uint32_t n, uint32_t *out) {
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, 4 * (uint64_t)n);
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  return kdl_launch(mark, NULL, &desc, KDL_ARGS(&buffer, &n));
}

/* Explicit grids choose only among variants of equal block and tile. */
static void explicit_grids(void **state) {
  (void)state;
  static const host_row unequal[] = {
      {"mark1", 0, NULL, "9", KEY, SIG "; block=256x1x1; effects=idempotent"},
      {"mark2", 0, NULL, "5", KEY, SIG "; block=64x1x1; effects=idempotent"}};
  static const host_row equal[] = {{"mark1", 0, NULL, "9", KEY, SIG SAFE},
                                   {"mark3", 0, NULL, "5", KEY, SIG SAFE}};
  uint32_t out[256] = {0};
  unsigned seen = 0;
  host_library made = open_rows(unequal, 2);
  for (int i = 0; i < 200; ++i)
    assert_int_equal(launch_grid(adaptive_kernel(made.lib), 1, 256, out), KDL_BAD_CALL);
  free_rows(&made);
  made = open_rows(equal, 2);
  for (int i = 0; i < 200; ++i) {
    assert_ok(launch_grid(adaptive_kernel(made.lib), 1, 256, out));
    seen |= 1u << out[255] / 1000000;
  }
  assert_int_equal(seen, 1u << 1 | 1u << 3);
  free_rows(&made);
}

/* A recorded launch has the variant that was chosen when it was recorded. */
static void sequences_choose_when_they_are_recorded(void **state) {
  (void)state;
  host_library made = open_rows(safe_rows, 3);
  kdl_kernel *mark = adaptive_kernel(made.lib);
  kdl_sequence *sequence;
  uint32_t out[100] = {0}, n = 100;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
  kdl_queue *queue;
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  assert_ok(kdl_capture_begin(queue));
  assert_ok(kdl_launch_items(mark, queue, kdl_extent1(n), KDL_ARGS(&buffer, &n)));
  assert_ok(kdl_capture_end(queue, &sequence));
  for (int i = 0; i < 100; ++i) {
    assert_ok(kdl_sequence_run(sequence, queue, NULL, 0));
    assert_int_equal(out[0] / 1000000, 1);
  }
  kdl_sequence_destroy(sequence);
  kdl_queue_destroy(queue);
  free_rows(&made);
}

static void changes_are_logged(void **state) {
  (void)state;
  host_library made = open_rows(safe_rows, 3);
  start_listening("select");
  run_often(adaptive_kernel(made.lib), 100, 200);
  kdl_set_log(NULL, NULL, NULL);
  assert_non_null(strstr(said.text, "mark on host:"));
  assert_non_null(strstr(said.text, "items 96..111 n=96..111: decided for image "));
  free_rows(&made);
}

static void *launch_in_a_thread(void *kernel) {
  for (uint32_t i = 0; i < 400; ++i)
    run_mark(kernel, 100 + i % 3 * 1000);
  return NULL;
}

/* Threads do not wait for one another, and every launch gives what it should. */
static void threads_launch_at_once(void **state) {
  (void)state;
  host_library made = open_rows(safe_rows, 3);
  kdl_kernel *mark = adaptive_kernel(made.lib);
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_in_a_thread, mark), 0);
  for (int i = 0; i < 6; ++i)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  free_rows(&made);
}

static atomic_bool has_completed;

static void *launch_cancelled(void *kernel) {
  pthread_cancel(pthread_self());
  launch_in_a_thread(kernel);
  atomic_store(&has_completed, true);
  pthread_testcancel();
  return NULL;
}

/* The first trial opens the file of marks, and tables are written: cancellation points. */
static void a_thread_is_cancelled_in_a_trial(void **state) {
  (void)state;
  host_library made = open_rows(safe_rows, 3);
  kdl_kernel *mark = adaptive_kernel(made.lib);
  pthread_t thread;
  void *result;
  alarm(60); /* one that waits for the thread would do so for ever */
  assert_int_equal(pthread_create(&thread, NULL, launch_cancelled, mark), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, PTHREAD_CANCELED);
  assert_true(atomic_load(&has_completed));
  assert_int_equal(pthread_create(&thread, NULL, launch_in_a_thread, mark), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  alarm(0);
  free_rows(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(variants_are_tried_in_launches, begin),
      cmocka_unit_test_setup(the_environment_names_the_policy, begin),
      cmocka_unit_test_setup(undeclared_variants_are_not_tried, begin),
      cmocka_unit_test_setup(images_that_do_not_load_are_left_out, begin),
      cmocka_unit_test_setup(conditions_hold_for_what_is_tried, begin),
      cmocka_unit_test_setup(kernels_may_have_hundreds_of_images, begin),
      cmocka_unit_test_setup(images_behind_those_that_are_tried_run_too, begin),
      cmocka_unit_test_setup(conditions_hold_where_nothing_is_tried, begin),
      cmocka_unit_test_setup(a_native_handle_pins, begin),
      cmocka_unit_test_setup(explicit_grids, begin),
      cmocka_unit_test_setup(sequences_choose_when_they_are_recorded, begin),
      cmocka_unit_test_setup(changes_are_logged, begin),
      cmocka_unit_test_setup(threads_launch_at_once, begin),
      cmocka_unit_test_setup(a_thread_is_cancelled_in_a_trial, begin),
  };
  return cmocka_run_group_tests(tests, NULL, clean_up);
}
