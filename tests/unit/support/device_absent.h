/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A vendor's own library on a machine without its devices: it has every entry point that libkdl
 * needs, and discovery reports that it has no device. The file that includes this defines
 *
 *     ABSENT_BACKEND  KDL_BACKEND_HIP
 *     ABSENT_PACKAGE  "libamdhip64-5", Debian's
 *     ABSENT_SPEC     "hip:gfx90a"
 *     ABSENT_LIBRARY  the prefix of its library's name
 *     absent_words    messages of the library, by version; ends with NULL
 *     absent_built_in the backend's */
#ifndef KDL_TESTS_UNIT_DEVICE_ABSENT_H
#define KDL_TESTS_UNIT_DEVICE_ABSENT_H

#include "support.h"

#include "lib/registry/backend.h"
#include "lib/registry/discover.h"

#include <time.h>

static kdl_discovery *found;

/* LIBRARY.so.N: and one of the words, where there is a library to name. */
static inline bool is_one_of(const char *text, const char *library) {
  size_t length = strlen(library);
  const char *said = *library ? strstr(text, ": ") : text;
  if (!said || strncmp(text, library, length) != 0)
    return false;
  said += *library ? 2 : 0;
  for (size_t i = 0; absent_words[i]; ++i) {
    if (strcmp(said, absent_words[i]) == 0)
      return true;
  }
  return false;
}

static inline void no_device_is_found(void **state) {
  (void)state;
  assert_string_equal(kdl_driver_state_names[found->reports[0].state], "no_device");
  assert_int_equal(found->device_count, 0);
  if (!is_one_of(found->reports[0].words, ""))
    fail_msg("discovery says: %s", found->reports[0].words);
}

static inline void none_is_opened(void **state) {
  (void)state;
  const kdl_backend_table *table = absent_built_in.table;
  kdl_backend_device desc = {.size = sizeof desc, .spec = ABSENT_SPEC};
  void *device;
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(table->device_open(&desc, &device), KDL_DEVICE);
    if (!is_one_of(kdl_error_message(), ABSENT_LIBRARY))
      fail_msg("opening a device says: %s", kdl_error_message());
  }
}

static inline int run_absent(void) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  kdl_discover_opts opts = {.backends = 1u << ABSENT_BACKEND};
  if (kdl_discover(&opts, &found) != KDL_OK)
    return 1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const kdl_driver_report *report = &found->reports[0];
  printf("%s: %s: %s (after %.1f ms)\n", report->library, kdl_driver_state_names[report->state],
         report->words,
         (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6);
  int result = 77;
  if (report->state == KDL_DRIVER_MISSING) {
    puts("skipped: not installed (Debian: " ABSENT_PACKAGE ")");
  } else if (report->state == KDL_DRIVER_USABLE) {
    puts("skipped: this machine has such a device");
  } else {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_device_is_found),
        cmocka_unit_test(none_is_opened),
    };
    result = cmocka_run_group_tests(tests, NULL, NULL);
  }
  kdl_discovery_free(found);
  return result;
}

#endif
