/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which drivers are enumerated, and when; which device is selected; one GPU with two drivers. The
 * registry is per process, so each case runs in a separate process. */
#include "fake_log.h"
#include "library_builder.h"

#include "lib/registry/backend.h"
#include "lib/registry/device.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define UUID "uuid=12345678-9abc-def0-1234-56789abcdef0"
#define H200 "cuda:sm_90 driver=13.0 name=h200 " UUID ";"
#define H200_CL "opencl:spirv64 il=1.2 name=h200 platform=nv " UUID ";"
#define MI300 "hip:gfx942 driver=6.4.1 name=mi300;"
#define BMG "level_zero:bmg name=bmg;"
#define FOUR                                                                                       \
  "cuda:sm_90 driver=13.0 name=a;cuda:sm_90 driver=13.0 name=b;"                                   \
  "cuda:sm_90 driver=13.0 name=c;cuda:sm_90 driver=13.0 name=d;"
#define ORIN "cuda:sm_87 driver=13.0 name=orin class=integrated;"
#define POCL "opencl:spirv64 il=1.2 name=cpu platform=pocl class=cpu;"

#if defined(__x86_64__)
#define HOST_ROW {1, X86_TRIPLE, "x86-64", KEY}
#else
#define HOST_ROW {1, "aarch64-unknown-linux-gnu", "armv8-a", KEY}
#endif
#define KEY "kdl.kernel.k=sig=u32"

enum { cubin = 3, ptx = 5, spirv = 6 };

static const image_row for_cuda[] = {{cubin, NV_TRIPLE, "sm_90", KEY}, HOST_ROW};
static const image_row for_host[] = {HOST_ROW};
static const image_row for_opencl[] = {{cubin, NV_TRIPLE, "sm_100", KEY},
                                       {spirv, SPIRV_TRIPLE, "generic", KEY}};
static const image_row for_all[] = {{ptx, NV_TRIPLE, "sm_80", KEY},
                                    {1, AMD_TRIPLE, "gfx942", KEY},
                                    {spirv, SPIRV_TRIPLE, "generic", KEY},
                                    HOST_ROW};
static const image_row for_amd[] = {{1, AMD_TRIPLE, "gfx942", KEY}, HOST_ROW};
/* The GPU's image is indexed and lacks the kernel. */
static const image_row for_another[] = {{cubin, NV_TRIPLE, "sm_90", "kdl.kernel.other=sig=u32"},
                                        HOST_ROW};

/* ------------------------------------------------------------------------------------------ */
/* What was called                                                                              */

/* The vendors' prefixes that stand in the log: "cu", "hip", "ze", "cl", each at most once. */
static const char *called(void) {
  static char text[64];
  static const char *const vendors[] = {"cu", "hip", "ze", "cl"};
  FILE *log = fopen(getenv("KDL_FAKE_LOG"), "r");
  char line[128];
  bool seen[4] = {false};
  while (log && fgets(line, sizeof line, log)) {
    for (size_t i = 0; i < 4; ++i)
      seen[i] |= strncmp(line, vendors[i], strlen(vendors[i])) == 0;
  }
  if (log)
    fclose(log);
  text[0] = '\0';
  for (size_t i = 0; i < 4; ++i) {
    if (seen[i])
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? " " : "",
               vendors[i]);
  }
  return text;
}

static unsigned times_called(const char *function) {
  FILE *log = fopen(getenv("KDL_FAKE_LOG"), "r");
  char line[128];
  unsigned times = 0;
  while (log && fgets(line, sizeof line, log)) {
    line[strcspn(line, "\n")] = '\0';
    times += strcmp(line, function) == 0;
  }
  if (log)
    fclose(log);
  return times;
}

static bool starts(const kdl_device *device, const char *text) {
  return strncmp(kdl_device_spec_text(device), text, strlen(text)) == 0;
}

