/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Level Zero's entry points, and its error messages. */
#ifndef KDL_LIB_BACKENDS_LEVEL_ZERO_DRIVER_H
#define KDL_LIB_BACKENDS_LEVEL_ZERO_DRIVER_H

#include "lib/backends/common/driver.h"
#include "lib/backends/level_zero/abi.h"
#include "support/base/error.h"

#include <kdl/backend.h>

typedef struct kdl_ze_api {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "lib/backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL
} kdl_ze_api;

/* The entry points for listing devices are set once the loader is open, those for launching once
 * kdl_ze_load has succeeded; constant afterwards. */
extern kdl_ze_api kdl_ze;
extern kdl_driver kdl_ze_driver;

/* Prepares the loader for launching, once. A failure is not cached. */
kdl_status kdl_ze_load(void);

/* Calls `visit` with every device of the started loader until it returns false: driver by driver,
 * including devices that libkdl does not use. The order gives the ordinals. */
typedef bool kdl_ze_visit_device(void *user, uint32_t ordinal, void *driver, void *device);
void kdl_ze_walk(kdl_ze_visit_device *visit, void *user);

typedef struct kdl_ze_device kdl_ze_device;

extern const kdl_driver_errors kdl_ze_errors;

/* Records "level_zero:0: zeMemAllocDevice of 64 bytes: ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)"
 * and the driver's own message, and returns the status of the error. */
kdl_status kdl_ze_fail(const kdl_ze_device *device, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for calls whose failure cannot be returned: logs to KDL_DEBUG=load. */
void kdl_ze_log_error(const kdl_ze_device *device, int error, const char *call);

kdl_status kdl_ze_no_memory(const kdl_ze_device *device);

/* A macro, so that static analysers see in each file that the status is not KDL_OK. */
#define kdl_ze_fail(...) kdl_not_ok(kdl_ze_fail(__VA_ARGS__))
#define kdl_ze_no_memory(device) kdl_not_ok(kdl_ze_no_memory(device))

#endif
