/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images with conditions: each launch uses the first image in rank order that is for it. */
#include "launch_support.h"

#include <pthread.h>

#define KEY "kdl.kernel.mark"
#define SIG "sig=ptr<u32> u32; names=out n"

/* n up to 16; multiples of 64 from 128 on; all others. */
static const host_row by_size[] = {
    {"mark1", 0, NULL, "9", KEY, SIG "; block=256x1x1; when=n<=16"},
    {"mark2", 0, NULL, "5", KEY, SIG "; block=64x1x1; when=n%64==0 & items.x>=128"},
    {"mark3", 0, NULL, "1", KEY, "sig=ptr<u32> u32; block=256x1x1"},
};

static void each_launch_selects(void **state) {
  (void)state;
  host_library made = open_rows(by_size, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(run_mark(mark, 1), 1);
    assert_int_equal(run_mark(mark, 16), 1);
    assert_int_equal(run_mark(mark, 17), 3);
    assert_int_equal(run_mark(mark, 64), 3);
    assert_int_equal(run_mark(mark, 128), 2);
    assert_int_equal(run_mark(mark, 129), 3);
    assert_int_equal(run_mark(mark, 6400), 2);
  }
  assert_ptr_equal(kernel_named(made.lib, "mark"), mark);
  free_rows(&made);
}

/* Where no launch is given, the image for every launch counts. */
static void without_a_launch_the_general_image_counts(void **state) {
  (void)state;
  host_library made = open_rows(by_size, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  kdl_kernel_info info = info_of(mark);
  assert_int_equal(info.image, 2);
  assert_int_equal(info.position, 2);
  assert_int_equal(info.image_count, 3);
  assert_int_equal(info.failure_count, 0);
  kdl_selection choice = {.size = sizeof choice};
  for (int round = 0; round < 2; ++round) {
    assert_ok(kdl_select(made.lib, the_host(), "mark", NULL, &choice));
    assert_int_equal(choice.image, 2);
  }
  free_rows(&made);
}

static void a_variant_is_a_handle(void **state) {
  (void)state;
  host_library made = open_rows(by_size, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark"), *small, *any;
  uint32_t n = 3;
  const void *pointers[] = {NULL, &n};
  const kdl_args args = {2, pointers, NULL};
  assert_ok(kdl_kernel_variant(mark, NULL, &args, &small));
  assert_int_equal(info_of(small).image, 0);
  assert_int_equal(run_mark(small, 1000), 1);
  assert_ok(kdl_kernel_variant(small, NULL, &args, &any));
  assert_ptr_equal(any, small);
  n = 1000;
  assert_ok(kdl_kernel_variant(mark, NULL, &args, &any));
  assert_int_equal(info_of(any).image, 2);
  free_rows(&made);
}

/* An image that does not load is skipped, for the launches that would use it. */
static void images_that_do_not_load_are_skipped(void **state) {
  (void)state;
  static const host_row rows[] = {
      {"mark1", 3000, NULL, "9", KEY, SIG "; when=n<=16"},
      {"mark2", 0, NULL, "5", KEY, SIG "; when=n<=32"},
      {"mark3", 3000, NULL, "3", KEY, SIG},
      {"mark4", 0, NULL, "1", KEY, SIG},
  };
  host_library made = open_rows(rows, 4);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(run_mark(mark, 8), 2);
    assert_int_equal(run_mark(mark, 33), 4);
  }
  assert_int_equal(info_of(mark).image, 3);
  assert_ok(kdl_prefetch(mark));
  free_rows(&made);
}

/* An image with a condition behind one without is used only where that one does not load. */
static void fallbacks_have_conditions_too(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 3000, NULL, "9", KEY, SIG},
                                  {"mark2", 0, NULL, "5", KEY, SIG "; when=n<=16"},
                                  {"mark3", 0, NULL, "1", KEY, SIG}};
  host_library made = open_rows(rows, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  assert_int_equal(run_mark(mark, 16), 2);
  assert_int_equal(run_mark(mark, 17), 3);
  free_rows(&made);
}

static void all_may_fail_to_load(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 3000, NULL, "9", KEY, SIG "; when=n<=16"},
                                  {"mark3", 3000, NULL, "3", KEY, SIG}};
  host_library made = open_rows(rows, 2);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t out = 0, n = 1;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)&out, 4);
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(kdl_launch_items(mark, NULL, kdl_extent1(1), KDL_ARGS(&buffer, &n)),
                     KDL_BAD_FILE);
    assert_non_null(strstr(kdl_error_message(), "mark: none of 1 images could be loaded on host: "
                                                "image 0 (object " HOST_ARCH "): offset"));
  }
  assert_int_equal(kdl_prefetch(mark), KDL_BAD_FILE);
  free_rows(&made);
}

static void no_image_may_be_for_a_launch(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 0, NULL, "9", KEY, SIG "; when=n<=16"},
                                  {"mark2", 0, NULL, "1", KEY, SIG "; when=items.x>=64"}};
  host_library made = open_rows(rows, 2);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  assert_int_equal(run_mark(mark, 16), 1);
  assert_int_equal(run_mark(mark, 64), 2);
  uint32_t out = 0, n = 17;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)&out, 4);
  assert_fails(kdl_launch_items(mark, NULL, kdl_extent1(17), KDL_ARGS(&buffer, &n)), KDL_NO_MATCH,
               "mark: no image is for this launch: found image 0 when n<=16; image 1 when "
               "items.x>=64");
  assert_int_equal(out, 0);
  kdl_selection choice = {.size = sizeof choice};
  assert_fails(kdl_select(made.lib, the_host(), "mark", NULL, &choice), KDL_NO_MATCH,
               "mark: each of 2 images that fit has a condition (when), expected one without: "
               "kdl_select has no launch that could fulfil one");
  kdl_kernel_info info = {.size = sizeof info};
  assert_fails(kdl_kernel_get(mark, &info), KDL_UNSUPPORTED,
               "mark: each image that fits has a condition (when), expected one without, which is "
               "for every launch");
  assert_ok(kdl_prefetch(mark));
  free_rows(&made);
}

