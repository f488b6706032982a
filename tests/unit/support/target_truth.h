/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tables of which image runs on which device: a row is an image, a backend, the devices, and the
 * expected result of each pair. */
#ifndef KDL_TESTS_UNIT_TARGET_TRUTH_H
#define KDL_TESTS_UNIT_TARGET_TRUTH_H

#include "target_case.h"

typedef struct {
  const char *image;
  const char *backend;
  const char *devices; /* separated by " | " */
  const char *expected;
} row;

static inline size_t check_pair(const row *r, const char *device_name) {
  static image_case image;
  static device_case device;
  char line[640];
  char codes[256];
  snprintf(line, sizeof line, "%s %s", r->backend, device_name);
  case_image(&image, r->image);
  case_device(&device, line);
  const char *found = case_match(&image, &device, codes, sizeof codes);
  if (strcmp(found, r->expected) != 0)
    fail_msg("%s on %s: expected %s, found %s", r->image, line, r->expected, found);
  return 1;
}

static inline size_t check(const row *rows, size_t count) {
  size_t pairs = 0;
  for (size_t i = 0; i < count; ++i) {
    char devices[512];
    assert_true(strlen(rows[i].devices) < sizeof devices);
    strcpy(devices, rows[i].devices);
    for (char *at = devices; at;) {
      char *next = strstr(at, " | ");
      if (next)
        *next = '\0';
      pairs += check_pair(&rows[i], at);
      at = next ? next + 3 : NULL;
    }
  }
  return pairs;
}

static size_t total; /* of the pairs */

/* A test of every pair of a table. */
#define TRUTH(table)                                                                               \
  static void truth_of_##table(void **state) {                                                     \
    (void)state;                                                                                   \
    total += check(table, sizeof table / sizeof *table);                                           \
  }

#endif
