/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One vendor of several in a process, and a piece of work for it whose outcome is checked. */
#ifndef KDL_TESTS_CONFORMANCE_VENDOR_H
#define KDL_TESTS_CONFORMANCE_VENDOR_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { elements = 1000 };

typedef struct {
  const char *name; /* "hip", "opencl:1" */
  kdl_library *lib;
  kdl_device *device;
  kdl_queue *queue;
  kdl_status status; /* of its last work */
  char message[512];
} vendor;

/* y = a x, checked. */
static inline kdl_status scale(vendor *v, float a) {
  float host[elements];
  uint32_t n = elements;
  kdl_buffer x = {0}, y = {0};
  kdl_kernel *kernel;
  for (int i = 0; i < elements; ++i)
    host[i] = (float)i;
  kdl_status status = kdl_sym(v->lib, v->device, "scale", NULL, &kernel);
  if (status == KDL_OK)
    status = kdl_alloc(v->device, sizeof host, &x);
  if (status == KDL_OK)
    status = kdl_alloc(v->device, sizeof host, &y);
  if (status == KDL_OK)
    status = kdl_write(v->queue, &x, 0, host, sizeof host);
  if (status == KDL_OK)
    status = kdl_launch_items(kernel, v->queue, kdl_extent1(n), KDL_ARGS(&a, &x, &y, &n));
  if (status == KDL_OK)
    status = kdl_read(v->queue, host, &y, 0, sizeof host);
  if (status == KDL_OK)
    status = kdl_sync(v->queue);
  for (int i = 0; i < elements && status == KDL_OK; ++i)
    status = host[i] == a * (float)i ? KDL_OK : KDL_DEVICE;
  snprintf(v->message, sizeof v->message, "%s", status == KDL_OK ? "" : kdl_error_message());
  (void)kdl_free(&x);
  (void)kdl_free(&y);
  return status;
}

static inline bool open_vendor(vendor *v, const char *library) {
  kdl_status status = kdl_device_find(v->name, &v->device);
  if (status == KDL_OK)
    status = kdl_queue_create(v->device, NULL, &v->queue);
  if (status == KDL_OK)
    status = kdl_open(library, NULL, &v->lib);
  printf("%s %s: %s\n", status == KDL_OK ? "with" : "without", v->name,
         status == KDL_OK ? kdl_device_spec_text(v->device) : kdl_error_message());
  return status == KDL_OK;
}

static inline void close_vendor(vendor *v) {
  kdl_queue_destroy(v->queue);
  kdl_close(v->lib);
}

#endif
