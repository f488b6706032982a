/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The few types and numbers of CUPTI's callback interface that are used, so that its headers are
 * not needed to build. The numbers have been the same since CUDA 12.0; CUPTI does not renumber. */
#ifndef KDL_EXT_INJECT_CUPTI_ABI_H
#define KDL_EXT_INJECT_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { CUPTI_OK = 0, CUPTI_OTHER_SUBSCRIBER = 39 };

enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RESOURCE = 3 };

/* Events of the resource domain. */
enum { CUPTI_CONTEXT_CREATED = 1, CUPTI_MODULE_LOADED = 6, CUPTI_MODULE_UNLOADS = 7 };

/* Functions of the driver. */
enum {
  CUPTI_cuModuleLoad = 18,
  CUPTI_cuModuleLoadData = 19,
  CUPTI_cuModuleLoadDataEx = 20,
  CUPTI_cuModuleLoadFatBinary = 21,
  CUPTI_cuModuleGetFunction = 23,
  CUPTI_cuLaunchKernel = 307,
  CUPTI_cuDevicePrimaryCtxRetain = 386,
  CUPTI_cuLaunchKernel_ptsz = 442,
  CUPTI_cuLaunchCooperativeKernel = 477,
  CUPTI_cuLaunchCooperativeKernel_ptsz = 478,
  CUPTI_cuGraphAddKernelNode = 502,
  CUPTI_cuGraphLaunch = 514,
  CUPTI_cuGraphLaunch_ptsz = 515,
  CUPTI_cuLaunchKernelEx = 652,
  CUPTI_cuLaunchKernelEx_ptsz = 653,
  CUPTI_cuLibraryLoadData = 678,
  CUPTI_cuLibraryLoadFromFile = 679,
  CUPTI_cuLibraryUnload = 680,
  CUPTI_cuLibraryGetKernel = 681,
  CUPTI_cuLibraryGetModule = 682,
  CUPTI_cuKernelGetFunction = 683,
  CUPTI_cuLibraryGetGlobal = 684,
  CUPTI_cuLibraryGetManaged = 685,
  CUPTI_cuGraphAddKernelNode_v2 = 689,
};

/* A call of the driver, once when it begins and once when it ends. */
typedef struct cupti_call {
  int is_end;
  const char *function;
  const void *arguments; /* a struct of them, in the order of the function's declaration */
  const void *result;    /* at the end: a CUresult */
  const char *kernel;    /* of launches: its name */
  void *context;
  uint32_t context_number;
  uint64_t *user;
  uint32_t number;
} cupti_call;

typedef struct cupti_resource {
  void *context;
  void *stream;
  const void *about; /* of modules: cupti_module */
} cupti_resource;

typedef struct cupti_module {
  uint32_t number;
  size_t size;
  const uint8_t *cubin;
} cupti_module;

typedef void cupti_callback(void *user, int domain, uint32_t id, const void *data);
typedef int cupti_subscribe(void **out_subscriber, cupti_callback *callback, void *user);
typedef int cupti_enable(uint32_t enable, void *subscriber, int domain, uint32_t id);
typedef int cupti_get_device(void *context, uint32_t *out_device);

#endif
