/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Queues are immediate command lists: the device gets each command as it is appended. */
#include "lib/backends/common/services.h"
#include "lib/backends/level_zero/objects.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Creation                                                                                     */

static void ze_add_queue(kdl_ze_device *device, kdl_ze_queue *queue) {
  pthread_mutex_lock(&device->lock);
  queue->next = device->queues;
  device->queues = queue;
  pthread_mutex_unlock(&device->lock);
}

static kdl_ze_queue *ze_alloc_queue(kdl_ze_device *device) {
  kdl_ze_queue *queue = calloc(1, sizeof *queue);
  if (queue) {
    queue->device = device;
    queue->launch = kdl_ze.launch;
  }
  return queue;
}

/* Drivers before version 1.7 ignore the in-order flag, some without an error. */
static kdl_status ze_create_list(kdl_ze_queue *queue, int32_t priority) {
  kdl_ze_device *device = queue->device;
  bool in_order = device->version >= KDL_ZE_HAS_IN_ORDER;
  kdl_ze_queue_desc desc = {
      .type = KDL_ZE_COMMAND_QUEUE_DESC,
      .ordinal = device->queue_group,
      .flags = in_order ? KDL_ZE_QUEUE_IN_ORDER : 0,
      .mode = KDL_ZE_MODE_ASYNCHRONOUS,
      .priority = priority < 0   ? KDL_ZE_PRIORITY_HIGH
                  : priority > 0 ? KDL_ZE_PRIORITY_LOW
                                 : 0,
  };
  queue->has_barriers = !in_order;
  int error = kdl_ze.list_create(device->context, device->handle, &desc, &queue->list);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeCommandListCreateImmediate");
  return KDL_OK;
}

kdl_status kdl_ze_queue_create(void *device, int32_t priority, void **out_queue) {
  kdl_ze_queue *queue = ze_alloc_queue(device);
  if (!queue)
    return kdl_ze_no_memory(device);
  kdl_status status = ze_create_list(queue, priority);
  if (status == KDL_OK) {
    queue->is_owned = true;
    ze_add_queue(device, queue);
  }
  return kdl_return_or_free(status, queue, out_queue);
}

/* ------------------------------------------------------------------------------------------ */
/* Adopting                                                                                     */

static kdl_status ze_fail_adopt(const kdl_ze_device *device, const char *what) {
  return kdl_core_services.fail(KDL_BAD_CALL, 0, "level_zero:%u: the command list to be adopted %s",
                                device->ordinal, what);
}

/* Checks what drivers report of a list from version 1.9 on; trusts the caller with older ones. */
static kdl_status ze_check_list(const kdl_ze_device *device, void *list) {
  void *its_device = device->handle, *its_context = device->context;
  uint8_t is_immediate = 1;
  if (device->version < KDL_ZE_HAS_LIST_QUERIES || !kdl_ze.list_device || !kdl_ze.list_context ||
      !kdl_ze.list_is_immediate)
    return KDL_OK;
  int error = kdl_ze.list_is_immediate(list, &is_immediate);
  if (error == KDL_ZE_SUCCESS)
    error = kdl_ze.list_device(list, &its_device);
  if (error == KDL_ZE_SUCCESS)
    error = kdl_ze.list_context(list, &its_context);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeCommandListIsImmediate");
  if (!is_immediate)
    return ze_fail_adopt(device, "is not an immediate one");
  if (its_device != device->handle)
    return ze_fail_adopt(device, "is one of another device");
  if (its_context != device->context)
    return ze_fail_adopt(device, "is one of another context; adopt that first (kdl_device_adopt)");
  return KDL_OK;
}

/* Whether the list is in order, which drivers report from version 1.17 on; else it is assumed not
 * to be. */
static bool ze_is_in_order(const kdl_ze_device *device, void *list) {
  uint32_t flags = 0;
  return device->version >= KDL_ZE_HAS_LIST_FLAGS && kdl_ze.list_flags &&
         kdl_ze.list_flags(list, &flags) == KDL_ZE_SUCCESS && (flags & KDL_ZE_QUEUE_IN_ORDER);
}

