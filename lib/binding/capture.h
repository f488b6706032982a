/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Calls on a queue that are recorded instead of done.
 *
 * lib/sequence provides the table of functions that record. Functions that take a queue look up its
 * capture. A launch with a grid does not, because it is one indirect call of the kernel's entry. So
 * while a queue of a device is captured, the kernels of that device have an interceptor (capture.c)
 * that does the lookup.
 */
#ifndef KDL_LIB_BINDING_CAPTURE_H
#define KDL_LIB_BINDING_CAPTURE_H

#include "lib/binding/kernel.h"

#include <kdl/sequence.h>

typedef struct kdl_capture kdl_capture;

/* Each records the public call of its name, after that has checked its arguments. */
typedef struct kdl_capture_functions {
  kdl_status (*launch)(kdl_capture *capture, kdl_kernel *kernel, const kdl_launch_desc *desc,
                       const kdl_args *args);
  kdl_status (*launch_items)(kdl_capture *capture, kdl_kernel *kernel, const kdl_extent *items,
                             const kdl_args *args);
  kdl_status (*write)(kdl_capture *capture, const kdl_buffer *buffer, uint64_t offset,
                      const void *data, uint64_t size);
  kdl_status (*read)(kdl_capture *capture, void *data, const kdl_buffer *buffer, uint64_t offset,
                     uint64_t size);
  kdl_status (*copy)(kdl_capture *capture, const kdl_buffer *to, uint64_t to_offset,
                     const kdl_buffer *from, uint64_t from_offset, uint64_t size);
  kdl_status (*fill)(kdl_capture *capture, const kdl_buffer *buffer, uint64_t offset, uint64_t size,
                     const void *pattern, size_t pattern_size);
  kdl_status (*event_record)(kdl_capture *capture, kdl_event *event);
  kdl_status (*event_wait)(kdl_capture *capture, kdl_event *event);
  void (*discard)(kdl_capture *capture); /* when the queue is destroyed */
} kdl_capture_functions;

/* The first member of every capture. */
struct kdl_capture {
  kdl_capture *next;
  const kdl_capture_functions *functions;
  const kdl_runtime *runtime;
  const void *queue; /* the backend's */
};

/* kdl_capture_add starts recording the calls on the capture's queue; kdl_capture_remove stops
 * it. */
void kdl_capture_add(kdl_capture *added);
void kdl_capture_remove(kdl_capture *removed);

/* All active captures. */
extern _Atomic(kdl_capture *) kdl_captures;

/* The capture of a backend's queue, or with NULL of any queue of the device; NULL where there is
 * none. */
kdl_capture *kdl_capture_find(const kdl_runtime *runtime, const void *queue);

static inline kdl_capture *kdl_capture_lookup(const kdl_runtime *runtime, const void *queue) {
  return atomic_load_explicit(&kdl_captures, memory_order_relaxed)
             ? kdl_capture_find(runtime, queue)
             : NULL;
}

static inline kdl_capture *kdl_queue_capture(const kdl_queue *queue) {
  return kdl_capture_lookup(queue->runtime, queue->head.queue);
}

/* The interceptor. */
kdl_launch_entry kdl_capture_launch;
kdl_items_entry kdl_capture_launch_items;

#endif
