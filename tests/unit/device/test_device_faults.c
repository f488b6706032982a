/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Discovery with drivers with every fault: each is a line in the report, and hides no other. */
#include "device_fakes.h"

#include "lib/registry/backend.h"

#include <time.h>

/* ------------------------------------------------------------------------------------------ */
/* Drivers with faults                                                                          */

static void missing_drivers(void **state) {
  (void)state;
  kdl_discovery *found = discover("nowhere", ONE_OF_EACH, "");
  assert_int_equal(gpu_count(found), 0);
  assert_report(found, KDL_BACKEND_CUDA, KDL_DRIVER_MISSING, "found no libcuda.so.1");
  assert_report(found, KDL_BACKEND_HIP, KDL_DRIVER_MISSING,
                "found no libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so.5, "
                "/opt/rocm/lib/libamdhip64.so");
  assert_report(found, KDL_BACKEND_LEVEL_ZERO, KDL_DRIVER_MISSING, "found no libze_loader.so.1");
  assert_report(found, KDL_BACKEND_OPENCL, KDL_DRIVER_MISSING, "found no libOpenCL.so.1");
  kdl_discovery_free(found);
}

static void incomplete_drivers(void **state) {
  (void)state;
  kdl_discovery *found = discover("incomplete", ONE_OF_EACH, "");
  assert_int_equal(gpu_count(found), 0);
  assert_report(found, KDL_BACKEND_CUDA, KDL_DRIVER_INCOMPLETE,
                "too old or damaged: it has no cuDeviceTotalMem_v2");
  assert_report(found, KDL_BACKEND_HIP, KDL_DRIVER_INCOMPLETE,
                "too old or damaged: it has no hipDeviceTotalMem");
  assert_string_equal(report_of(found, KDL_BACKEND_HIP)->library, "libamdhip64.so.6");
  assert_report(found, KDL_BACKEND_LEVEL_ZERO, KDL_DRIVER_INCOMPLETE,
                "too old or damaged: it has no zeDeviceGetMemoryProperties");
  assert_report(found, KDL_BACKEND_OPENCL, KDL_DRIVER_INCOMPLETE,
                "too old or damaged: it has no clGetPlatformInfo");
  kdl_discovery_free(found);
}

/* Whichever entry point is taken away: one that listing needs makes the driver unusable and is
 * named, an optional one is done without, and one of launching is not asked for. */
static const char *hidden_symbol;
static bool hides_questions;

static void *hiding_symbol(void *user, void *library, const char *name) {
  (void)user;
  if (strcmp(name, hidden_symbol) == 0 ||
      (hides_questions && strcmp(name, "cuGetProcAddress_v2") == 0))
    return NULL;
  return dlsym(library, name);
}