/* The device for the kernel, whose spec begins with `expected`. */
static kdl_device *picked(const image_row *rows, size_t count, const char *expected) {
  built_library built = build_library(rows, count);
  kdl_device *device = NULL;
  assert_ok(kdl_device_for(built.lib, "k", NULL, &device));
  if (!starts(device, expected))
    fail_msg("picked %s, expected %s", kdl_device_spec_text(device), expected);
  free_library(&built);
  return device;
}

#define PICKED(rows, expected) picked(rows, sizeof(rows) / sizeof *(rows), expected)

/* ------------------------------------------------------------------------------------------ */
/* Who is asked                                                                                 */

static void a_name_asks_its_driver(void) {
  kdl_device *device = device_named("cuda:0");
  assert_true(starts(device, "cuda:sm_90 name=h200"));
  assert_string_equal(called(), "cu");
  assert_ptr_equal(device_named("cuda"), device);
  assert_ptr_equal(device_named("host"), device_named("host:0"));
  assert_string_equal(called(), "cu");
  assert_int_equal(times_called("cuInit"), 1);
  kdl_device *none;
  assert_fails(kdl_device_find("cuda:1", &none), KDL_NO_MATCH,
               "device \"cuda:1\": this machine has 1 of that kind; `kdl devices` lists what is "
               "here, and why a driver is not");
}

static void the_host_asks_no_driver(void) {
  assert_true(starts(device_named("host"), "host:"));
  PICKED(for_host, "host:");
  PICKED(for_another, "host:");
  assert_string_equal(called(), "");
}

static void a_variable_asks_its_driver(void) {
  setenv("KDL_DEVICE", "hip", 1);
  PICKED(for_all, "hip:gfx942");
  assert_string_equal(called(), "hip");
}

static void images_tell_whom_to_ask(void) {
  PICKED(for_cuda, "cuda:sm_90");
  assert_string_equal(called(), "cu");
}

static void no_driver_is_asked_behind_a_discrete_gpu(void) {
  PICKED(for_all, "cuda:sm_90");
  assert_string_equal(called(), "cu");
  assert_int_equal(kdl_device_count(), 4); /* with the host; OpenCL shows one of the GPUs again */
  assert_string_equal(called(), "cu hip ze cl");
  assert_int_equal(times_called("cuInit"), 1);
}

static void a_number_asks_all(void) {
  assert_true(starts(device_named("1"), "hip:gfx942"));
  assert_string_equal(called(), "cu hip ze cl");
}

static void *ask_from_thread(void *user) {
  size_t number = (size_t)(uintptr_t)user;
  kdl_device *device = NULL;
  if (number % 3 == 0)
    return kdl_device_find("cuda", &device) == KDL_OK ? device : NULL;
  if (number % 3 == 1)
    return kdl_device_at(0);
  return kdl_device_count() == 4 && kdl_device_find("0", &device) == KDL_OK ? device : NULL;
}

static void threads_ask_once(void) {
  enum { threads = 24 };
  pthread_t thread[threads];
  for (size_t i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&thread[i], NULL, ask_from_thread, (void *)(uintptr_t)i), 0);
  for (size_t i = 0; i < threads; ++i) {
    void *device;
    pthread_join(thread[i], &device);
    assert_ptr_equal(device, kdl_device_at(0));
  }
  assert_int_equal(times_called("cuInit"), 1);
  assert_int_equal(times_called("hipInit"), 1);
  assert_int_equal(times_called("zeInitDrivers"), 1);
}

/* ------------------------------------------------------------------------------------------ */
/* Which device                                                                                 */

/* Whether libkdl has a backend of its own for them changes what may be picked. */
static bool serves(kdl_backend backend) {
  return kdl_backend_table_for(backend) != NULL;
}

static void a_device_without_a_backend_is_passed_over(void) {
  const image_row rows[] = {{spirv, SPIRV_TRIPLE, "generic", KEY}, HOST_ROW};
  PICKED(rows, serves(KDL_BACKEND_LEVEL_ZERO) ? "level_zero:" : "host:");
}

