/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libcuda.so.1: the driver, its devices and its errors. */
#include "fake_cuda_state.h"
#include "lib/hooks.h"

#include <stdio.h>

/* The first version of the interface, which counts in 32 bits: what dlsym finds under the bare
 * name. It must not be called. */
FAKE_EXPORT int cuDeviceTotalMem(unsigned *bytes, int device);

int cuInit(unsigned flags) {
  int error = flags ? KDL_CUDA_ERROR_INVALID_VALUE : fake_init(KDL_BACKEND_CUDA, "cuInit");
  return error ? error : fake_fault("cuInit");
}

/* 13.0 is 13000. */
int cuDriverGetVersion(int *version) {
  fake_call("cuDriverGetVersion");
  const kdl_device_spec *first = fake_device(0);
  uint32_t driver = first ? kdl_device_spec_driver(first) : 0;
  *version = (int)((driver >> 16) * 1000 + (driver & 0xffff) * 10);
  return KDL_CUDA_SUCCESS;
}

int cuDeviceGetCount(int *count) {
  fake_call("cuDeviceGetCount");
  *count = (int)fake_device_count();
  return fake_setting_number("count");
}

int cuDeviceGet(int *device, int ordinal) {
  int fault = fake_enter("cuDeviceGet");
  if (fault)
    return fault;
  *device = ordinal + 100; /* a handle is not an ordinal */
  return fake_device((size_t)ordinal) ? KDL_CUDA_SUCCESS : invalid_device;
}

static const kdl_device_spec *spec_of(int device) {
  return device < 100 ? NULL : fake_device((size_t)device - 100);
}

int cuDeviceGetName(char *name, int size, int device) {
  fake_call("cuDeviceGetName");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec)
    return invalid_device;
  snprintf(name, (size_t)size, "%s", spec->name);
  return KDL_CUDA_SUCCESS;
}

#ifndef FAKE_INCOMPLETE
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  fake_call("cuDeviceTotalMem_v2");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec)
    return invalid_device;
  *bytes = spec->memory;
  return KDL_CUDA_SUCCESS;
}
#endif

int cuDeviceTotalMem(unsigned *bytes, int device) {
  fake_call("cuDeviceTotalMem");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec)
    return invalid_device;
  *bytes = (unsigned)spec->memory;
  return KDL_CUDA_SUCCESS;
}

static int copy_uuid(void *uuid, int device) {
  const kdl_device_spec *spec = spec_of(device);
  if (!spec)
    return invalid_device;
  memcpy(uuid, spec->uuid.bytes, sizeof spec->uuid.bytes);
  return KDL_CUDA_SUCCESS;
}

#ifndef FAKE_OLD
int cuDeviceGetUuid_v2(void *uuid, int device) {
  fake_call("cuDeviceGetUuid_v2");
  return copy_uuid(uuid, device);
}
#endif

int cuDeviceGetUuid(void *uuid, int device) {
  fake_call("cuDeviceGetUuid");
  return copy_uuid(uuid, device);
}

/* "sm_120" has the compute capability 12.0. */
static int capability(const kdl_device_spec *spec) {
  int number = 0;
  sscanf(spec->arch, "sm_%d", &number);
  return number;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  int fault = fake_enter("cuDeviceGetAttribute");
  if (fault)
    return fault;
  const kdl_device_spec *spec = spec_of(device);
  if (!spec)
    return invalid_device;
  const struct {
    int attribute;
    uint64_t value;
  } known[] = {
      {KDL_CUDA_MAX_THREADS_PER_BLOCK, spec->max_block},
      {KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK, spec->shared},
      {KDL_CUDA_WARP_SIZE, spec->subgroups},
      {KDL_CUDA_MULTIPROCESSOR_COUNT, spec->units},
      {KDL_CUDA_INTEGRATED, spec->device_class == KDL_DEVICE_INTEGRATED},
      {KDL_CUDA_PCI_BUS_ID, spec->pci.bus},
      {KDL_CUDA_PCI_DEVICE_ID, spec->pci.device},
      {KDL_CUDA_L2_CACHE_SIZE, spec->l2},
      {KDL_CUDA_PCI_DOMAIN_ID, spec->pci.domain},
      {KDL_CUDA_COMPUTE_CAPABILITY_MAJOR, (uint64_t)capability(spec) / 10},
      {KDL_CUDA_COMPUTE_CAPABILITY_MINOR, (uint64_t)capability(spec) % 10},
      {KDL_CUDA_COOPERATIVE_LAUNCH, spec->cooperative},
      {KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, spec->shared_optin},
      {KDL_CUDA_CLUSTER_LAUNCH, spec->cluster != 0},
      /* What liboffload asks: how large blocks and grids may be, threads per multiprocessor. */
      {2, 1024},
      {3, 1024},
      {4, 64},
      {5, INT32_MAX},
      {6, 65535},
      {7, 65535},
      {39, 2048},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (known[i].attribute == attribute) {
      *value = (int)known[i].value;
      return KDL_CUDA_SUCCESS;
    }
  }
  return 1;
}

static const struct {
  int error;
  const char *name;
  const char *words;
} errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {KDL_CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int error_text(int error, bool words, const char **text) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i) {
    if (errors[i].error == error) {
      *text = words ? errors[i].words : errors[i].name;
      return KDL_CUDA_SUCCESS;
    }
  }
  *text = NULL;
  return 1;
}

int cuGetErrorName(int error, const char **text) {
  return error_text(error, false, text);
}

int cuGetErrorString(int error, const char **text) {
  return error_text(error, true, text);
}

/* ------------------------------------------------------------------------------------------ */
/* Entry points by name and version                                                             */

#if !defined FAKE_OLD && !defined FAKE_INCOMPLETE
typedef void any_function(void);

static const struct {
  const char *name;
  int version;
  any_function *function;
} entry_points[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters)                                    \
  {#name, version, (any_function *)name},
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
};

/* Knows a function by its bare name and by no version older than its own. */
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *outcome) {
  enum { found, not_found, too_old, legacy_stream = 1 };
  int unwanted;
  outcome = outcome ? outcome : &unwanted;
  *function = NULL;
  *outcome = not_found;
  for (size_t i = 0; i < sizeof entry_points / sizeof *entry_points; ++i) {
    size_t length = strlen(name);
    const char *rest = entry_points[i].name + length;
    if (strncmp(entry_points[i].name, name, length) != 0 || (*rest && strcmp(rest, "_v2") != 0))
      continue;
    *outcome = version < entry_points[i].version ? too_old : found;
    if (*outcome == found)
      memcpy(function, &entry_points[i].function, sizeof *function);
    return *outcome == found && flags == legacy_stream ? KDL_CUDA_SUCCESS
                                                       : KDL_CUDA_ERROR_NOT_FOUND;
  }
  return KDL_CUDA_ERROR_NOT_FOUND;
}
#endif
