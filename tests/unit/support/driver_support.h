/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Helpers for tests of a backend with its fake driver: every program runs once per generation of
 * the driver, with that driver as the only one of its vendor. The file that includes this defines
 *
 *     DRIVER_ARCH     "sm_90"
 *     DRIVER_SPEC     "cuda:sm_90", for opening devices
 *     DRIVER_DEVICES  for KDL_FAKE_DEVICES
 *     DRIVER_WHOLE, DRIVER_OLD  the names of the two libraries */
#ifndef KDL_TESTS_UNIT_DRIVER_SUPPORT_H
#define KDL_TESTS_UNIT_DRIVER_SUPPORT_H

#include "fake_log.h"
#include "support.h"

#include "lib/registry/backend.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* The fake                                                                                     */

static char log_path[fake_log_size];

static inline bool is_old(void) {
  return strcmp(getenv("KDL_TEST_FAKE"), "old") == 0;
}

/* A function of the fake driver, as a pointer to a function of any type. */
static inline void get_fake(const char *name, void *out_function) {
  static void *library;
  if (!library)
    library = dlopen(is_old() ? DRIVER_OLD : DRIVER_WHOLE, RTLD_NOW);
  void *symbol = library ? dlsym(library, name) : NULL;
  if (!symbol)
    fail_msg("the fake driver has no %s", name);
  memcpy(out_function, &symbol, sizeof symbol);
}

static inline unsigned ask_fake(const char *name) {
  unsigned (*ask)(void);
  get_fake(name, &ask);
  return ask();
}

static inline void tell_fake(const char *name) {
  void (*tell)(void);
  get_fake(name, &tell);
  tell();
}

static inline void inject(const char *rules) {
  setenv("KDL_FAKE_FAIL", rules, 1);
}

static inline void clear_log(void) {
  FILE *log = fopen(log_path, "w");
  assert_non_null(log);
  fclose(log);
}

/* How often a function was called since clear_log. */
static inline unsigned calls_of(const char *function) {
  FILE *log = fopen(log_path, "r");
  char line[128];
  unsigned count = 0;
  assert_non_null(log);
  while (fgets(line, sizeof line, log)) {
    line[strcspn(line, "\n")] = '\0';
    count += strcmp(line, function) == 0;
  }
  fclose(log);
  return count;
}

/* What the runs are called, the folder their driver is in, and a variable that is set. */
#ifndef DRIVER_RUNS
#define DRIVER_RUNS                                                                                \
  {"whole", "whole", NULL}, {                                                                      \
    "old", "old", NULL                                                                             \
  }
#endif

/* Runs the program again for each driver; returns in these runs with true. */
static inline bool run_for_each_driver(char **argv, int *out_result) {
  static const struct {
    const char *name, *folder;
    char *setting;
  } runs[] = {DRIVER_RUNS};
  *out_result = 0;
  if (getenv("KDL_TEST_FAKE"))
    return true;
  for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
    printf("driver: %s\n", runs[i].name);
    fflush(stdout);
    make_fake_log(log_path);
    pid_t child = fork();
    if (child == 0) {
      char path[1024];
      snprintf(path, sizeof path, "%s/%s", KDL_TEST_FAKES, runs[i].folder);
      setenv("LD_LIBRARY_PATH", path, 1);
      setenv("KDL_TEST_FAKE", runs[i].name, 1);
      setenv("KDL_TEST_LOG", log_path, 1);
      setenv("KDL_FAKE_DEVICES", DRIVER_DEVICES, 1);
      if (runs[i].setting)
        putenv(runs[i].setting);
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    unlink(log_path);
    *out_result |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  return false;
}

/* In a run of run_for_each_driver. */
static inline void start_log(void) {
  const char *path = getenv("KDL_TEST_LOG");
  assert_non_null(path);
  snprintf(log_path, sizeof log_path, "%s", path);
  setenv("KDL_FAKE_LOG", log_path, 1);
  clear_log();
}

/* ------------------------------------------------------------------------------------------ */
/* The backend                                                                                  */

static const kdl_backend_table *driver;

static inline void *open_device(uint32_t ordinal) {
  void *device = NULL;
  assert_ok(driver->device_open(&(kdl_backend_device){.size = sizeof(kdl_backend_device),
                                                      .spec = DRIVER_SPEC,
                                                      .ordinal = ordinal},
                                &device));
  return device;
}

static inline kdl_backend_image image_of(kdl_image_kind kind, const void *data, size_t size) {
  return (kdl_backend_image){.size = sizeof(kdl_backend_image),
                             .kind = kind,
                             .data = data,
                             .data_size = size,
                             .arch = DRIVER_ARCH,
                             .name = "t: image 0"};
}

static inline void *load_image(void *device, kdl_image_kind kind, const void *data, size_t size) {
  void *loaded = NULL;
  kdl_backend_image image = image_of(kind, data, size);
  assert_ok(driver->image_load(device, &image, &loaded));
  return loaded;
}

static inline kdl_backend_kernel find_kernel(void *device, void *loaded, const char *name) {
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = name, .block = {128, 1, 1}};
  assert_ok(driver->kernel_find(device, loaded, &request, &kernel));
  return kernel;
}

static inline void *make_queue(void *device) {
  void *queue = NULL;
  assert_ok(driver->queue_create(device, 0, &queue));
  return queue;
}

/* As kdl_launch does it. */
static inline kdl_status launch(const kdl_backend_kernel *kernel, void *queue,
                                const kdl_launch_desc *desc, kdl_args args) {
  kdl_kernel_head head = {kernel->launch, queue, kernel->context};
  return kernel->launch(&head, desc, &args, queue);
}

static inline kdl_launch_desc shape_of(uint32_t grid, uint32_t block) {
  kdl_launch_desc desc = kdl_grid(grid, 1, 1);
  desc.block[0] = block;
  desc.block[1] = desc.block[2] = 1;
  return desc;
}

/* The tests, on each driver in a process of its own. */
#define run_backend_tests(argv, backend, tests)                                                    \
  run_tests_of_backend(argv, backend, tests, sizeof(tests) / sizeof *(tests))

static inline int run_tests_of_backend(char **argv, const kdl_built_in *backend,
                                       const struct CMUnitTest *tests, size_t test_count) {
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  start_log();
  driver = backend->table;
  result = _cmocka_run_group_tests("tests", tests, test_count, NULL, NULL);
  unlink(log_path);
  return result;
}

#endif
