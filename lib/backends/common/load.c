/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/load.h"

kdl_status kdl_backend_open_driver(kdl_driver *driver) {
  kdl_driver_report report = {0};
  if (kdl_driver_open(driver, NULL, &report) && kdl_driver_complete(driver, &report))
    return KDL_OK;
  return kdl_own_services.fail(KDL_DEVICE, 0, "%s: %s", report.library, report.words);
}

kdl_status kdl_backend_load(kdl_driver *driver, const kdl_driver_errors *errors,
                            void (*ready)(const char *library)) {
  KDL_TRY(kdl_backend_open_driver(driver));
  const char *call;
  int error = kdl_driver_start(driver, false, &call);
  if (error)
    return kdl_driver_errors_no_start(errors, driver->opened, call, error);
  kdl_work_take(&driver->opening);
  if (!driver->is_ready && ready)
    ready(driver->opened);
  else if (!driver->is_ready)
    kdl_own_services.log("%s: opened", driver->opened);
  driver->is_ready = true;
  kdl_work_end(&driver->opening);
  return KDL_OK;
}

void kdl_backend_report(const kdl_driver_errors *errors, kdl_driver_report *report,
                        const char *call, int error) {
  char words[256];
  bool is_none = kdl_driver_error_is_in(errors->no_device, error);
  errors->describe(error, words, sizeof words);
  kdl_driver_say(report, is_none ? KDL_DRIVER_NO_DEVICE : KDL_DRIVER_FAILED, "%s: %s", call, words);
}