/* The integrated GPU could do it, but a discrete one might still come. */
static void a_discrete_gpu_goes_before_an_integrated_one(void) {
  PICKED(for_all, serves(KDL_BACKEND_HIP) ? "hip:gfx942" : "cuda:sm_87");
}

/* The name of the device of process `rank` of `count`; -1: from the environment. */
static const char *local_name(const image_row *rows, size_t row_count, int rank, int count) {
  static char name[64];
  built_library built = build_library(rows, row_count);
  kdl_device *device = NULL;
  kdl_device_info info = {.size = sizeof info};
  assert_ok(kdl_device_for_rank(built.lib, "k", NULL, rank, count, &device));
  assert_ok(kdl_device_get(device, &info));
  snprintf(name, sizeof name, "%s", info.name);
  free_library(&built);
  return name;
}

static void clear_launchers(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                      "MPI_LOCALRANKID",
                                      "MPI_LOCALNRANKS",
                                      "MV2_COMM_WORLD_LOCAL_RANK",
                                      "PALS_LOCAL_RANKID",
                                      "FLUX_TASK_LOCAL_ID",
                                      "SLURM_LOCALID",
                                      "SLURM_NTASKS_PER_NODE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    unsetenv(names[i]);
}

/* Four like GPUs, and one that is integrated and one of another vendor, which are no part of it. */
static void processes_share_the_devices(void) {
  static const char *const of_four[] = {"a", "b", "c", "d"};
  static const char *const of_eight[] = {"a", "a", "b", "b", "c", "c", "d", "d"};
  static const char *const of_two[] = {"a", "c"};
  clear_launchers();
  for (int i = 0; i < 4; ++i)
    assert_string_equal(local_name(for_all, 4, i, 4), of_four[i]);
  for (int i = 0; i < 8; ++i)
    assert_string_equal(local_name(for_all, 4, i, 8), of_eight[i]);
  for (int i = 0; i < 2; ++i)
    assert_string_equal(local_name(for_all, 4, i, 2), of_two[i]);
  assert_string_equal(local_name(for_all, 4, -1, 0), "a"); /* no launcher */
  setenv("SLURM_LOCALID", "6", 1);
  assert_string_equal(local_name(for_all, 4, -1, 0), "c"); /* in turns: their number is unknown */
  setenv("SLURM_NTASKS_PER_NODE", "8", 1);
  assert_string_equal(local_name(for_all, 4, -1, 0), "d");
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  assert_string_equal(local_name(for_all, 4, -1, 0), "b");
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1x", 1);
  assert_string_equal(local_name(for_all, 4, -1, 0), "d");
  setenv("KDL_DEVICE", "hip", 1);
  assert_string_equal(local_name(for_all, 4, 0, 4), "mi300");
  unsetenv("KDL_DEVICE");
  built_library built = build_library(for_all, 4);
  kdl_device *device;
  assert_int_equal(kdl_device_for_rank(built.lib, "k", NULL, 4, 4, &device), KDL_BAD_CALL);
  free_library(&built);
}

static void nothing_fits(void) {
  const image_row rows[] = {{cubin, NV_TRIPLE, "sm_100", KEY}};
  built_library built = build_library(rows, 1);
  kdl_device *device = NULL;
  assert_fails(kdl_device_for(built.lib, "k", NULL, &device), KDL_NO_MATCH,
               "k: there are images for cuda, and none fits one of the 1 devices found there; `kdl "
               "explain` says why, device by device");
  assert_string_equal(called(), "cu");
  free_library(&built);
}

