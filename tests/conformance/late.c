/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* late LIBRARY FAKES: while threads launch on the host and on OpenCL, the drivers and devices of
 * other vendors come, are lost and come back. Only work on a lost one fails. FAKES is the folder
 * of the fake drivers; OpenCL is the system's own, or else this returns 77. */
#include "vendor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MI210 "hip:gfx90a:sramecc+:xnack- name=mi210 driver=7.0.0 memory=1GiB max_block=1024;"
#define PVC "level_zero:ip=12.60.7 name=pvc il=1.4 memory=1GiB max_block=1024;"

/* ------------------------------------------------------------------------------------------ */
/* The machine, which files in a folder describe                                                */

static char folder[] = "/tmp/kdl-late-XXXXXX";

static void path_of(const char *name, char path[128]) {
  snprintf(path, 128, "%s/%s", folder, name);
}

/* Beside and renamed: the fakes may be reading it. */
static void write_file(const char *name, const char *text) {
  char path[128], beside[128];
  path_of(name, path);
  path_of("new", beside);
  FILE *file = fopen(beside, "w");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0 || rename(beside, path) != 0) {
    perror(path);
    exit(2);
  }
}

/* At first no libraries, and the dynamic loader goes no further: the system may have real ones. */
static const char *const drivers[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                      "libze_loader.so.1"};
enum { driver_count = sizeof drivers / sizeof *drivers };

static void install(const char *fakes, const char *driver) {
  char from[1024], beside[128], to[128];
  snprintf(from, sizeof from, "%s/whole/%s", fakes, driver);
  path_of("new", beside);
  path_of(driver, to);
  if (symlink(from, beside) != 0 || rename(beside, to) != 0) {
    perror(to);
    exit(2);
  }
}

static void clean_up(void) {
  char path[128];
  for (size_t i = 0; i < driver_count; ++i) {
    path_of(drivers[i], path);
    unlink(path);
  }
  path_of("devices", path);
  unlink(path);
  path_of("faults", path);
  unlink(path);
  rmdir(folder);
}

/* A file that stands for the value of a variable of the fakes. */
static void set_file(const char *variable, const char *name) {
  char value[130] = "@";
  path_of(name, value + 1);
  write_file(name, "");
  setenv(variable, value, 1);
}