kdl_status kdl_ze_queue_adopt(void *handle, void *native, void **out_queue) {
  kdl_ze_device *device = handle;
  KDL_TRY(native ? ze_check_list(device, native)
                 : ze_fail_adopt(device, "is NULL, and there is no default one"));
  kdl_ze_queue *queue = ze_alloc_queue(device);
  if (!queue)
    return kdl_ze_no_memory(device);
  queue->list = native;
  queue->has_barriers = !ze_is_in_order(device, native);
  ze_add_queue(device, queue);
  *out_queue = queue;
  return KDL_OK;
}

void *kdl_ze_queue_native(void *device, void *queue) {
  (void)device;
  return ((kdl_ze_queue *)queue)->list;
}

/* ------------------------------------------------------------------------------------------ */
/* Order                                                                                        */

int kdl_ze_queue_append_barrier(kdl_ze_queue *queue, int error, const char **call) {
  if (error != KDL_ZE_SUCCESS || !queue->has_barriers)
    return error;
  *call = "zeCommandListAppendBarrier";
  return kdl_ze.barrier(queue->list, NULL, 0, NULL);
}

/* For drivers that cannot wait for a list: waits for an event that a barrier at its end signals. */
static int ze_sync_by_event(kdl_ze_queue *queue, kdl_ze_timestamp *stamp) {
  kdl_futex_lock_acquire(&queue->lock);
  int error = kdl_ze.barrier(queue->list, stamp->event, 0, NULL);
  stamp->given = error == KDL_ZE_SUCCESS;
  kdl_futex_lock_release(&queue->lock);
  return error == KDL_ZE_SUCCESS ? kdl_ze.event_sync(stamp->event, KDL_ZE_FOREVER) : error;
}

static kdl_status ze_sync_list(kdl_ze_queue *queue) {
  kdl_ze_device *device = queue->device;
  if (device->version >= KDL_ZE_HAS_HOST_SYNC && kdl_ze.list_sync) {
    int error = kdl_ze.list_sync(queue->list, KDL_ZE_FOREVER);
    return error == KDL_ZE_SUCCESS ? KDL_OK
                                   : kdl_ze_fail(device, error, "zeCommandListHostSynchronize");
  }
  kdl_ze_timestamp *stamp;
  KDL_TRY(kdl_ze_timestamp_acquire(device, &stamp));
  int error = ze_sync_by_event(queue, stamp);
  kdl_ze_timestamp_release(device, stamp);
  return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(device, error, "zeEventHostSynchronize");
}

static void ze_release_waits(kdl_ze_device *device, kdl_ze_timestamp **waits, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    kdl_ze_timestamp_release(device, waits[i]);
}

/* Other threads may append meanwhile: only earlier waits are passed. */
kdl_status kdl_ze_queue_sync(void *device, void *handle) {
  kdl_ze_queue *queue = handle;
  kdl_ze_timestamp *waits[KDL_ZE_MAX_WAITS];
  kdl_futex_lock_acquire(&queue->lock);
  unsigned count = queue->wait_count;
  memcpy(waits, queue->waits, count * sizeof *waits);
  queue->wait_count = 0;
  kdl_futex_lock_release(&queue->lock);
  kdl_status status = ze_sync_list(queue);
  ze_release_waits(device, waits, count);
  return status;
}

