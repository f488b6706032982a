/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tables by which Intel's loader knows a driver, so that the fake is one behind the real loader
 * and its validation layers. What the fake has not stays NULL, which the loader takes for not
 * supported. */
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#define TABLE(name, type, ...)                                                                     \
  __attribute__((visibility("default"))) ze_result_t zeGet##name##ProcAddrTable(                   \
      ze_api_version_t version, type *table) {                                                     \
    (void)version;                                                                                 \
    if (!table)                                                                                    \
      return ZE_RESULT_ERROR_INVALID_NULL_POINTER;                                                 \
    *table = (type){__VA_ARGS__};                                                                  \
    return ZE_RESULT_SUCCESS;                                                                      \
  }

/* An immediate list of the fake's is empty as soon as its commands are appended. */
static ze_result_t reset_list(ze_command_list_handle_t list) {
  ze_result_t error = list ? zeCommandListReset(list) : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return error == ZE_RESULT_ERROR_INVALID_ARGUMENT ? ZE_RESULT_SUCCESS : error;
}

/* What headers have that are later than Debian 12's. */
#ifdef ZE_MUTABLE_COMMAND_LIST_EXP_NAME
#define LATER_OF_DRIVERS , .pfnGetExtensionProperties = zeDriverGetExtensionProperties
#define LATER_OF_LISTS                                                                             \
  , .pfnHostSynchronize = zeCommandListHostSynchronize,                                            \
      .pfnGetDeviceHandle = zeCommandListGetDeviceHandle,                                          \
      .pfnGetContextHandle = zeCommandListGetContextHandle,                                        \
      .pfnIsImmediate = zeCommandListIsImmediate
TABLE(CommandListExp, ze_command_list_exp_dditable_t,
      .pfnImmediateAppendCommandListsExp = zeCommandListImmediateAppendCommandListsExp,
      .pfnGetNextCommandIdExp = zeCommandListGetNextCommandIdExp,
      .pfnUpdateMutableCommandsExp = zeCommandListUpdateMutableCommandsExp)
#else
#define LATER_OF_DRIVERS
#define LATER_OF_LISTS
#endif

TABLE(Global, ze_global_dditable_t, .pfnInit = zeInit)
TABLE(Driver, ze_driver_dditable_t, .pfnGet = zeDriverGet,
      .pfnGetApiVersion = zeDriverGetApiVersion,
      .pfnGetProperties = zeDriverGetProperties LATER_OF_DRIVERS)
TABLE(Device, ze_device_dditable_t, .pfnGet = zeDeviceGet,
      .pfnGetProperties = zeDeviceGetProperties,
      .pfnGetComputeProperties = zeDeviceGetComputeProperties,
      .pfnGetModuleProperties = zeDeviceGetModuleProperties,
      .pfnGetCommandQueueGroupProperties = zeDeviceGetCommandQueueGroupProperties,
      .pfnGetMemoryProperties = zeDeviceGetMemoryProperties,
      .pfnCanAccessPeer = zeDeviceCanAccessPeer,
      .pfnPciGetPropertiesExt = zeDevicePciGetPropertiesExt)
TABLE(Context, ze_context_dditable_t, .pfnCreate = zeContextCreate, .pfnDestroy = zeContextDestroy,
      .pfnGetStatus = zeContextGetStatus)
TABLE(CommandList, ze_command_list_dditable_t, .pfnCreateImmediate = zeCommandListCreateImmediate,
      .pfnCreate = zeCommandListCreate, .pfnClose = zeCommandListClose,
      .pfnDestroy = zeCommandListDestroy, .pfnReset = reset_list,
      .pfnAppendBarrier = zeCommandListAppendBarrier,
      .pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy,
      .pfnAppendMemoryFill = zeCommandListAppendMemoryFill,
      .pfnAppendWaitOnEvents = zeCommandListAppendWaitOnEvents,
      .pfnAppendWriteGlobalTimestamp = zeCommandListAppendWriteGlobalTimestamp,
      .pfnAppendLaunchKernel = zeCommandListAppendLaunchKernel,
      .pfnAppendLaunchCooperativeKernel = zeCommandListAppendLaunchCooperativeKernel LATER_OF_LISTS)
TABLE(EventPool, ze_event_pool_dditable_t, .pfnCreate = zeEventPoolCreate,
      .pfnDestroy = zeEventPoolDestroy)
TABLE(Event, ze_event_dditable_t, .pfnCreate = zeEventCreate, .pfnDestroy = zeEventDestroy,
      .pfnHostSynchronize = zeEventHostSynchronize, .pfnQueryStatus = zeEventQueryStatus,
      .pfnHostReset = zeEventHostReset)
TABLE(Module, ze_module_dditable_t, .pfnCreate = zeModuleCreate, .pfnDestroy = zeModuleDestroy,
      .pfnGetGlobalPointer = zeModuleGetGlobalPointer)
TABLE(ModuleBuildLog, ze_module_build_log_dditable_t, .pfnDestroy = zeModuleBuildLogDestroy,
      .pfnGetString = zeModuleBuildLogGetString)
TABLE(Kernel, ze_kernel_dditable_t, .pfnCreate = zeKernelCreate, .pfnDestroy = zeKernelDestroy,
      .pfnSetGroupSize = zeKernelSetGroupSize, .pfnSuggestGroupSize = zeKernelSuggestGroupSize,
      .pfnSetArgumentValue = zeKernelSetArgumentValue,
      .pfnSetIndirectAccess = zeKernelSetIndirectAccess, .pfnGetProperties = zeKernelGetProperties)
TABLE(Mem, ze_mem_dditable_t, .pfnAllocHost = zeMemAllocHost, .pfnAllocDevice = zeMemAllocDevice,
      .pfnFree = zeMemFree)
