/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What of a whole library runs on a device. A library may hold thousands of modules, of each of
 * which a device takes one image, or none: the verdict is how many modules and how many kernels
 * run.
 *
 * The inventory is made once, in time linear in the library, and reads the names of every image; a
 * verdict on one device is then linear in the number of names.
 */
#ifndef KDL_SELECT_COVERAGE_H
#define KDL_SELECT_COVERAGE_H

#include "lib/select/ranking.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kdl_inventory kdl_inventory;

/* The catalog must outlive the inventory. */
kdl_status kdl_inventory_create(kdl_catalog *catalog, kdl_inventory **out_inventory);
void kdl_inventory_destroy(kdl_inventory *inventory);

/* The distinct names of kernels, in the order in which they are first found. */
size_t kdl_inventory_kernels(const kdl_inventory *inventory, const kdl_string **out_names);

typedef struct kdl_coverage {
  size_t modules; /* that are there to run: objects for a device linker only where all are */
  size_t modules_run;
  size_t kernels; /* distinct names in those modules */
  size_t kernels_run;
  size_t kernels_native; /* of those that run: machine code, with nothing left to compile */
  size_t unreadable;     /* images of those modules whose kernels cannot be read */
  kdl_string missing;    /* a kernel that does not run; `data` NULL where all do */
  bool is_complete;
  bool is_foreign; /* every image whose target is known is for other vendors' devices */
} kdl_coverage;

/* A module runs where one of its images does, a kernel where an image that holds it does. All is
 * complete where every kernel runs: a module may be there for other devices, and the same kernels
 * in another for this one. Modules count where their kernels cannot be told, or there are none. */
kdl_status kdl_inventory_cover(const kdl_inventory *inventory, const kdl_select_device *device,
                               kdl_coverage *out_coverage);

/* What does not run, and why. */
typedef struct kdl_shortfall {
  kdl_string kernel; /* `data` NULL: a module whose kernels cannot be told, or that has none */
  size_t image;      /* of those that hold it, the nearest to running */
  uint64_t reasons;  /* why that one does not: KDL_REASON bits, never 0 */
} kdl_shortfall;

/* Calls `visit` for each kernel that does not run, and for each module without a readable kernel
 * that keeps the library from being complete; non-zero stops. */
typedef int kdl_visit_shortfall(void *user, const kdl_shortfall *shortfall);
kdl_status kdl_inventory_shortfalls(const kdl_inventory *inventory, const kdl_select_device *device,
                                    kdl_visit_shortfall *visit, void *user);

#endif