static void host_images_may_be_forbidden(void) {
  built_library built = build_library(for_host, 1);
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_NO_HOST};
  kdl_library *lib;
  kdl_device *device = NULL;
  assert_ok(kdl_open_memory(built.data, built.size, &opts, &lib));
  assert_fails(kdl_device_for(lib, "k", NULL, &device), KDL_NO_MATCH,
               "k: there are images for nothing that can be used here, and none fits one of the 0 "
               "devices found there; `kdl explain` says why, device by device");
  kdl_close(lib);
  free_library(&built);
}

/* What the user set is obeyed, or it is an error: no other device takes the CPU's place. */
static void a_cpu_that_is_none_is_an_error(void) {
  built_library built = build_library(for_all, sizeof for_all / sizeof *for_all);
  kdl_device *device = NULL;
  setenv("KDL_CPU", "banana", 1);
  assert_int_equal(kdl_device_for(built.lib, "k", NULL, &device), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "KDL_CPU: "));
  assert_int_equal(kdl_device_find("host", &device), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "device \"host\": KDL_CPU: "));
  assert_int_equal(kdl_device_find("1", &device), KDL_BAD_CALL);
  assert_null(device);
  assert_int_equal(kdl_device_count(), 1);
  assert_true(starts(device_named("0"), "opencl:"));
  free_library(&built);
  PICKED(for_opencl, "opencl:");
}

static void a_cpu_that_is_none_matters_behind_no_gpu(void) {
  setenv("KDL_CPU", "banana", 1);
  PICKED(for_cuda, "cuda:");
}

/* ------------------------------------------------------------------------------------------ */
/* One GPU, two drivers                                                                         */

static void check_two_routes(kdl_device *cuda, kdl_device *opencl) {
  assert_int_equal(kdl_device_count(), 3);
  assert_ptr_equal(kdl_device_at(0), cuda);
  assert_true(starts(kdl_device_at(1), "host:"));
  assert_true(starts(kdl_device_at(2), "opencl:spirv64 features=int64 name=cpu"));
  assert_null(kdl_device_at(3));
  assert_int_equal(kdl_device_route_count(cuda), 2);
  assert_int_equal(kdl_device_route_count(opencl), 1);
  assert_string_equal(cuda->spec_lines[1], opencl->spec_lines[0]);
  kdl_device_info whole = {.size = sizeof whole}, route = {.size = sizeof route};
  assert_ok(kdl_device_get(cuda, &whole));
  assert_string_equal(whole.label, "cuda:sm_90");
  assert_int_equal(whole.is_here, 1);
  assert_int_equal(whole.ordinal, 0);
  assert_int_equal(whole.route_count, 2);
  assert_ok(kdl_device_route_get(cuda, 1, &route));
  assert_string_equal(route.label, "opencl:spirv64");
  assert_string_equal(route.platform, "nv");
  assert_memory_equal(route.uuid, whole.uuid, sizeof route.uuid);
  assert_int_equal(route.route_count, 2);
  assert_ptr_equal(device_named("cuda:0"), cuda);
  assert_ptr_equal(device_named("opencl:0"), opencl);
  assert_ptr_equal(device_named("opencl:1"), kdl_device_at(2));
}

static void the_vendors_driver_was_asked_first(void) {
  kdl_device *cuda = device_named("cuda:0");
  const char *line = kdl_device_spec_text(cuda);
  assert_int_equal(kdl_device_route_count(cuda), 1);
  kdl_device *opencl = device_named("opencl:0");
  assert_ptr_not_equal(cuda, opencl);
  check_two_routes(cuda, opencl);
  assert_ptr_equal(kdl_device_spec_text(cuda), line);
}

static void opencl_was_asked_first(void) {
  kdl_device *opencl = device_named("opencl:0");
  const char *line = kdl_device_spec_text(opencl);
  kdl_device *cuda = device_named("cuda:0");
  check_two_routes(cuda, opencl);
  assert_ptr_equal(kdl_device_spec_text(opencl), line);
}

/* CUDA's driver takes none of the images: the GPU is used through OpenCL, for which there is a
 * backend. */
