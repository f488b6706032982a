/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices, and making one current. HIP has one context per device, which the whole process
 * shares. */
#include "lib/backends/common/open_devices.h"
#include "lib/backends/hip/objects.h"

#include <stdarg.h>

/* ------------------------------------------------------------------------------------------ */
/* The current device                                                                           */

kdl_status kdl_hip_enter(const kdl_hip_device *device, kdl_hip_scope *out_scope) {
  *out_scope = (kdl_hip_scope){.ordinal = device->ordinal, .previous = -1, .capture_mode = -1};
  int current = -1;
  int error = kdl_hip.device_current(&current);
  if (error != KDL_HIP_SUCCESS)
    return out_scope->status = kdl_hip_fail(device->ordinal, error, "hipGetDevice");
  if (current == (int)device->ordinal)
    return KDL_OK;
  error = kdl_hip.device_set((int)device->ordinal);
  if (error != KDL_HIP_SUCCESS)
    return out_scope->status = kdl_hip_fail(device->ordinal, error, "hipSetDevice");
  out_scope->previous = current;
  return KDL_OK;
}

kdl_status kdl_hip_enter_relaxed(const kdl_hip_device *device, kdl_hip_scope *out_scope) {
  kdl_status status = kdl_hip_enter(device, out_scope);
  if (status != KDL_OK || !kdl_hip.capture_mode)
    return status;
  int mode = KDL_HIP_CAPTURE_MODE_RELAXED;
  int error = kdl_hip.capture_mode(&mode);
  if (error == KDL_HIP_SUCCESS)
    out_scope->capture_mode = mode;
  else
    kdl_hip_log_error(device->ordinal, error, "hipThreadExchangeStreamCaptureMode");
  return KDL_OK;
}

static void hip_restore_device(const kdl_hip_scope *scope) {
  if (scope->capture_mode >= 0) {
    int mode = scope->capture_mode;
    kdl_hip_log_error(scope->ordinal, kdl_hip.capture_mode(&mode),
                      "hipThreadExchangeStreamCaptureMode");
  }
  if (scope->previous >= 0) {
    kdl_hip_log_error(scope->ordinal, kdl_hip.device_set(scope->previous), "hipSetDevice");
  }
}

kdl_status kdl_hip_leave(const kdl_hip_scope *scope, int error, const char *format, ...) {
  hip_restore_device(scope);
  if (error == KDL_HIP_SUCCESS)
    return KDL_OK;
  va_list args;
  va_start(args, format);
  kdl_status status =
      kdl_driver_errors_fail_va(&kdl_hip_errors, scope->ordinal, error, format, args);
  va_end(args);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

/* Making it current checks that it exists. Support for cooperative launches is queried here: the
 * runtime reports such a launch on a device without support as a crashed kernel. */
static kdl_status hip_check_device(kdl_hip_device *device) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  int is_cooperative = 0;
  int error = kdl_hip.attribute(&is_cooperative, KDL_HIP_COOPERATIVE_LAUNCH, (int)device->ordinal);
  device->is_cooperative = is_cooperative != 0;
  return kdl_hip_leave(&scope, error, "hipDeviceGetAttribute");
}

static kdl_status hip_open_device(void *handle, const kdl_backend_device *desc) {
  kdl_hip_device *device = handle;
  device->ordinal = desc->ordinal;
  return hip_check_device(device);
}

static kdl_open_devices hip_open_devices = {&kdl_hip_errors,           kdl_hip_load,
                                            sizeof(kdl_hip_device),    hip_open_device,
                                            PTHREAD_MUTEX_INITIALIZER, NULL};

kdl_status kdl_hip_device_open(const kdl_backend_device *desc, void **out_device) {
  if (desc->native_context)
    return kdl_core_services.fail(
        KDL_BAD_CALL, 0,
        "hip:%u: found a context to be adopted, expected none: HIP has one a "
        "device, which the whole process shares",
        desc->ordinal);
  kdl_backend_device wanted = *desc;
  wanted.identity = NULL; /* as with CUDA */
  return kdl_open_devices_get(&hip_open_devices, &wanted, out_device);
}

void *kdl_hip_device_native(void *handle, kdl_native which) {
  kdl_hip_device *device = handle;
  return kdl_select_native(which, (void *)(uintptr_t)device->ordinal, NULL);
}

/* The device's context is shared by the process, and stays. */
void kdl_hip_device_close(void *device, void *queue) {
  kdl_hip_queue_destroy(device, queue);
}

kdl_status kdl_hip_clock_rate(void *handle, uint64_t *out_khz) {
  const kdl_hip_device *device = handle;
  int khz = 0;
  int error = kdl_hip.attribute(&khz, KDL_HIP_CLOCK_RATE, (int)device->ordinal);
  if (error != KDL_HIP_SUCCESS)
    return kdl_hip_fail(device->ordinal, error, "hipDeviceGetAttribute: ClockRate");
  *out_khz = khz > 0 ? (uint64_t)khz : 0;
  return KDL_OK;
}
