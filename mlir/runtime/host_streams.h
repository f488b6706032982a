/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams of the CPU that run side by side. */
#ifndef KDL_MLIR_RUNTIME_HOST_STREAMS_H
#define KDL_MLIR_RUNTIME_HOST_STREAMS_H

#include "runtime.h"

#include <stdatomic.h>

/* Streams that compiled code has created and not destroyed, on any device. */
extern _Atomic uint32_t kdl_mlir_live_streams;

/* Jobs that threads of streams have not finished. */
extern _Atomic uint32_t kdl_mlir_host_jobs;

/* Whether work of the CPU goes to the threads of its streams. */
static inline bool kdl_mlir_host_is_concurrent(void) {
  return atomic_load_explicit(&kdl_mlir_live_streams, memory_order_relaxed) > 1 ||
         atomic_load_explicit(&kdl_mlir_host_jobs, memory_order_relaxed) > 0;
}

/* Gives work to the thread of a stream; false if the caller has to do it, in order. An event is
 * recorded after the stream's work so far; a wait delays the stream's work from then on. */
bool kdl_mlir_host_launch(kdl_kernel *kernel, const kdl_launch_desc *desc, const kdl_args *args,
                          kdl_queue *queue);
bool kdl_mlir_host_record(kdl_event *event, kdl_queue *queue);
bool kdl_mlir_host_wait(kdl_event *event, kdl_queue *queue);

/* Waits until a stream's thread has nothing left; NULL: the threads of all. */
void kdl_mlir_host_drain(const kdl_queue *queue);

/* Waits until an event is recorded. */
void kdl_mlir_host_sync_event(const kdl_event *event);

/* Ends the thread of a stream after its work. */
void kdl_mlir_host_close(const kdl_queue *queue);

/* The stream with this queue of the backend; NULL if none is known. */
kdl_queue *kdl_mlir_stream_of(const void *backend_queue);

/* Makes the handle of a kernel that slots call. */
void kdl_mlir_host_kernel_init(kdl_mlir_host_kernel *handle, kdl_kernel *kernel);

#endif
