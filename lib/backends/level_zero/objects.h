/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the backend keeps of devices, queues, kernels and events. Memory is the driver's own
 * addresses. */
#ifndef KDL_BACKENDS_LEVEL_ZERO_OBJECTS_H
#define KDL_BACKENDS_LEVEL_ZERO_OBJECTS_H

#include "lib/backends/common/arguments/argument_cache.h"
#include "lib/backends/common/futex_lock.h"
#include "lib/backends/level_zero/driver.h"

#include <pthread.h>
#include <stdatomic.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): a declaration says what a
 * handle is of; the definition takes a handle and makes that of it. */

/* The functions of the table. */
#define KDL_BACKEND_FUNCTION(result, name, parameters) result kdl_ze_##name parameters;
#include "lib/backends/common/functions.def"

typedef struct kdl_ze_queue kdl_ze_queue;
typedef struct kdl_ze_pool kdl_ze_pool;

/* ------------------------------------------------------------------------------------------ */
/* Stamps                                                                                       */

/*
 * A point in a queue's work: an event of the driver's that is signalled there, once, and memory
 * that the device writes the time to. A stamp is taken for each record, since resetting an event
 * that a thread may still wait for would let it wait for ever, and comes back when all are done
 * with it.
 */
typedef struct kdl_ze_timestamp kdl_ze_timestamp;
struct kdl_ze_timestamp {
  void *event;
  uint64_t *time; /* in ticks; of host memory that devices write to */
  unsigned users;
  bool given; /* to a queue, which signals it sooner or later */
  kdl_ze_timestamp *next;
};

typedef struct kdl_ze_timestamps {
  pthread_mutex_t lock;
  kdl_ze_pool *pools;
  kdl_ze_timestamp *free;
  kdl_ze_timestamp *pending; /* no longer in use, and they were not signalled yet */
} kdl_ze_timestamps;

/* One that is not signalled, with one user. */
kdl_status kdl_ze_timestamp_acquire(kdl_ze_device *device, kdl_ze_timestamp **out_stamp);
void kdl_ze_timestamp_retain(kdl_ze_device *device, kdl_ze_timestamp *stamp);
void kdl_ze_timestamp_release(kdl_ze_device *device, kdl_ze_timestamp *stamp);

/* Destroys all of them, when none is in use. */
void kdl_ze_timestamps_destroy(kdl_ze_device *device);

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

struct kdl_ze_device {
  kdl_ranges ranges; /* memory of libkdl's */
  void *driver;
  void *handle;
  void *context; /* one for all devices of the driver, or the caller's */
  void *adopted; /* the caller's; NULL where it gave none */
  uint32_t ordinal;
  uint32_t version;     /* of the interface, as the driver has it */
  uint32_t queue_group; /* the one that computes */
  bool is_cooperative;  /* and whether that launches kernels that cooperate */
  uint64_t max_allocation;
  uint32_t max_block;
  double ns_per_tick;
  uint64_t tick_mask; /* the bits of a time that count */
  kdl_ze_timestamps stamps;
  pthread_mutex_t lock; /* of the queues and the numbers */
  kdl_ze_queue *queues;
  uint64_t *kernel_numbers; /* those that are in use, as bits */
  uint32_t kernel_words;
  _Atomic uint32_t recording; /* KDL_ZE_RECORDS_, once that is known */
};

/* Whether KDL_LEVEL_ZERO_LARGE_BUFFERS asks for buffers that are larger than the driver allows
 * without asking, and for kernels that can reach their end. */
bool kdl_ze_large_buffers(void);

/* ------------------------------------------------------------------------------------------ */
/* Modules and kernels                                                                          */

typedef struct kdl_ze_kernel kdl_ze_kernel;

typedef struct kdl_ze_module {
  void *handle;
  kdl_module_image image;
  kdl_ze_kernel *_Atomic kernels; /* found so far, to be freed with the module */
} kdl_ze_module;

struct kdl_ze_kernel {
  kdl_argument_list list;
  kdl_ze_device *device;
  uint32_t number;   /* its place among the instances of each queue */
  uint32_t block[3]; /* for launches that leave it to the image */
  void *handle;      /* for questions, and for the caller; never launched */
  void *module;
  char *name;
  kdl_ze_kernel *next;
};