/* The dynamic loader reads LD_LIBRARY_PATH when a process starts. */
static void start_anew(char **argv) {
  if (!mkdtemp(folder)) {
    perror(folder);
    exit(2);
  }
  for (size_t i = 0; i < driver_count; ++i)
    write_file(drivers[i], "no library yet\n");
  set_file("KDL_FAKE_DEVICES", "devices");
  set_file("KDL_FAKE_FAIL", "faults");
  setenv("LATE_FOLDER", folder, 1);
  setenv("LD_LIBRARY_PATH", folder, 1);
  execv("/proc/self/exe", argv);
  perror("exec");
  exit(2);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads that launch                                                                          */

typedef struct {
  vendor v;
  pthread_t thread;
  atomic_uint done; /* rounds that went well */
  atomic_bool failed;
  atomic_bool stop;
  bool is_lost; /* and therefore failed */
} worker;

enum { most_workers = 8 };
static worker workers[most_workers];
static size_t worker_count;
static const char *library_path;
static kdl_library *lib;
static int failures;

#define EXPECT(holds, ...)                                                                         \
  do {                                                                                             \
    if (!(holds)) {                                                                                \
      printf("FAIL line %d: ", __LINE__);                                                          \
      printf(__VA_ARGS__);                                                                         \
      printf("\n");                                                                                \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

static void *work(void *user) {
  worker *w = user;
  for (unsigned i = 0; !atomic_load(&w->stop); ++i) {
    w->v.status = scale(&w->v, (float)(i % 100));
    if (w->v.status != KDL_OK)
      break;
    atomic_fetch_add(&w->done, 1);
  }
  atomic_store(&w->failed, w->v.status != KDL_OK);
  return NULL;
}

static worker *employ(const char *name) {
  worker *w = &workers[worker_count];
  w->v.name = name;
  kdl_status status = kdl_open(library_path, NULL, &w->v.lib);
  if (status == KDL_OK)
    status = kdl_device_find(name, &w->v.device);
  if (status == KDL_OK)
    status = kdl_queue_create(w->v.device, NULL, &w->v.queue);
  if (status == KDL_OK && pthread_create(&w->thread, NULL, work, w) == 0) {
    ++worker_count;
    return w;
  }
  printf("without %s: %s\n", name, kdl_error_message());
  kdl_close(w->v.lib);
  return NULL;
}

static void dismiss(worker *w) {
  atomic_store(&w->stop, true);
  pthread_join(w->thread, NULL);
  close_vendor(&w->v);
}

static void pause_briefly(void) {
  nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* Each that has not failed does so many rounds more; ctest ends what hangs. */
static void expect_progress(const char *what) {
  enum { rounds = 5 };
  unsigned before[most_workers], going = 0;
  for (size_t i = 0; i < worker_count; ++i)
    before[i] = atomic_load(&workers[i].done);
  for (size_t i = 0; i < worker_count; ++i) {
    worker *w = &workers[i];
    while (!atomic_load(&w->failed) && atomic_load(&w->done) < before[i] + rounds)
      pause_briefly();
    going += !atomic_load(&w->failed);
    EXPECT(w->is_lost || !atomic_load(&w->failed), "%s: %s", w->v.name, w->v.message);
  }
  printf("%s: %u of %zu go on\n", what, going, worker_count);
}

/* The worker fails of the loss, with these words, and no other does. */
static void expect_lost(worker *lost, const char *words) {
  while (!atomic_load(&lost->failed))
    pause_briefly();
  lost->is_lost = true;
  EXPECT(lost->v.status == KDL_DEVICE, "%s: %s", lost->v.name, kdl_status_name(lost->v.status));
  EXPECT(strstr(lost->v.message, words), "found \"%s\", expected \"%s\"", lost->v.message, words);
  printf("lost: %s\n", lost->v.message);
  expect_progress("without it");
}

/* ------------------------------------------------------------------------------------------ */
/* What happens                                                                                 */

static size_t refresh(const char *backend) {
  size_t found = 0;
  kdl_status status = kdl_devices_refresh(backend, &found);
  EXPECT(status == KDL_OK, "%s", kdl_error_message());
  return found;
}

static bool is_here(const char *name) {
  kdl_device *device;
  kdl_status status = kdl_device_find(name, &device);
  EXPECT(status == KDL_OK || status == KDL_NO_MATCH, "%s", kdl_error_message());
  return status == KDL_OK;
}

static bool is_best(const char *backend) {
  kdl_device *device = NULL;
  kdl_status status = kdl_device_for(lib, "scale", NULL, &device);
  EXPECT(status == KDL_OK, "%s", kdl_error_message());
  return device && strncmp(kdl_device_spec_text(device), backend, strlen(backend)) == 0;
}

static void drivers_come(const char *fakes) {
  size_t before = kdl_device_count();
  EXPECT(!is_here("hip") && !is_here("level_zero"), "a driver is there too early");
  EXPECT(refresh(NULL) == 0, "something came of itself");
  install(fakes, "libamdhip64.so.7");
  EXPECT(refresh(NULL) == 0 && !is_here("hip"), "a driver without devices shows one");
  write_file("devices", MI210);
  EXPECT(!is_here("hip"), "it was found unasked");
  EXPECT(refresh("hip") == 1 && is_here("hip"), "the device was not found");
  EXPECT(kdl_device_count() == before + 1 && is_best("hip"), "it is not the best");
  employ("hip");
  expect_progress("the first vendor came");
  install(fakes, "libze_loader.so.1");
  write_file("devices", MI210 PVC);
  EXPECT(refresh(NULL) == 1 && is_here("level_zero"), "the second was not found");
  EXPECT(refresh(NULL) == 0 && kdl_device_count() == before + 2, "one was found twice");
  employ("level_zero");
  expect_progress("the second vendor came");
}

static void one_is_lost_and_comes_back(worker *hip) {
  kdl_device *again;
  write_file("devices", PVC);
  EXPECT(refresh("hip") == 0 && !is_here("hip"), "it is still shown");
  expect_lost(hip, "hipErrorLaunchFailure (719)");
  EXPECT(is_best("level_zero"), "the best is not what is left");
  write_file("devices", PVC MI210);
  EXPECT(refresh(NULL) == 1, "it did not come back");
  EXPECT(kdl_device_find("hip", &again) == KDL_OK && again != hip->v.device,
         "what was lost was taken for what came");
  employ("hip");
  expect_progress("it came back");
}

static void one_fails(worker *level_zero) {
  write_file("faults", "zeCommandListAppendLaunchKernel:1+:0x70000001");
  expect_lost(level_zero, "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)");
  write_file("faults", "");
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: late LIBRARY FAKES\n");
    return 2;
  }
  if (!getenv("LATE_FOLDER"))
    start_anew(argv);
  snprintf(folder, sizeof folder, "%s", getenv("LATE_FOLDER"));
  library_path = argv[1];
  if (kdl_open(library_path, NULL, &lib) != KDL_OK) {
    fprintf(stderr, "%s\n", kdl_error_message());
    return 2;
  }
  bool has_opencl = employ("opencl") && employ("host") && employ("host");
  if (has_opencl) {
    expect_progress("at first");
    drivers_come(argv[2]);
  }
  if (has_opencl && worker_count == 5) {
    one_is_lost_and_comes_back(&workers[3]);
    one_fails(&workers[4]);
  }
  EXPECT(!has_opencl || worker_count == 6, "%zu workers", worker_count);
  for (size_t i = 0; i < worker_count; ++i)
    dismiss(&workers[i]);
  kdl_close(lib);
  clean_up();
  return !has_opencl ? 77 : failures ? 1 : 0;
}
