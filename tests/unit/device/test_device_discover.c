/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Discovery with the fake drivers: machines of every kind. */
#include "device_fakes.h"
#include "same_spec.h"

/* ------------------------------------------------------------------------------------------ */
/* Devices come through as they are                                                             */

#define H200                                                                                       \
  "cuda:sm_90 name=\"NVIDIA H200\" driver=13.0 class=discrete ordinal=0 "                          \
  "uuid=12345678-9abc-def0-1234-56789abcdef0 pci=0000:65:00.0 memory=143771MiB units=132 "         \
  "subgroups=32 max_block=1024 shared=48KiB shared_optin=227KiB cooperative=yes cluster=8 "        \
  "l2=50MiB"
#define MI300X                                                                                     \
  "hip:gfx942:sramecc+:xnack- name=\"AMD Instinct MI300X\" driver=6.4.43482 class=discrete "       \
  "ordinal=0 uuid=31323334-3536-3738-3961-626364656630 pci=0001:0c:00.0 memory=192GiB units=304 "  \
  "subgroups=64 max_block=1024 shared=64KiB cooperative=yes l2=4MiB"
#define BMG                                                                                        \
  "level_zero:ip=20.1.0 features=fp16+fp64+int64_atomics+int8_dot name=\"Intel Arc B580\" "        \
  "driver=1.6.33578 class=discrete ordinal=0 uuid=86800be2-0000-0000-0300-000000000000 "           \
  "pci=0000:03:00.0 memory=12GiB units=20 il=1.5 subgroups=16+32 max_block=1024 shared=128KiB"
#define NEO                                                                                        \
  "opencl:spirv64 features=fp16+fp64+int8_dot+subgroups+images+generic_pointer+int64 "             \
  "name=\"Intel Arc B580\" platform=\"Intel OpenCL Graphics\" driver=25.18.33578 class=discrete "  \
  "ordinal=0 uuid=86800be2-0000-0000-0300-000000000000 pci=0000:03:00.0 memory=12GiB units=160 "   \
  "il=1.4 subgroups=16+32 max_block=1024 shared=64KiB"

static void a_cuda_device(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole", H200, "");
  assert_int_equal(gpu_count(found), 1);
  assert_device(found, 0, H200);
  assert_report(found, KDL_BACKEND_CUDA, KDL_DRIVER_USABLE, "");
  assert_int_equal(report_of(found, KDL_BACKEND_CUDA)->device_count, 1);
  assert_string_equal(report_of(found, KDL_BACKEND_CUDA)->library, "libcuda.so.1");
  kdl_discovery_free(found);
}

static void a_hip_device(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole", MI300X, "");
  assert_int_equal(gpu_count(found), 1);
  assert_device(found, 0, MI300X);
  assert_string_equal(report_of(found, KDL_BACKEND_HIP)->library, "libamdhip64.so.7");
  kdl_discovery_free(found);
}

static void a_level_zero_device(void **state) {
  (void)state;
  kdl_device_spec spec = spec_of(BMG);
  kdl_discovery *found = discover("whole", BMG, "");
  assert_int_equal(gpu_count(found), 1);
  assert_device(found, 0, line_of(&spec));
  kdl_discovery_free(found);
}

static void an_opencl_device(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole", NEO, "");
  assert_int_equal(gpu_count(found), 1);
  assert_device(found, 0, NEO);
  kdl_discovery_free(found);
}

static void integrated_devices(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole",
                                  "cuda:sm_87 class=integrated; hip:gfx1151 class=integrated;"
                                  "level_zero:lnl-m class=integrated; opencl:spirv64 il=1.2 "
                                  "class=integrated platform=x",
                                  "");
  assert_int_equal(gpu_count(found), 4);
  for (size_t i = 0; i < 4; ++i)
    assert_int_equal(route(found, i, 0)->device_class, KDL_DEVICE_INTEGRATED);
  assert_string_equal(route(found, 2, 0)->arch, "20.4.4");
  kdl_discovery_free(found);
}

