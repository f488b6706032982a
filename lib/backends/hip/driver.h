/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libamdhip64's entry points, and its error messages. */
#ifndef KDL_LIB_BACKENDS_HIP_DRIVER_H
#define KDL_LIB_BACKENDS_HIP_DRIVER_H

#include "lib/backends/common/driver.h"
#include "lib/backends/hip/abi.h"

typedef struct kdl_hip_api {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
} kdl_hip_api;

/* The entry points for listing devices are set once the driver is open, those for launching once
 * kdl_hip_load has succeeded; constant afterwards. */
extern kdl_hip_api kdl_hip;
extern kdl_driver kdl_hip_driver;

/* Prepares libamdhip64 for launching, once. A failure is not cached. */
kdl_status kdl_hip_load(void);

extern const kdl_driver_errors kdl_hip_errors;

/* Records "hip:0: hipMalloc of 64 bytes: hipErrorOutOfMemory (2): out of memory" and returns the
 * status of the error.
 *
 * Clears libkdl's error from hipGetLastError, which programs call after their own launches. */
#define kdl_hip_fail(...) kdl_driver_errors_fail(&kdl_hip_errors, __VA_ARGS__)

/* The same for calls whose failure cannot be returned: logs to KDL_DEBUG=load. */
#define kdl_hip_log_error(...) kdl_driver_errors_log(&kdl_hip_errors, __VA_ARGS__)

#endif
