/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libcuda's entry points, and how its failures are told. */
#ifndef KDL_BACKENDS_CUDA_DRIVER_H
#define KDL_BACKENDS_CUDA_DRIVER_H

#include "lib/backends/common/driver.h"
#include "lib/backends/common/driver_errors.h"
#include "lib/backends/cuda/abi.h"

typedef struct kdl_cuda_api {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) int(*field) parameters;
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
} kdl_cuda_api;

/* Filled for listing devices once the driver is open, and for launching once kdl_cuda_load has
 * succeeded; constant from then on. */
extern kdl_cuda_api kdl_cuda;
extern kdl_driver kdl_cuda_driver;

/* Makes libcuda ready for launching, once. A failure is not remembered. */
kdl_status kdl_cuda_load(void);

void kdl_cuda_list(kdl_spec_list *list);

/* Whether code is loaded free of contexts, as CUlibrary and CUkernel, or else into the context as
 * CUmodule and CUfunction: docs/decisions/0005. KDL_CUDA_MODULES=0 and 1 decide where the driver
 * leaves a choice. */
bool kdl_cuda_has_libraries(void);

/* Whether the driver shows one device. */
bool kdl_cuda_is_single_device(void);

extern const kdl_driver_errors kdl_cuda_errors;

/* Records "cuda:0: cuMemAlloc_v2 of 64 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" and
 * returns the status that goes with the error. */
#define kdl_cuda_fail(...) kdl_driver_errors_fail(&kdl_cuda_errors, __VA_ARGS__)

/* The same for calls whose failure cannot be returned: a line for KDL_DEBUG=load. */
#define kdl_cuda_log_error(...) kdl_driver_errors_log(&kdl_cuda_errors, __VA_ARGS__)

#endif
