/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OpenMP's target regions on the host, through LLVM's offload runtime: compiled by Clang with
 * -fopenmp-targets= for this very processor into a shared object of its own, since no other
 * compiler makes it, and opened where it is found. The region is empty and takes one pointer; the
 * job's own image is not used.
 *
 * A region waits for its end, so that nothing is left to synchronise.
 */
#include "peer.h"

#include <omp.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const peer_job *job;
  int device;
  void *buffer;
} omp_state;

/* The program's own: this object is opened by it. */
static bool (*fail)(const char *format, ...);

static bool omp_peer_open(void *state, const peer_job *job) {
  omp_state *at = state;
  at->job = job;
  return true;
}

/* Opens the runtime's plugins. */
static bool omp_peer_init(void *state) {
  omp_state *at = state;
  at->device = -1;
  return omp_get_num_devices() > 0 || fail("omp_get_num_devices: found no device for this image");
}

/* The first region on a device loads the image there. */
static bool omp_peer_load(void *state) {
  omp_state *at = state;
  for (int i = 0; i < omp_get_num_devices() && at->device < 0; ++i) {
    int initial = 1;
#pragma omp target device(i) map(from : initial)
    initial = omp_is_initial_device();
    if (!initial)
      at->device = i;
  }
  return at->device >= 0 || fail("omp target: every region ran without a device");
}

/* LLVM's plugin for the host loads an image from a file in /tmp, and leaves it there: what this
 * process has mapped of that name is its own. After the load, and in no phase that is measured. */
static bool omp_peer_arguments(void *state) {
  static const char name[] = "/tmp/tmpfile_";
  static bool is_removed;
  char line[4096];
  (void)state;
  if (is_removed)
    return true;
  is_removed = true;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    char *path = strchr(line, '/');
    if (!path || strncmp(path, name, sizeof name - 1) != 0)
      continue;
    path[strcspn(path, " \n")] = '\0'; /* "(deleted)" follows after the first of its mappings */
    (void)unlink(path);
  }
  if (maps)
    fclose(maps);
  return true;
}

static bool omp_peer_no_op(void *state) {
  (void)state;
  return true;
}

static bool omp_peer_launch(void *state) {
  omp_state *at = state;
  void *pointer = at->buffer;
#pragma omp target device(at->device) is_device_ptr(pointer)
  (void)pointer;
  return true;
}

static const peer omp_peer = {
    .name = "omp",
    .what = "OpenMP target on the host",
    .backend = "host",
    .open = omp_peer_open,
    .start = {{KDL_TRACE_PHASE_INIT, omp_peer_init}},
    .load = {{KDL_TRACE_PHASE_LOAD, omp_peer_load}},
    .arguments = omp_peer_arguments,
    .launch = omp_peer_launch,
    .sync = omp_peer_no_op,
};

__attribute__((visibility("default"))) const peer *
kdl_bench_peer(bool (*fail_with)(const char *format, ...)) {
  fail = fail_with;
  return &omp_peer;
}