/* Bounds the timestamps of a list that is never waited for. */
kdl_status kdl_ze_queue_lock_for_wait(kdl_ze_queue *queue) {
  for (;;) {
    kdl_futex_lock_acquire(&queue->lock);
    if (queue->wait_count < KDL_ZE_MAX_WAITS)
      return KDL_OK;
    kdl_futex_lock_release(&queue->lock);
    kdl_status status = kdl_ze_queue_sync(queue->device, queue);
    if (status != KDL_OK)
      return status;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Instances                                                                                    */

static bool ze_reserve_instances(kdl_ze_queue *queue, uint32_t number) {
  uint32_t count = queue->instance_count;
  if (number < count)
    return true;
  uint32_t wanted = number < 2 * count ? 2 * count : number + 8;
  kdl_ze_instance **more = realloc(queue->instances, wanted * sizeof *more);
  if (!more)
    return false;
  memset(more + count, 0, (wanted - count) * sizeof *more);
  queue->instances = more;
  queue->instance_count = wanted;
  return true;
}

kdl_status kdl_ze_queue_instance(kdl_ze_queue *queue, const kdl_ze_kernel *kernel,
                                 kdl_ze_instance **out_instance) {
  if (!ze_reserve_instances(queue, kernel->number))
    return kdl_ze_no_memory(queue->device);
  kdl_ze_instance **slot = &queue->instances[kernel->number];
  kdl_status status = *slot ? KDL_OK : kdl_ze_instance_create(kernel, slot);
  *out_instance = *slot;
  return status;
}

void kdl_ze_queue_forget(kdl_ze_queue *queue, uint32_t kernel_number) {
  kdl_ze_instance *instance =
      kernel_number < queue->instance_count ? queue->instances[kernel_number] : NULL;
  if (!instance)
    return;
  if (queue->kernel == instance->kernel)
    queue->kernel = NULL;
  queue->instances[kernel_number] = NULL;
  kdl_ze_instance_free(instance);
}

/* ------------------------------------------------------------------------------------------ */
/* Destruction                                                                                  */

void kdl_ze_queues_drain(kdl_ze_device *device) {
  for (kdl_ze_queue *queue = device->queues; queue; queue = queue->next) {
    if (kdl_ze_queue_sync(device, queue) != KDL_OK)
      kdl_core_services.log("%s", "while waiting for a queue of a module that is unloaded");
  }
}

static void ze_remove_queue(kdl_ze_device *device, kdl_ze_queue *queue) {
  pthread_mutex_lock(&device->lock);
  kdl_ze_queue **link = &device->queues;
  while (*link != queue)
    link = &(*link)->next;
  *link = queue->next;
  pthread_mutex_unlock(&device->lock);
}

/* A destroyed queue is done; checking another one at the same address is harmless. */
static kdl_ze_queue *ze_find_queue(const kdl_ze_device *device, const kdl_ze_queue *wanted) {
  kdl_ze_queue *queue = device->queues;
  while (queue && queue != wanted)
    queue = queue->next;
  return queue;
}

bool kdl_ze_queue_is_done(kdl_ze_device *device, const kdl_ze_queue *wanted) {
  pthread_mutex_lock(&device->lock);
  kdl_ze_queue *queue = ze_find_queue(device, wanted);
  bool is_done = !queue || kdl_ze.list_sync(queue->list, 0) == KDL_ZE_SUCCESS;
  pthread_mutex_unlock(&device->lock);
  return is_done;
}

void kdl_ze_queue_wait(kdl_ze_device *device, const kdl_ze_queue *wanted) {
  pthread_mutex_lock(&device->lock);
  kdl_ze_queue *queue = ze_find_queue(device, wanted);
  if (queue && kdl_ze_queue_sync(device, queue) != KDL_OK)
    kdl_core_services.log("%s", "while waiting for the queue of a sequence that is destroyed");
  pthread_mutex_unlock(&device->lock);
}

/* Kernel handles are in use until the list is done. A lost device never is; libkdl's memory is
 * freed anyway. */
void kdl_ze_queue_destroy(void *device, void *handle) {
  kdl_ze_queue *queue = handle;
  (void)kdl_ze_queue_sync(device, queue);
  ze_remove_queue(device, queue); /* an unlisted queue counts as done */
  for (uint32_t i = 0; i < queue->instance_count; ++i)
    kdl_ze_queue_forget(queue, i);
  if (queue->is_owned) {
    kdl_ze_log_error(device, kdl_ze.list_destroy(queue->list), "zeCommandListDestroy");
  }
  free(queue->instances);
  free(queue);
}
