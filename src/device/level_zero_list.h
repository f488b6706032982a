/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The devices behind the Level Zero loader, in the order that gives them their ordinals: those of
 * all drivers, one driver after the other, those that run no kernels of ours included. Discovery
 * and the backend both count by it. */
#ifndef KDL_DEVICE_LEVEL_ZERO_LIST_H
#define KDL_DEVICE_LEVEL_ZERO_LIST_H

#include "device/driver.h"
#include "device/level_zero_abi.h"

typedef struct kdl_ze_lister {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "device/level_zero_symbols.def"
#undef KDL_DRIVER_SYMBOL
} kdl_ze_lister;

/* What the loader is called; NULL behind the last. */
extern const char *const kdl_ze_libraries[];

/* What is called with each device; false stops. */
typedef bool kdl_ze_visit_device(void *user, uint32_t ordinal, void *driver, void *device);

/* Initialises the drivers and calls `visit` with every device. Returns the error of initialising
 * them, and which call gave it. */
int kdl_ze_list(const kdl_ze_lister *ze, kdl_ze_visit_device *visit, void *user,
                const char **out_call);

#endif
