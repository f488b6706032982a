/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Binary search in a sorted array. */
#include "support.h"

#include "support/base/array.h"

typedef struct {
  uint32_t other;
  uint64_t at;
} item;

static size_t first(const item *items, size_t count, uint64_t number) {
  return kdl_array_lower_bound(items, count, sizeof *items, offsetof(item, at), number);
}

static void the_first_of_several_is_found(void **state) {
  (void)state;
  const item items[] = {{9, 1}, {8, 4}, {7, 4}, {6, 4}, {5, UINT64_MAX - 1}};
  assert_int_equal(first(items, 5, 0), 0);
  assert_int_equal(first(items, 5, 1), 0);
  assert_int_equal(first(items, 5, 2), 1);
  assert_int_equal(first(items, 5, 4), 1);
  assert_int_equal(first(items, 5, 5), 4);
  assert_int_equal(first(items, 5, UINT64_MAX - 1), 4);
  assert_int_equal(first(items, 5, UINT64_MAX), 5);
}

static void none_is_found_among_none(void **state) {
  (void)state;
  assert_int_equal(first(NULL, 0, 0), 0);
  assert_int_equal(first(NULL, 0, UINT64_MAX), 0);
}

/* As counting finds it, for lists of every length up to a hundred. */
static void it_is_where_counting_ends(void **state) {
  (void)state;
  item items[100];
  for (size_t count = 0; count <= 100; ++count) {
    for (size_t i = 0; i < count; ++i)
      items[i] = (item){0, i / 3 * 2};
    for (uint64_t number = 0; number < 70; ++number) {
      size_t below = 0;
      while (below < count && items[below].at < number)
        ++below;
      assert_int_equal(first(items, count, number), below);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_of_several_is_found),
      cmocka_unit_test(none_is_found_among_none),
      cmocka_unit_test(it_is_where_counting_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
