/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Types and constants of Level Zero, as in ze_api.h, which is not needed to build. Handles are void
 * pointers; a ze_group_count_t, three words, is a const uint32_t pointer. Structures begin with
 * their type, which determines what the driver writes, and a chain of extensions. */
#ifndef KDL_LIB_BACKENDS_LEVEL_ZERO_ABI_H
#define KDL_LIB_BACKENDS_LEVEL_ZERO_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ze_result_t */
enum {
  KDL_ZE_SUCCESS = 0,
  KDL_ZE_NOT_READY = 1,
  KDL_ZE_OUT_OF_HOST_MEMORY = 0x70000002,
  KDL_ZE_OUT_OF_DEVICE_MEMORY = 0x70000003,
  KDL_ZE_UNINITIALIZED = 0x78000001,
  KDL_ZE_UNSUPPORTED_SIZE = 0x78000009,
  KDL_ZE_INVALID_GLOBAL_NAME = 0x78000010,
  KDL_ZE_INVALID_KERNEL_NAME = 0x78000011,
};

/* ze_api_version_t: the version of each feature, because a driver may be older than the loader */
#define KDL_ZE_VERSION(major, minor) ((uint32_t)((major) << 16 | (minor)))
#define KDL_ZE_HAS_TICKS_PER_SECOND KDL_ZE_VERSION(1, 2)
#define KDL_ZE_HAS_HOST_SYNC KDL_ZE_VERSION(1, 6)
#define KDL_ZE_HAS_IN_ORDER KDL_ZE_VERSION(1, 7)
#define KDL_ZE_HAS_LIST_QUERIES KDL_ZE_VERSION(1, 9)
#define KDL_ZE_HAS_LISTS_IN_LISTS KDL_ZE_VERSION(1, 9)
#define KDL_ZE_HAS_LIST_FLAGS KDL_ZE_VERSION(1, 17)

/* ze_structure_type_t */
enum {
  KDL_ZE_DRIVER_PROPERTIES = 0x1,
  KDL_ZE_DEVICE_PROPERTIES = 0x3,
  KDL_ZE_COMPUTE_PROPERTIES = 0x4,
  KDL_ZE_MODULE_PROPERTIES = 0x5,
  KDL_ZE_QUEUE_GROUP_PROPERTIES = 0x6,
  KDL_ZE_MEMORY_PROPERTIES = 0x7,
  KDL_ZE_CONTEXT_DESC = 0xd,
  KDL_ZE_COMMAND_QUEUE_DESC = 0xe,
  KDL_ZE_COMMAND_LIST_DESC = 0xf,
  KDL_ZE_EVENT_POOL_DESC = 0x10,
  KDL_ZE_EVENT_DESC = 0x11,
  KDL_ZE_DEVICE_MEM_ALLOC_DESC = 0x15,
  KDL_ZE_HOST_MEM_ALLOC_DESC = 0x16,
  KDL_ZE_MODULE_DESC = 0x1b,
  KDL_ZE_KERNEL_DESC = 0x1d,
  KDL_ZE_KERNEL_PROPERTIES = 0x1e,
  KDL_ZE_PCI_PROPERTIES = 0x10008,
  KDL_ZE_IP_VERSION = 0x1000f,
  KDL_ZE_RELAXED_LIMITS_DESC = 0x20001,
  KDL_ZE_DEVICE_PROPERTIES_1_2 = 0x20006, /* the same struct with the timer in ticks per second */
  KDL_ZE_MUTABLE_LIST_PROPERTIES = 0x20015,
  KDL_ZE_MUTABLE_LIST_DESC = 0x20016,
  KDL_ZE_MUTABLE_ID_DESC = 0x20017,
  KDL_ZE_MUTABLE_COMMANDS_DESC = 0x20018,
  KDL_ZE_MUTABLE_ARGUMENT_DESC = 0x20019,
  KDL_ZE_MUTABLE_GROUPS_DESC = 0x2001a,
  KDL_ZE_INIT_DRIVER_TYPE = 0x20021,
};

enum { KDL_ZE_INIT_GPU = 1 };        /* both of zeInit and of ze_init_driver_type_desc_t */
enum { KDL_ZE_TYPE_GPU = 1 };        /* ze_device_type_t */
enum { KDL_ZE_FLAG_INTEGRATED = 1 }; /* ze_device_property_flags_t */

/* ze_command_queue_group_property_flags_t */
enum { KDL_ZE_GROUP_COMPUTE = 1, KDL_ZE_GROUP_COOPERATIVE = 4 };

/* More queue groups than any device has. */
enum { KDL_ZE_MAX_QUEUE_GROUPS = 16 };

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

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the layout of ze_api.h */
typedef struct kdl_ze_queue_group {
  uint32_t type;
  void *next;
  uint32_t flags;
  size_t max_fill_pattern;
  uint32_t queue_count;
} kdl_ze_queue_group;

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the layout of ze_api.h */
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

