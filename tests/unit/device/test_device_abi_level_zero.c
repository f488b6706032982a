/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers and layouts that discovery uses, against Level Zero's own header. */
#if KDL_HAVE_LEVEL_ZERO_ZE_API_H
#include <level_zero/ze_api.h>
#define HAVE_ZE_API_H 1
#endif

#include "lib/backends/level_zero/abi.h"

#include <stdio.h>

#ifdef HAVE_ZE_API_H

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(KDL_ZE_DRIVER_PROPERTIES, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
SAME(KDL_ZE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(KDL_ZE_COMPUTE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
SAME(KDL_ZE_MODULE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
SAME(KDL_ZE_QUEUE_GROUP_PROPERTIES, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
SAME(KDL_ZE_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
SAME(KDL_ZE_PCI_PROPERTIES, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
SAME(KDL_ZE_SUCCESS, ZE_RESULT_SUCCESS);
SAME(KDL_ZE_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(KDL_ZE_INIT_GPU, ZE_INIT_FLAG_GPU_ONLY);
SAME(KDL_ZE_TYPE_GPU, ZE_DEVICE_TYPE_GPU);
SAME(KDL_ZE_FLAG_INTEGRATED, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED);
SAME(KDL_ZE_GROUP_COMPUTE, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
SAME(KDL_ZE_GROUP_COOPERATIVE, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS);
SAME(KDL_ZE_MODULE_FP16, ZE_DEVICE_MODULE_FLAG_FP16);
SAME(KDL_ZE_MODULE_FP64, ZE_DEVICE_MODULE_FLAG_FP64);
SAME(KDL_ZE_MODULE_INT64_ATOMICS, ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS);
SAME(KDL_ZE_MODULE_DP4A, ZE_DEVICE_MODULE_FLAG_DP4A);

#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define SAME_PLACE(ours, our_field, theirs, their_field)                                           \
  SAME(offsetof(ours, our_field), offsetof(theirs, their_field))

SAME_SIZE(kdl_ze_driver_properties, ze_driver_properties_t);
SAME_PLACE(kdl_ze_driver_properties, version, ze_driver_properties_t, driverVersion);
SAME_SIZE(kdl_ze_device_properties, ze_device_properties_t);
SAME_PLACE(kdl_ze_device_properties, next, ze_device_properties_t, pNext);
SAME_PLACE(kdl_ze_device_properties, device_type, ze_device_properties_t, type);
SAME_PLACE(kdl_ze_device_properties, flags, ze_device_properties_t, flags);
SAME_PLACE(kdl_ze_device_properties, subslices_per_slice, ze_device_properties_t,
           numSubslicesPerSlice);
SAME_PLACE(kdl_ze_device_properties, slices, ze_device_properties_t, numSlices);
SAME_PLACE(kdl_ze_device_properties, timer_resolution, ze_device_properties_t, timerResolution);
SAME_PLACE(kdl_ze_device_properties, timestamp_valid_bits, ze_device_properties_t,
           timestampValidBits);
SAME_PLACE(kdl_ze_device_properties, max_allocation, ze_device_properties_t, maxMemAllocSize);
SAME_PLACE(kdl_ze_device_properties, uuid, ze_device_properties_t, uuid);
SAME_PLACE(kdl_ze_device_properties, name, ze_device_properties_t, name);
SAME_SIZE(kdl_ze_module_properties, ze_device_module_properties_t);
SAME_PLACE(kdl_ze_module_properties, spirv_version, ze_device_module_properties_t,
           spirvVersionSupported);
SAME_PLACE(kdl_ze_module_properties, flags, ze_device_module_properties_t, flags);
SAME_SIZE(kdl_ze_compute_properties, ze_device_compute_properties_t);
SAME_PLACE(kdl_ze_compute_properties, max_total_group_size, ze_device_compute_properties_t,
           maxTotalGroupSize);
SAME_PLACE(kdl_ze_compute_properties, max_shared_local_memory, ze_device_compute_properties_t,
           maxSharedLocalMemory);
SAME_PLACE(kdl_ze_compute_properties, subgroup_size_count, ze_device_compute_properties_t,
           numSubGroupSizes);
SAME_PLACE(kdl_ze_compute_properties, subgroup_sizes, ze_device_compute_properties_t,
           subGroupSizes);
SAME_SIZE(kdl_ze_queue_group, ze_command_queue_group_properties_t);
SAME_PLACE(kdl_ze_queue_group, flags, ze_command_queue_group_properties_t, flags);
SAME_SIZE(kdl_ze_memory_properties, ze_device_memory_properties_t);
SAME_PLACE(kdl_ze_memory_properties, total_size, ze_device_memory_properties_t, totalSize);
SAME_SIZE(kdl_ze_pci_properties, ze_pci_ext_properties_t);
SAME_PLACE(kdl_ze_pci_properties, domain, ze_pci_ext_properties_t, address.domain);
SAME_PLACE(kdl_ze_pci_properties, function, ze_pci_ext_properties_t, address.function);

/* Later than the header that Debian 12 has. */
#ifdef ZE_DEVICE_IP_VERSION_EXT_NAME
SAME(KDL_ZE_IP_VERSION, ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT);
SAME_SIZE(kdl_ze_ip_version, ze_device_ip_version_ext_t);
SAME_PLACE(kdl_ze_ip_version, ip_version, ze_device_ip_version_ext_t, ipVersion);
#endif
#if ZE_API_VERSION_CURRENT_M >= 0x1000a
SAME(KDL_ZE_INIT_DRIVER_TYPE, ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC);
SAME(KDL_ZE_INIT_GPU, ZE_INIT_DRIVER_TYPE_FLAG_GPU);
SAME_SIZE(kdl_ze_init_driver_type, ze_init_driver_type_desc_t);
SAME_PLACE(kdl_ze_init_driver_type, flags, ze_init_driver_type_desc_t, flags);
#endif

int main(void) {
  puts("compared with level_zero/ze_api.h");
  return 0;
}

#else

int main(void) {
  puts("skipped: level_zero/ze_api.h not found (Debian: libze-dev)");
  return 77;
}

#endif
