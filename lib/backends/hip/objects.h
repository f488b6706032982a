/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the backend keeps of devices, queues, modules and kernels. Events are the runtime's own
 * hipEvent_t, and memory its own addresses. */
#ifndef KDL_BACKENDS_HIP_OBJECTS_H
#define KDL_BACKENDS_HIP_OBJECTS_H

#include "lib/backends/common/arguments/params.h"
#include "lib/backends/common/launch.h"
#include "lib/backends/hip/driver.h"
#include "lib/inspect/kernels.h"

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): a declaration says what a
 * handle is of; the definition takes a handle and makes that of it. */

/* The functions of the table. */
#define KDL_BACKEND_FUNCTION(result, name, parameters) result kdl_hip_##name parameters;
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

typedef struct kdl_hip_device {
  uint32_t ordinal;    /* HIP's own number of it */
  bool is_cooperative; /* it launches kernels whose groups synchronise with one another */
} kdl_hip_device;

/* A stretch in which one device is current on this thread. */
typedef struct kdl_hip_scope {
  kdl_status status; /* why it was not entered */
  uint32_t ordinal;
  int previous;     /* to go back to; -1: it was current already */
  int capture_mode; /* likewise; -1: it was not changed */
} kdl_hip_scope;

/* Makes the device current where it is not. */
kdl_status kdl_hip_enter(const kdl_hip_device *device, kdl_hip_scope *out_scope);

/* The same for calls that may allocate: they would break every capture in the process that was
 * begun in the usual, global, mode, unless the thread declares that it knows. */
kdl_status kdl_hip_enter_relaxed(const kdl_hip_device *device, kdl_hip_scope *out_scope);

/* Brings back what was current, and tells what was called where `error` is one. */
kdl_status kdl_hip_leave(const kdl_hip_scope *scope, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------------------------------ */
/* Modules and kernels                                                                          */

typedef struct kdl_hip_kernel kdl_hip_kernel;

typedef struct kdl_hip_module {
  void *handle;
  void *copy; /* of the image, where the runtime could not take it as it was; else NULL */
  kdl_module_image image;
  kdl_hip_kernel *_Atomic kernels; /* found so far, to be freed with the module */
} kdl_hip_module;

typedef struct kdl_hip_queue {
  void *stream;
  /* 1 where the stream does not tell the runtime its device, which then must be current when
   * something is launched. Else 0. */
  uint64_t make_current;
  bool owned;
  /* The program may capture it: it is its own, or it was told the stream, or the stream waits for
   * an event that may be of a capture. */
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

/* What kernels are launched by, and the three ways that it goes on. */
kdl_launch_entry kdl_hip_launch;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_desc_block;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_kernel_block;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_slow;

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
