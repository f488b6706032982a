/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The devices behind OpenCL, in the order that gives them their ordinals: those of all platforms,
 * one platform after the other. Discovery and the backend both count by it. */
#ifndef KDL_DEVICE_OPENCL_LIST_H
#define KDL_DEVICE_OPENCL_LIST_H

#include "device/driver.h"

typedef struct kdl_opencl_lister {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "device/opencl_symbols.def"
#undef KDL_DRIVER_SYMBOL
} kdl_opencl_lister;

/* What the loader is called; NULL behind the last. */
extern const char *const kdl_opencl_libraries[];

typedef struct kdl_opencl_entry {
  void *platform;
  void *device;
} kdl_opencl_entry;

enum { KDL_OPENCL_MOST_PLATFORMS = 32 };

typedef struct kdl_opencl_platforms {
  void *items[KDL_OPENCL_MOST_PLATFORMS];
  uint32_t count;
  int32_t error; /* of clGetPlatformIDs */
} kdl_opencl_platforms;

/* Asks the loader for its platforms, whose libraries it opens when it is asked first. */
void kdl_opencl_open_platforms(const kdl_opencl_lister *cl, kdl_opencl_platforms *out_platforms);

/* What is called with each device; false stops. */
typedef bool kdl_opencl_visit_device(void *user, uint32_t ordinal, const kdl_opencl_entry *entry,
                                     const char *platform);

/* Calls `visit` with every device of the platforms. A platform that cannot be asked is told to
 * `leave_out` (which may be NULL) with its reason. Returns the error of clGetPlatformIDs. */
typedef void kdl_opencl_leave_out(void *user, const char *platform, const char *why);
int32_t kdl_opencl_list_of(const kdl_opencl_lister *cl, const kdl_opencl_platforms *platforms,
                           kdl_opencl_visit_device *visit, kdl_opencl_leave_out *leave_out,
                           void *user);

/* The same with the platforms that there are now. */
int32_t kdl_opencl_list(const kdl_opencl_lister *cl, kdl_opencl_visit_device *visit,
                        kdl_opencl_leave_out *leave_out, void *user);

#endif
