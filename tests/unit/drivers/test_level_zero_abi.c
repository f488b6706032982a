/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers, structs and functions that the Level Zero backend uses, against its own header. */
#if KDL_HAVE_LEVEL_ZERO_ZE_API_H
#include <level_zero/ze_api.h>
#define HAVE_ZE_API_H 1
#endif

#include "header_support.h"
#include "lib/backends/level_zero/abi.h"

#include <kdl/kdl.h>

#ifdef HAVE_ZE_API_H

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(KDL_ZE_NOT_READY, ZE_RESULT_NOT_READY);
SAME(KDL_ZE_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
SAME(KDL_ZE_OUT_OF_DEVICE_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
SAME(KDL_ZE_UNSUPPORTED_SIZE, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
SAME(KDL_ZE_INVALID_GLOBAL_NAME, ZE_RESULT_ERROR_INVALID_GLOBAL_NAME);
SAME(KDL_ZE_INVALID_KERNEL_NAME, ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
SAME(KDL_ZE_VERSION(1, 2), ZE_MAKE_VERSION(1, 2));
SAME(KDL_ZE_CONTEXT_DESC, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
SAME(KDL_ZE_COMMAND_QUEUE_DESC, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
SAME(KDL_ZE_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(KDL_ZE_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(KDL_ZE_DEVICE_MEM_ALLOC_DESC, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
SAME(KDL_ZE_HOST_MEM_ALLOC_DESC, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
SAME(KDL_ZE_MODULE_DESC, ZE_STRUCTURE_TYPE_MODULE_DESC);
SAME(KDL_ZE_KERNEL_DESC, ZE_STRUCTURE_TYPE_KERNEL_DESC);
SAME(KDL_ZE_KERNEL_PROPERTIES, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
SAME(KDL_ZE_RELAXED_LIMITS_DESC, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
SAME(KDL_ZE_DEVICE_PROPERTIES_1_2, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
SAME(KDL_ZE_FORMAT_SPIRV, ZE_MODULE_FORMAT_IL_SPIRV);
SAME(KDL_ZE_FORMAT_NATIVE, ZE_MODULE_FORMAT_NATIVE);
SAME(KDL_ZE_MODE_ASYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
SAME(KDL_ZE_PRIORITY_LOW, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
SAME(KDL_ZE_PRIORITY_HIGH, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
SAME(KDL_ZE_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(KDL_ZE_SCOPE_DEVICE, ZE_EVENT_SCOPE_FLAG_DEVICE);
SAME(KDL_ZE_SCOPE_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
SAME(KDL_ZE_ACCESS_ANY, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                            ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                            ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED);
SAME(KDL_ZE_RELAXED_MAX_SIZE, ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE);
/* Later than the header that Debian 12 has. */
#if ZE_API_VERSION_CURRENT_M >= 0x10007
SAME(KDL_ZE_QUEUE_IN_ORDER, ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
#endif

#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define SAME_PLACE(ours, our_field, theirs, their_field)                                           \
  SAME(offsetof(ours, our_field), offsetof(theirs, their_field))

SAME_SIZE(kdl_ze_context_desc, ze_context_desc_t);
SAME_PLACE(kdl_ze_context_desc, flags, ze_context_desc_t, flags);
SAME_SIZE(kdl_ze_queue_desc, ze_command_queue_desc_t);
SAME_PLACE(kdl_ze_queue_desc, ordinal, ze_command_queue_desc_t, ordinal);
SAME_PLACE(kdl_ze_queue_desc, flags, ze_command_queue_desc_t, flags);
SAME_PLACE(kdl_ze_queue_desc, mode, ze_command_queue_desc_t, mode);
SAME_PLACE(kdl_ze_queue_desc, priority, ze_command_queue_desc_t, priority);
SAME_SIZE(kdl_ze_event_pool_desc, ze_event_pool_desc_t);
SAME_PLACE(kdl_ze_event_pool_desc, count, ze_event_pool_desc_t, count);
SAME_SIZE(kdl_ze_event_desc, ze_event_desc_t);
SAME_PLACE(kdl_ze_event_desc, index, ze_event_desc_t, index);
SAME_PLACE(kdl_ze_event_desc, signal, ze_event_desc_t, signal);
SAME_PLACE(kdl_ze_event_desc, wait, ze_event_desc_t, wait);
SAME_SIZE(kdl_ze_device_mem_desc, ze_device_mem_alloc_desc_t);
SAME_PLACE(kdl_ze_device_mem_desc, next, ze_device_mem_alloc_desc_t, pNext);
SAME_SIZE(kdl_ze_host_mem_desc, ze_host_mem_alloc_desc_t);
SAME_SIZE(kdl_ze_relaxed_limits, ze_relaxed_allocation_limits_exp_desc_t);
SAME_PLACE(kdl_ze_relaxed_limits, flags, ze_relaxed_allocation_limits_exp_desc_t, flags);
SAME_SIZE(kdl_ze_module_desc, ze_module_desc_t);
SAME_PLACE(kdl_ze_module_desc, format, ze_module_desc_t, format);
SAME_PLACE(kdl_ze_module_desc, size, ze_module_desc_t, inputSize);
SAME_PLACE(kdl_ze_module_desc, input, ze_module_desc_t, pInputModule);
SAME_PLACE(kdl_ze_module_desc, build_flags, ze_module_desc_t, pBuildFlags);
SAME_SIZE(kdl_ze_kernel_desc, ze_kernel_desc_t);
SAME_PLACE(kdl_ze_kernel_desc, name, ze_kernel_desc_t, pKernelName);
SAME_SIZE(kdl_ze_kernel_properties, ze_kernel_properties_t);
SAME_PLACE(kdl_ze_kernel_properties, argument_count, ze_kernel_properties_t, numKernelArgs);
SAME_PLACE(kdl_ze_kernel_properties, group_size, ze_kernel_properties_t, requiredGroupSizeX);
SAME_PLACE(kdl_ze_kernel_properties, uuid, ze_kernel_properties_t, uuid);
SAME_SIZE(((kdl_launch_desc *)0)->grid, ze_group_count_t);
SAME(2 * sizeof(uint32_t), offsetof(ze_group_count_t, groupCountZ));

SAME(KDL_ZE_COMMAND_LIST_DESC, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
SAME_SIZE(kdl_ze_list_desc, ze_command_list_desc_t);
SAME_PLACE(kdl_ze_list_desc, ordinal, ze_command_list_desc_t, commandQueueGroupOrdinal);
SAME_PLACE(kdl_ze_list_desc, flags, ze_command_list_desc_t, flags);
SAME_SIZE(kdl_ze_extension, ze_driver_extension_properties_t);
SAME_PLACE(kdl_ze_extension, version, ze_driver_extension_properties_t, version);

/* Later than the header that Debian 12 has. */
#ifdef ZE_MUTABLE_COMMAND_LIST_EXP_NAME
SAME(KDL_ZE_LIST_IN_ORDER, ZE_COMMAND_LIST_FLAG_IN_ORDER);
SAME(KDL_ZE_MUTABLE_LIST_PROPERTIES, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_PROPERTIES);
SAME(KDL_ZE_MUTABLE_LIST_DESC, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC);
SAME(KDL_ZE_MUTABLE_ID_DESC, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC);
SAME(KDL_ZE_MUTABLE_COMMANDS_DESC, ZE_STRUCTURE_TYPE_MUTABLE_COMMANDS_EXP_DESC);
SAME(KDL_ZE_MUTABLE_ARGUMENT_DESC, ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC);
SAME(KDL_ZE_MUTABLE_GROUPS_DESC, ZE_STRUCTURE_TYPE_MUTABLE_GROUP_COUNT_EXP_DESC);
SAME(KDL_ZE_MUTABLE_ARGUMENTS, ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS);
SAME(KDL_ZE_MUTABLE_GROUPS, ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT);
SAME(sizeof KDL_ZE_MUTABLE_LISTS, sizeof ZE_MUTABLE_COMMAND_LIST_EXP_NAME);
SAME(sizeof KDL_ZE_LISTS_IN_LISTS, sizeof ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_NAME);
SAME_SIZE(kdl_ze_mutable_properties, ze_mutable_command_list_exp_properties_t);
SAME_PLACE(kdl_ze_mutable_properties, command_flags, ze_mutable_command_list_exp_properties_t,
           mutableCommandFlags);
SAME_SIZE(kdl_ze_mutable_desc, ze_mutable_command_list_exp_desc_t);
SAME_SIZE(kdl_ze_mutable_desc, ze_mutable_command_id_exp_desc_t);
SAME_SIZE(kdl_ze_mutable_desc, ze_mutable_commands_exp_desc_t);
SAME_PLACE(kdl_ze_mutable_desc, flags, ze_mutable_command_id_exp_desc_t, flags);
SAME_SIZE(kdl_ze_mutable_argument, ze_mutable_kernel_argument_exp_desc_t);
SAME_PLACE(kdl_ze_mutable_argument, command, ze_mutable_kernel_argument_exp_desc_t, commandId);
SAME_PLACE(kdl_ze_mutable_argument, index, ze_mutable_kernel_argument_exp_desc_t, argIndex);
SAME_PLACE(kdl_ze_mutable_argument, size, ze_mutable_kernel_argument_exp_desc_t, argSize);
SAME_PLACE(kdl_ze_mutable_argument, value, ze_mutable_kernel_argument_exp_desc_t, pArgValue);
SAME_SIZE(kdl_ze_mutable_groups, ze_mutable_group_count_exp_desc_t);
SAME_PLACE(kdl_ze_mutable_groups, command, ze_mutable_group_count_exp_desc_t, commandId);
SAME_PLACE(kdl_ze_mutable_groups, groups, ze_mutable_group_count_exp_desc_t, pGroupCount);
#endif

/* The table that names errors. */
static const struct {
  const char *name;
  int number;
} results[] = {
#define KDL_ZE_RESULT(name, number) {"ZE_RESULT_" #name, number},
#include "lib/backends/level_zero/results.def"
#undef KDL_ZE_RESULT
};

/* "NAME = 0x78000001," in the header; what is newer than it is not there. */
static int compare_results(const char *path) {
  char *header = read_header(path);
  int wrong = header == NULL;
  for (size_t i = 0; header && i < sizeof results / sizeof *results; ++i) {
    char wanted[96];
    snprintf(wanted, sizeof wanted, " %s = ", results[i].name);
    const char *found = strstr(header, wanted);
    if (found && strtol(found + strlen(wanted), NULL, 0) != results[i].number) {
      printf("%s: found 0x%x, expected otherwise\n", results[i].name, (unsigned)results[i].number);
      ++wrong;
    }
  }
  free(header);
  return wrong != 0;
}

static const header_function rows[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, #parameters, KDL_HEADER_##need},
#include "lib/backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

int main(void) {
  const char *path = "/usr/include/level_zero/ze_api.h";
  return compare_results(path) | compare_functions(path, rows, sizeof rows / sizeof *rows);
}

#else

int main(void) {
  puts("skipped: level_zero/ze_api.h not found (Debian: libze-dev)");
  return 77;
}

#endif
