/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/hip/driver.h"

#include "lib/backends/common/driver.h"

#include <stdio.h>
#include <string.h>

kdl_hip_api kdl_hip;

static const kdl_driver_symbol hip_symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_hip_api, field), KDL_DRIVER_##need},
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

/* "hipErrorOutOfMemory (2): out of memory"; ROCm 5 has only the name. */
static void hip_describe_error(int error, char *text, size_t size) {
  const char *name = kdl_hip.error_name ? kdl_hip.error_name(error) : NULL;
  const char *words = kdl_hip.error_string ? kdl_hip.error_string(error) : NULL;
  name = name ? name : "unknown error";
  words = words && strcmp(words, name) != 0 ? words : "";
  snprintf(text, size, "%s (%d)%s%s", name, error, *words ? ": " : "", words);
  if (kdl_hip.last_error)
    (void)kdl_hip.last_error();
}

const kdl_driver_errors kdl_hip_errors = {
    .backend = "hip",
    .describe = hip_describe_error,
    .no_memory = (const int[]){KDL_HIP_ERROR_OUT_OF_MEMORY, 0},
    .no_match = (const int[]){KDL_HIP_ERROR_NOT_FOUND, 0},
    .no_device = (const int[]){KDL_HIP_ERROR_NO_DEVICE, KDL_HIP_ERROR_INVALID_DEVICE, 0},
};

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static int hip_start(const char **out_call) {
  *out_call = "hipInit";
  return kdl_hip.init(0);
}

/* Newest first. ROCm's installer uses a folder that the loader does not search. */
static const char *const hip_libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                            "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so",
                                            NULL};

kdl_driver kdl_hip_driver = {
    .libraries = hip_libraries,
    .symbols = hip_symbols,
    .symbol_count = sizeof hip_symbols / sizeof *hip_symbols,
    .table = &kdl_hip,
    .start = hip_start,
};

kdl_status kdl_hip_load(void) {
  return kdl_backend_start_driver(&kdl_hip_driver, &kdl_hip_errors, NULL);
}
