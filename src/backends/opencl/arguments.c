/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Setting arguments, where they differ from those that were set last.
 *
 * A driver may look up what memory an address or a handle stands for when the argument is set, and
 * keep that. So an address counts as unchanged only where libkdl gave it and none was freed since:
 * the same address may be other memory by now. Memory that the caller brought is set every time.
 */
#include "backends/opencl/objects.h"

#include <string.h>

static kdl_status refused(const kdl_opencl_kernel *kernel, kdl_opencl_instance *instance,
                          size_t index, int32_t error, const char *call) {
  instance->complete = false;
  instance->generation = 0;
  return kdl_opencl_fail(kernel->device->ordinal, error, "%s of argument %zu of \"%s\"", call,
                         index, kernel->name);
}

static kdl_status set_memory(kdl_opencl_kernel *kernel, kdl_opencl_instance *instance, size_t index,
                             const void *pointer, bool is_fresh, bool *out_ours) {
  const kdl_argument *param = &kernel->params[index];
  kdl_opencl_device *device = kernel->device;
  uint64_t word;
  memcpy(&word, pointer, sizeof word);
  if (is_fresh && word == instance->values[param->slot])
    return KDL_OK;
  int32_t error = device->memory->set(device, instance->kernel, param->index, word);
  if (error != KDL_CL_SUCCESS)
    return refused(kernel, instance, index, error, device->memory->set_call);
  instance->values[param->slot] = word;
  if (word && !kdl_ranges_hold(&device->ranges, word))
    *out_ours = false;
  return KDL_OK;
}

static kdl_status set_value(kdl_opencl_kernel *kernel, kdl_opencl_instance *instance, size_t index,
                            const kdl_args *args) {
  const kdl_argument *param = &kernel->params[index];
  size_t size = param->size;
  bool is_remembered = size != 0;
  if (!is_remembered && !args->sizes)
    return kdl_opencl_host->fail(KDL_BAD_CALL, 0,
                                 "opencl:%u: argument %zu of \"%s\": its size is not known; give "
                                 "the sizes, or a signature",
                                 kernel->device->ordinal, index, kernel->name);
  if (!is_remembered)
    size = args->sizes[index];
  uint64_t *last = &instance->values[param->slot];
  if (is_remembered && instance->complete && memcmp(last, args->pointers[index], size) == 0)
    return KDL_OK;
  int32_t error = kdl_opencl.set_arg(instance->kernel, param->index, size, args->pointers[index]);
  if (error != KDL_CL_SUCCESS)
    return refused(kernel, instance, index, error, "clSetKernelArg");
  if (is_remembered)
    memcpy(last, args->pointers[index], size);
  return KDL_OK;
}

static kdl_status set_group_memory(kdl_opencl_kernel *kernel, kdl_opencl_instance *instance,
                                   uint32_t size) {
  if (kernel->group_index == KDL_NO_GROUP_MEMORY)
    return size == 0 ? KDL_OK
                     : kdl_opencl_host->fail(KDL_UNSUPPORTED, 0,
                                             "opencl:%u: found %u bytes of dynamic group memory, "
                                             "and \"%s\" has no parameter for it",
                                             kernel->device->ordinal, size, kernel->name);
  if (instance->complete && size == instance->group_memory)
    return KDL_OK;
  int32_t error = kdl_opencl.set_arg(instance->kernel, kernel->group_index, size ? size : 1, NULL);
  if (error != KDL_CL_SUCCESS)
    return refused(kernel, instance, kernel->group_index, error, "clSetKernelArg");
  instance->group_memory = size;
  return KDL_OK;
}

kdl_status kdl_opencl_arguments_set(kdl_opencl_kernel *kernel, kdl_opencl_instance *instance,
                                    const kdl_launch_desc *desc, const kdl_args *args) {
  /* Read before the arguments are, so that memory freed meanwhile is set again the next time. */
  uint64_t generation = atomic_load_explicit(&kernel->device->generation, memory_order_relaxed);
  bool is_fresh = instance->complete && instance->generation == generation;
  bool all_ours = true;
  if (args->count != kernel->param_count)
    return kdl_opencl_host->fail(KDL_BAD_CALL, 0, "%s: found %zu arguments, expected %u",
                                 kernel->name, args->count, kernel->param_count);
  kdl_status status = set_group_memory(kernel, instance, desc->shared);
  for (size_t i = 0; i < args->count && status == KDL_OK; ++i)
    status = kernel->params[i].kind == KDL_ARGUMENT_MEMORY
                 ? set_memory(kernel, instance, i, args->pointers[i], is_fresh, &all_ours)
                 : set_value(kernel, instance, i, args);
  if (status != KDL_OK)
    return status;
  instance->complete = true;
  instance->generation = all_ours ? generation : 0;
  return KDL_OK;
}
