/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* conformance LIBRARY BACKEND [NAME]: runs the suite on the first device of a backend, with the
 * expectations for NAME where it is not the backend's own. KDL_CONFORMANCE_LARGEST is the most
 * work-items in a launch, a million by default; KDL_CONFORMANCE_ONLY names the one test to run.
 * Returns 77 where this machine has no such device.
 */
#include "suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What brings a driver down is not tried; what only some drivers behind a loader have may pass. */
typedef enum { PASSES, UNSUPPORTED, FAILS, NOT_TRIED, EITHER } expected_outcome;

static const struct {
  const char *backend;
  const char *test;
  expected_outcome outcome;
  const char *why;
} expectations[] = {
#define KDL_EXPECT(backend, test, outcome, why) {backend, test, outcome, why},
#include "expectations.def"
#undef KDL_EXPECT
};
enum { expectation_count = sizeof expectations / sizeof *expectations };

static size_t expectation_for(const char *backend, const char *test) {
  size_t i = 0;
  while (i < expectation_count &&
         (strcmp(expectations[i].backend, backend) != 0 || strcmp(expectations[i].test, test) != 0))
    ++i;
  return i;
}

/* True where it went as expected. */
static bool run_test(const suite *at, const char *backend, const suite_test *test) {
  size_t known = expectation_for(backend, test->name);
  if (known < expectation_count && expectations[known].outcome == NOT_TRIED) {
    printf("%-6s %s: not tried: %s\n", "unsup", test->name, expectations[known].why);
    return true;
  }
  const char *wrong = test->run(at);
  if (known == expectation_count) {
    printf("%-6s %s%s%s\n", wrong ? "FAIL" : "ok", test->name, wrong ? ": " : "",
           wrong ? wrong : "");
    return !wrong;
  }
  if (!wrong && expectations[known].outcome == EITHER) {
    printf("%-6s %s\n", "ok", test->name);
    return true;
  }
  if (!wrong) {
    printf("STALE  %s passes, expected it not to: %s\n", test->name, expectations[known].why);
    return false;
  }
  printf("%-6s %s: %s (%s)\n", expectations[known].outcome == FAILS ? "xfail" : "unsup", test->name,
         expectations[known].why, wrong);
  return true;
}

/* An expectation of a test that does not exist is stale too. */
static bool check_expectations(void) {
  bool fine = true;
  for (size_t i = 0; i < expectation_count; ++i) {
    size_t k = 0;
    while (k < suite_test_count && strcmp(suite_tests[k].name, expectations[i].test) != 0)
      ++k;
    if (k == suite_test_count) {
      printf("STALE  there is no test %s\n", expectations[i].test);
      fine = false;
    }
  }
  return fine;
}

int main(int argc, char **argv) {
  const char *largest = getenv("KDL_CONFORMANCE_LARGEST");
  const char *only = getenv("KDL_CONFORMANCE_ONLY");
  suite at = {.largest = largest ? (uint32_t)strtoul(largest, NULL, 10) : 1000000};
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: conformance LIBRARY BACKEND [NAME]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0); /* what passed is told where a later test does not end */
  if (kdl_device_find(argv[2], &at.device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  kdl_status status = kdl_queue_create(at.device, NULL, &at.queue);
  if (status != KDL_OK) {
    printf("%s: %s\n", status == KDL_UNSUPPORTED ? "skipped" : "FAIL", kdl_error_message());
    return status == KDL_UNSUPPORTED ? 77 : 1;
  }
  if (kdl_open(argv[1], NULL, &at.lib) != KDL_OK) {
    printf("FAIL: %s\n", kdl_error_message());
    return 1;
  }
  printf("on %s\n", kdl_device_spec_text(at.device));
  bool fine = check_expectations();
  bool found = !only;
  for (size_t i = 0; i < suite_test_count; ++i) {
    if (only && strcmp(suite_tests[i].name, only) != 0)
      continue;
    found = true;
    fine &= run_test(&at, argv[argc - 1], &suite_tests[i]);
  }
  if (!found) {
    printf("FAIL: there is no test %s\n", only);
    fine = false;
  }
  kdl_queue_destroy(at.queue);
  kdl_close(at.lib);
  return fine ? 0 : 1;
}
