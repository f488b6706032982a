/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* suites ROUTE RODINIA POLYBENCH [TURNS]: kernels of public suites, from two libraries that kdl cc
 * made, on the first device of ROUTE, against the suites' own plain code; TURNS times, for times.
 * Exits with 77 where nothing here runs through ROUTE. */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(kdl_status status, const char *what) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "suites: %s: %s\n", what, kdl_error_message());
  exit(1);
}

shared share(suite *s, size_t size) {
  shared made = {.host = calloc(1, size), .size = size};
  check(made.host ? KDL_OK : KDL_NO_MEMORY, "memory");
  check(kdl_alloc(s->device, size, &made.buffer), "kdl_alloc");
  return made;
}

void send(suite *s, const shared *m) {
  check(kdl_write(s->queue, &m->buffer, 0, m->host, m->size), "kdl_write");
  check(kdl_sync(s->queue), "kdl_sync");
}

void receive(suite *s, const shared *m) {
  check(kdl_read(s->queue, m->host, &m->buffer, 0, m->size), "kdl_read");
  check(kdl_sync(s->queue), "kdl_sync");
}

void unshare(shared *m) {
  kdl_free(&m->buffer);
  free(m->host);
}

void run(suite *s, const char *kernel, unsigned x, unsigned y, kdl_args args) {
  kdl_kernel *found;
  kdl_launch_desc desc = {.size = sizeof desc, .grid = {x, y, 1}};
  check(kdl_sym(s->library, s->device, kernel, NULL, &found), kernel);
  check(kdl_launch_checked(found, s->queue, &desc, &args), kernel);
}

static void tell(suite *s, const char *what, size_t count, size_t wrong, size_t first, double found,
                 double expected) {
  if (wrong)
    printf("%s: %zu of %zu are wrong; at %zu found %.9g, expected %.9g\n", what, wrong, count,
           first, found, expected);
  else
    printf("%s: %zu numbers are right\n", what, count);
  s->wrong += wrong > 0;
}

void compare_floats(suite *s, const char *what, const float *found, const float *expected,
                    size_t count, double apart) {
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < count; ++i) {
    double size = fabs((double)expected[i]);
    if (fabs((double)found[i] - (double)expected[i]) <= apart * (size > 1 ? size : 1))
      continue;
    first = wrong++ ? first : i;
  }
  tell(s, what, count, wrong, first, found[first], expected[first]);
}

void compare_ints(suite *s, const char *what, const int32_t *found, const int32_t *expected,
                  size_t count) {
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < count; ++i) {
    if (found[i] != expected[i])
      first = wrong++ ? first : i;
  }
  tell(s, what, count, wrong, first, found[first], expected[first]);
}

static void open_library(suite *s, const char *path) {
  check(kdl_open(path, NULL, &s->library), path);
}

int main(int argc, char **argv) {
  suite s = {.wrong = 0};
  if (argc != 4 && argc != 5) {
    fputs("usage: suites ROUTE RODINIA POLYBENCH [TURNS]\n", stderr);
    return 2;
  }
  if (kdl_device_find(argv[1], &s.device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  check(kdl_queue_create(s.device, NULL, &s.queue), "kdl_queue_create");
  int turns = argc == 5 ? atoi(argv[4]) : 1;
  open_library(&s, argv[2]);
  for (int turn = 0; turn < turns; ++turn)
    run_rodinia(&s);
  kdl_close(s.library);
  open_library(&s, argv[3]);
  for (int turn = 0; turn < turns; ++turn)
    run_polybench(&s);
  kdl_close(s.library);
  kdl_queue_destroy(s.queue);
  return s.wrong != 0;
}
