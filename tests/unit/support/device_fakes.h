/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Machines with fake drivers (tests/fakes), for the tests of discovery. */
#ifndef KDL_TESTS_UNIT_DEVICE_FAKES_H
#define KDL_TESTS_UNIT_DEVICE_FAKES_H

#include "device_support.h"

#include "lib/registry/discover.h"

#include <dlfcn.h>
#include <unistd.h>

#define ONE_OF_EACH "cuda:sm_90; hip:gfx942 driver=6.4.1; level_zero:bmg; opencl:spirv64 platform=x"

static char log_path[] = "/tmp/kdl-discover-XXXXXX";

/* Opens drivers from one folder of fakes and from nowhere else. `user` is the folder. */
static _Thread_local char open_error[512];

static inline void *open_fake(void *user, const char *library) {
  char path[1024];
  const char *base = strrchr(library, '/');
  snprintf(path, sizeof path, "%s/%s/%s", KDL_TEST_FAKES, (const char *)user,
           base ? base + 1 : library);
  if (access(path, R_OK) != 0) {
    snprintf(open_error, sizeof open_error,
             "%s: cannot open shared object file: No such file or directory", library);
    return NULL;
  }
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = strrchr(path, '/') + 1;
    const char *colon = strchr(dlerror(), ':');
    snprintf(open_error, sizeof open_error, "%s%s", why, colon ? colon : "");
  }
  return handle;
}

static inline const char *fake_error(void *user) {
  (void)user;
  return open_error;
}

static inline void *fake_symbol(void *user, void *library, const char *name) {
  (void)user;
  return dlsym(library, name);
}

static inline kdl_discovery *discover(const char *folder, const char *devices,
                                      const char *settings) {
  setenv("KDL_FAKE_DEVICES", devices, 1);
  setenv("KDL_FAKE_SETTINGS", settings, 1);
  assert_int_equal(truncate(log_path, 0), 0);
  kdl_driver_resolver resolver = {open_fake, fake_error, fake_symbol, (void *)(uintptr_t)folder,
                                  NULL};
  kdl_discovery *found;
  kdl_discover_opts opts = {.resolver = &resolver};
  assert_ok(kdl_discover(&opts, &found));
  return found;
}

static inline const kdl_driver_report *report_of(const kdl_discovery *found, kdl_backend backend) {
  for (size_t i = 0; i < found->report_count; ++i) {
    if (found->reports[i].backend == backend)
      return &found->reports[i];
  }
  fail_msg("no report for %s", kdl_backend_name(backend));
  return NULL;
}

static inline void assert_report(const kdl_discovery *found, kdl_backend backend,
                                 kdl_driver_state state, const char *words) {
  const kdl_driver_report *report = report_of(found, backend);
  assert_string_equal(kdl_driver_state_names[report->state], kdl_driver_state_names[state]);
  assert_string_equal(report->words, words);
}

/* Routes of GPUs: the host's own CPU, which every discovery finds, comes last. */
static inline size_t gpu_count(const kdl_discovery *found) {
  assert_true(found->device_count >= 1);
  const kdl_found_device *last = &found->devices[found->device_count - 1];
  assert_int_equal(found->routes[last->first].backend, KDL_BACKEND_HOST);
  return found->device_count - 1;
}

static inline const kdl_device_spec *route(const kdl_discovery *found, size_t device,
                                           size_t index) {
  assert_true(device < found->device_count && index < found->devices[device].count);
  return &found->routes[found->devices[device].first + index];
}

static inline void assert_device(const kdl_discovery *found, size_t device, const char *line) {
  assert_string_equal(line_of(route(found, device, 0)), line);
}

static inline void assert_logged_only(const char *const *allowed) {
  FILE *log = fopen(log_path, "r");
  char name[128];
  size_t lines = 0;
  while (fgets(name, sizeof name, log)) {
    name[strcspn(name, "\n")] = '\0';
    size_t i = 0;
    while (allowed[i] && strcmp(allowed[i], name) != 0)
      ++i;
    if (!allowed[i])
      fail_msg("discovery called %s", name);
    ++lines;
  }
  fclose(log);
  assert_true(lines > 0);
}

static inline int set_up(void **state) {
  (void)state;
  int fd = mkstemp(log_path);
  setenv("KDL_FAKE_LOG", log_path, 1);
  static const char *const variables[] = {"CUDA_VISIBLE_DEVICES",
                                          "ROCR_VISIBLE_DEVICES",
                                          "HIP_VISIBLE_DEVICES",
                                          "GPU_DEVICE_ORDINAL",
                                          "HSA_XNACK",
                                          "ZE_AFFINITY_MASK"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i)
    unsetenv(variables[i]);
  return fd < 0 ? -1 : close(fd);
}

static inline int tear_down(void **state) {
  (void)state;
  return unlink(log_path);
}

#endif
