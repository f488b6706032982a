/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices, and making their context current. */
#include "lib/backends/common/open_devices.h"
#include "lib/backends/cuda/objects.h"

#include <stdarg.h>

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

kdl_status kdl_cuda_enter(const kdl_cuda_device *device, void *context, kdl_cuda_scope *out_scope) {
  *out_scope = (kdl_cuda_scope){.ordinal = device->ordinal, .capture_mode = -1};
  void *current = NULL;
  if (kdl_cuda.context_current(&current) == KDL_CUDA_SUCCESS && current == context)
    return KDL_OK;
  int error = kdl_cuda.context_push(context);
  if (error != KDL_CUDA_SUCCESS)
    return out_scope->status = kdl_cuda_fail(device->ordinal, error, "cuCtxPushCurrent_v2");
  out_scope->pushed = current || !device->keeps_context;
  return KDL_OK;
}

kdl_status kdl_cuda_enter_own(const kdl_cuda_device *device, kdl_cuda_scope *out_scope) {
  return kdl_cuda_enter(device, device->context, out_scope);
}

kdl_status kdl_cuda_enter_relaxed(const kdl_cuda_device *device, kdl_cuda_scope *out_scope) {
  kdl_status status = kdl_cuda_enter(device, device->context, out_scope);
  int mode = KDL_CUDA_CAPTURE_MODE_RELAXED;
  if (status == KDL_OK && kdl_cuda.capture_mode && kdl_cuda.capture_mode(&mode) == KDL_CUDA_SUCCESS)
    out_scope->capture_mode = mode;
  return status;
}

static void cuda_restore_context(const kdl_cuda_scope *scope) {
  if (scope->capture_mode >= 0) {
    int mode = scope->capture_mode;
    kdl_cuda_log_error(scope->ordinal, kdl_cuda.capture_mode(&mode),
                       "cuThreadExchangeStreamCaptureMode");
  }
  if (scope->pushed) {
    void *context;
    kdl_cuda_log_error(scope->ordinal, kdl_cuda.context_pop(&context), "cuCtxPopCurrent_v2");
  }
}

kdl_status kdl_cuda_leave(const kdl_cuda_scope *scope, int error, const char *format, ...) {
  cuda_restore_context(scope);
  if (error == KDL_CUDA_SUCCESS)
    return KDL_OK;
  va_list args;
  va_start(args, format);
  kdl_status status =
      kdl_driver_errors_fail_va(&kdl_cuda_errors, scope->ordinal, error, format, args);
  va_end(args);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

kdl_status kdl_cuda_check_context(const kdl_cuda_device *device, void *context, const char *what) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, context, &scope) != KDL_OK)
    return scope.status;
  int number = -1;
  kdl_status status = kdl_cuda_leave(&scope, kdl_cuda.context_device(&number), "cuCtxGetDevice");
  if (status != KDL_OK || number == device->number)
    return status;
  return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                "cuda:%u: the %s to be adopted is one of another device",
                                device->ordinal, what);
}

/* The primary context is retained until the process ends: other users of it may outlive
 * libkdl's. */
static kdl_status cuda_open_context(kdl_cuda_device *device) {
  int error = kdl_cuda.device_get(&device->number, (int)device->ordinal);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "cuDeviceGet");
  if (device->adopted) {
    device->context = device->adopted;
    return kdl_cuda_check_context(device, device->adopted, "context");
  }
  error = kdl_cuda.context_retain(&device->context, device->number);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "cuDevicePrimaryCtxRetain");
  device->keeps_context = kdl_cuda_is_single_device();
  return KDL_OK;
}

static kdl_status cuda_open_device(void *handle, const kdl_backend_device *desc) {
  kdl_cuda_device *device = handle;
  device->ordinal = desc->ordinal;
  device->adopted = desc->native_context;
  return cuda_open_context(device);
}

static kdl_open_devices cuda_open_devices = {&kdl_cuda_errors,          kdl_cuda_load,
                                             sizeof(kdl_cuda_device),   cuda_open_device,
                                             PTHREAD_MUTEX_INITIALIZER, NULL};

/* CUDA's device numbers do not change while the process runs, so the number identifies the
 * device. */
kdl_status kdl_cuda_device_open(const kdl_backend_device *desc, void **out_device) {
  kdl_backend_device wanted = *desc;
  wanted.identity = NULL;
  return kdl_open_devices_get(&cuda_open_devices, &wanted, out_device);
}

void *kdl_cuda_device_native(void *handle, kdl_native which) {
  kdl_cuda_device *device = handle;
  return kdl_select_native(which, (void *)(intptr_t)device->number, device->context);
}

/* The primary context is not released: that would destroy it for users that do not retain it, and
 * the driver destroys it anyway. */
void kdl_cuda_device_close(void *device, void *queue) {
  kdl_cuda_queue_destroy(device, queue);
}

kdl_status kdl_cuda_clock_rate(void *handle, uint64_t *out_khz) {
  const kdl_cuda_device *device = handle;
  int khz = 0;
  int error = kdl_cuda.device_attribute(&khz, KDL_CUDA_CLOCK_RATE, device->number);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "cuDeviceGetAttribute: CLOCK_RATE");
  *out_khz = khz > 0 ? (uint64_t)khz : 0;
  return KDL_OK;
}
