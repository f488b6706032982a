/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The constants and types of OpenCL that are used, from cl.h and cl_ext.h. */
#ifndef KDL_LIB_BACKENDS_OPENCL_ABI_H
#define KDL_LIB_BACKENDS_OPENCL_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { KDL_CL_SUCCESS = 0, KDL_CL_DEVICE_NOT_FOUND = -1, KDL_CL_PLATFORM_NOT_FOUND = -1001 };

/* Every error of the core and of the extensions used here, with its name. */
enum {
#define KDL_CL_ERROR(name, number) KDL_CL_##name = (number),
#include "lib/backends/opencl/errors.def"
#undef KDL_CL_ERROR
};

enum { KDL_CL_FALSE = 0, KDL_CL_TRUE = 1 };

enum { KDL_CL_CONTEXT_DEVICES = 0x1081, KDL_CL_CONTEXT_PLATFORM = 0x1084 };

/* cl_device_type */
enum { KDL_CL_TYPE_CPU = 1 << 1, KDL_CL_TYPE_GPU = 1 << 2, KDL_CL_TYPE_ACCELERATOR = 1 << 3 };

enum { KDL_CL_PLATFORM_NAME = 0x0902 };

/* cl_device_info */
enum {
  KDL_CL_DEVICE_TYPE = 0x1000,
  KDL_CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  KDL_CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  KDL_CL_DEVICE_ADDRESS_BITS = 0x100d,
  KDL_CL_DEVICE_IMAGE_SUPPORT = 0x1016,
  KDL_CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
  KDL_CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  KDL_CL_DEVICE_AVAILABLE = 0x1027,
  KDL_CL_DEVICE_NAME = 0x102b,
  KDL_CL_DRIVER_VERSION = 0x102d,
  KDL_CL_DEVICE_PROFILE = 0x102e,
  KDL_CL_DEVICE_VERSION = 0x102f,
  KDL_CL_DEVICE_EXTENSIONS = 0x1030,
  KDL_CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
  KDL_CL_DEVICE_SVM_CAPABILITIES = 0x1053,
  KDL_CL_DEVICE_IL_VERSION = 0x105b,
  KDL_CL_DEVICE_MAX_NUM_SUB_GROUPS = 0x105c,
  KDL_CL_DEVICE_EXTENSIONS_WITH_VERSION = 0x1060,
  KDL_CL_DEVICE_GENERIC_ADDRESS_SPACE = 0x1069,
  KDL_CL_DEVICE_UUID = 0x106a,                          /* cl_khr_device_uuid: 16 bytes */
  KDL_CL_DEVICE_COMMAND_BUFFER_CAPABILITIES = 0x12a9,   /* cl_khr_command_buffer */
  KDL_CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES = 0x12b0, /* ..._mutable_dispatch */
  KDL_CL_DEVICE_CAPABILITY_MAJOR_NV = 0x4000,           /* cl_nv_device_attribute_query: all _NV */
  KDL_CL_DEVICE_CAPABILITY_MINOR_NV = 0x4001,
  KDL_CL_DEVICE_WARP_SIZE_NV = 0x4003,
  KDL_CL_DEVICE_INTEGRATED_NV = 0x4006,
  KDL_CL_DEVICE_PCI_BUS_NV = 0x4008,
  KDL_CL_DEVICE_PCI_SLOT_NV = 0x4009, /* device << 3 | function */
  KDL_CL_DEVICE_PCI_DOMAIN_NV = 0x400a,
  KDL_CL_DEVICE_TOPOLOGY_AMD = 0x4037, /* cl_amd_device_attribute_query: all _AMD */
  KDL_CL_DEVICE_BOARD_NAME_AMD = 0x4038,
  KDL_CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043,
  KDL_CL_DEVICE_SUB_GROUP_SIZES_INTEL = 0x4108, /* cl_intel_required_subgroup_size */
  KDL_CL_DEVICE_PCI_BUS_INFO = 0x410f,          /* cl_khr_pci_bus_info */
  KDL_CL_DEVICE_USM_CAPABILITIES = 0x4191,      /* CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL */
};
enum { KDL_CL_SVM_COARSE_GRAIN_BUFFER = 1, KDL_CL_USM_ACCESS = 1 };

