/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A driver made ready for launching. */
#ifndef KDL_BACKENDS_COMMON_LOAD_H
#define KDL_BACKENDS_COMMON_LOAD_H

#include "lib/backends/common/driver.h"
#include "lib/backends/common/driver_errors.h"

/* Opens the driver and looks up every entry point, as far as that is not done. A failure is not
 * remembered. */
kdl_status kdl_backend_open_driver(kdl_driver *driver);

/* Then initialises it. `ready` is called once, when all of it has succeeded; NULL: a line for
 * KDL_DEBUG=load says so. */
kdl_status kdl_backend_start_driver(kdl_driver *driver, const kdl_driver_errors *errors,
                                    void (*ready)(const char *library));

/* What a driver that does not start tells the report: "cuInit: CUDA_ERROR_UNKNOWN (999)". */
void kdl_backend_report_error(const kdl_driver_errors *errors, kdl_driver_report *report,
                              const char *call, int error);

#endif