static void the_route_that_has_an_image_is_picked(void) {
  kdl_device *opencl = PICKED(for_opencl, "opencl:spirv64 features=int64 name=h200");
  built_library built = build_library(for_opencl, 2);
  kdl_kernel *kernel;
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_sym(built.lib, opencl, "k", NULL, &kernel));
  assert_ok(kdl_kernel_get(kernel, &info));
  assert_int_equal(info.image, 1);
  assert_string_equal(info.device, kdl_device_spec_text(opencl));
  /* Named by its vendor's driver it is another device, which is used through the same route when a
   * kernel is the first that is wanted of it, */
  kdl_device *cuda = device_named("cuda:0");
  kdl_kernel *other;
  assert_ok(kdl_sym(built.lib, cuda, "k", NULL, &other));
  assert_ptr_not_equal(other, kernel);
  assert_ok(kdl_kernel_get(other, &info));
  assert_string_equal(info.device, kdl_device_spec_text(opencl));
  assert_int_equal(info.route, 1);
  free_library(&built);
}

/* So it is where the image could be translated for CUDA: any programs do, as none is run. */
static void a_route_that_takes_spirv_goes_before_a_translation(void) {
  setenv("KDL_LD", "/bin/sh", 1);
  setenv("KDL_LLVM_SPIRV", "/bin/sh", 1);
  the_route_that_has_an_image_is_picked();
  built_library built = build_library(for_opencl, 2);
  kdl_selection selected = {.size = sizeof selected};
  assert_ok(kdl_select(built.lib, device_named("cuda:0"), "k", NULL, &selected));
  assert_string_equal(selected.fit, "portable IR");
  assert_true(strncmp(selected.device, "opencl:", 7) == 0);
  free_library(&built);
}

/* and through its own where it was memory. */
static void the_first_use_settles_the_route(void) {
  kdl_device *opencl = device_named("opencl:0");
  kdl_device *cuda = device_named("cuda:0");
  built_library built = build_library(for_opencl, 2);
  kdl_buffer buffer;
  kdl_kernel *kernel;
  assert_ok(kdl_alloc(cuda, 64, &buffer));
  assert_fails(kdl_sym(built.lib, cuda, "k", NULL, &kernel), KDL_NO_MATCH,
               "k: none of 2 images fits cuda:sm_90 (h200); the nearest is image 0 (cubin sm_100): "
               "built for sm_100; a cubin runs on compute capability 10.x only; the device is 9.0; "
               "fix: add a cubin for sm_90 or plain PTX for compute_90 or earlier");
  assert_ok(kdl_sym(built.lib, opencl, "k", NULL, &kernel));
  assert_ok(kdl_free(&buffer));
  free_library(&built);
}

/* ------------------------------------------------------------------------------------------ */
/* Asking again                                                                                 */

static void show(const char *devices) {
  setenv("KDL_FAKE_DEVICES", devices, 1);
}

static size_t refreshed(const char *backend) {
  size_t found = 99;
  assert_ok(kdl_devices_refresh(backend, &found));
  return found;
}

static void a_device_that_comes_late_is_found(void) {
  kdl_device *none;
  assert_int_equal(kdl_device_count(), 2);
  kdl_device *cuda = kdl_device_at(0), *host = kdl_device_at(1);
  PICKED(for_amd, "host:");
  show(H200 MI300);
  assert_fails(kdl_device_find("hip", &none), KDL_NO_MATCH,
               "device \"hip\": this machine has 0 of that kind; `kdl devices` lists what is here, "
               "and why a driver is not");
  assert_int_equal(refreshed("hip"), 1);
  assert_int_equal(times_called("cuInit"), 1);
  assert_int_equal(times_called("hipInit"), 2);
  assert_int_equal(kdl_device_count(), 3);
  assert_ptr_equal(kdl_device_at(0), cuda);
  assert_ptr_equal(kdl_device_at(1), device_named("hip"));
  assert_ptr_equal(kdl_device_at(2), host);
  PICKED(for_amd, "hip:gfx942");
}

