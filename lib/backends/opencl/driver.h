/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The OpenCL loader's entry points, and error messages. */
#ifndef KDL_LIB_BACKENDS_OPENCL_DRIVER_H
#define KDL_LIB_BACKENDS_OPENCL_DRIVER_H

#include "lib/backends/common/driver.h"
#include "lib/backends/opencl/abi.h"

typedef struct kdl_opencl_api {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "lib/backends/opencl/symbols.def"
#undef KDL_DRIVER_SYMBOL
} kdl_opencl_api;

/* The entry points for listing devices are set once the loader is open, those for launching once
 * kdl_opencl_load has succeeded; constant afterwards. */
extern kdl_opencl_api kdl_opencl;
extern kdl_driver kdl_opencl_driver;

/* Prepares the loader for launching, once. A failure is not cached. */
kdl_status kdl_opencl_load(void);

/* Queries the platforms, whose libraries the loader opens at the first query. */
void kdl_opencl_open_platforms(void);

/* Calls `visit` with every device of the started loader until it returns false: platform by
 * platform, which gives the ordinals. Calls `skip` (which may be NULL) with each platform that
 * cannot be queried, and the reason. */
typedef bool kdl_opencl_visit_device(void *user, uint32_t ordinal, void *platform, void *device,
                                     const char *platform_name);
typedef void kdl_opencl_skip_platform(void *user, const char *platform_name, const char *why);
void kdl_opencl_walk(kdl_opencl_visit_device *visit, kdl_opencl_skip_platform *skip, void *user);

extern const kdl_driver_errors kdl_opencl_errors;

/* Records "opencl:0: clCreateBuffer of 64 bytes: CL_OUT_OF_RESOURCES (-5)" and returns the status
 * of the error. */
#define kdl_opencl_fail(...) kdl_driver_errors_fail(&kdl_opencl_errors, __VA_ARGS__)

/* The same for calls whose failure cannot be returned: logs to KDL_DEBUG=load. */
#define kdl_opencl_log_error(...) kdl_driver_errors_log(&kdl_opencl_errors, __VA_ARGS__)

#define kdl_opencl_no_memory(ordinal) kdl_driver_errors_no_memory(&kdl_opencl_errors, ordinal)

#endif
