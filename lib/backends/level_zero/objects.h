/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backend's devices, queues, kernels and events. Memory is the driver's addresses. */
#ifndef KDL_LIB_BACKENDS_LEVEL_ZERO_OBJECTS_H
#define KDL_LIB_BACKENDS_LEVEL_ZERO_OBJECTS_H

#include "lib/backends/common/arguments/argument_cache.h"
#include "lib/backends/common/futex_lock.h"
#include "lib/backends/level_zero/driver.h"

#include <pthread.h>
#include <stdatomic.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): declarations name the object;
 * definitions take a `handle` and cast it. */

/* The functions of the table. */
#define KDL_BACKEND_FUNCTION(result, name, parameters) result kdl_ze_##name parameters;
#include "lib/backends/common/functions.def"

typedef struct kdl_ze_queue kdl_ze_queue;
typedef struct kdl_ze_pool kdl_ze_pool;

/* ------------------------------------------------------------------------------------------ */
/* Timestamps                                                                                   */

/*
 * A point in a queue: a driver's event that is signalled once, and memory that the device writes
 * the time to. Each record takes a new timestamp, because resetting an event that a thread still
 * waits for would let it wait for ever. It returns to the pool after its last use.
 */
typedef struct kdl_ze_timestamp kdl_ze_timestamp;
struct kdl_ze_timestamp {
  void *event;
  uint64_t *time; /* in ticks; host memory that devices write to */
  unsigned users;
  bool given; /* appended to a queue, which will signal it */
  kdl_ze_timestamp *next;
};

typedef struct kdl_ze_timestamps {
  pthread_mutex_t lock;
  kdl_ze_pool *pools;
  kdl_ze_timestamp *free;
  kdl_ze_timestamp *pending; /* unused, but not signalled yet */
} kdl_ze_timestamps;

/* Takes one that is not signalled, with one reference. */
kdl_status kdl_ze_timestamp_acquire(kdl_ze_device *device, kdl_ze_timestamp **out_stamp);
void kdl_ze_timestamp_retain(kdl_ze_device *device, kdl_ze_timestamp *stamp);
void kdl_ze_timestamp_release(kdl_ze_device *device, kdl_ze_timestamp *stamp);

/* Destroys all; none may be in use. */
void kdl_ze_timestamps_destroy(kdl_ze_device *device);

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

struct kdl_ze_device {
  kdl_ranges ranges; /* memory that libkdl allocated */
  void *driver;
  void *handle;
  void *context; /* shared by all devices of the driver, or the caller's */
  void *adopted; /* of kdl_device_adopt; NULL: none */
  uint32_t ordinal;
  uint32_t version;     /* the driver's API version */
  uint32_t queue_group; /* the compute group */
  bool is_cooperative;  /* it has cooperative launches */
  uint64_t max_allocation;
  uint32_t max_block;
  double ns_per_tick;
  uint64_t tick_mask; /* valid bits of a time */
  kdl_ze_timestamps stamps;
  pthread_mutex_t lock; /* guards the queues and the numbers */
  kdl_ze_queue *queues;
  uint64_t *kernel_numbers; /* bit mask of used numbers */
  uint32_t kernel_words;
  _Atomic uint32_t recording; /* support for recorded lists; 0: unknown */
};

/* Whether KDL_LEVEL_ZERO_LARGE_BUFFERS enables buffers beyond the driver's limit, and kernels that
 * can address them. */
bool kdl_ze_large_buffers(void);

/* ------------------------------------------------------------------------------------------ */
/* Loaded images and kernels                                                                  */

typedef struct kdl_ze_kernel kdl_ze_kernel;

typedef struct kdl_ze_loaded_image {
  void *handle;
  kdl_image_reference image;
  kdl_ze_kernel *_Atomic kernels; /* freed with the loaded image */
} kdl_ze_loaded_image;

struct kdl_ze_kernel {
  kdl_argument_list list;
  kdl_ze_device *device;
  uint32_t number;   /* index of its instance in each queue */
  uint32_t block[3]; /* default block */
  void *handle;      /* for queries and the caller; never launched */
  void *module;
  char *name;
  kdl_ze_kernel *next;
};

