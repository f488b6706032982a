/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory that host and device share, for drivers with a separate allocation function for it:
 * unified shared memory of Level Zero and OpenCL. OpenCL has it as an extension, whose functions
 * the platform looks up by name.
 */
#include "driver_calls.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Level Zero                                                                                   */

/* The first member identifies the structure; the others are flags and a memory number. */
typedef struct {
  uint32_t type;
  const void *next;
  uint32_t flags, ordinal;
} ze_device_mem_desc;
typedef struct {
  uint32_t type;
  const void *next;
  uint32_t flags;
} ze_host_mem_desc;
enum { ze_device_mem_alloc_desc = 0x15, ze_host_mem_alloc_desc = 0x16 };

typedef int ze_alloc_shared_call(void *context, const void *device_desc, const void *host_desc,
                                 size_t size, size_t alignment, void *device, void **address);
typedef int ze_free_call(void *context, void *address);

enum { alignment = 64 };

static int ze_alloc_shared(const kdl_mlir_native *native, uint64_t size, uint64_t *out_address) {
  const ze_device_mem_desc device_desc = {.type = ze_device_mem_alloc_desc};
  const ze_host_mem_desc host_desc = {.type = ze_host_mem_alloc_desc};
  ze_alloc_shared_call *call;
  void *address = NULL;
  memcpy(&call, &native->alloc_shared, sizeof call);
  int code = call(native->context, &device_desc, &host_desc, (size_t)size, alignment,
                  native->device, &address);
  *out_address = (uintptr_t)address;
  return code;
}

static int ze_free_shared(const kdl_mlir_native *native, uint64_t address) {
  ze_free_call *call;
  memcpy(&call, &native->free_shared, sizeof call);
  return call(native->context, (void *)(uintptr_t)address);
}

/* ------------------------------------------------------------------------------------------ */
/* OpenCL (cl_intel_unified_shared_memory)                                                      */

enum {
  cl_device_platform = 0x1031,
  cl_device_svm_capabilities = 0x1053,
  cl_device_shared_system_mem_capabilities = 0x4194,
  cl_svm_fine_grain_system = 4,
  cl_usm_access = 1,
};

typedef int32_t cl_device_info_call(void *device, uint32_t what, size_t size, void *value,
                                    size_t *size_ret);
typedef void *cl_extension_call(void *platform, const char *name);
typedef void *cl_alloc_shared_call(void *context, void *device, const uint64_t *properties,
                                   size_t size, uint32_t alignment, int32_t *error);
typedef int32_t cl_free_call(void *context, void *address);

static bool cl_query(const kdl_mlir_native *native, uint32_t what, void *value, size_t size) {
  cl_device_info_call *ask;
  memcpy(&ask, &native->get_device_info, sizeof ask);
  return ask && ask(native->device, what, size, value, NULL) == 0;
}

static void cl_prepare(kdl_mlir_native *native) {
  void *platform = NULL;
  cl_extension_call *extension;
  memcpy(&extension, &native->extension, sizeof extension);
  if (!extension || !cl_query(native, cl_device_platform, &platform, sizeof platform))
    return;
  native->alloc_shared = extension(platform, "clSharedMemAllocINTEL");
  native->free_shared = extension(platform, "clMemFreeINTEL");
}

/* The driver of a CPU can access all memory of the program. */
static bool cl_reaches_host(const kdl_mlir_native *native) {
  uint64_t usm = 0, svm = 0;
  cl_query(native, cl_device_shared_system_mem_capabilities, &usm, sizeof usm);
  cl_query(native, cl_device_svm_capabilities, &svm, sizeof svm);
  return usm & cl_usm_access || svm & cl_svm_fine_grain_system;
}

static int cl_alloc_shared(const kdl_mlir_native *native, uint64_t size, uint64_t *out_address) {
  cl_alloc_shared_call *call;
  int32_t error = 0;
  memcpy(&call, &native->alloc_shared, sizeof call);
  *out_address =
      (uintptr_t)call(native->context, native->device, NULL, (size_t)size, alignment, &error);
  return error;
}

static int cl_free_shared(const kdl_mlir_native *native, uint64_t address) {
  cl_free_call *call;
  memcpy(&call, &native->free_shared, sizeof call);
  return call(native->context, (void *)(uintptr_t)address);
}

const kdl_mlir_native_memory kdl_mlir_ze_memory = {
    .alloc_shared = ze_alloc_shared,
    .free_shared = ze_free_shared,
};
const kdl_mlir_native_memory kdl_mlir_opencl_memory = {
    .prepare = cl_prepare,
    .reaches_host = cl_reaches_host,
    .alloc_shared = cl_alloc_shared,
    .free_shared = cl_free_shared,
};
