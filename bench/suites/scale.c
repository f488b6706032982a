/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How costs grow: with the images of a library, its kernels, the threads that launch, the devices
 * that are chosen for. Devices are described, not here, so that any machine measures the same.
 */
#include "suite.h"

#include "cases.h"
#include "measure/must.h"
#include "measure/progress.h"
#include "samples.h"
#include "support/base/error.h"

#include <kdl/host_abi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is varied; each case is a curve along it. */
typedef struct {
  const char *parameter;
  bench_results *results;
  size_t blocks;
} axis;

static void add_point(const axis *along, size_t at, const bench_case *cases, size_t count,
                      double operations) {
  static bench_run run;
  char prefix[64];
  snprintf(prefix, sizeof prefix, "scale/%zu %s", at, along->parameter);
  cases_run what = {.prefix = prefix,
                    .cases = cases,
                    .count = count,
                    .blocks = along->blocks,
                    .milliseconds = 1,
                    .operations = operations};
  cases_measure(&what, along->results, &run);
  for (size_t i = 0; i < count; ++i) {
    char name[BENCH_NAME];
    snprintf(name, sizeof name, "scale/%s/%s", along->parameter, cases[i].name);
    bench_curve_point(along->results, bench_curve_add(along->results, name, along->parameter),
                      (double)at, cases_figure(&what, along->results, i));
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Images and kernels                                                                           */

typedef struct {
  void *data;
  size_t size;
  kdl_library *lib;
  kdl_device *device;
  char kernel[32];
} library_case;

static void open_scale_library(void *context) {
  library_case *at = context;
  kdl_library *lib;
  bench_require(kdl_open_memory(at->data, at->size, NULL, &lib), "kdl_open_memory");
  kdl_close(lib);
}

/* Opening, then the first choice, which compiles every image into its rule. */
static void select_first(void *context) {
  library_case *at = context;
  kdl_library *lib;
  kdl_selection choice = {.size = sizeof choice};
  bench_require(kdl_open_memory(at->data, at->size, NULL, &lib), "kdl_open_memory");
  bench_require(kdl_select(lib, at->device, at->kernel[0] ? at->kernel : NULL, NULL, &choice),
                "kdl_select");
  kdl_close(lib);
}

static void select_remembered(void *context) {
  library_case *at = context;
  kdl_selection choice = {.size = sizeof choice};
  bench_require(kdl_select(at->lib, at->device, at->kernel[0] ? at->kernel : NULL, NULL, &choice),
                "kdl_select");
  bench_do_not_optimize(&choice);
}

static const bench_case library_cases[] = {{"open", open_scale_library, NULL},
                                           {"open and choose", select_first, NULL},
                                           {"choose again", select_remembered, NULL}};

static void measure_library(const axis *along, size_t at, library_case *subject) {
  bench_case cases[3];
  memcpy(cases, library_cases, sizeof cases);
  for (size_t i = 0; i < 3; ++i)
    cases[i].context = subject;
  bench_require(kdl_open_memory(subject->data, subject->size, NULL, &subject->lib),
                "kdl_open_memory");
  select_remembered(subject);
  add_point(along, at, cases, 3, 1);
  kdl_close(subject->lib);
  free(subject->data);
}

static kdl_status measure_images(size_t blocks, bench_results *results) {
  axis along = {.parameter = "images", .results = results, .blocks = blocks};
  library_case subject = {.kernel = ""};
  kdl_status status = kdl_device_find("cuda:sm_90 driver=13.0", &subject.device);
  for (size_t at = 1; at <= 4096 && status == KDL_OK && !bench_was_interrupted(); at *= 4) {
    /* With fewer than five there is none for sm_90. */
    size_t images = at < 5 ? 5 : at;
    status = at == 1 ? samples_kernels(1, &subject.data, &subject.size)
                     : samples_images(images, 1024, &subject.data, &subject.size);
    if (status == KDL_OK)
      measure_library(&along, at == 1 ? 1 : images, &subject);
  }
  return status;
}

static kdl_status measure_kernels(size_t blocks, bench_results *results) {
  axis along = {.parameter = "kernels", .results = results, .blocks = blocks};
  static const size_t counts[] = {1, 10, 100, 1000};
  library_case subject;
  kdl_status status = kdl_device_find("cuda:sm_90 driver=13.0", &subject.device);
  for (size_t i = 0;
       i < sizeof counts / sizeof *counts && status == KDL_OK && !bench_was_interrupted(); ++i) {
    snprintf(subject.kernel, sizeof subject.kernel, "k%zu", counts[i] - 1);
    status = samples_kernels(counts[i], &subject.data, &subject.size);
    if (status == KDL_OK)
      measure_library(&along, counts[i], &subject);
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

enum { most_devices = 8, device_images = 64 };

typedef struct {
  kdl_library *lib;
  kdl_device *devices[most_devices];
  size_t count;
} devices_case;

static void select_for_all_devices(void *context) {
  devices_case *at = context;
  for (size_t i = 0; i < at->count; ++i) {
    kdl_selection choice = {.size = sizeof choice};
    bench_require(kdl_select(at->lib, at->devices[i], NULL, NULL, &choice), "kdl_select");
    bench_do_not_optimize(&choice);
  }
}

static kdl_status measure_devices(size_t blocks, bench_results *results) {
  axis along = {.parameter = "devices", .results = results, .blocks = blocks};
  devices_case subject = {.count = 0};
  void *data = NULL;
  size_t size;
  kdl_status status = samples_images(device_images, 1024, &data, &size);
  if (status == KDL_OK)
    status = kdl_open_memory(data, size, NULL, &subject.lib);
  for (size_t i = 0; i < most_devices && status == KDL_OK; ++i) {
    char spec[64];
    snprintf(spec, sizeof spec, "cuda:sm_90 driver=13.0 ordinal=%zu", i);
    status = kdl_device_find(spec, &subject.devices[i]);
  }
  bench_case cases[] = {{"choose for each", select_for_all_devices, &subject}};
  for (size_t at = 1; at <= most_devices && status == KDL_OK && !bench_was_interrupted(); at *= 2) {
    subject.count = at;
    select_for_all_devices(&subject);
    add_point(&along, at, cases, 1, 1);
  }
  if (subject.lib)
    kdl_close(subject.lib);
  free(data);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

enum { most_threads = 64, launches = 50000 };

typedef struct {
  kdl_kernel *kernel;
  size_t count;
} threads_case;

static void *launch_repeatedly(void *context) {
  const threads_case *at = context;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  void *pointer = NULL;
  for (size_t i = 0; i < launches; ++i)
    bench_require(kdl_launch(at->kernel, NULL, &desc, KDL_ARGS(&pointer)), "kdl_launch");
  return NULL;
}

/* So many threads launch one kernel on the host, at the same time. */
static void launch_together(void *context) {
  threads_case *at = context;
  pthread_t threads[most_threads] = {0};
  for (size_t i = 1; i < at->count; ++i) {
    if (pthread_create(&threads[i], NULL, launch_repeatedly, at) != 0)
      bench_die("pthread_create");
  }
  launch_repeatedly(at);
  for (size_t i = 1; i < at->count; ++i)
    pthread_join(threads[i], NULL);
}

static kdl_status measure_threads(const suite_built_in *built_in, size_t blocks,
                                  bench_results *results) {
  axis along = {.parameter = "threads", .results = results, .blocks = blocks};
  threads_case subject = {.kernel = NULL};
  kdl_library *lib = NULL;
  kdl_device *device;
  kdl_status status = kdl_open_memory(built_in->data, built_in->size, NULL, &lib);
  if (status == KDL_OK)
    status = kdl_device_find("host", &device);
  if (status == KDL_OK)
    status = kdl_sym(lib, device, built_in->kernel, NULL, &subject.kernel);
  if (status == KDL_OK)
    status = kdl_prefetch(subject.kernel);
  bench_case cases[] = {{"launch on the host, elapsed for each", launch_together, &subject}};
  bench_machine_unpin(); /* one CPU would show the scheduler, not the launches */
  for (size_t at = 1; at <= most_threads && status == KDL_OK && !bench_was_interrupted(); at *= 4) {
    subject.count = at;
    add_point(&along, at, cases, 1, (double)(at * launches));
  }
  if (lib)
    kdl_close(lib);
  return status;
}

kdl_status suite_scale(const suite_built_in *built_in, size_t blocks, bench_results *results) {
  kdl_status status = measure_images(blocks, results);
  if (status == KDL_OK && !bench_was_interrupted())
    status = measure_kernels(blocks, results);
  if (status == KDL_OK && !bench_was_interrupted())
    status = measure_devices(blocks, results);
  if (status == KDL_OK && !bench_was_interrupted())
    status = measure_threads(built_in, blocks, results);
  return status;
}
