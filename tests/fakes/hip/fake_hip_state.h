/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake libamdhip64 keeps beyond its objects: which device is current, and the last error.
 */
#ifndef KDL_TESTS_FAKES_FAKE_HIP_STATE_H
#define KDL_TESTS_FAKES_FAKE_HIP_STATE_H

#include "fake_code.h"
#include "lib/backends/hip/abi.h"

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) FAKE_EXPORT result name parameters;
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL

/* hipError_t values that only a runtime returns */
enum {
  invalid_value = 1,
  invalid_configuration = 9,
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  invalid_handle = 400,
  illegal_address = 700,
  launch_failure = 719,
  cooperative_too_large = 720,
  capture_unsupported = 900,
  capture_invalidated = 901,
};

/* What is wrong with the caller's code, and ends the process in the real runtime too. */
__attribute__((noreturn)) void fake_hip_abort(const char *function, const char *words);

/* The device that is current on this thread, as the object that its streams belong to. */
fake_object *fake_hip_current(void);

/* The error that every call on the device returns, since it is lost or not there any more; 0. */
int fake_hip_lost(const fake_object *device);

/* "gfx90a:sramecc+:xnack-" with xnack as HSA_XNACK wants it. */
void fake_hip_arch(const kdl_device_spec *spec, char arch[64]);

/* Remembers an error for hipGetLastError, and returns it. ROCm 7 forgets one only when asked;
 * before that every call that succeeds did. */
int fake_hip_result(int error);

#define HIP_ENTER()                                                                                \
  do {                                                                                             \
    int fault_ = fake_enter(__func__);                                                             \
    if (fault_)                                                                                    \
      return fake_hip_result(fault_);                                                              \
    pthread_mutex_lock(&fake_lock);                                                                \
  } while (0)

static inline int hip_leave(int error) {
  return fake_hip_result(fake_leave(error));
}

/* For calls that a capture in global mode forbids. */
static inline int fake_unsafe(void) {
  return fake_capture_break() ? capture_unsupported : KDL_HIP_SUCCESS;
}

/* Whether the function may be launched so on its device. */
int fake_hip_check_launch(const fake_object *function, const unsigned grid[3],
                          const unsigned block[3], unsigned shared, void **params);

/* What tests need of the real interface beyond what libkdl uses. */
FAKE_EXPORT int hipPeekAtLastError(void);
FAKE_EXPORT int hipStreamCreateWithFlags(void **stream, unsigned flags);
FAKE_EXPORT int hipStreamBeginCapture(void *stream, int mode);
FAKE_EXPORT int hipStreamEndCapture(void *stream, void **graph);

#endif
