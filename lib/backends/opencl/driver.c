/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/opencl/driver.h"

#include "lib/backends/common/driver.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

kdl_opencl_api kdl_opencl;

static const kdl_driver_symbol opencl_symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_opencl_api, field), KDL_DRIVER_##need},
#include "lib/backends/opencl/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

static const kdl_driver_error_name opencl_error_names[] = {
#define KDL_CL_ERROR(name, number) {number, "CL_" #name},
#include "lib/backends/opencl/errors.def"
#undef KDL_CL_ERROR
};

static const char *opencl_error_name(int error) {
  return kdl_driver_error_name_of(opencl_error_names,
                                  sizeof opencl_error_names / sizeof *opencl_error_names, error);
}

/* "CL_OUT_OF_RESOURCES (-5)" */
static void opencl_describe_error(int error, char *text, size_t size) {
  snprintf(text, size, "%s (%d)", opencl_error_name(error), error);
}

/* NVIDIA's driver reports CL_OUT_OF_RESOURCES for a kernel's invalid write, so it does not count as
 * lack of memory. */
const kdl_driver_errors kdl_opencl_errors = {
    .backend = "opencl",
    .describe = opencl_describe_error,
    .no_memory = (const int[]){KDL_CL_MEM_OBJECT_ALLOCATION_FAILURE, KDL_CL_OUT_OF_HOST_MEMORY,
                               KDL_CL_INVALID_BUFFER_SIZE, 0},
    .no_match = (const int[]){KDL_CL_INVALID_KERNEL_NAME, 0},
};

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

enum { max_platforms = 32, max_devices = 256 };

typedef struct {
  void *items[max_platforms];
  uint32_t count;
} platform_list;

static pthread_mutex_t opencl_platforms_lock = PTHREAD_MUTEX_INITIALIZER;
static platform_list opencl_platforms;

static int opencl_start(const char **out_call) {
  platform_list list = {.count = 0};
  *out_call = "clGetPlatformIDs";
  int32_t error = kdl_opencl.platforms(max_platforms, list.items, &list.count);
  if (error == KDL_CL_SUCCESS && !list.count)
    error = KDL_CL_PLATFORM_NOT_FOUND;
  if (error != KDL_CL_SUCCESS)
    return error;
  kdl_lock(&opencl_platforms_lock);
  opencl_platforms = list;
  kdl_unlock(&opencl_platforms_lock);
  return KDL_CL_SUCCESS;
}

kdl_driver kdl_opencl_driver = {
    .libraries = (const char *const[]){"libOpenCL.so.1", NULL},
    .symbols = opencl_symbols,
    .symbol_count = sizeof opencl_symbols / sizeof *opencl_symbols,
    .table = &kdl_opencl,
    .start = opencl_start,
};

kdl_status kdl_opencl_load(void) {
  return kdl_backend_open_driver(&kdl_opencl_driver);
}

/* PoCL 3.1 aborts the process if hwloc cannot read the machine's memory because sysfs is not
 * mounted, as in a bare chroot. Nothing can catch that, so PoCL is not queried there. */
static bool opencl_would_abort(const char *platform) {
  return strcmp(platform, "Portable Computing Language") == 0 &&
         access("/sys/devices/system/cpu", F_OK) != 0;
}

typedef struct {
  kdl_opencl_visit_device *visit;
  kdl_opencl_skip_platform *skip;
  void *user;
  uint32_t ordinal;
  void *devices[max_devices];
} walk;

/* Custom devices run no kernels. */
static bool opencl_walk_platform(walk *w, void *platform) {
  char name[KDL_SPEC_NAME] = "";
  size_t given = 0;
  if (kdl_opencl.platform_info(platform, KDL_CL_PLATFORM_NAME, sizeof name - 1, name, &given) !=
      KDL_CL_SUCCESS)
    name[0] = '\0';
  if (opencl_would_abort(name)) {
    if (w->skip)
      w->skip(w->user, name, "without /sys it aborts the process");
    return true;
  }
  uint32_t count = 0;
  uint64_t types = KDL_CL_TYPE_CPU | KDL_CL_TYPE_GPU | KDL_CL_TYPE_ACCELERATOR;
  if (kdl_opencl.devices(platform, types, max_devices, w->devices, &count) != KDL_CL_SUCCESS)
    count = 0;
  for (uint32_t i = 0; i < count && i < max_devices; ++i) {
    if (!w->visit(w->user, w->ordinal++, platform, w->devices[i], name))
      return false;
  }
  return true;
}

void kdl_opencl_walk(kdl_opencl_visit_device *visit, kdl_opencl_skip_platform *skip, void *user) {
  walk w = {.visit = visit, .skip = skip, .user = user};
  kdl_lock(&opencl_platforms_lock);
  platform_list list = opencl_platforms;
  kdl_unlock(&opencl_platforms_lock);
  bool continues = true;
  for (uint32_t i = 0; continues && i < list.count && i < max_platforms; ++i)
    continues = opencl_walk_platform(&w, list.items[i]);
}
