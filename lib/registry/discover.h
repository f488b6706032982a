/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is here: the CPU, and what each driver shows.
 *
 *     kdl_discovery *found;
 *     if (kdl_discover(NULL, &found) == KDL_OK) {
 *       for (size_t i = 0; i < found->device_count; ++i)
 *         puts(found->routes[found->devices[i].first].name);
 *       kdl_discovery_free(found);
 *     }
 *
 * A driver that is missing, too old, broken, failing, without devices or not answering is a line in
 * the reports; it is never an error and keeps no other from being found. No context is created and
 * no permission requested. Vendors' own variables (CUDA_VISIBLE_DEVICES and the like) are obeyed by
 * their drivers; the reports name those that are set.
 */
#ifndef KDL_REGISTRY_DISCOVER_H
#define KDL_REGISTRY_DISCOVER_H

#include "lib/backends/common/driver.h"

#include <stdio.h>

/* One device: `count` routes from `first` on, the vendor's own driver before OpenCL. */
typedef struct kdl_found_device {
  size_t first;
  size_t count;
} kdl_found_device;

typedef struct kdl_discovery {
  kdl_device_spec *routes; /* those of one device together, or, alone, as drivers gave them */
  size_t route_count;
  kdl_found_device *devices; /* in the default order: discrete GPUs, integrated ones, CPUs */
  size_t device_count;
  kdl_driver_report reports[KDL_BACKEND_COUNT]; /* one for each backend that was asked */
  size_t report_count;
} kdl_discovery;

typedef struct kdl_discover_opts {
  const kdl_driver_resolver *resolver; /* NULL = the system's */
  unsigned backends;                   /* 1 << KDL_BACKEND_x, added up; 0 = all */
  unsigned timeout_ms;                 /* for the slowest driver; 0 = see kdl_discover */
  bool routes_alone;                   /* devices are not told */
} kdl_discover_opts;

/* A machine with eight GPUs and no persistence daemon takes several seconds to start its driver. */
enum { KDL_DISCOVER_TIMEOUT_MS = 30000 };

/* Opens the drivers' libraries in the calling thread, asks the drivers at the same time, each in a
 * thread of its own, and does the same with OpenCL behind the others; a driver that does not answer
 * within the timeout, by default KDL_DISCOVER_TIMEOUT_MS, is left behind in its thread. One driver
 * without a timeout is asked by the calling thread. `opts` may be NULL. Fails only when out of
 * memory. */
kdl_status kdl_discover(const kdl_discover_opts *opts, kdl_discovery **out_found);

/* NULL is allowed. */
void kdl_discovery_free(kdl_discovery *found);

/* The document of `kdl devices --json`; docs/devices.md specifies it. */
void kdl_discovery_write_json(const kdl_discovery *found, FILE *file);

#endif