void kdl_ze_kernel_free(kdl_ze_kernel *kernel);

/* Another handle of the same kernel. */
kdl_status kdl_ze_kernel_create(const kdl_ze_kernel *kernel, void **out_handle);

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

/*
 * A kernel's handle carries its arguments and group size, which two threads may not set at once,
 * and a command list may not be appended to by two threads at once either. So each queue has a
 * lock, and a handle of its own for each kernel that was launched on it. What was set last is
 * remembered.
 */
typedef struct kdl_ze_instance {
  const kdl_ze_kernel *kernel;
  void *handle;
  uint32_t group[3]; /* size that was set last */
  kdl_argument_cache given;
  uint64_t values[]; /* of that */
} kdl_ze_instance;

kdl_status kdl_ze_instance_create(const kdl_ze_kernel *kernel, kdl_ze_instance **out_instance);
void kdl_ze_instance_free(kdl_ze_instance *instance);

/* Sets the group size of a launch, unless it is that. */
kdl_status kdl_ze_instance_set_group(kdl_ze_instance *instance, const kdl_launch_desc *desc);

enum { KDL_ZE_MAX_WAITS = 64 };

/* zeCommandListAppendLaunchKernel */
typedef int kdl_ze_launch_function(void *list, void *kernel, const uint32_t groups[3], void *event,
                                   uint32_t wait_count, void **waits);

/* The last launch on a queue, as the next one may repeat it. */
typedef struct kdl_ze_last {
  _Alignas(16) uint64_t shape[2]; /* block and group memory, as in the descriptor */
  void *handle;                   /* the instance's */
  kdl_ze_instance *instance;
} kdl_ze_last;

/* What a launch reads is in front. The lock is first, so that its address is the queue's. */
struct kdl_ze_queue {
  kdl_futex_lock lock; /* of all that follows */
  uint32_t instance_count;
  const kdl_ze_kernel *kernel; /* of the last launch; NULL: not to be repeated */
  kdl_ze_last last;
  void *list; /* an immediate command list */
  kdl_ze_launch_function *launch;
  const kdl_launch_desc *at;   /* the launch that is under way, should it be refused */
  kdl_ze_instance **instances; /* by the kernel's number; NULL where it was not launched here */
  kdl_ze_device *device;
  kdl_ze_queue *next;
  kdl_ze_timestamp *waits[KDL_ZE_MAX_WAITS]; /* that the list may not have passed yet */
  unsigned wait_count;
  bool has_barriers; /* the list works in any order, so a barrier follows each command */
  bool is_owned;
};

/* Keeps the order of commands: called with the lock held and the outcome of one that was appended,
 * whose name is replaced where it is not that which failed. */
int kdl_ze_queue_append_barrier(kdl_ze_queue *queue, int error, const char **call);

/* Takes the lock with room for one more stamp that the list waits for, until it is waited for
 * itself. */
kdl_status kdl_ze_queue_lock_for_wait(kdl_ze_queue *queue);

/* This queue's instance of a kernel, made where it was not launched here yet. The lock is held. */
kdl_status kdl_ze_queue_instance(kdl_ze_queue *queue, const kdl_ze_kernel *kernel,
                                 kdl_ze_instance **out_instance);

/* Forgets a kernel. The lock is held. */
void kdl_ze_queue_forget(kdl_ze_queue *queue, uint32_t kernel_number);

/* Waits for the work of all queues of a device, whose lock is held. */
void kdl_ze_queues_drain(kdl_ze_device *device);

/* Of a queue that may have been destroyed since: whether its work is done, where the driver can
 * tell, and waiting for it. */
bool kdl_ze_queue_is_done(kdl_ze_device *device, const kdl_ze_queue *queue);
void kdl_ze_queue_wait(kdl_ze_device *device, const kdl_ze_queue *queue);

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

extern const kdl_argument_setter kdl_ze_setter;

/* What a kernel is launched by. */
kdl_launch_entry *kdl_ze_entry_of(const kdl_argument_list *list);

/* How a launch goes on where something differs from the last one on the queue: the first takes the
 * lock, the second has it. */
__attribute__((noinline)) kdl_launch_entry kdl_ze_launch_contended;
__attribute__((noinline)) kdl_launch_entry kdl_ze_launch_changed;

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
