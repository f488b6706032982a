/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What Level Zero takes and returns, as in ze_api.h, which is not needed to build. Handles are void
 * pointers; a ze_group_count_t, three words, is a const uint32_t pointer. */
#ifndef KDL_BACKENDS_LEVEL_ZERO_ABI_H
#define KDL_BACKENDS_LEVEL_ZERO_ABI_H

#include "device/level_zero_abi.h"

#include <stddef.h>
#include <stdint.h>

/* ze_result_t */
enum {
  KDL_ZE_NOT_READY = 1,
  KDL_ZE_OUT_OF_HOST_MEMORY = 0x70000002,
  KDL_ZE_OUT_OF_DEVICE_MEMORY = 0x70000003,
  KDL_ZE_UNSUPPORTED_SIZE = 0x78000009,
  KDL_ZE_INVALID_GLOBAL_NAME = 0x78000010,
  KDL_ZE_INVALID_KERNEL_NAME = 0x78000011,
};

/* ze_api_version_t: what came with which version, where a driver may be older than the loader */
#define KDL_ZE_VERSION(major, minor) ((uint32_t)((major) << 16 | (minor)))
#define KDL_ZE_HAS_TICKS_PER_SECOND KDL_ZE_VERSION(1, 2)
#define KDL_ZE_HAS_HOST_SYNC KDL_ZE_VERSION(1, 6)
#define KDL_ZE_HAS_IN_ORDER KDL_ZE_VERSION(1, 7)
#define KDL_ZE_HAS_LIST_QUESTIONS KDL_ZE_VERSION(1, 9)
#define KDL_ZE_HAS_LIST_FLAGS KDL_ZE_VERSION(1, 17)

/* ze_structure_type_t */
enum {
  KDL_ZE_CONTEXT_DESC = 0xd,
  KDL_ZE_COMMAND_QUEUE_DESC = 0xe,
  KDL_ZE_EVENT_POOL_DESC = 0x10,
  KDL_ZE_EVENT_DESC = 0x11,
  KDL_ZE_DEVICE_MEM_ALLOC_DESC = 0x15,
  KDL_ZE_HOST_MEM_ALLOC_DESC = 0x16,
  KDL_ZE_MODULE_DESC = 0x1b,
  KDL_ZE_KERNEL_DESC = 0x1d,
  KDL_ZE_KERNEL_PROPERTIES = 0x1e,
  KDL_ZE_RELAXED_LIMITS_DESC = 0x20001,
  KDL_ZE_DEVICE_PROPERTIES_1_2 = 0x20006, /* the same struct, its timer in ticks per second */
};

enum { KDL_ZE_FORMAT_SPIRV = 0, KDL_ZE_FORMAT_NATIVE = 1 }; /* ze_module_format_t */
enum { KDL_ZE_QUEUE_IN_ORDER = 2 };                         /* ze_command_queue_flag_t */
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
  uint32_t group_size[3]; /* that the kernel requires; 0: any */
  uint32_t subgroup_count;
  uint32_t subgroup_size;
  uint32_t max_subgroup_size;
  uint32_t max_subgroup_count;
  uint32_t local_memory;
  uint32_t private_memory;
  uint32_t spill_memory;
  uint8_t uuid[32];
} kdl_ze_kernel_properties;

#endif
