/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the backend keeps of devices, queues, modules and kernels. Events are the runtime's own
 * hipEvent_t, and memory its own addresses. */
#ifndef KDL_BACKENDS_HIP_OBJECTS_H
#define KDL_BACKENDS_HIP_OBJECTS_H

#include "backends/common/launch.h"
#include "backends/common/params.h"
#include "backends/hip/driver.h"
#include "image/amd/limits.h"

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): a declaration says what a
 * handle is of; the definition takes a handle and makes that of it. */

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

typedef struct kdl_hip_device kdl_hip_device;
struct kdl_hip_device {
  uint32_t ordinal;    /* HIP's own number of it */
  bool is_cooperative; /* it launches kernels whose groups synchronise with one another */
  kdl_hip_device *next;
};

kdl_status kdl_hip_device_open(const kdl_backend_device *desc, void **out_device);
void *kdl_hip_device_native(void *device, kdl_native which);
void kdl_hip_device_close(void *device, void *queue);

/* A stretch in which one device is current on this thread. */
typedef struct kdl_hip_scope {
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
  kdl_image_kind kind;
  const void *data; /* libkdl's */
  size_t data_size;
  kdl_hip_kernel *_Atomic kernels; /* found so far, to be freed with the module */
} kdl_hip_module;

kdl_status kdl_hip_module_load(void *device, const kdl_backend_image *image, void **out_module);
void kdl_hip_module_unload(void *device, void *module);
kdl_status kdl_hip_global_find(void *device, void *module, const char *name, uint64_t *out_address,
                               uint64_t *out_size);

typedef struct kdl_hip_queue {
  void *stream;
  /* 1 where the stream does not tell the runtime its device, which then must be current when
   * something is launched. Else 0. */
  uint64_t make_current;
  bool owned;
} kdl_hip_queue;

struct kdl_hip_kernel {
  kdl_launchable head; /* of a hipFunction_t */
  const kdl_hip_device *device;
  kdl_image_limits limits;
  kdl_hip_kernel *next;
  kdl_params params;
};

kdl_status kdl_hip_kernel_find(void *device, void *module, const kdl_kernel_request *request,
                               kdl_backend_kernel *out_kernel);
void kdl_hip_kernel_free(kdl_hip_kernel *kernel);
void *kdl_hip_kernel_native(void *device, void *context);

/* What kernels are launched by, and the three ways that it goes on. */
kdl_launch_entry kdl_hip_launch;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_given_block;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_own_block;
__attribute__((noinline)) kdl_launch_entry kdl_hip_launch_unusual;

/* ------------------------------------------------------------------------------------------ */
/* Queues, events, memory                                                                       */

kdl_status kdl_hip_queue_create(void *device, int32_t priority, void **out_queue);
kdl_status kdl_hip_queue_adopt(void *device, void *native, void **out_queue);
void kdl_hip_queue_destroy(void *device, void *queue);
kdl_status kdl_hip_queue_sync(void *device, void *queue);
kdl_status kdl_hip_queue_capturing(void *device, void *queue, int *out_capturing);
void *kdl_hip_queue_native(void *device, void *queue);

kdl_status kdl_hip_event_create(void *device, void **out_event);
void kdl_hip_event_destroy(void *device, void *event);
kdl_status kdl_hip_event_record(void *device, void *event, void *queue);
kdl_status kdl_hip_event_sync(void *device, void *event);
kdl_status kdl_hip_event_query(void *device, void *event, int *out_done);
kdl_status kdl_hip_event_wait(void *device, void *event, void *queue);
kdl_status kdl_hip_event_elapsed(void *device, void *start, void *end, double *out_ns);
void *kdl_hip_event_native(void *device, void *event);

kdl_status kdl_hip_alloc(void *device, uint64_t size, uint64_t *out_address);
kdl_status kdl_hip_free(void *device, uint64_t address);
kdl_status kdl_hip_memory_info(void *device, uint64_t *out_free, uint64_t *out_total);
kdl_status kdl_hip_alloc_host(void *device, uint64_t size, void **out_data);
kdl_status kdl_hip_free_host(void *device, void *data);
kdl_status kdl_hip_write(void *device, void *queue, uint64_t address, uint64_t offset,
                         const void *data, uint64_t size);
kdl_status kdl_hip_read(void *device, void *queue, void *data, uint64_t address, uint64_t offset,
                        uint64_t size);
kdl_status kdl_hip_copy(void *device, void *queue, uint64_t to, uint64_t to_offset, uint64_t from,
                        uint64_t from_offset, uint64_t size);
kdl_status kdl_hip_copy_peer(void *from_device, void *to_device, void *queue, uint64_t to,
                             uint64_t to_offset, uint64_t from, uint64_t from_offset,
                             uint64_t size);
kdl_status kdl_hip_fill(void *device, void *queue, uint64_t address, uint64_t offset, uint64_t size,
                        const void *pattern, size_t pattern_size);

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
