/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Setting arguments and the size of groups, where they differ from those that were set last.
 *
 * The driver looks up what memory an address lies in when the argument is set, and keeps that. So
 * an address counts as unchanged only where libkdl gave it and none was freed since: the same
 * address may be other memory by now. Memory that the caller brought is set every time.
 */
#include "backends/level_zero/objects.h"

#include <string.h>

static kdl_status refused(kdl_ze_instance *instance, size_t index, int error) {
  instance->complete = false;
  instance->generation = 0;
  return kdl_ze_fail(instance->kernel->device, error,
                     "zeKernelSetArgumentValue of argument %zu of \"%s\"", index,
                     instance->kernel->name);
}

static kdl_status set_memory(kdl_ze_instance *instance, size_t index, const void *pointer,
                             bool is_fresh, bool *out_ours) {
  const kdl_ze_kernel *kernel = instance->kernel;
  const kdl_argument *argument = &kernel->arguments[index];
  uint64_t address = kdl_word_at(pointer, 0);
  if (is_fresh && address == instance->values[argument->slot])
    return KDL_OK;
  int error = kdl_ze.kernel_argument(instance->handle, argument->index, sizeof address, &address);
  if (error != KDL_ZE_SUCCESS)
    return refused(instance, index, error);
  instance->values[argument->slot] = address;
  if (address && !kdl_ranges_hold(&kernel->device->ranges, address))
    *out_ours = false;
  return KDL_OK;
}

static kdl_status set_value(kdl_ze_instance *instance, size_t index, const kdl_args *args) {
  const kdl_ze_kernel *kernel = instance->kernel;
  const kdl_argument *argument = &kernel->arguments[index];
  size_t size = argument->size;
  bool is_remembered = size != 0;
  if (!is_remembered && !args->sizes)
    return kdl_ze_host->fail(KDL_BAD_CALL, 0,
                             "level_zero:%u: argument %zu of \"%s\": its size is not known; give "
                             "the sizes, or a signature",
                             kernel->device->ordinal, index, kernel->name);
  if (!is_remembered)
    size = args->sizes[index];
  uint64_t *last = &instance->values[argument->slot];
  if (is_remembered && instance->complete && memcmp(last, args->pointers[index], size) == 0)
    return KDL_OK;
  int error =
      kdl_ze.kernel_argument(instance->handle, argument->index, size, args->pointers[index]);
  if (error != KDL_ZE_SUCCESS)
    return refused(instance, index, error);
  if (is_remembered)
    memcpy(last, args->pointers[index], size);
  return KDL_OK;
}

static kdl_status set_group_memory(kdl_ze_instance *instance, uint32_t size) {
  const kdl_ze_kernel *kernel = instance->kernel;
  if (kernel->group_index == KDL_NO_GROUP_MEMORY)
    return size == 0 ? KDL_OK
                     : kdl_ze_host->fail(KDL_UNSUPPORTED, 0,
                                         "level_zero:%u: found %u bytes of dynamic group memory, "
                                         "and \"%s\" has no parameter for it",
                                         kernel->device->ordinal, size, kernel->name);
  if (instance->complete && size == instance->group_memory)
    return KDL_OK;
  int error = kdl_ze.kernel_argument(instance->handle, kernel->group_index, size ? size : 1, NULL);
  if (error != KDL_ZE_SUCCESS)
    return refused(instance, kernel->group_index, error);
  instance->group_memory = size;
  return KDL_OK;
}

static kdl_status set_group(kdl_ze_instance *instance, const kdl_launch_desc *desc) {
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

kdl_status kdl_ze_arguments_set(kdl_ze_instance *instance, const kdl_launch_desc *desc,
                                const kdl_args *args) {
  const kdl_ze_kernel *kernel = instance->kernel;
  /* Read before the arguments are, so that memory freed meanwhile is set again the next time. */
  uint64_t generation = atomic_load_explicit(&kernel->device->generation, memory_order_relaxed);
  bool is_fresh = instance->complete && instance->generation == generation;
  bool all_ours = true;
  if (args->count != kernel->argument_count)
    return kdl_ze_host->fail(KDL_BAD_CALL, 0, "%s: found %zu arguments, expected %u", kernel->name,
                             args->count, kernel->argument_count);
  kdl_status status = set_group(instance, desc);
  if (status == KDL_OK)
    status = set_group_memory(instance, desc->shared);
  for (size_t i = 0; i < args->count && status == KDL_OK; ++i)
    status = kernel->arguments[i].kind == KDL_ARGUMENT_MEMORY
                 ? set_memory(instance, i, args->pointers[i], is_fresh, &all_ours)
                 : set_value(instance, i, args);
  if (status != KDL_OK)
    return status;
  instance->complete = true;
  instance->generation = all_ours ? generation : 0;
  memcpy(instance->shape, desc->block, sizeof instance->shape);
  return KDL_OK;
}
