/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The properties of a device, as fields. */
#include "support.h"

#include <kdl/kdl.h>

#include <string.h>

#define WHOLE                                                                                      \
  "opencl:spirv64 features=fp64+int64 name=\"GPU of \\\"X\\\"\" platform=\"The Platform\" "        \
  "driver=24.1 "                                                                                   \
  "class=integrated ordinal=3 uuid=000102030405060708090a0b0c0d0e0f pci=0001:af:1f.7 "             \
  "memory=141GB units=132 subgroups=16+32 max_block=1024 shared=48KiB shared_optin=227KiB"

static kdl_device_info info_of_device(const char *text) {
  kdl_device *device;
  kdl_device_info info = {.size = sizeof info};
  assert_ok(kdl_device_find(text, &device));
  assert_ok(kdl_device_get(device, &info));
  assert_int_equal(info.size, sizeof info);
  return info;
}

static void every_key_has_its_field(void **state) {
  (void)state;
  kdl_device_info info = info_of_device(WHOLE);
  assert_string_equal(info.backend, "opencl");
  assert_string_equal(info.arch, "spirv64");
  assert_string_equal(info.features, "fp64+int64");
  assert_string_equal(info.label, "opencl:spirv64");
  assert_string_equal(info.name, "GPU of \"X\"");
  assert_string_equal(info.platform, "The Platform");
  assert_string_equal(info.driver, "24.1");
  assert_int_equal(info.device_class, KDL_DEVICE_INTEGRATED);
  assert_int_equal(info.is_here, 0);
  assert_int_equal(info.is_host, 0);
  assert_int_equal(info.ordinal, 3);
  assert_int_equal(info.units, 132);
  assert_int_equal(info.subgroups, 48);
  assert_int_equal(info.max_block, 1024);
  assert_int_equal(info.memory, 141000000000);
  assert_int_equal(info.shared, 48 * 1024);
  assert_int_equal(info.shared_optin, 227 * 1024);
  assert_int_equal(info.has_pci, 1);
  assert_int_equal(info.pci_domain, 1);
  assert_int_equal(info.pci_bus, 0xaf);
  assert_int_equal(info.pci_device, 0x1f);
  assert_int_equal(info.pci_function, 7);
  assert_int_equal(info.has_uuid, 1);
  for (int i = 0; i < 16; ++i)
    assert_int_equal(info.uuid[i], i);
  assert_int_equal(info.route_count, 1);
}

static void what_is_not_said_is_not_known(void **state) {
  (void)state;
  kdl_device_info info = info_of_device("cuda:sm_90");
  assert_string_equal(info.name, "");
  assert_string_equal(info.platform, "");
  assert_string_equal(info.driver, "");
  assert_int_equal(info.device_class, KDL_DEVICE_DISCRETE);
  assert_int_equal(info.ordinal, -1);
  assert_int_equal(info.units, 0);
  assert_int_equal(info.subgroups, 0);
  assert_int_equal(info.memory, 0);
  assert_int_equal(info.has_pci, 0);
  assert_int_equal(info.has_uuid, 0);
}

/* The features of a CPU are many; a setting of a GPU's target ID is part of what it is. */
static void labels_are_short(void **state) {
  (void)state;
  static const struct {
    const char *spec, *arch, *label;
  } rows[] = {
      {"host:x86-64-v3+avx_vnni", "x86-64-v3+avx_vnni", "host:x86-64-v3"},
      {"hip:gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", "hip:gfx90a:sramecc+:xnack-"},
      {"level_zero:ip=12.60.7", "12.60.7", "level_zero:ip=12.60.7"},
      {"level_zero:spirv64", "spirv64", "level_zero:spirv64"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_info info = info_of_device(rows[i].spec);
    assert_string_equal(info.arch, rows[i].arch);
    assert_string_equal(info.label, rows[i].label);
  }
}

static void the_host_is_here(void **state) {
  (void)state;
  kdl_device_info info = info_of_device("host");
  assert_string_equal(info.backend, "host");
  assert_int_equal(strncmp(info.label, "host:", 5), 0);
  assert_int_equal(info.device_class, KDL_DEVICE_CPU);
  assert_int_equal(info.is_here, 1);
  assert_int_equal(info.is_host, 1);
  assert_true(info.units > 0);
  /* The same device gives the same texts. */
  kdl_device_info again = info_of_device("host");
  assert_ptr_equal(again.arch, info.arch);
  assert_ptr_equal(again.label, info.label);
}

static void mistakes_are_told(void **state) {
  (void)state;
  char expected[128];
  kdl_device *device;
  kdl_device_info info = {.size = 8, .units = 7};
  assert_ok(kdl_device_find("mi300x", &device));
  kdl_device *same;
  assert_ok(kdl_device_find(kdl_device_spec_text(device), &same));
  assert_ptr_equal(same, device);
  assert_non_null(strstr(kdl_device_spec_text(device), " | opencl:spirv64 "));
  snprintf(expected, sizeof expected, "kdl_device_get: info.size is 8, expected %zu", sizeof info);
  assert_fails(kdl_device_get(device, &info), KDL_BAD_CALL, expected);
  snprintf(expected, sizeof expected, "kdl_device_route_get: info.size is 8, expected %zu",
           sizeof info);
  assert_fails(kdl_device_route_get(device, 0, &info), KDL_BAD_CALL, expected);
  info.size = sizeof info;
  assert_int_equal(kdl_device_route_get(device, 2, &info), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "found route 2, expected less than 2"));
  assert_int_equal(kdl_device_route_get(device, SIZE_MAX, &info), KDL_BAD_CALL);
  assert_int_equal(info.units, 7);
}

/* They live as long as the process: so many are too many. The same description is the same device
 * all the while. */
static void described_devices_are_so_many_at_most(void **state) {
  (void)state;
  enum { most = 16384 };
  static kdl_device *devices[most];
  char text[64];
  kdl_status status = KDL_OK;
  size_t count = 0;
  while (count < most && status == KDL_OK) {
    snprintf(text, sizeof text, "cuda:sm_90 name=%zu", count);
    status = kdl_device_find(text, &devices[count]);
    count += status == KDL_OK;
  }
  assert_refused(status, KDL_UNSUPPORTED, "found more than 16384 devices that were described");
  assert_in_range(count, most - 64, most - 1); /* this process described others before */
  for (size_t i = 0; i < count; i += 100) {
    kdl_device *again;
    snprintf(text, sizeof text, "cuda:sm_90 name=%zu", i);
    assert_ok(kdl_device_find(text, &again));
    assert_ptr_equal(again, devices[i]);
    assert_string_equal(kdl_device_spec_text(again), text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_key_has_its_field),
      cmocka_unit_test(what_is_not_said_is_not_known),
      cmocka_unit_test(labels_are_short),
      cmocka_unit_test(the_host_is_here),
      cmocka_unit_test(mistakes_are_told),
      cmocka_unit_test(described_devices_are_so_many_at_most), /* the last */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