static void who_is_there_stays_the_same(void) {
  kdl_device *before[4];
  assert_int_equal(kdl_device_count(), 4);
  for (size_t i = 0; i < 4; ++i)
    before[i] = kdl_device_at(i);
  assert_int_equal(refreshed(NULL), 0);
  assert_ok(kdl_devices_refresh(NULL, NULL));
  assert_int_equal(times_called("cuInit"), 3);
  assert_int_equal(times_called("clGetPlatformIDs"), 3);
  assert_int_equal(kdl_device_count(), 4);
  for (size_t i = 0; i < 4; ++i)
    assert_ptr_equal(kdl_device_at(i), before[i]);
}

static void who_was_not_asked_is_asked_first(void) {
  assert_int_equal(refreshed("hip"), 1);
  assert_string_equal(called(), "hip");
  assert_true(starts(device_named("hip"), "hip:gfx942"));
  assert_int_equal(times_called("hipInit"), 1);
}

static void a_device_that_was_not_used_goes_and_comes(void) {
  kdl_device *mi300 = device_named("hip"), *none;
  kdl_buffer buffer;
  show("");
  assert_int_equal(refreshed("hip"), 0);
  assert_fails(kdl_device_find("hip", &none), KDL_NO_MATCH,
               "device \"hip\": this machine has 0 of that kind; `kdl devices` lists what is here, "
               "and why a driver is not");
  assert_int_equal(kdl_device_count(), 1);
  PICKED(for_amd, "host:");
  assert_fails(
      kdl_alloc(mi300, 64, &buffer), KDL_DEVICE,
      "kdl_alloc: 64 bytes: hip:gfx942 name=mi300 driver=6.4.1 class=discrete ordinal=0 is "
      "gone: its driver showed it no longer when it was asked again");
  show(MI300);
  assert_int_equal(refreshed("hip"), 1);
  assert_ptr_equal(device_named("hip"), mi300);
  assert_ok(kdl_alloc(mi300, 64, &buffer));
  assert_ok(kdl_free(&buffer));
}

static void a_device_that_was_used_comes_back_as_another(void) {
  kdl_device *mi300 = device_named("hip");
  kdl_buffer buffer, lost;
  assert_ok(kdl_alloc(mi300, 64, &buffer));
  show("");
  assert_int_equal(refreshed("hip"), 0);
  assert_fails(kdl_alloc(mi300, 64, &lost), KDL_DEVICE,
               "kdl_alloc: 64 bytes: hip:0: hipMalloc of 64 bytes: hipErrorLaunchFailure (719): "
               "unspecified launch failure");
  kdl_device_info info = {.size = sizeof info};
  assert_ok(kdl_device_get(mi300, &info));
  assert_int_equal(info.is_here, 0);
  assert_string_equal(info.label, "hip:gfx942");
  show(MI300);
  assert_int_equal(refreshed("hip"), 1);
  assert_ptr_not_equal(device_named("hip"), mi300);
  assert_int_equal(kdl_device_count(), 2);
  assert_ok(kdl_free(&buffer));
}

static void another_device_with_the_number_of_one_that_is_gone(void) {
  kdl_device *bmg = device_named("level_zero:0");
  kdl_buffer buffer;
  assert_ok(kdl_alloc(bmg, 64, &buffer));
  show("level_zero:pvc name=pvc;");
  assert_int_equal(refreshed("level_zero"), 1);
  kdl_device *pvc = device_named("level_zero:0");
  assert_ptr_not_equal(pvc, bmg);
  assert_true(starts(pvc, "level_zero:ip=12.60.7"));
  assert_ok(kdl_free(&buffer));
}

static void a_driver_that_fails_tells_nothing(void) {
  kdl_device *mi300 = device_named("hip");
  setenv("KDL_FAKE_SETTINGS", "hip.init=3", 1);
  assert_int_equal(refreshed("hip"), 0);
  assert_ptr_equal(device_named("hip"), mi300);
  unsetenv("KDL_FAKE_SETTINGS");
}

