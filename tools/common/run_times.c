/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/run_times.h"

#include "support/base/error.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_times(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static kdl_status measure_once(kdl_event *start, kdl_event *end, kdl_queue *queue,
                               kdl_status (*submit)(void *user), void *user, double *out_ns) {
  KDL_TRY(kdl_event_record(start, queue));
  KDL_TRY(submit(user));
  KDL_TRY(kdl_event_record(end, queue));
  KDL_TRY(kdl_event_sync(end));
  return kdl_event_elapsed(start, end, out_ns);
}

static kdl_status measure_repeats(kdl_device *device, kdl_queue *queue, size_t repeat,
                                  kdl_status (*submit)(void *user), void *user, double *out_ns) {
  kdl_event *start = NULL, *end = NULL;
  kdl_status status = kdl_event_create(device, &start);
  if (status == KDL_OK)
    status = kdl_event_create(device, &end);
  for (size_t i = 0; i < repeat && status == KDL_OK; ++i)
    status = measure_once(start, end, queue, submit, user, &out_ns[i]);
  kdl_event_destroy(start);
  kdl_event_destroy(end);
  return status;
}

kdl_status cli_run_timed(kdl_device *device, kdl_queue *queue, size_t repeat, const char *what,
                         kdl_status (*submit)(void *user), void *user) {
  double *ns = xcalloc(repeat, sizeof *ns);
  kdl_status status = measure_repeats(device, queue, repeat, submit, user, ns);
  if (status == KDL_OK) {
    qsort(ns, repeat, sizeof *ns, compare_times);
    printf("%zu %s%s: median %.3f us, fastest %.3f, slowest %.3f\n", repeat, what,
           repeat == 1                   ? ""
           : strcmp(what, "launch") == 0 ? "es"
                                         : "s",
           ns[repeat / 2] / 1000, ns[0] / 1000, ns[repeat - 1] / 1000);
  }
  free(ns);
  return status;
}