/* ------------------------------------------------------------------------------------------ */
/* Numbers of devices                                                                           */

static void no_devices(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole", "", "");
  assert_int_equal(gpu_count(found), 0);
  assert_report(found, KDL_BACKEND_CUDA, KDL_DRIVER_NO_DEVICE, "it shows no device");
  assert_report(found, KDL_BACKEND_HIP, KDL_DRIVER_NO_DEVICE,
                "hipGetDeviceCount: hipErrorNoDevice (100): no ROCm-capable device is detected");
  assert_report(found, KDL_BACKEND_LEVEL_ZERO, KDL_DRIVER_NO_DEVICE, "it shows no device");
  assert_report(found, KDL_BACKEND_OPENCL, KDL_DRIVER_NO_DEVICE, "no OpenCL platform is installed");
  assert_report(found, KDL_BACKEND_HOST, KDL_DRIVER_USABLE, "");
  kdl_discovery_free(found);
}

static void eight_devices(void **state) {
  (void)state;
  static const struct {
    kdl_backend backend;
    const char *line;
  } rows[] = {{KDL_BACKEND_CUDA, "cuda:sm_90"},
              {KDL_BACKEND_HIP, "hip:gfx942:sramecc+:xnack-"},
              {KDL_BACKEND_LEVEL_ZERO, "level_zero:pvc"},
              {KDL_BACKEND_OPENCL, "opencl:spirv64 platform=x"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char devices[1024];
    kdl_out out = {devices, sizeof devices, 0};
    for (int k = 0; k < 8; ++k)
      kdl_out_format(&out, "%s units=%d;", rows[i].line, k + 1);
    kdl_discovery *found = discover("whole", devices, "");
    assert_int_equal(gpu_count(found), 8);
    for (uint32_t k = 0; k < 8; ++k) {
      assert_int_equal(route(found, k, 0)->backend, rows[i].backend);
      assert_int_equal(route(found, k, 0)->ordinal.value, k);
      assert_int_equal(route(found, k, 0)->units, k + 1);
    }
    assert_int_equal(report_of(found, rows[i].backend)->device_count, 8);
    kdl_discovery_free(found);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Mixed machines                                                                               */

static void devices_come_in_the_default_order(void **state) {
  (void)state;
  kdl_discovery *found = discover(
      "whole",
      "opencl:spirv64 name=cpu platform=a class=cpu; opencl:spirv64 name=fpga platform=b "
      "class=accelerator; opencl:spirv64 name=gpu platform=c class=discrete;"
      "cuda:sm_87 name=orin class=integrated; cuda:sm_90 name=h100; hip:gfx942 name=mi300x;"
      "level_zero:lnl-m name=lnl class=integrated; level_zero:bmg name=bmg",
      "");
  static const char *const order[] = {"h100", "mi300x", "bmg", "gpu", "orin", "lnl", "fpga"};
  for (size_t i = 0; i < sizeof order / sizeof *order; ++i)
    assert_string_equal(route(found, i, 0)->name, order[i]);
  assert_int_equal(found->device_count, 9);
  assert_int_equal(route(found, 7, 0)->backend, KDL_BACKEND_HOST);
  assert_string_equal(route(found, 8, 0)->name, "cpu");
  kdl_discovery_free(found);
}

#define UUID "12345678-9abc-def0-1234-56789abcdef0"

static void one_gpu_through_two_drivers_is_one_device(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole",
                                  "opencl:spirv64 name=x platform=NVIDIA uuid=" UUID ";"
                                  "cuda:sm_90 name=h200 uuid=" UUID,
                                  "");
  assert_int_equal(gpu_count(found), 1);
  assert_int_equal(found->devices[0].count, 2);
  assert_int_equal(route(found, 0, 0)->backend, KDL_BACKEND_CUDA);
  assert_int_equal(route(found, 0, 1)->backend, KDL_BACKEND_OPENCL);
  kdl_discovery_free(found);
}

static void the_address_joins_where_uuids_do_not(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole",
                                  "hip:gfx942 uuid=" UUID " pci=0000:0c:00.0;"
                                  "hip:gfx942 pci=0000:22:00.0;"
                                  "opencl:spirv64 platform=AMD pci=0000:22:00.0 units=2;"
                                  "opencl:spirv64 platform=AMD pci=0000:0c:00.0 units=1",
                                  "");
  assert_int_equal(gpu_count(found), 2);
  for (size_t i = 0; i < 2; ++i) {
    assert_int_equal(found->devices[i].count, 2);
    assert_int_equal(route(found, i, 0)->ordinal.value, i);
    assert_int_equal(route(found, i, 1)->units, i + 1);
  }
  kdl_discovery_free(found);
}

/* The parts of a divided GPU share an address; their UUIDs distinguish them. */
static void parts_of_a_divided_gpu_stay_apart(void **state) {
  (void)state;
  static const char other[] = "99345678-9abc-def0-1234-56789abcdef0";
  char devices[1024];
  snprintf(devices, sizeof devices,
           "cuda:sm_90 name=a uuid=" UUID " pci=65:00.0; cuda:sm_90 name=b uuid=%s pci=65:00.0;"
           "opencl:spirv64 name=b platform=x uuid=%s pci=65:00.0;"
           "opencl:spirv64 name=a platform=x uuid=" UUID " pci=65:00.0",
           other, other);
  kdl_discovery *found = discover("whole", devices, "");
  assert_int_equal(gpu_count(found), 2);
  for (size_t i = 0; i < 2; ++i) {
    assert_int_equal(found->devices[i].count, 2);
    assert_string_equal(route(found, i, 0)->name, route(found, i, 1)->name);
  }
  kdl_discovery_free(found);
}

static void two_opencl_platforms_may_show_one_gpu(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole",
                                  "level_zero:bmg pci=3:00.0; opencl:spirv64 platform=a pci=3:00.0;"
                                  "opencl:spirv64 platform=b pci=3:00.0",
                                  "");
  assert_int_equal(gpu_count(found), 1);
  assert_int_equal(found->devices[0].count, 3);
  assert_string_equal(route(found, 0, 1)->platform, "a");
  assert_string_equal(route(found, 0, 2)->platform, "b");
  kdl_discovery_free(found);
}

