/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/opencl_list.h"

#include "base/layer.h"
#include "device/opencl_abi.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const kdl_opencl_libraries[] = {"libOpenCL.so.1", NULL};

enum { most_devices = 256 };

/* PoCL asks hwloc for the machine's memory, hwloc asks sysfs, and PoCL 3.1 aborts the process where
 * that is not mounted, as in a bare chroot. Nothing can catch that, so it is not asked there. */
static bool would_abort(const char *platform) {
  return strcmp(platform, "Portable Computing Language") == 0 &&
         access("/sys/devices/system/cpu", F_OK) != 0;
}

typedef struct {
  const kdl_opencl_lister *cl;
  kdl_opencl_visit_device *visit;
  kdl_opencl_leave_out *leave_out;
  void *user;
  uint32_t ordinal;
  void *devices[most_devices];
} walk;

/* Custom devices run no kernels of ours. */
static bool walk_platform(walk *w, void *platform) {
  char name[KDL_SPEC_NAME] = "";
  size_t given = 0;
  if (w->cl->platform_info(platform, KDL_CL_PLATFORM_NAME, sizeof name - 1, name, &given) !=
      KDL_CL_SUCCESS)
    name[0] = '\0';
  if (would_abort(name)) {
    if (w->leave_out)
      w->leave_out(w->user, name, "without /sys it aborts the process");
    return true;
  }
  uint32_t count = 0;
  uint64_t types = KDL_CL_TYPE_CPU | KDL_CL_TYPE_GPU | KDL_CL_TYPE_ACCELERATOR;
  if (w->cl->devices(platform, types, most_devices, w->devices, &count) != KDL_CL_SUCCESS)
    count = 0;
  for (uint32_t i = 0; i < count && i < most_devices; ++i) {
    kdl_opencl_entry entry = {platform, w->devices[i]};
    if (!w->visit(w->user, w->ordinal++, &entry, name))
      return false;
  }
  return true;
}

void kdl_opencl_open_platforms(const kdl_opencl_lister *cl, kdl_opencl_platforms *out_platforms) {
  kdl_opencl_platforms *to = out_platforms;
  to->count = 0;
  kdl_layer_enter(KDL_LAYER_INIT);
  to->error = cl->platforms(KDL_OPENCL_MOST_PLATFORMS, to->items, &to->count);
  kdl_layer_leave(KDL_LAYER_INIT, &(kdl_layer_about){.driver = kdl_opencl_libraries[0],
                                                     .failed = to->error != KDL_CL_SUCCESS});
  if (to->error == KDL_CL_SUCCESS && to->count == 0)
    to->error = KDL_CL_PLATFORM_NOT_FOUND;
  if (to->count > KDL_OPENCL_MOST_PLATFORMS)
    to->count = KDL_OPENCL_MOST_PLATFORMS;
}

int32_t kdl_opencl_list_of(const kdl_opencl_lister *cl, const kdl_opencl_platforms *platforms,
                           kdl_opencl_visit_device *visit, kdl_opencl_leave_out *leave_out,
                           void *user) {
  if (platforms->error != KDL_CL_SUCCESS)
    return platforms->error;
  walk *w = calloc(1, sizeof *w);
  if (!w)
    return KDL_CL_SUCCESS;
  *w = (walk){.cl = cl, .visit = visit, .leave_out = leave_out, .user = user};
  for (uint32_t i = 0; i < platforms->count && walk_platform(w, platforms->items[i]); ++i)
    ;
  free(w);
  return KDL_CL_SUCCESS;
}

int32_t kdl_opencl_list(const kdl_opencl_lister *cl, kdl_opencl_visit_device *visit,
                        kdl_opencl_leave_out *leave_out, void *user) {
  kdl_opencl_platforms platforms;
  kdl_opencl_open_platforms(cl, &platforms);
  return kdl_opencl_list_of(cl, &platforms, visit, leave_out, user);
}
