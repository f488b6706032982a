/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices that are current, errors and captures of the fake libamdhip64. */
#include "fake_hip_state.h"

#include <stdio.h>
#include <stdlib.h>

void fake_hip_abort(const char *function, const char *words) {
  fprintf(stderr, "%s: %s\n", function, words);
  abort();
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

static _Thread_local int current_device;

fake_object *fake_hip_current(void) {
  fake_object *found = fake_next(NULL, FAKE_CONTEXT);
  while (found && found->device != current_device)
    found = fake_next(found, FAKE_CONTEXT);
  if (!found) {
    found = fake_new(FAKE_CONTEXT, NULL);
    found->device = current_device;
  }
  return found;
}

int fake_hip_lost(const fake_object *device) {
  bool is_there = fake_device((size_t)device->device) != NULL;
  return device->sticky ? device->sticky : is_there ? KDL_HIP_SUCCESS : launch_failure;
}

int hipGetDevice(int *device) {
  HIP_ENTER();
  *device = current_device;
  return hip_leave(KDL_HIP_SUCCESS);
}

int hipSetDevice(int device) {
  HIP_ENTER();
  if (device < 0 || !fake_device((size_t)device))
    return hip_leave(invalid_device);
  current_device = device;
  return hip_leave(KDL_HIP_SUCCESS);
}

int hipDeviceSynchronize(void) {
  HIP_ENTER();
  int error = fake_unsafe();
  return hip_leave(error ? error : fake_hip_lost(fake_hip_current()));
}

/* "gfx90a:sramecc+:xnack-", where the setting is always there for processors that have one. */
void fake_hip_arch(const kdl_device_spec *spec, char arch[64]) {
  const char *wanted = getenv("HSA_XNACK");
  snprintf(arch, 64, "%.63s", spec->arch);
  char *setting = strstr(arch, "xnack");
  if (setting && wanted)
    setting[strlen("xnack")] = *wanted == '1' ? '+' : '-';
}

/* ------------------------------------------------------------------------------------------ */
/* Errors                                                                                       */

static _Thread_local int last_error;

int fake_hip_result(int error) {
#ifdef FAKE_OLD
  last_error = error;
#else
  last_error = error ? error : last_error;
#endif
  return error;
}

int hipGetLastError(void) {
  int error = last_error;
  last_error = KDL_HIP_SUCCESS;
  return error;
}

int hipPeekAtLastError(void) {
  return last_error;
}

static const struct {
  int error;
  const char *name;
  const char *words;
} errors[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {400, "hipErrorInvalidHandle", "invalid resource handle"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
    {720, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {900, "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
};

static const char *error_text(int error, bool words) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i) {
    if (errors[i].error == error)
      return words ? errors[i].words : errors[i].name;
  }
  return words ? "unknown error" : "hipErrorUnknown";
}

const char *hipGetErrorName(int error) {
  return error_text(error, false);
}

/* ROCm 5 had no words. */
const char *hipGetErrorString(int error) {
#ifdef FAKE_OLD
  return error_text(error, false);
#else
  return error_text(error, true);
#endif
}

/* ------------------------------------------------------------------------------------------ */
/* Captures                                                                                     */

int hipThreadExchangeStreamCaptureMode(int *mode) {
  HIP_ENTER();
  *mode = fake_capture_mode(*mode);
  return hip_leave(KDL_HIP_SUCCESS);
}

int hipStreamBeginCapture(void *handle, int mode) {
  (void)mode;
  HIP_ENTER();
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  if (!stream)
    return hip_leave(invalid_handle);
  fake_capture_begin(stream);
  return hip_leave(KDL_HIP_SUCCESS);
}

int hipStreamEndCapture(void *handle, void **graph) {
  HIP_ENTER();
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  if (!stream)
    return hip_leave(invalid_handle);
  *graph = fake_capture_end(stream);
  return hip_leave(*graph ? KDL_HIP_SUCCESS : capture_invalidated);
}