void kdl_ze_kernel_free(kdl_ze_kernel *kernel);

/* Creates another handle of the kernel. */
kdl_status kdl_ze_kernel_create(const kdl_ze_kernel *kernel, void **out_handle);

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

/*
 * A kernel's handle has its arguments and group size, which two threads may not set at once, and
 * two threads may not append to a command list at once. So each queue has a lock, and its own
 * handle of each kernel that was launched on it, with the values that were set last.
 */
typedef struct kdl_ze_instance {
  const kdl_ze_kernel *kernel;
  void *handle;
  uint32_t group[3]; /* the group size that was set last */
  kdl_argument_cache given;
  uint64_t values[]; /* of the argument cache */
} kdl_ze_instance;

kdl_status kdl_ze_instance_create(const kdl_ze_kernel *kernel, kdl_ze_instance **out_instance);
void kdl_ze_instance_free(kdl_ze_instance *instance);

/* Sets the group size of a launch, unless it is set. */
kdl_status kdl_ze_instance_set_group(kdl_ze_instance *instance, const kdl_launch_desc *desc);

enum { KDL_ZE_MAX_WAITS = 64 };

/* zeCommandListAppendLaunchKernel */
typedef int kdl_ze_launch_function(void *list, void *kernel, const uint32_t groups[3], void *event,
                                   uint32_t wait_count, void **waits);

/* The last launch on a queue, which the next one may repeat. */
typedef struct kdl_ze_last {
  _Alignas(16) uint64_t shape[2]; /* block and group memory, in the layout of the descriptor */
  void *handle;                   /* the instance's */
  kdl_ze_instance *instance;
} kdl_ze_last;

/* Members that a launch reads are first. The lock is the first member, so that its address is the
 * queue's. */
struct kdl_ze_queue {
  kdl_futex_lock lock; /* guards the members that follow */
  uint32_t instance_count;
  const kdl_ze_kernel *kernel; /* of the last launch; NULL: cannot be repeated */
  kdl_ze_last last;
  void *list; /* an immediate command list */
  kdl_ze_launch_function *launch;
  const kdl_launch_desc *at;   /* the current launch, for error messages */
  kdl_ze_instance **instances; /* by kernel number; NULL: not launched on this queue */
  kdl_ze_device *device;
  kdl_ze_queue *next;
  kdl_ze_timestamp *waits[KDL_ZE_MAX_WAITS]; /* the list may not have passed them */
  unsigned wait_count;
  bool has_barriers; /* the list is not in order, so a barrier follows each command */
  bool is_owned;
};

/* Keeps commands in order. Called with the lock held and the result of an appended command, whose
 * name it replaces if the barrier failed. */
int kdl_ze_queue_append_barrier(kdl_ze_queue *queue, int error, const char **call);

/* Takes the lock and ensures room for one more timestamp that the list waits for. */
kdl_status kdl_ze_queue_lock_for_wait(kdl_ze_queue *queue);

/* This queue's instance of a kernel, created on the first launch. The lock is held. */
kdl_status kdl_ze_queue_instance(kdl_ze_queue *queue, const kdl_ze_kernel *kernel,
                                 kdl_ze_instance **out_instance);

/* Removes a kernel. The lock is held. */
void kdl_ze_queue_forget(kdl_ze_queue *queue, uint32_t kernel_number);

/* Waits for all queues of a device, whose lock is held. */
void kdl_ze_queues_drain(kdl_ze_device *device);

/* For a queue that may have been destroyed: whether its work is done, if the driver can report it,
 * and waiting for it. */
bool kdl_ze_queue_is_done(kdl_ze_device *device, const kdl_ze_queue *queue);
void kdl_ze_queue_wait(kdl_ze_device *device, const kdl_ze_queue *queue);

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

/* Selects a kernel's launch entry. */
kdl_launch_entry *kdl_ze_entry_of(const kdl_argument_list *list);

/* The slow paths of a launch that differs from the last one on the queue: the first takes the lock,
 * the second has it. */
__attribute__((noinline)) kdl_launch_entry kdl_ze_launch_contended;
__attribute__((noinline)) kdl_launch_entry kdl_ze_launch_changed;

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
