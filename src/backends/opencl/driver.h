/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The OpenCL loader's entry points, and how failures are told. */
#ifndef KDL_BACKENDS_OPENCL_DRIVER_H
#define KDL_BACKENDS_OPENCL_DRIVER_H

#include "backends/opencl/abi.h"
#include "device/opencl_list.h"

#include <kdl/backend.h>

#include <stdbool.h>

typedef struct kdl_opencl_api {
  kdl_opencl_lister lister; /* first, so that it can be filled with the rest */
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "backends/opencl/symbols.def"
#undef KDL_DRIVER_SYMBOL
} kdl_opencl_api;

/* Filled once kdl_opencl_load has succeeded, constant from then on. */
extern kdl_opencl_api kdl_opencl;

/* What libkdl gave; set by kdl_opencl_backend_open. */
extern const kdl_backend_host *kdl_opencl_host;

/* Opens the loader, once. A failure is not remembered. */
kdl_status kdl_opencl_load(void);

/* Records "opencl:0: clCreateBuffer of 64 bytes: CL_OUT_OF_RESOURCES (-5)" and returns the status
 * that goes with the error. */
kdl_status kdl_opencl_fail(uint32_t ordinal, int32_t error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for calls whose failure nobody can be told of: a line for KDL_DEBUG=load. */
void kdl_opencl_note(uint32_t ordinal, int32_t error, const char *call);

kdl_status kdl_opencl_no_memory(uint32_t ordinal);

#endif
