/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/level_zero/objects.h"

#include <stdlib.h>

/* Pools are kept: creating one costs much more than an event. */
enum { pool_size = 64 };

struct kdl_ze_pool {
  void *handle;
  uint64_t *times;
  unsigned made; /* number of created timestamps; their events are created on demand */
  kdl_ze_pool *next;
  kdl_ze_timestamp stamps[pool_size];
};

/* ------------------------------------------------------------------------------------------ */
/* Creation                                                                                     */

static kdl_status ze_create_pool(kdl_ze_device *device, kdl_ze_pool *pool) {
  kdl_ze_host_mem_desc memory = {.type = KDL_ZE_HOST_MEM_ALLOC_DESC};
  void *times = NULL;
  int error = kdl_ze.alloc_host(device->context, &memory, pool_size * sizeof *pool->times,
                                sizeof *pool->times, &times);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeMemAllocHost");
  kdl_ze_event_pool_desc desc = {
      .type = KDL_ZE_EVENT_POOL_DESC, .flags = KDL_ZE_POOL_HOST_VISIBLE, .count = pool_size};
  error = kdl_ze.pool_create(device->context, &desc, 1, &device->handle, &pool->handle);
  if (error == KDL_ZE_SUCCESS) {
    pool->times = times;
    return KDL_OK;
  }
  kdl_status status = kdl_ze_fail(device, error, "zeEventPoolCreate");
  kdl_ze_log_error(device, kdl_ze.free(device->context, times), "zeMemFree");
  return status;
}

static kdl_status ze_add_pool(kdl_ze_device *device) {
  kdl_ze_pool *pool = calloc(1, sizeof *pool);
  if (!pool)
    return kdl_ze_no_memory(device);
  kdl_status status = ze_create_pool(device, pool);
  if (status != KDL_OK) {
    free(pool);
    return status;
  }
  pool->next = device->stamps.pools;
  device->stamps.pools = pool;
  return KDL_OK;
}

/* Signals and waits have host scope, because the host reads the time, and device scope for other
 * queues. */
static kdl_status ze_create_timestamp(kdl_ze_device *device, kdl_ze_timestamp **out_stamp) {
  kdl_ze_pool *pool = device->stamps.pools;
  if (!pool || pool->made == pool_size) {
    kdl_status status = ze_add_pool(device);
    if (status != KDL_OK)
      return status;
    pool = device->stamps.pools;
  }
  kdl_ze_timestamp *stamp = &pool->stamps[pool->made];
  kdl_ze_event_desc desc = {.type = KDL_ZE_EVENT_DESC,
                            .index = pool->made,
                            .signal = KDL_ZE_SCOPE_HOST,
                            .wait = KDL_ZE_SCOPE_DEVICE};
  int error = kdl_ze.event_create(pool->handle, &desc, &stamp->event);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeEventCreate");
  stamp->time = &pool->times[pool->made++];
  *out_stamp = stamp;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Acquiring and releasing                                                                      */

/* Frees those that are signalled. */
static void ze_reclaim_signalled(kdl_ze_timestamps *stamps) {
  kdl_ze_timestamp **link = &stamps->pending;
  while (*link) {
    kdl_ze_timestamp *stamp = *link;
    if (kdl_ze.event_status(stamp->event) != KDL_ZE_SUCCESS) {
      link = &stamp->next;
      continue;
    }
    *link = stamp->next;
    stamp->next = stamps->free;
    stamps->free = stamp;
  }
}

static kdl_status ze_acquire_locked(kdl_ze_device *device, kdl_ze_timestamp **out_stamp) {
  kdl_ze_timestamps *stamps = &device->stamps;
  if (!stamps->free)
    ze_reclaim_signalled(stamps);
  kdl_ze_timestamp *stamp = stamps->free;
  if (!stamp)
    return ze_create_timestamp(device, out_stamp);
  int error = kdl_ze.event_reset(stamp->event);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeEventHostReset");
  stamps->free = stamp->next;
  *out_stamp = stamp;
  return KDL_OK;
}

kdl_status kdl_ze_timestamp_acquire(kdl_ze_device *device, kdl_ze_timestamp **out_stamp) {
  kdl_ze_timestamp *stamp = NULL;
  pthread_mutex_lock(&device->stamps.lock);
  kdl_status status = ze_acquire_locked(device, &stamp);
  pthread_mutex_unlock(&device->stamps.lock);
  if (status != KDL_OK)
    return status;
  stamp->users = 1;
  stamp->given = false;
  stamp->next = NULL;
  *out_stamp = stamp;
  return KDL_OK;
}

void kdl_ze_timestamp_retain(kdl_ze_device *device, kdl_ze_timestamp *stamp) {
  pthread_mutex_lock(&device->stamps.lock);
  ++stamp->users;
  pthread_mutex_unlock(&device->stamps.lock);
}

void kdl_ze_timestamp_release(kdl_ze_device *device, kdl_ze_timestamp *stamp) {
  kdl_ze_timestamps *stamps = &device->stamps;
  pthread_mutex_lock(&stamps->lock);
  if (--stamp->users == 0) {
    kdl_ze_timestamp **list = stamp->given ? &stamps->pending : &stamps->free;
    stamp->next = *list;
    *list = stamp;
  }
  pthread_mutex_unlock(&stamps->lock);
}

/* ------------------------------------------------------------------------------------------ */
/* Destruction                                                                                  */

void kdl_ze_timestamps_destroy(kdl_ze_device *device) {
  pthread_mutex_lock(&device->stamps.lock);
  while (device->stamps.pools) {
    kdl_ze_pool *pool = device->stamps.pools;
    device->stamps.pools = pool->next;
    for (unsigned i = 0; i < pool->made; ++i)
      kdl_ze_log_error(device, kdl_ze.event_destroy(pool->stamps[i].event), "zeEventDestroy");
    kdl_ze_log_error(device, kdl_ze.pool_destroy(pool->handle), "zeEventPoolDestroy");
    kdl_ze_log_error(device, kdl_ze.free(device->context, pool->times), "zeMemFree");
    free(pool);
  }
  device->stamps.free = device->stamps.pending = NULL;
  pthread_mutex_unlock(&device->stamps.lock);
}
