/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Calls on a queue that are recorded instead of done: what src/sequence does for launches and
 * memory.
 *
 * Calls that libkdl makes itself ask the queue whether it is captured. A launch does not: it is one
 * indirect call of the kernel's entry. So while a queue of a device is captured, the kernels of
 * that device have another entry (binding/entry.c), which asks by the backend's handle of the
 * queue.
 */
#ifndef KDL_BINDING_CAPTURE_H
#define KDL_BINDING_CAPTURE_H

#include "binding/kernel.h"

typedef struct kdl_capture kdl_capture;

/* The capture of the queue that the backend knows by that handle; NULL: it is not captured. */
kdl_capture *kdl_capture_of(const kdl_runtime *runtime, const void *queue);

/* Record what the call of that name would have done. The calls themselves have checked what they
 * were given. */
kdl_status kdl_capture_launch(kdl_capture *capture, kdl_kernel *kernel, const kdl_launch_desc *desc,
                              const kdl_args *args);
kdl_status kdl_capture_launch_items(kdl_capture *capture, kdl_kernel *kernel,
                                    const kdl_extent *items, const kdl_args *args);
kdl_status kdl_capture_write(kdl_capture *capture, const kdl_buffer *buffer, uint64_t offset,
                             const void *data, uint64_t size);
kdl_status kdl_capture_read(kdl_capture *capture, void *data, const kdl_buffer *buffer,
                            uint64_t offset, uint64_t size);
kdl_status kdl_capture_copy(kdl_capture *capture, const kdl_buffer *to, uint64_t to_offset,
                            const kdl_buffer *from, uint64_t from_offset, uint64_t size);
kdl_status kdl_capture_fill(kdl_capture *capture, const kdl_buffer *buffer, uint64_t offset,
                            uint64_t size, const void *pattern, size_t pattern_size);
kdl_status kdl_capture_event_record(kdl_capture *capture, kdl_event *event);
kdl_status kdl_capture_event_wait(kdl_capture *capture, kdl_event *event);
kdl_status kdl_capture_run(kdl_capture *capture, const kdl_sequence *inner,
                           const kdl_binding *bindings, size_t count);

/* Ends the capture of a queue that is destroyed. */
void kdl_capture_forget(kdl_queue *queue);

#endif
