/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The structures of Level Zero that discovery reads, as ze_api.h lays them out. Every one begins
 * with its type and a chain of extensions; the driver writes what the type says. */
#ifndef KDL_DEVICE_LEVEL_ZERO_ABI_H
#define KDL_DEVICE_LEVEL_ZERO_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ze_structure_type_t */
enum {
  KDL_ZE_DRIVER_PROPERTIES = 0x1,
  KDL_ZE_DEVICE_PROPERTIES = 0x3,
  KDL_ZE_COMPUTE_PROPERTIES = 0x4,
  KDL_ZE_MODULE_PROPERTIES = 0x5,
  KDL_ZE_QUEUE_GROUP_PROPERTIES = 0x6,
  KDL_ZE_MEMORY_PROPERTIES = 0x7,
  KDL_ZE_PCI_PROPERTIES = 0x10008,
  KDL_ZE_IP_VERSION = 0x1000f,
  KDL_ZE_INIT_DRIVER_TYPE = 0x20021,
};

enum { KDL_ZE_SUCCESS = 0, KDL_ZE_UNINITIALIZED = 0x78000001 };
enum { KDL_ZE_INIT_GPU = 1 };        /* both of zeInit and of ze_init_driver_type_desc_t */
enum { KDL_ZE_TYPE_GPU = 1 };        /* ze_device_type_t */
enum { KDL_ZE_FLAG_INTEGRATED = 1 }; /* ze_device_property_flags_t */

/* ze_command_queue_group_property_flags_t */
enum { KDL_ZE_GROUP_COMPUTE = 1, KDL_ZE_GROUP_COOPERATIVE = 4 };

/* More groups than any device has. */
enum { KDL_ZE_MOST_QUEUE_GROUPS = 16 };

/* ze_device_module_flags_t */
enum {
  KDL_ZE_MODULE_FP16 = 1,
  KDL_ZE_MODULE_FP64 = 2,
  KDL_ZE_MODULE_INT64_ATOMICS = 4,
  KDL_ZE_MODULE_DP4A = 8,
};

typedef struct kdl_ze_init_driver_type {
  uint32_t type;
  const void *next;
  uint32_t flags;
} kdl_ze_init_driver_type;

typedef struct kdl_ze_driver_properties {
  uint32_t type;
  void *next;
  uint8_t uuid[16];
  uint32_t version;
} kdl_ze_driver_properties;

typedef struct kdl_ze_device_properties {
  uint32_t type;
  void *next;
  uint32_t device_type;
  uint32_t vendor_id;
  uint32_t device_id;
  uint32_t flags;
  uint32_t subdevice_id;
  uint32_t core_clock_rate;
  uint64_t max_allocation;
  uint32_t max_hardware_contexts;
  uint32_t max_command_queue_priority;
  uint32_t threads_per_eu;
  uint32_t physical_eu_simd_width;
  uint32_t eus_per_subslice;
  uint32_t subslices_per_slice;
  uint32_t slices;
  uint64_t timer_resolution;
  uint32_t timestamp_valid_bits;
  uint32_t kernel_timestamp_valid_bits;
  uint8_t uuid[16];
  char name[256];
} kdl_ze_device_properties;

typedef struct kdl_ze_ip_version {
  uint32_t type;
  const void *next;
  uint32_t ip_version;
} kdl_ze_ip_version;

typedef struct kdl_ze_module_properties {
  uint32_t type;
  void *next;
  uint32_t spirv_version; /* major << 16 | minor */
  uint32_t flags;
  uint32_t fp16_flags;
  uint32_t fp32_flags;
  uint32_t fp64_flags;
  uint32_t max_arguments_size;
  uint32_t printf_buffer_size;
  uint8_t native_kernel_uuid[16];
} kdl_ze_module_properties;

typedef struct kdl_ze_compute_properties {
  uint32_t type;
  void *next;
  uint32_t max_total_group_size;
  uint32_t max_group_size[3];
  uint32_t max_group_count[3];
  uint32_t max_shared_local_memory;
  uint32_t subgroup_size_count;
  uint32_t subgroup_sizes[8];
} kdl_ze_compute_properties;

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as it is laid out there */
typedef struct kdl_ze_queue_group {
  uint32_t type;
  void *next;
  uint32_t flags;
  size_t max_fill_pattern;
  uint32_t queue_count;
} kdl_ze_queue_group;

typedef struct kdl_ze_memory_properties {
  uint32_t type;
  void *next;
  uint32_t flags;
  uint32_t max_clock_rate;
  uint32_t max_bus_width;
  uint64_t total_size;
  char name[256];
} kdl_ze_memory_properties;

typedef struct kdl_ze_pci_properties {
  uint32_t type;
  void *next;
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t function;
  int32_t generation;
  int32_t width;
  int64_t bandwidth;
} kdl_ze_pci_properties;

#endif