/* Explicit grids: by arguments alone, and only if all images have one geometry. */
static void grids_select_by_arguments(void **state) {
  (void)state;
  static const host_row rows[] = {
      {"mark1", 0, NULL, "9", KEY, SIG "; block=256x1x1; when=n<=16"},
      {"mark1", 0, NULL, "5", KEY, SIG "; block=256x1x1; when=items.x>=0"},
      {"mark3", 0, NULL, "1", KEY, SIG "; block=256x1x1"},
  };
  uint32_t out[700] = {0}, n = 3;
  host_library made = open_rows(rows, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  assert_ok(kdl_launch(mark, NULL, &desc, KDL_ARGS(&buffer, &n)));
  assert_int_equal(out[0], 1000000);
  n = 17;
  assert_ok(kdl_launch(mark, NULL, &desc, KDL_ARGS(&buffer, &n)));
  assert_int_equal(out[0], 3000000);
  assert_ok(kdl_launch_call(mark, NULL, &desc, &KDL_ARGS(&buffer, &n)));
  free_rows(&made);
  made = open_rows(by_size, 3);
  assert_fails(kdl_launch(kernel_named(made.lib, "mark"), NULL, &desc, KDL_ARGS(&buffer, &n)),
               KDL_BAD_CALL,
               "mark: image 0 has block=256x1x1 tile=256x1x1 and image 1 has block=64x1x1 "
               "tile=64x1x1, so that one grid means two problems; use kdl_launch_items");
  free_rows(&made);
}

static void wrong_arguments_are_found(void **state) {
  (void)state;
  host_library made = open_rows(by_size, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t out = 0;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)&out, 4);
  assert_fails(kdl_launch_items(mark, NULL, kdl_extent1(1), KDL_ARGS(&buffer)), KDL_BAD_CALL,
               "mark: found 1 arguments, expected 2 (ptr<u32> u32)");
  free_rows(&made);
}

/* The driver's handle is that of one image, so that launches must not use another. */
static void a_native_handle_pins(void **state) {
  (void)state;
  host_library made = open_rows(by_size, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  void *native;
  assert_int_equal(run_mark(mark, 16), 1);
  assert_ok(kdl_kernel_native(mark, &native));
  assert_int_equal(run_mark(mark, 16), 3);
  assert_int_equal(run_mark(mark, 128), 3);
  free_rows(&made);
}

/* A sequence selects when it is recorded. Values that a replay sets fulfil no condition. */
static void sequences_select_when_they_are_recorded(void **state) {
  (void)state;
  host_library made = open_rows(by_size, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t out[3][64] = {{0}}, n = 16, later = 16;
  kdl_sequence *sequence = created_sequence();
  kdl_slot slot;
  assert_ok(kdl_sequence_add_scalar(sequence, "n", 4, &slot));
  const kdl_operand items = kdl_operand_items(kdl_extent1(16));
  for (int i = 0; i < 2; ++i) {
    kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out[i], sizeof out[i]);
    kdl_operand args[] = {kdl_operand_buffer(buffer), i ? kdl_operand_slot(slot) : KDL_VALUE(&n)};
    assert_ok(kdl_sequence_launch_items(sequence, mark, items, args, 2));
  }
  assert_ok(kdl_sequence_finish(sequence));
  kdl_queue *queue;
  assert_ok(kdl_device_queue(the_host(), &queue));
  const kdl_binding values[] = {KDL_BIND_SCALAR(slot, &later)};
  assert_ok(kdl_sequence_run(sequence, queue, values, 1));
  assert_ok(kdl_sync(queue));
  assert_int_equal(out[0][0], 1000000);
  assert_int_equal(out[1][0], 3000000);
  kdl_sequence_destroy(sequence);
  free_rows(&made);
}

enum { thread_count = 8, launches = 300 };

static void *launch_all_sizes(void *user) {
  kdl_kernel *mark = user;
  static const uint32_t sizes[] = {1, 16, 17, 64, 128, 129};
  static const uint32_t expected[] = {1, 1, 3, 3, 2, 3};
  size_t wrong = 0;
  for (int i = 0; i < launches; ++i)
    wrong += run_mark(mark, sizes[i % 6]) != expected[i % 6];
  return (void *)wrong;
}

static void threads_may_select_at_once(void **state) {
  (void)state;
  host_library made = open_rows(by_size, 3);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  pthread_t threads[thread_count];
  for (int i = 0; i < thread_count; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_all_sizes, mark), 0);
  for (int i = 0; i < thread_count; ++i) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  free_rows(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_launch_selects),
      cmocka_unit_test(without_a_launch_the_general_image_counts),
      cmocka_unit_test(a_variant_is_a_handle),
      cmocka_unit_test(images_that_do_not_load_are_skipped),
      cmocka_unit_test(fallbacks_have_conditions_too),
      cmocka_unit_test(all_may_fail_to_load),
      cmocka_unit_test(no_image_may_be_for_a_launch),
      cmocka_unit_test(grids_select_by_arguments),
      cmocka_unit_test(wrong_arguments_are_found),
      cmocka_unit_test(a_native_handle_pins),
      cmocka_unit_test(sequences_select_when_they_are_recorded),
      cmocka_unit_test(threads_may_select_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