static const struct {
  kdl_backend backend;
  const char *name;
  kdl_driver_need need;
} symbols[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters)                                    \
  {KDL_BACKEND_CUDA, #name, KDL_DRIVER_##need},
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {KDL_BACKEND_HIP, #name, KDL_DRIVER_##need},
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {KDL_BACKEND_LEVEL_ZERO, #name, KDL_DRIVER_##need},
#include "lib/backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {KDL_BACKEND_OPENCL, #name, KDL_DRIVER_##need},
#include "lib/backends/opencl/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

static void any_missing_entry_point(void **state) {
  (void)state;
  setenv("KDL_FAKE_DEVICES", ONE_OF_EACH, 1);
  setenv("KDL_FAKE_SETTINGS", "", 1);
  kdl_driver_resolver resolver = {open_fake, fake_error, hiding_symbol, "whole", NULL};
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
    hidden_symbol = symbols[i].name;
    kdl_discovery *found;
    kdl_discover_opts opts = {.resolver = &resolver};
    assert_ok(kdl_discover(&opts, &found));
    for (size_t k = 0; k < found->report_count; ++k) {
      const kdl_driver_report *report = &found->reports[k];
      bool hit = report->backend == symbols[i].backend && symbols[i].need == KDL_DRIVER_LIST;
      assert_string_equal(kdl_driver_state_names[report->state], hit ? "incomplete" : "usable");
      assert_int_equal(strstr(report->words, hidden_symbol) != NULL, hit);
    }
    assert_int_equal(gpu_count(found), symbols[i].need == KDL_DRIVER_LIST ? 3 : 4);
    kdl_discovery_free(found);
  }
}

/* A driver that lacks a launch function is listed, and reports it when a device is used. */
static void any_missing_entry_point_of_launching(void **state) {
  (void)state;
  setenv("KDL_FAKE_DEVICES", ONE_OF_EACH, 1);
  setenv("KDL_FAKE_SETTINGS", "", 1);
  kdl_driver_resolver resolver = {open_fake, fake_error, hiding_symbol, "whole", NULL};
  hides_questions = true; /* CUDA's own lookup function, which would find the hidden ones */
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
    kdl_discovery *found;
    void *device;
    char words[128];
    if (symbols[i].need != KDL_DRIVER_REQUIRED)
      continue;
    hidden_symbol = symbols[i].name;
    kdl_discover_opts opts = {.resolver = &resolver, .backends = 1u << symbols[i].backend};
    assert_ok(kdl_discover(&opts, &found));
    assert_int_equal(found->device_count, 1);
    const kdl_backend_table *table = kdl_built_ins[symbols[i].backend]->table;
    kdl_backend_device desc = {.size = sizeof desc, .spec = "one of each"};
    snprintf(words, sizeof words, "%s: too old or damaged: it has no %s", found->reports[0].library,
             hidden_symbol);
    assert_fails(table->device_open(&desc, &device), KDL_DEVICE, words);
    kdl_discovery_free(found);
  }
  hides_questions = false;
}

static void broken_drivers(void **state) {
  (void)state;
  kdl_discovery *found = discover("broken", ONE_OF_EACH, "");
  assert_int_equal(gpu_count(found), 0);
  static const kdl_backend backends[] = {KDL_BACKEND_CUDA, KDL_BACKEND_HIP, KDL_BACKEND_LEVEL_ZERO,
                                         KDL_BACKEND_OPENCL};
  for (size_t i = 0; i < 4; ++i) {
    const kdl_driver_report *report = report_of(found, backends[i]);
    assert_string_equal(kdl_driver_state_names[report->state], "broken");
    assert_memory_equal(report->words, "cannot be loaded: ", 18);
  }
  kdl_discovery_free(found);
}

static void failing_initialisation_hides_no_other(void **state) {
  (void)state;
  static const struct {
    kdl_backend backend;
    const char *settings;
    kdl_driver_state state;
    const char *words;
  } rows[] = {
      {KDL_BACKEND_CUDA, "cuda.init=803", KDL_DRIVER_FAILED,
       "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): system has unsupported display driver / "
       "cuda "
       "driver combination"},
      {KDL_BACKEND_CUDA, "cuda.init=100", KDL_DRIVER_NO_DEVICE,
       "cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"},
      {KDL_BACKEND_CUDA, "cuda.init=12345", KDL_DRIVER_FAILED, "cuInit: unknown error (12345)"},
      {KDL_BACKEND_CUDA, "cuda.count=999", KDL_DRIVER_FAILED,
       "cuDeviceGetCount: CUDA_ERROR_UNKNOWN (999): unknown error"},
      {KDL_BACKEND_HIP, "hip.init=3", KDL_DRIVER_FAILED,
       "hipInit: hipErrorUnknown (3): unknown error"},
      {KDL_BACKEND_HIP, "hip.count=3", KDL_DRIVER_FAILED,
       "hipGetDeviceCount: hipErrorUnknown (3): unknown error"},
      {KDL_BACKEND_LEVEL_ZERO, "level_zero.init=0x78000001", KDL_DRIVER_NO_DEVICE,
       "zeInit: error 0x78000001: the loader found no driver that works"},
      {KDL_BACKEND_LEVEL_ZERO, "level_zero.init=0x70000001", KDL_DRIVER_FAILED,
       "zeInit: error 0x70000001"},
      {KDL_BACKEND_LEVEL_ZERO, "level_zero.count=0x70000001", KDL_DRIVER_NO_DEVICE,
       "it shows no device"},
      {KDL_BACKEND_OPENCL, "opencl.init=-6", KDL_DRIVER_FAILED, "clGetPlatformIDs: error -6"},
      {KDL_BACKEND_OPENCL, "opencl.init=-1001", KDL_DRIVER_NO_DEVICE,
       "no OpenCL platform is installed"},
      {KDL_BACKEND_OPENCL, "opencl.count=-6", KDL_DRIVER_NO_DEVICE, "it shows no device"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_discovery *found = discover("whole", ONE_OF_EACH, rows[i].settings);
    assert_int_equal(gpu_count(found), 3);
    assert_report(found, rows[i].backend, rows[i].state, rows[i].words);
    kdl_discovery_free(found);
  }
}

/* One device that answers nothing, between two that do. */
static void a_mute_device_hides_no_other(void **state) {
  (void)state;
  static const struct {
    kdl_backend backend;
    const char *line, *words;
  } rows[] = {
      {KDL_BACKEND_CUDA, "cuda:sm_90", "device 1 does not say its compute capability"},
      {KDL_BACKEND_HIP, "hip:gfx942", "device 1 does not tell its properties"},
      {KDL_BACKEND_LEVEL_ZERO, "level_zero:bmg",
       "device 1 does not tell its properties: error 0x78000005"},
      {KDL_BACKEND_OPENCL, "opencl:spirv64 platform=x", "device 1 is not available"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char devices[256];
    char settings[64];
    snprintf(devices, sizeof devices, "%s; %s; %s", rows[i].line, rows[i].line, rows[i].line);
    snprintf(settings, sizeof settings, "%s.mute=1", kdl_backend_name(rows[i].backend));
    kdl_discovery *found = discover("whole", devices, settings);
    assert_int_equal(gpu_count(found), 2);
    assert_int_equal(route(found, 0, 0)->ordinal.value, 0);
    assert_int_equal(route(found, 1, 0)->ordinal.value, 2);
    assert_report(found, rows[i].backend, KDL_DRIVER_USABLE, rows[i].words);
    kdl_discovery_free(found);
  }
}

static void accelerators_of_level_zero_are_passed_over(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole", "level_zero:bmg name=npu class=accelerator", "");
  assert_int_equal(gpu_count(found), 0);
  kdl_discovery_free(found);
}

/* ------------------------------------------------------------------------------------------ */
/* Time                                                                                         */

static unsigned elapsed_ms(struct timespec since) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned)((now.tv_sec - since.tv_sec) * 1000 + (now.tv_nsec - since.tv_nsec) / 1000000);
}

static void drivers_are_asked_at_the_same_time(void **state) {
  (void)state;
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  kdl_discovery *found =
      discover("whole", ONE_OF_EACH, "cuda.delay=400;hip.delay=400;opencl.delay=400");
  assert_in_range(elapsed_ms(start), 400, 1100);
  assert_int_equal(gpu_count(found), 4);
  kdl_discovery_free(found);
}

static void a_driver_that_hangs_is_left_behind(void **state) {
  (void)state;
  setenv("KDL_FAKE_DEVICES", ONE_OF_EACH, 1);
  setenv("KDL_FAKE_SETTINGS", "hip.delay=1000", 1);
  kdl_driver_resolver resolver = {open_fake, fake_error, fake_symbol, "whole", NULL};
  kdl_discovery *found;
  kdl_discover_opts opts = {.resolver = &resolver, .timeout_ms = 300};
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  assert_ok(kdl_discover(&opts, &found));
  assert_in_range(elapsed_ms(start), 300, 1500);
  assert_int_equal(gpu_count(found), 3);
  assert_report(found, KDL_BACKEND_HIP, KDL_DRIVER_SILENT, "no answer within 300 ms");
  kdl_discovery_free(found);
  /* Asked again meanwhile, it is left behind again; then it has woken up. */
  opts = (kdl_discover_opts){.timeout_ms = 100};
  assert_ok(kdl_discover(&opts, &found));
  assert_in_range(elapsed_ms(start), 400, 1700);
  assert_report(found, KDL_BACKEND_HIP, KDL_DRIVER_SILENT, "no answer within 100 ms");
  kdl_discovery_free(found);
  opts.timeout_ms = 20000;
  assert_ok(kdl_discover(&opts, &found));
  assert_int_equal(gpu_count(found), 4);
  assert_report(found, KDL_BACKEND_HIP, KDL_DRIVER_USABLE, "");
  kdl_discovery_free(found);
  /* Left behind once more, it can be used: it was initialised before. */
  opts.timeout_ms = 100;
  assert_ok(kdl_discover(&opts, &found));
  assert_report(found, KDL_BACKEND_HIP, KDL_DRIVER_SILENT, "no answer within 100 ms");
  kdl_discovery_free(found);
  const kdl_backend_table *table = kdl_built_in_hip.table;
  kdl_backend_device desc = {.size = sizeof desc, .spec = "hip:gfx942"};
  void *device;
  clock_gettime(CLOCK_MONOTONIC, &start);
  assert_ok(table->device_open(&desc, &device));
  assert_in_range(elapsed_ms(start), 0, 600);
  usleep(1200 * 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_drivers),
      cmocka_unit_test(incomplete_drivers),
      cmocka_unit_test(any_missing_entry_point),
      cmocka_unit_test(any_missing_entry_point_of_launching),
      cmocka_unit_test(broken_drivers),
      cmocka_unit_test(failing_initialisation_hides_no_other),
      cmocka_unit_test(a_mute_device_hides_no_other),
      cmocka_unit_test(accelerators_of_level_zero_are_passed_over),
      cmocka_unit_test(drivers_are_asked_at_the_same_time),
      cmocka_unit_test(a_driver_that_hangs_is_left_behind),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