static void devices_without_identity_stay_apart(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole", "cuda:sm_90; opencl:spirv64 platform=NVIDIA", "");
  assert_int_equal(gpu_count(found), 2);
  kdl_discovery_free(found);
}

static void vendors_own_ways_to_tell_the_address(void **state) {
  (void)state;
  static const char *const vendors[] = {"nv", "amd"};
  for (size_t i = 0; i < 2; ++i) {
    char settings[64];
    snprintf(settings, sizeof settings, "opencl.vendor=%s", vendors[i]);
    kdl_discovery *found =
        discover("whole",
                 "cuda:sm_90 pci=0000:65:01.0; opencl:spirv64 platform=x pci=0000:65:01.0 "
                 "subgroups=32",
                 settings);
    assert_int_equal(gpu_count(found), 1);
    assert_int_equal(found->devices[0].count, 2);
    assert_int_equal(route(found, 0, 1)->subgroups, 32);
    kdl_discovery_free(found);
  }
}

/* Its platform takes PTX, so that the compute capability counts. */
static void nvidia_behind_opencl(void **state) {
  (void)state;
  kdl_discovery *found = discover(
      "whole", "opencl:sm_120 platform=NVIDIA; opencl:spirv32 platform=NVIDIA", "opencl.vendor=nv");
  assert_int_equal(gpu_count(found), 2);
  assert_string_equal(route(found, 0, 0)->arch, "sm_120");
  assert_string_equal(route(found, 1, 0)->arch, "spirv32");
  kdl_discovery_free(found);
}

/* ------------------------------------------------------------------------------------------ */
/* Interfaces                                                                                   */

