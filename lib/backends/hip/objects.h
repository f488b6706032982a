/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backend's devices, queues, loaded images and kernels. Events are the runtime's hipEvent_t,
 * and memory its addresses. */
#ifndef KDL_LIB_BACKENDS_HIP_OBJECTS_H
#define KDL_LIB_BACKENDS_HIP_OBJECTS_H

#include "lib/backends/common/arguments/params.h"
#include "lib/backends/common/launch.h"
#include "lib/backends/hip/driver.h"
#include "lib/image/amd/amdgpu_metadata.h"

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): declarations name the object;
 * definitions take a `handle` and cast it. */

/* The functions of the table. */
#define KDL_BACKEND_FUNCTION(result, name, parameters) result kdl_hip_##name parameters;
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

typedef struct kdl_hip_device {
  uint32_t ordinal;    /* HIP's device number */
  bool is_cooperative; /* it supports cooperative launches */
} kdl_hip_device;

/* A scope in which one device is current on this thread. */
typedef struct kdl_hip_scope {
  kdl_status status; /* why entering failed */
  uint32_t ordinal;
  int previous;     /* the device to restore; -1: unchanged */
  int capture_mode; /* the mode to restore; -1: unchanged */
} kdl_hip_scope;

/* Makes the device current, unless it is. */
kdl_status kdl_hip_enter(const kdl_hip_device *device, kdl_hip_scope *out_scope);

/* The same for calls that may allocate. They would break every capture of the process in the
 * default, global mode, unless the thread selects the relaxed mode. */
kdl_status kdl_hip_enter_relaxed(const kdl_hip_device *device, kdl_hip_scope *out_scope);

/* Restores the previous device, and records the call if `error` is not 0. */
kdl_status kdl_hip_leave(const kdl_hip_scope *scope, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------------------------------ */
/* Loaded images and kernels                                                                  */

typedef struct kdl_hip_kernel kdl_hip_kernel;

typedef struct kdl_hip_loaded_image {
  void *handle;
  void *copy; /* a converted or aligned copy of the image, or NULL */
  kdl_image_reference image;
  kdl_hip_kernel *_Atomic kernels; /* freed with the loaded image */
} kdl_hip_loaded_image;

typedef struct kdl_hip_queue {
  void *stream;
  /* 1 for a stream of the current device: the device must be current at a launch. Else 0. */
  uint64_t make_current;
  bool owned;
  /* The program may capture the stream: it is the caller's, or its native handle was given out, or
   * it waits for an event that may be part of a capture. */
  _Atomic bool may_be_captured;
} kdl_hip_queue;

struct kdl_hip_kernel {
  kdl_launch_head head; /* of a hipFunction_t */
  const kdl_hip_device *device;
  kdl_image_limits limits;
  kdl_hip_kernel *next;
  kdl_params params;
};

void kdl_hip_kernel_free(kdl_hip_kernel *kernel);

/* The launch entry, and its three slow paths. */
kdl_launch_entry kdl_hip_launch;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_desc_block;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_kernel_block;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_slow;

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
