/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Error messages of vendors' drivers, in one form for all:
 *
 *     cuda:0: cuMemAlloc_v2 of 64 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory */
#ifndef KDL_LIB_BACKENDS_COMMON_DRIVER_ERRORS_H
#define KDL_LIB_BACKENDS_COMMON_DRIVER_ERRORS_H

#include "lib/backends/common/services.h"
#include "support/base/error.h"

#include <stdarg.h>
#include <stdbool.h>

typedef struct kdl_driver_errors {
  const char *backend;
  /* "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" */
  void (*describe)(int error, char *text, size_t size);
  /* Errors that mean KDL_NO_MEMORY and KDL_NO_MATCH, 0 after the last; others mean KDL_DEVICE. */
  const int *no_memory;
  const int *no_match;
  const int *no_device; /* the driver works and has no device; may be NULL */
} kdl_driver_errors;

/* Whether the error is in the list, which ends with 0. */
bool kdl_driver_error_is_in(const int *list, int error);

/* For a driver without error messages: the names from its header. */
typedef struct kdl_driver_error_name {
  int error;
  const char *name;
} kdl_driver_error_name;

/* "unknown error" for an unknown one. */
const char *kdl_driver_error_name_of(const kdl_driver_error_name *names, size_t count, int error);

/* Records the failure of a call and returns its status. */
kdl_status kdl_driver_errors_fail(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));
kdl_status kdl_driver_errors_fail_va(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                     const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

/* The same for host memory: "cuda:0: no memory". */
kdl_status kdl_driver_errors_no_memory(const kdl_driver_errors *errors, uint32_t ordinal);

/* The same for calls whose failure cannot be returned: logs to KDL_DEBUG=load, unless `error` is
 * 0. */
void kdl_driver_errors_log(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                           const char *call);

/* For a driver that does not start: "libcuda.so.1: cuInit: CUDA_ERROR_UNKNOWN (999)". */
kdl_status kdl_driver_errors_fail_start(const kdl_driver_errors *errors, const char *library,
                                        const char *call, int error);

/* Refuses launch flags that no driver supports; the second also clusters, which its callers do not
 * support. */
kdl_status kdl_driver_check_flags(const kdl_driver_errors *errors, uint32_t ordinal,
                                  uint32_t flags);
kdl_status kdl_driver_check_shape(const kdl_driver_errors *errors, uint32_t ordinal,
                                  const kdl_launch_desc *desc);

/* Macros, so that static analysers see in each file that the status is not KDL_OK. */
#define kdl_driver_errors_fail(...) kdl_not_ok(kdl_driver_errors_fail(__VA_ARGS__))
#define kdl_driver_errors_no_memory(...) kdl_not_ok(kdl_driver_errors_no_memory(__VA_ARGS__))

#endif
