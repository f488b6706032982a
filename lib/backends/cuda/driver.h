/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libcuda's entry points, and its error messages. */
#ifndef KDL_LIB_BACKENDS_CUDA_DRIVER_H
#define KDL_LIB_BACKENDS_CUDA_DRIVER_H

#include "lib/backends/common/driver.h"
#include "lib/backends/cuda/abi.h"

typedef struct kdl_cuda_api {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) int(*field) parameters;
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
} kdl_cuda_api;

/* The entry points for listing devices are set once the driver is open, those for launching once
 * kdl_cuda_load has succeeded; constant afterwards. */
extern kdl_cuda_api kdl_cuda;
extern kdl_driver kdl_cuda_driver;

/* Prepares libcuda for launching, once. A failure is not cached. */
kdl_status kdl_cuda_load(void);

/* Whether code is loaded without a context, as CUlibrary and CUkernel, or into the context, as
 * CUmodule and CUfunction: docs/decisions/0005. KDL_CUDA_MODULES=0 and 1 override the default where
 * the driver supports both. */
bool kdl_cuda_has_libraries(void);

/* Whether the driver has one device only. */
bool kdl_cuda_is_single_device(void);

extern const kdl_driver_errors kdl_cuda_errors;

/* Records "cuda:0: cuMemAlloc_v2 of 64 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" and
 * returns the status of the error. */
#define kdl_cuda_fail(...) kdl_driver_errors_fail(&kdl_cuda_errors, __VA_ARGS__)

/* The same for calls whose failure cannot be returned: logs to KDL_DEBUG=load. */
#define kdl_cuda_log_error(...) kdl_driver_errors_log(&kdl_cuda_errors, __VA_ARGS__)

#endif