/* cl_khr_command_buffer and cl_khr_command_buffer_mutable_dispatch */
enum { KDL_CL_COMMAND_BUFFER_FLAGS = 0x1293, KDL_CL_MUTABLE_UPDATABLE_FIELDS = 0x12b1 };
enum { KDL_CL_COMMAND_BUFFER_REPEATED = 1 << 2 }; /* ..._CAPABILITY_SIMULTANEOUS_USE */
enum { KDL_CL_COMMAND_BUFFER_SIMULTANEOUS_USE = 1, KDL_CL_COMMAND_BUFFER_MUTABLE = 2 };
enum {
  KDL_CL_MUTABLE_GLOBAL_SIZE = 1 << 1,
  KDL_CL_MUTABLE_LOCAL_SIZE = 1 << 2,
  KDL_CL_MUTABLE_ARGUMENTS = 1 << 3,
};
enum { KDL_CL_MUTABLE_CONFIG = 0 }; /* CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR */

/* cl_mutable_dispatch_arg_khr */
typedef struct kdl_cl_mutable_arg {
  uint32_t index;
  size_t size;
  const void *value;
} kdl_cl_mutable_arg;

/* cl_mutable_dispatch_config_khr, from 0.9.2 on */
typedef struct kdl_cl_mutable_config {
  void *command;
  uint32_t arg_count, svm_count, info_count, dimensions;
  const kdl_cl_mutable_arg *args, *svm_args;
  const void *infos;
  const size_t *offset, *global, *local;
} kdl_cl_mutable_config;

/* cl_name_version */
typedef struct kdl_cl_name_version {
  uint32_t version;
  char name[64];
} kdl_cl_name_version;

#define KDL_CL_VERSION(major, minor, patch) ((uint32_t)(major) << 22 | (minor) << 12 | (patch))

/* cl_command_queue_info, which are also the names of a new queue's properties */
enum {
  KDL_CL_QUEUE_CONTEXT = 0x1090,
  KDL_CL_QUEUE_DEVICE = 0x1091,
  KDL_CL_QUEUE_PROPERTIES = 0x1093,
  KDL_CL_QUEUE_PRIORITY = 0x1096, /* cl_khr_priority_hints */
};
enum { KDL_CL_QUEUE_OUT_OF_ORDER = 1, KDL_CL_QUEUE_PROFILING = 2 };
enum { KDL_CL_PRIORITY_HIGH = 1, KDL_CL_PRIORITY_LOW = 4 };

enum { KDL_CL_PROGRAM_BUILD_LOG = 0x1183 };

enum { KDL_CL_KERNEL_NUM_ARGS = 0x1191 };

/* cl_kernel_work_group_info */
enum {
  KDL_CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
  KDL_CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11b1,
  KDL_CL_KERNEL_PREFERRED_MULTIPLE = 0x11b3,
};

/* cl_kernel_arg_info */
enum {
  KDL_CL_ARG_ADDRESS_QUALIFIER = 0x1196,
  KDL_CL_ARG_ACCESS_QUALIFIER = 0x1197,
  KDL_CL_ARG_TYPE_NAME = 0x1198,
};
enum {
  KDL_CL_ADDRESS_GLOBAL = 0x119b,
  KDL_CL_ADDRESS_LOCAL = 0x119c,
  KDL_CL_ADDRESS_CONSTANT = 0x119d,
  KDL_CL_ADDRESS_PRIVATE = 0x119e,
  KDL_CL_ACCESS_NONE = 0x11a3, /* not an image */
};

enum { KDL_CL_MEM_READ_WRITE = 1 };

/* cl_event_info; below KDL_CL_COMPLETE is the error that ended it */
enum { KDL_CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3 };
enum { KDL_CL_COMPLETE = 0, KDL_CL_RUNNING = 1 };

enum { KDL_CL_PROFILING_COMMAND_END = 0x1283 };

/* cl_device_pci_bus_info_khr */
typedef struct kdl_cl_pci_bus_info {
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t function;
} kdl_cl_pci_bus_info;

/* cl_device_topology_amd; type 1 is PCI Express. It has no domain. */
typedef struct kdl_cl_topology_amd {
  uint32_t type;
  uint8_t unused[17];
  uint8_t bus;
  uint8_t device;
  uint8_t function;
} kdl_cl_topology_amd;

_Static_assert(sizeof(kdl_cl_topology_amd) == 24, "cl_device_topology_amd");

/* Receives a context's messages, on any thread. */
typedef void kdl_cl_notify(const char *words, const void *data, size_t size, void *user);

#endif
