/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Queues, events and memory for backends of simulators, interpreters, or the CPU: each call does
 * its work before it returns, so that a queue is always empty and an event is a point in time, and
 * memory is the host's. The source file of the backend names its services and includes this header:
 *
 *     static const kdl_backend_services *libkdl;
 *     #define KDL_IN_PROCESS_SERVICES libkdl
 *     #include <kdl/backend_in_process.h>
 *
 * Its table has these rows, and its own ones for devices, loaded images and kernels:
 *
 *     static const kdl_backend_table table = {..., KDL_IN_PROCESS_QUEUES, KDL_IN_PROCESS_EVENTS,
 *                                             KDL_IN_PROCESS_MEMORY, KDL_IN_PROCESS_NATIVES};
 */
#ifndef KDL_BACKEND_IN_PROCESS_H
#define KDL_BACKEND_IN_PROCESS_H

#include <kdl/backend.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline kdl_status kdl_in_process_no_memory(void) {
  return KDL_IN_PROCESS_SERVICES->fail(KDL_NO_MEMORY, ENOMEM, "out of memory");
}

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

#define KDL_IN_PROCESS_QUEUES                                                                      \
  .queue_create = kdl_in_process_queue_create, .queue_adopt = kdl_in_process_queue_adopt,          \
  .queue_destroy = kdl_in_process_queue_destroy, .queue_sync = kdl_in_process_queue_sync

/* A queue has no state. Its handle is a number, so that queues differ. */
static inline kdl_status kdl_in_process_queue_create(void *device, int32_t priority,
                                                     void **out_queue) {
  static uintptr_t made;
  (void)device, (void)priority;
  *out_queue = (void *)__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  return KDL_OK;
}

static inline kdl_status kdl_in_process_queue_adopt(void *device, void *native, void **out_queue) {
  if (native)
    return KDL_IN_PROCESS_SERVICES->fail(KDL_BAD_CALL, 0, "the host has no queues to adopt");
  return kdl_in_process_queue_create(device, 0, out_queue);
}

static inline void kdl_in_process_queue_destroy(void *device, void *queue) {
  (void)device, (void)queue;
}

static inline kdl_status kdl_in_process_queue_sync(void *device, void *queue) {
  (void)device, (void)queue;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

#define KDL_IN_PROCESS_EVENTS                                                                      \
  .event_create = kdl_in_process_event_create, .event_destroy = kdl_in_process_event_destroy,      \
  .event_record = kdl_in_process_event_record, .event_sync = kdl_in_process_queue_sync,            \
  .event_wait = kdl_in_process_event_wait, .event_elapsed = kdl_in_process_event_elapsed,          \
  .event_query = kdl_in_process_event_query

static inline kdl_status kdl_in_process_event_create(void *device, void **out_event) {
  (void)device;
  struct timespec *moment = (struct timespec *)malloc(sizeof *moment);
  if (!moment)
    return kdl_in_process_no_memory();
  moment->tv_nsec = -1; /* not recorded */
  *out_event = moment;
  return KDL_OK;
}

static inline void kdl_in_process_event_destroy(void *device, void *event) {
  (void)device;
  free(event);
}

static inline kdl_status kdl_in_process_event_record(void *device, void *event, void *queue) {
  (void)device, (void)queue;
  clock_gettime(CLOCK_MONOTONIC, (struct timespec *)event);
  return KDL_OK;
}

/* A recorded event is reached already; an event that was not recorded delays nothing. */
static inline kdl_status kdl_in_process_event_wait(void *device, void *event, void *queue) {
  (void)device, (void)event, (void)queue;
  return KDL_OK;
}

static inline kdl_status kdl_in_process_event_query(void *device, void *event, int *out_done) {
  (void)device, (void)event;
  *out_done = 1;
  return KDL_OK;
}

static inline kdl_status kdl_in_process_event_elapsed(void *device, void *start, void *end,
                                                      double *out_ns) {
  const struct timespec *from = (const struct timespec *)start;
  const struct timespec *to = (const struct timespec *)end;
  (void)device;
  if (from->tv_nsec < 0 || to->tv_nsec < 0)
    return KDL_IN_PROCESS_SERVICES->fail(KDL_BAD_CALL, 0, "found an event that was not recorded");
  *out_ns = (double)(to->tv_sec - from->tv_sec) * 1e9 + (double)(to->tv_nsec - from->tv_nsec);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

#define KDL_IN_PROCESS_MEMORY                                                                      \
  .alloc = kdl_in_process_alloc, .free = kdl_in_process_free, .write = kdl_in_process_write,       \
  .read = kdl_in_process_read, .copy = kdl_in_process_copy, .fill = kdl_in_process_fill

static inline char *kdl_in_process_at(uint64_t address, uint64_t offset) {
  return (char *)(uintptr_t)address + offset;
}

static inline kdl_status kdl_in_process_alloc(void *device, uint64_t size, uint64_t *out_address) {
  enum { alignment = 64 }; /* for any vector */
  void *memory;
  (void)device;
  if (size > PTRDIFF_MAX || posix_memalign(&memory, alignment, (size_t)size) != 0)
    return kdl_in_process_no_memory();
  *out_address = (uint64_t)(uintptr_t)memory;
  return KDL_OK;
}

static inline kdl_status kdl_in_process_free(void *device, uint64_t address) {
  (void)device;
  free(kdl_in_process_at(address, 0));
  return KDL_OK;
}

static inline kdl_status kdl_in_process_write(void *device, void *queue, uint64_t address,
                                              uint64_t offset, const void *data, uint64_t size) {
  (void)device, (void)queue;
  memcpy(kdl_in_process_at(address, offset), data, (size_t)size);
  return KDL_OK;
}

static inline kdl_status kdl_in_process_read(void *device, void *queue, void *data,
                                             uint64_t address, uint64_t offset, uint64_t size) {
  (void)device, (void)queue;
  memcpy(data, kdl_in_process_at(address, offset), (size_t)size);
  return KDL_OK;
}

static inline kdl_status kdl_in_process_copy(void *device, void *queue, uint64_t to,
                                             uint64_t to_offset, uint64_t from,
                                             uint64_t from_offset, uint64_t size) {
  (void)device, (void)queue;
  memmove(kdl_in_process_at(to, to_offset), kdl_in_process_at(from, from_offset), (size_t)size);
  return KDL_OK;
}

static inline kdl_status kdl_in_process_fill(void *device, void *queue, uint64_t address,
                                             uint64_t offset, uint64_t size, const void *pattern,
                                             size_t pattern_size) {
  (void)device, (void)queue;
  for (uint64_t i = 0; i < size; i += pattern_size)
    memcpy(kdl_in_process_at(address, offset + i), pattern, pattern_size);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Native handles: there are none                                                               */

#define KDL_IN_PROCESS_NATIVES                                                                     \
  .device_native = kdl_in_process_device_native, .queue_native = kdl_in_process_native,            \
  .event_native = kdl_in_process_native

static inline void *kdl_in_process_device_native(void *device, kdl_native which) {
  (void)device, (void)which;
  return NULL;
}

static inline void *kdl_in_process_native(void *device, void *object) {
  (void)device, (void)object;
  return NULL;
}

#endif