static void older_drivers(void **state) {
  (void)state;
  kdl_discovery *found = discover("old",
                                  "cuda:sm_80 driver=11.2 uuid=" UUID ";"
                                  "hip:gfx90a:sramecc+:xnack- name=MI210 driver=5.2.21153;"
                                  "level_zero:pvc il=1.2",
                                  "");
  assert_int_equal(gpu_count(found), 3);
  assert_device(found, 0, "cuda:sm_80 driver=11.2 class=discrete ordinal=0 uuid=" UUID);
  assert_device(found, 1,
                "hip:gfx90a:sramecc+:xnack- name=MI210 driver=5.2.21153 class=discrete ordinal=0");
  assert_device(found, 2, "level_zero:spirv64 features=int64 class=discrete ordinal=0 il=1.2");
  assert_string_equal(report_of(found, KDL_BACKEND_HIP)->library, "libamdhip64.so.5");
  kdl_discovery_free(found);
}

/* Every function that discovery may call, in the version it was declared for. None makes a context,
 * a queue or memory; the bare names of versioned functions are not among them. */
static void nothing_is_called_but_questions(void **state) {
  (void)state;
  static const char *const allowed[] = {
      "cuInit",
      "cuDriverGetVersion",
      "cuDeviceGetCount",
      "cuDeviceGet",
      "cuDeviceGetName",
      "cuDeviceGetAttribute",
      "cuDeviceTotalMem_v2",
      "cuDeviceGetUuid_v2",
      "hipInit",
      "hipGetDeviceCount",
      "hipDeviceGetAttribute",
      "hipDeviceTotalMem",
      "hipRuntimeGetVersion",
      "hipGetDevicePropertiesR0600",
      "hipDeviceGetUuid",
      "zeInitDrivers",
      "zeDriverGetProperties",
      "zeDeviceGet",
      "zeDeviceGetProperties",
      "zeDeviceGetModuleProperties",
      "zeDeviceGetComputeProperties",
      "zeDeviceGetCommandQueueGroupProperties",
      "zeDeviceGetMemoryProperties",
      "zeDevicePciGetPropertiesExt",
      "clGetPlatformIDs",
      "clGetPlatformInfo",
      "clGetDeviceIDs",
      "clGetDeviceInfo",
      NULL,
  };
  kdl_discovery *found = discover("whole", ONE_OF_EACH, "");
  assert_int_equal(gpu_count(found), 4);
  kdl_discovery_free(found);
  assert_logged_only(allowed);
}

static void only_the_backends_asked_for(void **state) {
  (void)state;
  setenv("KDL_FAKE_DEVICES", ONE_OF_EACH, 1);
  setenv("KDL_FAKE_SETTINGS", "", 1);
  assert_int_equal(truncate(log_path, 0), 0);
  kdl_driver_resolver resolver = {open_fake, fake_error, fake_symbol, "whole", NULL};
  kdl_discovery *found;
  kdl_discover_opts opts = {.resolver = &resolver, .backends = 1u << KDL_BACKEND_OPENCL};
  assert_ok(kdl_discover(&opts, &found));
  assert_int_equal(found->device_count, 1);
  assert_int_equal(found->report_count, 1);
  assert_int_equal(found->routes[0].backend, KDL_BACKEND_OPENCL);
  kdl_discovery_free(found);
  static const char *const allowed[] = {"clGetPlatformIDs", "clGetPlatformInfo", "clGetDeviceIDs",
                                        "clGetDeviceInfo", NULL};
  assert_logged_only(allowed);
}

/* PoCL, behind it, changes the environment that the others read while they start. */
static void opencl_is_asked_behind_the_others(void **state) {
  (void)state;
  kdl_discovery *found =
      discover("whole", ONE_OF_EACH, "cuda.delay=60;hip.delay=30;level_zero.delay=90");
  assert_int_equal(gpu_count(found), 4);
  kdl_discovery_free(found);
  FILE *log = fopen(log_path, "r");
  char name[128];
  bool opencl = false;
  assert_non_null(log);
  while (fgets(name, sizeof name, log)) {
    opencl |= strncmp(name, "cl", 2) == 0;
    if (opencl && strncmp(name, "cl", 2) != 0)
      fail_msg("%s was called after OpenCL was asked", name);
  }
  assert_true(opencl);
  fclose(log);
}