/* OpenCL's device was the second route of CUDA's. */
static void what_is_left_of_a_device_stands_for_itself(void) {
  kdl_device *cuda = device_named("cuda"), *opencl = device_named("opencl");
  assert_int_equal(kdl_device_count(), 2);
  assert_ptr_equal(kdl_device_at(0), cuda);
  show(H200_CL);
  assert_int_equal(refreshed("cuda"), 0);
  assert_int_equal(kdl_device_count(), 2);
  assert_ptr_equal(kdl_device_at(0), opencl);
  show(H200 H200_CL);
  assert_int_equal(refreshed("cuda"), 1);
  assert_int_equal(kdl_device_count(), 2);
  assert_ptr_equal(kdl_device_at(0), cuda);
  assert_int_equal(kdl_device_route_count(cuda), 2);
}

static void *refresh_from_thread(void *user) {
  size_t found = 0;
  (void)user;
  return kdl_devices_refresh(NULL, &found) == KDL_OK && kdl_device_count() == 4 ? kdl_device_at(0)
                                                                                : NULL;
}

static void threads_ask_again(void) {
  enum { threads = 8 };
  pthread_t thread[threads];
  for (size_t i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&thread[i], NULL, refresh_from_thread, NULL), 0);
  for (size_t i = 0; i < threads; ++i) {
    void *device;
    pthread_join(thread[i], &device);
    assert_ptr_equal(device, kdl_device_at(0));
  }
}

