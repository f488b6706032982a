/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The CPU as a device: images are shared objects that follow <kdl/host_abi.h>.
 *
 * Work is done by the thread that gives it, with the help of a pool where that pays; a queue is
 * therefore always empty when a call returns, and an event is reached when it is recorded. image.c
 * loads images and finds their symbols, run.c runs groups on threads (threads.h),
 * backend.c is the table.
 */
#ifndef KDL_LIB_BACKENDS_HOST_HOST_H
#define KDL_LIB_BACKENDS_HOST_HOST_H

#include "lib/backends/common/services.h"
#include "lib/image/host/host_object.h"

#include <kdl/host_abi.h>

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

typedef struct kdl_host_symbols {
  uint32_t *slots;
  uint32_t mask;
} kdl_host_symbols;

kdl_status kdl_host_symbols_create(const kdl_host_object *object, kdl_host_symbols *out_symbols);
bool kdl_host_symbols_find(const kdl_host_symbols *symbols, const kdl_host_object *object,
                           const char *name, kdl_host_symbol *out_symbol);
void kdl_host_symbols_free(kdl_host_symbols *symbols);

typedef struct kdl_host_image {
  kdl_host_object object; /* its tables are read from `base` */
  kdl_host_symbols symbols;
  uint8_t *base;     /* where its address 0 is */
  uint8_t *reserved; /* address space, which is given back as a whole */
  uint64_t reserved_size;
} kdl_host_image;

/* KDL_NO_MATCH where the object's own note asks for more than this CPU has. */
kdl_status kdl_host_check_cpu(const kdl_backend_image *source);

/* Loads a shared object from memory; its symbols are bound now and seen by no other object. Its
 * constructors run, which get no arguments. */
kdl_status kdl_host_image_load(const kdl_backend_image *source, kdl_host_image *out_image);
void kdl_host_image_unload(kdl_host_image *image);

/* Where a symbol of the image itself is; NULL where it has none of that name. */
void *kdl_host_image_find(const kdl_host_image *image, const char *name, uint64_t *out_size);

/* Whether memory is the image's, and its code where that is asked. */
bool kdl_host_image_holds(const kdl_host_image *image, const void *begin, uint64_t size,
                          bool is_code);

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

/* A kernel of a loaded image. */
typedef struct kdl_host_loaded_kernel {
  struct kdl_host_loaded_kernel *next;
  kdl_host_kernel declared;
  uint32_t tile[3]; /* as launched: the block's where the image declares none */
  kdl_param_info params[];
} kdl_host_loaded_kernel;

/* A launch, or the first of several that do not wait for each other: their groups are numbered
 * through. */
typedef struct kdl_host_work {
  kdl_host_function *run;
  const void *const *args;
  kdl_host_group shape; /* all but `group` and `shared` */
  uint64_t group_count;
  uint64_t end;                     /* the number behind that of its last group */
  const struct kdl_host_work *next; /* NULL behind the last */
  uintptr_t origin; /* where the function is that `run` calls; 0: it is the kernel */
  uint32_t threads; /* that run it, at most; 0: it has no limit of its own */
} kdl_host_work;

/* Makes a launch of the kernel, or tells what is wrong with it. A group that fails leaves its words
 * at *error. */
kdl_status kdl_host_prepare_work(const kdl_host_loaded_kernel *kernel, const kdl_launch_desc *desc,
                                 const kdl_args *args, const char **error, kdl_host_work *out_work);

/* Memory for one group at a time, aligned to 64, of this thread; NULL when out of it. It is given
 * back by the thread that took it; NULL is allowed. */
void *kdl_host_group_memory_acquire(size_t size);
void kdl_host_group_memory_release(void *memory);

/* How many groups are run at once: numbers behind the last do not overflow. */
#define KDL_HOST_LIMIT_GROUPS (UINT64_MAX / 2)

/* Runs every group and returns when all are done; `total` is how many there are. At most `limit`
 * threads run them, this one included; 0: as many as the calling thread may have. */
kdl_status kdl_host_run(const kdl_host_work *work, uint64_t total, uint32_t limit);

/* Makes so many threads of the pool wait awake for a moment, as after a launch that they shared, if
 * each can have a CPU. At most all that a launch of this thread may have; waits for them for 0.1 ms
 * at most. Returns how many were awake before. */
unsigned kdl_host_wake_threads(unsigned count);

/* The limit of the queue's launches; 0: none. */
uint32_t kdl_host_queue_threads(const void *queue);

/* The same on this thread alone. */
kdl_status kdl_host_run_serial(const kdl_host_work *work, uint64_t total);

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

kdl_status kdl_host_sequence_create(void *device, kdl_backend_sequence *desc, void **out_sequence);
void kdl_host_sequence_destroy(void *device, void *handle);
kdl_status kdl_host_sequence_run(void *device, void *handle, void *queue, const uint32_t *changed,
                                 size_t changed_count);

/* The machine's memory: what the system could give, and all of it. */
kdl_status kdl_host_memory_info(void *device, uint64_t *out_free, uint64_t *out_total);
kdl_status kdl_host_clock_rate(void *device, uint64_t *out_khz);

#endif
