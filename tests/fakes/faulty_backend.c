/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The null backend with faults: FAULTY names the functions that fail and how often, as
 * "module_load=2 device_open=1", and `faulty_capturing` makes every queue look captured. With
 * FAULTY_NAME it serves the devices of that backend and brings none of its own. */
#define kdl_backend_open null_open
/* Its functions are what is wrapped, and they are static.
 * NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "../../examples/backend/null_backend.c"
#undef kdl_backend_open
kdl_backend_open_function kdl_backend_open;

#include <stdio.h>

EXPORT int faulty_capturing;
EXPORT int faulty_loads;   /* modules that were loaded ... */
EXPORT int faulty_unloads; /* ... and unloaded */

/* Counts down the failures that are left for a function. */
static kdl_status fault(const char *name) {
  static char left[256];
  const char *asked = getenv("FAULTY");
  static char last[256];
  if (asked && strcmp(asked, last) != 0) {
    snprintf(last, sizeof last, "%s", asked);
    snprintf(left, sizeof left, "%s", asked);
  }
  char *found = asked ? strstr(left, name) : NULL;
  size_t length = strlen(name);
  if (!found || found[length] != '=' || found[length + 1] == '0')
    return KDL_OK;
  --found[length + 1];
  return libkdl->fail(KDL_DEVICE, 700, "%s: FAULTY_ERROR: asked to fail", name);
}

static kdl_status faulty_device_open(const kdl_backend_device *desc, void **out_device) {
  kdl_status status = fault("device_open");
  return status == KDL_OK ? device_open(desc, out_device) : status;
}

static kdl_status faulty_queue_create(void *device, int32_t priority, void **out_queue) {
  kdl_status status = fault("queue_create");
  return status == KDL_OK ? queue_create(device, priority, out_queue) : status;
}

static kdl_status faulty_module_load(void *device, const kdl_backend_image *image, void **out) {
  kdl_status status = fault("module_load");
  if (status == KDL_OK)
    status = module_load(device, image, out);
  faulty_loads += status == KDL_OK;
  return status;
}

static void faulty_module_unload(void *device, void *module) {
  ++faulty_unloads;
  module_unload(device, module);
}

static kdl_status faulty_kernel_find(void *device, void *module, const kdl_backend_wish *wish,
                                     kdl_backend_kernel *out_kernel) {
  kdl_status status = fault("kernel_find");
  return status == KDL_OK ? kernel_find(device, module, wish, out_kernel) : status;
}

static kdl_status faulty_queue_capturing(void *device, void *queue, int *out_capturing) {
  (void)device, (void)queue;
  *out_capturing = faulty_capturing;
  return fault("queue_capturing");
}

static kdl_status faulty_alloc(void *device, uint64_t size, uint64_t *out_address) {
  kdl_status status = fault("alloc");
  return status == KDL_OK ? allocate(device, size, out_address) : status;
}

static kdl_status faulty_sync(void *device, void *queue) {
  kdl_status status = fault("queue_sync");
  return status == KDL_OK ? queue_sync(device, queue) : status;
}

EXPORT const kdl_backend_table *kdl_backend_open(const kdl_backend_host *host) {
  static kdl_backend_table faulty;
  faulty = *null_open(host);
  faulty.device_open = faulty_device_open;
  faulty.queue_create = faulty_queue_create;
  faulty.module_load = faulty_module_load;
  faulty.module_unload = faulty_module_unload;
  faulty.kernel_find = faulty_kernel_find;
  faulty.queue_capturing = faulty_queue_capturing;
  faulty.alloc = faulty_alloc;
  faulty.queue_sync = faulty_sync;
  if (getenv("FAULTY_NAME")) {
    faulty.name = getenv("FAULTY_NAME");
    faulty.devices = NULL;
  }
  return &faulty;
}