static void a_child_leaves_the_parents_drivers_alone(void) {
  kdl_device *mi300 = device_named("hip");
  pid_t child = fork();
  if (child == 0) {
    show("");
    size_t found = 99;
    kdl_device *still = NULL;
    bool good = kdl_devices_refresh("hip", &found) == KDL_OK && found == 0 &&
                kdl_device_find("hip", &still) == KDL_OK && still == mi300 &&
                times_called("hipInit") == 1;
    _exit(good ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
}

static void a_backend_that_is_none(void) {
  size_t found;
  assert_fails(kdl_devices_refresh("metal", &found), KDL_BAD_CALL,
               "kdl_devices_refresh: found the backend \"metal\", expected one of host, cuda, hip, "
               "level_zero, opencl, or NULL for all");
  assert_string_equal(called(), "");
}

static void look_for(void *user, const char *topic, const char *line) {
  (void)topic;
  if (strstr(line, "libfaulty_backend.so: its table has no free_host"))
    *(bool *)user = true;
}

/* Memory that cannot be freed is not given: the built-in backend serves its devices. */
static void a_table_with_half_a_pair_is_refused(void) {
  bool was_told = false;
  kdl_buffer buffer;
  setenv("KDL_BACKEND_PATH", KDL_TEST_FAKES "/libfaulty_backend.so", 1);
  setenv("FAULTY_NAME", "hip", 1);
  setenv("FAULTY_LONE", "1", 1);
  kdl_set_log("load", look_for, &was_told);
  assert_ok(kdl_alloc(device_named("hip"), 64, &buffer));
  kdl_set_log(NULL, NULL, NULL);
  assert_true(was_told);
  assert_string_equal(called(), "hip");
  assert_ok(kdl_free(&buffer));
}

/* ------------------------------------------------------------------------------------------ */
/* One process for each                                                                         */

static const struct {
  const char *name;
  void (*run)(void);
  const char *devices;
  const char *backend; /* NULL, or what the backend of KDL_BACKEND_PATH serves */
} cases[] = {
#define CASE(name, devices, backend) {#name, name, devices, backend}
    CASE(a_name_asks_its_driver, H200 MI300 BMG H200_CL, NULL),
    CASE(the_host_asks_no_driver, H200 MI300 BMG H200_CL, NULL),
    CASE(a_variable_asks_its_driver, H200 MI300 BMG H200_CL, NULL),
    CASE(images_tell_whom_to_ask, H200 MI300 BMG H200_CL, NULL),
    CASE(no_driver_is_asked_behind_a_discrete_gpu, H200 MI300 BMG H200_CL, NULL),
    CASE(a_number_asks_all, H200 MI300 BMG H200_CL, NULL),
    CASE(threads_ask_once, H200 MI300 BMG H200_CL, NULL),
    CASE(a_device_without_a_backend_is_passed_over, BMG, NULL),
    CASE(a_discrete_gpu_goes_before_an_integrated_one, ORIN MI300, NULL),
    CASE(processes_share_the_devices, FOUR ORIN MI300, NULL),
    CASE(nothing_fits, H200 MI300, NULL),
    CASE(host_images_may_be_forbidden, H200, NULL),
    CASE(a_cpu_that_is_none_is_an_error, POCL, NULL),
    CASE(a_cpu_that_is_none_matters_behind_no_gpu, H200, NULL),
    CASE(the_vendors_driver_was_asked_first, H200 H200_CL POCL, NULL),
    CASE(opencl_was_asked_first, H200 H200_CL POCL, NULL),
    CASE(the_route_that_has_an_image_is_picked, H200 H200_CL, "opencl"),
    CASE(a_route_that_takes_spirv_goes_before_a_translation, H200 H200_CL, "opencl"),
    CASE(the_first_use_settles_the_route, H200 H200_CL, "opencl"),
    CASE(a_device_that_comes_late_is_found, H200, NULL),
    CASE(who_is_there_stays_the_same, H200 MI300 BMG H200_CL, NULL),
    CASE(who_was_not_asked_is_asked_first, H200 MI300, NULL),
    CASE(a_device_that_was_not_used_goes_and_comes, MI300, NULL),
    CASE(a_device_that_was_used_comes_back_as_another, MI300, NULL),
    CASE(another_device_with_the_number_of_one_that_is_gone, BMG, NULL),
    CASE(a_driver_that_fails_tells_nothing, MI300, NULL),
    CASE(what_is_left_of_a_device_stands_for_itself, H200 H200_CL, NULL),
    CASE(threads_ask_again, H200 MI300 BMG H200_CL, NULL),
    CASE(a_child_leaves_the_parents_drivers_alone, MI300, NULL),
    CASE(a_backend_that_is_none, H200, NULL),
    CASE(a_table_with_half_a_pair_is_refused, MI300, NULL),
#undef CASE
};

static int run_alone(size_t number) {
  char log[fake_log_size];
  fflush(stdout);
  make_fake_log(log);
  pid_t child = fork();
  if (child == 0) {
    setenv("LD_LIBRARY_PATH", KDL_TEST_FAKES "/whole", 1);
    setenv("KDL_FAKE_DEVICES", cases[number].devices, 1);
    setenv("KDL_FAKE_LOG", log, 1);
    setenv("KDL_LLVM_SPIRV", "none", 1); /* what is installed here is no part of these devices */
    if (cases[number].backend) {
      setenv("KDL_BACKEND_PATH", KDL_TEST_FAKES "/libfaulty_backend.so", 1);
      setenv("FAULTY_NAME", cases[number].backend, 1);
    }
    execl("/proc/self/exe", "test_registry", cases[number].name, (char *)NULL);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  unlink(log);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void run_case(void **state) {
  cases[*(const size_t *)*state].run();
}

int main(int argc, char **argv) {
  int failed = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc == 1) {
      failed |= run_alone(i);
    } else if (strcmp(argv[1], cases[i].name) == 0) {
      const struct CMUnitTest test = {cases[i].name, run_case, NULL, NULL, &i};
      return _cmocka_run_group_tests(cases[i].name, &test, 1, NULL, NULL);
    }
  }
  return failed;
}
