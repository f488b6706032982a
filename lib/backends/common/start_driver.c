/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/start_driver.h"

kdl_status kdl_backend_open_driver(kdl_driver *driver) {
  kdl_driver_report report = {0};
  if (kdl_driver_open(driver, NULL, &report) && kdl_driver_complete(driver, &report))
    return KDL_OK;
  return kdl_core_services.fail(KDL_DEVICE, 0, "%s: %s", report.library, report.words);
}

kdl_status kdl_backend_start_driver(kdl_driver *driver, const kdl_driver_errors *errors,
                                    void (*ready)(const char *library)) {
  KDL_TRY(kdl_backend_open_driver(driver));
  const char *call;
  int error = kdl_driver_start(driver, false, &call);
  if (error)
    return kdl_driver_errors_fail_start(errors, driver->library_name, call, error);
  kdl_work_take(&driver->opening);
  if (!driver->is_ready && ready)
    ready(driver->library_name);
  else if (!driver->is_ready)
    kdl_core_services.log("%s: opened", driver->library_name);
  driver->is_ready = true;
  kdl_work_end(&driver->opening);
  return KDL_OK;
}

void kdl_backend_report_error(const kdl_driver_errors *errors, kdl_driver_report *report,
                              const char *call, int error) {
  char words[256];
  bool is_none = kdl_driver_error_is_in(errors->no_device, error);
  errors->describe(error, words, sizeof words);
  kdl_driver_report_set(report, is_none ? KDL_DRIVER_NO_DEVICE : KDL_DRIVER_FAILED, "%s: %s", call,
                        words);
}
