/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/level_zero/objects.h"

#include <stdlib.h>
#include <string.h>

kdl_status kdl_ze_instance_create(const kdl_ze_kernel *kernel, kdl_ze_instance **out_instance) {
  size_t count = kdl_argument_cache_value_count(&kernel->list);
  kdl_ze_instance *made = calloc(1, sizeof *made + count * sizeof *made->values);
  if (!made)
    return kdl_ze_no_memory(kernel->device);
  kdl_status status = kdl_ze_kernel_create(kernel, &made->handle);
  if (status != KDL_OK) {
    free(made);
    return status;
  }
  made->kernel = kernel;
  kdl_argument_cache_init(&made->given, &kernel->list, made->values);
  *out_instance = made;
  return KDL_OK;
}

void kdl_ze_instance_free(kdl_ze_instance *instance) {
  kdl_ze_log_error(instance->kernel->device, kdl_ze.kernel_destroy(instance->handle),
                   "zeKernelDestroy");
  free(instance);
}

kdl_status kdl_ze_instance_set_group(kdl_ze_instance *instance, const kdl_launch_desc *desc) {
  const kdl_ze_kernel *kernel = instance->kernel;
  const uint32_t *block = desc->block[0] ? desc->block : kernel->block;
  if (memcmp(block, instance->group, sizeof instance->group) == 0)
    return KDL_OK;
  int error = kdl_ze.kernel_group(instance->handle, block[0], block[1], block[2]);
  if (error != KDL_ZE_SUCCESS) {
    memset(instance->group, 0, sizeof instance->group);
    return kdl_ze_fail(kernel->device, error, "zeKernelSetGroupSize of \"%s\" to %ux%ux%u",
                       kernel->name, block[0], block[1], block[2]);
  }
  memcpy(instance->group, block, sizeof instance->group);
  return KDL_OK;
}
