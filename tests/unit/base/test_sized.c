/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs that are older or newer than the library: structs of other sizes. */
#include "library_builder.h"

#include "support/base/sized.h"

typedef struct {
  size_t size;
  uint64_t first, second, third;
} thing;

static const kdl_sized what = {"call", "thing", offsetof(thing, second), sizeof(thing)};

/* As a later version may have it. */
typedef struct {
  thing known;
  uint64_t later[2];
} later_thing;

static void sizes_that_no_version_has_are_refused(void **state) {
  (void)state;
  const size_t sizes[] = {0, 1, 8, 17, 20, 31, 33, 4104, SIZE_MAX, SIZE_MAX - 7};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    thing given = {.size = sizes[i]}, read;
    char expected[96];
    snprintf(expected, sizeof expected, "call: thing.size is %zu, expected 32", sizes[i]);
    assert_fails(kdl_sized_read(what, &given, &read), KDL_BAD_CALL, expected);
    assert_fails(kdl_sized_check(what, &given), KDL_BAD_CALL, expected);
  }
}

static void an_older_program_gives_and_gets_less(void **state) {
  (void)state;
  thing given = {.size = offsetof(thing, third), .first = 1, .second = 2, .third = 3};
  thing read = {.third = 77};
  assert_ok(kdl_sized_read(what, &given, &read));
  assert_int_equal(read.size, sizeof read);
  assert_int_equal(read.second, 2);
  assert_int_equal(read.third, 0);
  const thing made = {.first = 10, .second = 20, .third = 30};
  kdl_sized_write(what, &made, &given);
  assert_int_equal(given.size, offsetof(thing, third));
  assert_int_equal(given.second, 20);
  assert_int_equal(given.third, 3);
}

static void a_newer_program_gives_no_more_and_gets_zeros(void **state) {
  (void)state;
  later_thing given = {.known = {.size = sizeof given, .third = 3}};
  thing read;
  assert_ok(kdl_sized_read(what, &given, &read));
  assert_int_equal(read.size, sizeof read);
  assert_int_equal(read.third, 3);
  given.later[1] = 1;
  assert_fails(kdl_sized_read(what, &given, &read), KDL_BAD_CALL,
               "call: thing.size is 48, expected 32: this version of libkdl does not know what is "
               "set at offset 40");
  const thing made = {.third = 30};
  kdl_sized_write(what, &made, &given);
  assert_int_equal(given.known.size, sizeof given);
  assert_int_equal(given.known.third, 30);
  assert_int_equal(given.later[1], 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Through the public functions                                                                 */

static const image_row rows[] = {{3, NV_TRIPLE, "sm_90", "kdl.kernel.k=sig="}};

static void structs_that_are_written(void **state) {
  (void)state;
  built_library built = build_library(rows, 1);
  struct {
    kdl_selection known;
    uint64_t later[2];
  } choice = {.known.size = sizeof choice, .later = {7, 7}};
  assert_ok(kdl_select(built.lib, device_named("h200"), "k", NULL, &choice.known));
  assert_int_equal(choice.known.size, sizeof choice);
  assert_string_equal(choice.known.fit, "exact");
  assert_int_equal(choice.later[0] + choice.later[1], 0);
  struct {
    kdl_image_info known;
    uint64_t later[2];
  } image = {.known.size = sizeof image, .later = {7, 7}};
  assert_ok(kdl_image_get(built.lib, 0, &image.known));
  assert_int_equal(image.known.size, sizeof image);
  assert_int_equal(image.later[0] + image.later[1], 0);
  struct {
    kdl_device_info known;
    uint64_t later[2];
  } device = {.known.size = sizeof device, .later = {7, 7}};
  assert_ok(kdl_device_get(device_named("h200"), &device.known));
  assert_int_equal(device.known.size, sizeof device);
  assert_int_equal(device.later[0] + device.later[1], 0);
  choice.known.size = sizeof(kdl_selection) - 8;
  assert_int_equal(kdl_select(built.lib, device_named("h200"), "k", NULL, &choice.known),
                   KDL_BAD_CALL);
  free_library(&built);
}

static void structs_that_are_read(void **state) {
  (void)state;
  built_library built = build_library(rows, 1);
  kdl_selection choice = {.size = sizeof choice};
  struct {
    kdl_select_opts known;
    uint64_t later;
  } opts = {.known = {.size = sizeof opts, .policy = KDL_POLICY_FIRST}};
  assert_ok(kdl_select(built.lib, device_named("h200"), "k", &opts.known, &choice));
  opts.known.size = offsetof(kdl_select_opts, constants);
  assert_ok(kdl_select(built.lib, device_named("h200"), "k", &opts.known, &choice));
  opts.known.size = sizeof opts;
  opts.later = 1;
  assert_fails(kdl_select(built.lib, device_named("h200"), "k", &opts.known, &choice), KDL_BAD_CALL,
               "kdl_select: opts.size is 48, expected 40: this version of libkdl does not know "
               "what is set at offset 40");
  free_library(&built);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_that_no_version_has_are_refused),
      cmocka_unit_test(an_older_program_gives_and_gets_less),
      cmocka_unit_test(a_newer_program_gives_no_more_and_gets_zeros),
      cmocka_unit_test(structs_that_are_written),
      cmocka_unit_test(structs_that_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