static int thread_of(const char *library, const char *what) {
  void *handle = open_fake((void *)(uintptr_t)"whole", library);
  const int *thread = dlsym(handle, what);
  assert_non_null(thread);
  dlclose(handle);
  return *thread;
}

/* A runtime may keep things of the thread that loads it, and that thread must not end before the
 * process: ROCm 6.4.3 crashes at exit. OpenCL's loader opens the platforms' libraries when it is
 * asked for them first. */
static void drivers_are_loaded_by_the_thread_that_asks(void **state) {
  (void)state;
  static const char *const drivers[] = {"libcuda.so.1", "libamdhip64.so.7", "libze_loader.so.1",
                                        "libOpenCL.so.1"};
  kdl_discovery_free(discover("whole", ONE_OF_EACH, ""));
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; ++i)
    assert_int_equal(thread_of(drivers[i], "fake_loaded_by"), gettid());
  assert_int_equal(thread_of("libOpenCL.so.1", "fake_started_by"), gettid());
  assert_int_not_equal(thread_of("libamdhip64.so.7", "fake_started_by"), gettid());
}

static void variables_of_the_vendors_are_named(void **state) {
  (void)state;
  setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  setenv("HSA_XNACK", "1", 1);
  kdl_discovery *found = discover("whole", ONE_OF_EACH, "");
  assert_string_equal(report_of(found, KDL_BACKEND_CUDA)->limits, "CUDA_VISIBLE_DEVICES=0,1");
  assert_string_equal(report_of(found, KDL_BACKEND_HIP)->limits,
                      "CUDA_VISIBLE_DEVICES=0,1 HSA_XNACK=1");
  assert_string_equal(report_of(found, KDL_BACKEND_LEVEL_ZERO)->limits, "");
  kdl_discovery_free(found);
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("HSA_XNACK");
}

/* Whatever a driver reports, the spec can be printed and parsed. */
static void what_a_driver_says_is_cleaned(void **state) {
  (void)state;
  kdl_discovery *found = discover("whole", "cuda:sm_90 name=\"  two \\\"words\\\"  \"", "");
  assert_string_equal(route(found, 0, 0)->name, "two \"words\"");
  kdl_device_spec again = spec_of(line_of(route(found, 0, 0)));
  assert_true(is_same_spec(route(found, 0, 0), &again));
  kdl_discovery_free(found);
}

int main(void) {
  setenv("KDL_LD", "/bin/sh", 1); /* tools that a spec does not print; none is run */
  setenv("KDL_LLVM_SPIRV", "none", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cuda_device),
      cmocka_unit_test(a_hip_device),
      cmocka_unit_test(a_level_zero_device),
      cmocka_unit_test(an_opencl_device),
      cmocka_unit_test(integrated_devices),
      cmocka_unit_test(no_devices),
      cmocka_unit_test(eight_devices),
      cmocka_unit_test(devices_come_in_the_default_order),
      cmocka_unit_test(one_gpu_through_two_drivers_is_one_device),
      cmocka_unit_test(the_address_joins_where_uuids_do_not),
      cmocka_unit_test(parts_of_a_divided_gpu_stay_apart),
      cmocka_unit_test(two_opencl_platforms_may_show_one_gpu),
      cmocka_unit_test(nvidia_behind_opencl),
      cmocka_unit_test(devices_without_identity_stay_apart),
      cmocka_unit_test(vendors_own_ways_to_tell_the_address),
      cmocka_unit_test(older_drivers),
      cmocka_unit_test(nothing_is_called_but_questions),
      cmocka_unit_test(only_the_backends_asked_for),
      cmocka_unit_test(opencl_is_asked_behind_the_others),
      cmocka_unit_test(drivers_are_loaded_by_the_thread_that_asks),
      cmocka_unit_test(variables_of_the_vendors_are_named),
      cmocka_unit_test(what_a_driver_says_is_cleaned),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
