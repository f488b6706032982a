/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libamdhip64's entry points, and how its failures are told. */
#ifndef KDL_BACKENDS_HIP_DRIVER_H
#define KDL_BACKENDS_HIP_DRIVER_H

#include "backends/hip/abi.h"

#include <kdl/backend.h>

#include <stdarg.h>
#include <stdbool.h>

typedef struct kdl_hip_api {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
} kdl_hip_api;

/* Filled once kdl_hip_load has succeeded, constant from then on. */
extern kdl_hip_api kdl_hip;

/* What libkdl gave; set by kdl_hip_backend_open. */
extern const kdl_backend_host *kdl_hip_host;

/* Opens libamdhip64 and initialises it, once. A failure is not remembered. */
kdl_status kdl_hip_load(void);

/* Records "hip:0: hipMalloc of 64 bytes: hipErrorOutOfMemory (2): out of memory" and returns the
 * status that goes with the error.
 *
 * HIP keeps the last error of a thread for hipGetLastError, which programs ask after launches of
 * their own: ours is taken from there. */
kdl_status kdl_hip_fail(uint32_t ordinal, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
kdl_status kdl_hip_fail_va(uint32_t ordinal, int error, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* The same for calls whose failure nobody can be told of: a line for KDL_DEBUG=load. */
void kdl_hip_note(uint32_t ordinal, int error, const char *call);

#endif