enum { KDL_ZE_FORMAT_SPIRV = 0, KDL_ZE_FORMAT_NATIVE = 1 }; /* ze_module_format_t */
enum { KDL_ZE_QUEUE_IN_ORDER = 2 };                         /* ze_command_queue_flag_t */
enum { KDL_ZE_LIST_IN_ORDER = 8 };                          /* ze_command_list_flag_t */
enum { KDL_ZE_MODE_ASYNCHRONOUS = 2 };                      /* ze_command_queue_mode_t */
enum { KDL_ZE_PRIORITY_LOW = 1, KDL_ZE_PRIORITY_HIGH = 2 }; /* ze_command_queue_priority_t */
enum { KDL_ZE_POOL_HOST_VISIBLE = 1 };                      /* ze_event_pool_flag_t */
enum { KDL_ZE_SCOPE_DEVICE = 2, KDL_ZE_SCOPE_HOST = 4 };    /* ze_event_scope_flag_t */
enum { KDL_ZE_ACCESS_ANY = 7 };       /* ze_kernel_indirect_access_flag_t: host, device, shared */
enum { KDL_ZE_RELAXED_MAX_SIZE = 1 }; /* ze_relaxed_allocation_limits_exp_flag_t */
#define KDL_ZE_FOREVER UINT64_MAX

typedef struct kdl_ze_context_desc {
  uint32_t type;
  const void *next;
  uint32_t flags;
} kdl_ze_context_desc;

typedef struct kdl_ze_queue_desc {
  uint32_t type;
  const void *next;
  uint32_t ordinal;
  uint32_t index;
  uint32_t flags;
  uint32_t mode;
  uint32_t priority;
} kdl_ze_queue_desc;

typedef struct kdl_ze_event_pool_desc {
  uint32_t type;
  const void *next;
  uint32_t flags;
  uint32_t count;
} kdl_ze_event_pool_desc;

typedef struct kdl_ze_event_desc {
  uint32_t type;
  const void *next;
  uint32_t index;
  uint32_t signal;
  uint32_t wait;
} kdl_ze_event_desc;

typedef struct kdl_ze_device_mem_desc {
  uint32_t type;
  const void *next;
  uint32_t flags;
  uint32_t ordinal;
} kdl_ze_device_mem_desc;

typedef struct kdl_ze_host_mem_desc {
  uint32_t type;
  const void *next;
  uint32_t flags;
} kdl_ze_host_mem_desc;

typedef struct kdl_ze_relaxed_limits {
  uint32_t type;
  const void *next;
  uint32_t flags;
} kdl_ze_relaxed_limits;

typedef struct kdl_ze_module_desc {
  uint32_t type;
  const void *next;
  uint32_t format;
  size_t size;
  const uint8_t *input;
  const char *build_flags;
  const void *constants;
} kdl_ze_module_desc;

typedef struct kdl_ze_kernel_desc {
  uint32_t type;
  const void *next;
  uint32_t flags;
  const char *name;
} kdl_ze_kernel_desc;

typedef struct kdl_ze_kernel_properties {
  uint32_t type;
  void *next;
  uint32_t argument_count;
  uint32_t group_size[3]; /* required by the kernel; 0: any */
  uint32_t subgroup_count;
  uint32_t subgroup_size;
  uint32_t max_subgroup_size;
  uint32_t max_subgroup_count;
  uint32_t local_memory;
  uint32_t private_memory;
  uint32_t spill_memory;
  uint8_t uuid[32];
} kdl_ze_kernel_properties;

/* ------------------------------------------------------------------------------------------ */
/* Recorded lists                                                                               */

#define KDL_ZE_LISTS_IN_LISTS "ZE_experimental_immediate_command_list_append"
#define KDL_ZE_MUTABLE_LISTS "ZE_experimental_mutable_command_list"

typedef struct kdl_ze_extension {
  char name[256];
  uint32_t version;
} kdl_ze_extension;

typedef struct kdl_ze_list_desc {
  uint32_t type;
  const void *next;
  uint32_t ordinal;
  uint32_t flags;
} kdl_ze_list_desc;

/* ze_mutable_command_exp_flag_t */
enum { KDL_ZE_MUTABLE_ARGUMENTS = 1, KDL_ZE_MUTABLE_GROUPS = 2 };

/* Chained to a kdl_ze_device_properties. */
typedef struct kdl_ze_mutable_properties {
  uint32_t type;
  void *next;
  uint32_t list_flags;
  uint32_t command_flags;
} kdl_ze_mutable_properties;

/* Chained to a kdl_ze_list_desc; requests a command's number; and heads the chain of an update. */
typedef struct kdl_ze_mutable_desc {
  uint32_t type;
  const void *next;
  uint32_t flags;
} kdl_ze_mutable_desc;

typedef struct kdl_ze_mutable_argument {
  uint32_t type;
  const void *next;
  uint64_t command;
  uint32_t index;
  size_t size;
  const void *value;
} kdl_ze_mutable_argument;

typedef struct kdl_ze_mutable_groups {
  uint32_t type;
  const void *next;
  uint64_t command;
  const uint32_t *groups; /* three of them */
} kdl_ze_mutable_groups;

#endif
