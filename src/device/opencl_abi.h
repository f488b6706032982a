/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers of OpenCL that discovery uses, from cl.h and cl_ext.h. */
#ifndef KDL_DEVICE_OPENCL_ABI_H
#define KDL_DEVICE_OPENCL_ABI_H

#include <stdint.h>

enum { KDL_CL_SUCCESS = 0, KDL_CL_DEVICE_NOT_FOUND = -1, KDL_CL_PLATFORM_NOT_FOUND = -1001 };

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
  KDL_CL_DEVICE_IL_VERSION = 0x105b,
  KDL_CL_DEVICE_MAX_NUM_SUB_GROUPS = 0x105c,
  KDL_CL_DEVICE_GENERIC_ADDRESS_SPACE = 0x1069,
  KDL_CL_DEVICE_UUID = 0x106a,                  /* cl_khr_device_uuid: 16 bytes */
  KDL_CL_DEVICE_CAPABILITY_MAJOR_NV = 0x4000,   /* cl_nv_device_attribute_query */
  KDL_CL_DEVICE_CAPABILITY_MINOR_NV = 0x4001,   /* likewise */
  KDL_CL_DEVICE_WARP_SIZE_NV = 0x4003,          /* cl_nv_device_attribute_query */
  KDL_CL_DEVICE_INTEGRATED_NV = 0x4006,         /* likewise */
  KDL_CL_DEVICE_PCI_BUS_NV = 0x4008,            /* likewise */
  KDL_CL_DEVICE_PCI_SLOT_NV = 0x4009,           /* likewise: device << 3 | function */
  KDL_CL_DEVICE_PCI_DOMAIN_NV = 0x400a,         /* likewise */
  KDL_CL_DEVICE_TOPOLOGY_AMD = 0x4037,          /* cl_amd_device_attribute_query */
  KDL_CL_DEVICE_BOARD_NAME_AMD = 0x4038,        /* likewise */
  KDL_CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043,   /* likewise */
  KDL_CL_DEVICE_SUB_GROUP_SIZES_INTEL = 0x4108, /* cl_intel_required_subgroup_size */
  KDL_CL_DEVICE_PCI_BUS_INFO = 0x410f,          /* cl_khr_pci_bus_info */
};

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

#endif
