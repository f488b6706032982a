/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prepares a driver for launching. */
#ifndef KDL_LIB_BACKENDS_COMMON_START_DRIVER_H
#define KDL_LIB_BACKENDS_COMMON_START_DRIVER_H

#include "lib/backends/common/driver.h"
#include "lib/backends/common/driver_errors.h"

/* Opens the driver and looks up every entry point, unless that is done. A failure is not cached. */
kdl_status kdl_backend_open_driver(kdl_driver *driver);

/* The same, then initialises it. Calls `ready` once after success; NULL: logs to KDL_DEBUG=load. */
kdl_status kdl_backend_start_driver(kdl_driver *driver, const kdl_driver_errors *errors,
                                    void (*ready)(const char *library));

/* Puts the error of a driver that does not start into the report: "cuInit: CUDA_ERROR_UNKNOWN
 * (999)". */
void kdl_backend_report_error(const kdl_driver_errors *errors, kdl_driver_report *report,
                              const char *call, int error);

#endif
