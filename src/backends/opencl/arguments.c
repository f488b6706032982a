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

static kdl_status refused(kdl_opencl_instance *instance, size_t index, int32_t error,
                          const char *call) {
  const kdl_opencl_kernel *kernel = instance->of;
  instance->complete = false;
  instance->generation = instance->repeatable = 0;
  return kdl_opencl_fail(kernel->device->ordinal, error, "%s of argument %zu of \"%s\"", call,
                         index, kernel->name);
}

/* Whether the driver has that value already. */
static bool stands(const kdl_opencl_instance *instance, const kdl_argument *param,
                   const uint64_t *last, const void *pointer, bool is_fresh) {
  if (!instance->complete || (param->kind == KDL_ARGUMENT_MEMORY && !is_fresh))
    return false;
  switch (param->size) {
  case 0:
    return false;
  case 4:
    return memcmp(last, pointer, 4) == 0;
  case 8:
    return memcmp(last, pointer, 8) == 0;
  default:
    return memcmp(last, pointer, param->size) == 0;
  }
}

static kdl_status set_memory(kdl_opencl_instance *instance, size_t index, uint64_t *last,
                             const void *pointer, bool *out_ours) {
  kdl_opencl_device *device = instance->device;
  uint64_t word = kdl_word_at(pointer, 0);
  int32_t error =
      device->memory->set(device, instance->kernel, instance->of->params[index].index, word);
  if (error != KDL_CL_SUCCESS)
    return refused(instance, index, error, device->memory->set_call);
  *last = word;
  *out_ours &= !word || kdl_ranges_hold(&device->ranges, word);
  return KDL_OK;
}

static kdl_status set_value(kdl_opencl_instance *instance, size_t index, uint64_t *last,
                            const kdl_args *args) {
  const kdl_opencl_kernel *kernel = instance->of;
  const kdl_argument *param = &kernel->params[index];
  if (!param->size && !args->sizes)
    return kdl_opencl_host->fail(KDL_BAD_CALL, 0,
                                 "opencl:%u: argument %zu of \"%s\": its size is not known; give "
                                 "the sizes, or a signature",
                                 kernel->device->ordinal, index, kernel->name);
  size_t size = param->size ? param->size : args->sizes[index];
  int32_t error = kdl_opencl.set_arg(instance->kernel, param->index, size, args->pointers[index]);
  if (error != KDL_CL_SUCCESS)
    return refused(instance, index, error, "clSetKernelArg");
  memcpy(last, args->pointers[index], param->size);
  return KDL_OK;
}

/* One argument, where it differs. */
static kdl_status set_argument(kdl_opencl_instance *instance, size_t index, const kdl_args *args,
                               bool is_fresh, bool *out_ours) {
  const kdl_argument *param = &instance->of->params[index];
  uint64_t *last = kdl_opencl_value(instance, param->slot);
  if (stands(instance, param, last, args->pointers[index], is_fresh))
    return KDL_OK;
  return param->kind == KDL_ARGUMENT_MEMORY
             ? set_memory(instance, index, last, args->pointers[index], out_ours)
             : set_value(instance, index, last, args);
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
    return refused(instance, kernel->group_index, error, "clSetKernelArg");
  instance->group_memory = size;
  return KDL_OK;
}

kdl_status kdl_opencl_arguments_set(kdl_opencl_instance *instance, const kdl_launch_desc *desc,
                                    const kdl_args *args) {
  kdl_opencl_kernel *kernel = instance->of;
  /* Read before the arguments are, so that memory freed meanwhile is set again the next time. */
  uint64_t generation = atomic_load_explicit(&kernel->device->generation, memory_order_relaxed);
  bool is_fresh = instance->complete && instance->generation == generation;
  bool all_ours = true;
  if (args->count != kernel->param_count)
    return kdl_opencl_host->fail(KDL_BAD_CALL, 0, "%s: found %zu arguments, expected %u",
                                 kernel->name, args->count, kernel->param_count);
  kdl_status status = set_group_memory(kernel, instance, desc->shared);
  for (size_t i = 0; i < args->count && status == KDL_OK; ++i)
    status = set_argument(instance, i, args, is_fresh, &all_ours);
  if (status != KDL_OK)
    return status;
  instance->complete = true;
  instance->generation = all_ours ? generation : 0;
  instance->repeatable = kernel->slots.has_others ? 0 : instance->generation;
  return KDL_OK;
}
