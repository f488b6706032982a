/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A backend as a shared object of its own: a device that takes any image, keeps memory on the host
 * and runs nothing. What it costs is what libkdl costs, which is what bench_launch measures with
 * it; and it is the place to start from when writing a real one. <kdl/backend.h> is the contract.
 *
 *     KDL_BACKEND_PATH=libnull_backend.so kdl run saxpy.offload saxpy --device=cuda ...
 */
#include <kdl/backend.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

static const kdl_backend_host *libkdl;

static kdl_status no_memory(void) {
  return libkdl->fail(KDL_NO_MEMORY, ENOMEM, "null: out of memory");
}

/* A driver's launch, with as many arguments as cuLaunchKernel has; programs may call it directly to
 * compare. */
typedef int null_driver_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z,
                               unsigned shared, void *stream, void **params, void **extra);

static int do_nothing(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      void *stream, void **params, void **extra) {
  (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
  (void)shared, (void)stream, (void)params, (void)extra;
  __asm__ volatile("" : : "r"(function) : "memory");
  return 0;
}

extern null_driver_launch *null_launch;
EXPORT null_driver_launch *null_launch = do_nothing;

/* ------------------------------------------------------------------------------------------ */
/* Devices. Where libkdl finds none of the kind, the backend brings one. */

static char the_device, the_queue;

static kdl_status devices(void (*visit)(void *user, const char *spec), void *user) {
  visit(user, "cuda:sm_90 driver=13.0 name=null");
  return KDL_OK;
}

static kdl_status device_open(const kdl_backend_device *desc, void **out_device) {
  (void)desc;
  *out_device = &the_device;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Modules and kernels. What `launch` needs is in the context, ready to be used. */

typedef struct {
  unsigned block[3];
} null_kernel;

static kdl_status launch(const kdl_kernel_head *kernel, const kdl_launch_desc *desc,
                         const kdl_args *args, void *queue) {
  const null_kernel *self = kernel->context;
  const unsigned *block = desc->block[0] ? desc->block : self->block;
  int code =
      null_launch(kernel->context, desc->grid[0], desc->grid[1], desc->grid[2], block[0], block[1],
                  block[2], desc->shared, queue, (void **)(uintptr_t)args->pointers, NULL);
  return code == 0 ? KDL_OK : libkdl->fail(KDL_DEVICE, code, "null_launch: error %d", code);
}

static kdl_status module_load(void *device, const kdl_backend_image *image, void **out_module) {
  (void)device, (void)image;
  null_kernel *module = malloc(sizeof *module);
  if (!module)
    return no_memory();
  *module = (null_kernel){{256, 1, 1}};
  *out_module = module;
  return KDL_OK;
}

static void module_unload(void *device, void *module) {
  (void)device;
  free(module);
}

static kdl_status kernel_find(void *device, void *module, const kdl_backend_wish *wish,
                              kdl_backend_kernel *out_kernel) {
  (void)device;
  null_kernel *kernel = module; /* all kernels of a module are the same */
  if (wish->block[0])
    memcpy(kernel->block, wish->block, sizeof kernel->block);
  out_kernel->launch = launch;
  out_kernel->context = kernel;
  return KDL_OK;
}

static kdl_status global_find(void *device, void *module, const char *name, uint64_t *out_address,
                              uint64_t *out_size) {
  (void)device, (void)module;
  *out_address = *out_size = 0;
  return libkdl->fail(KDL_NO_MATCH, 0, "found no variable %s", name);
}

/* ------------------------------------------------------------------------------------------ */
/* Queues and events: everything is done at once. */

static kdl_status queue_create(void *device, int32_t priority, void **out_queue) {
  (void)device, (void)priority;
  *out_queue = &the_queue;
  return KDL_OK;
}

static kdl_status queue_adopt(void *device, void *native, void **out_queue) {
  (void)device;
  *out_queue = native ? native : &the_queue;
  return KDL_OK;
}

static void queue_destroy(void *device, void *queue) {
  (void)device, (void)queue;
}

static kdl_status queue_sync(void *device, void *queue) {
  (void)device, (void)queue;
  return KDL_OK;
}

static kdl_status event_create(void *device, void **out_event) {
  (void)device;
  *out_event = calloc(1, sizeof(struct timespec));
  return *out_event ? KDL_OK : no_memory();
}

static void event_destroy(void *device, void *event) {
  (void)device;
  free(event);
}

static kdl_status event_record(void *device, void *event, void *queue) {
  (void)device, (void)queue;
  clock_gettime(CLOCK_MONOTONIC, event);
  return KDL_OK;
}

static kdl_status event_wait(void *device, void *event, void *queue) {
  (void)device, (void)event, (void)queue;
  return KDL_OK;
}

static kdl_status event_elapsed(void *device, void *start, void *end, double *out_ns) {
  (void)device;
  const struct timespec *from = start, *to = end;
  *out_ns = (double)(to->tv_sec - from->tv_sec) * 1e9 + (double)(to->tv_nsec - from->tv_nsec);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Memory */

static char *at(uint64_t address, uint64_t offset) {
  return (char *)(uintptr_t)address + offset;
}

static kdl_status allocate(void *device, uint64_t size, uint64_t *out_address) {
  (void)device;
  *out_address = (uint64_t)(uintptr_t)malloc((size_t)size);
  return *out_address ? KDL_OK : no_memory();
}

static kdl_status release(void *device, uint64_t address) {
  (void)device;
  free(at(address, 0));
  return KDL_OK;
}

static kdl_status write_memory(void *device, void *queue, uint64_t address, uint64_t offset,
                               const void *data, uint64_t size) {
  (void)device, (void)queue;
  memcpy(at(address, offset), data, (size_t)size);
  return KDL_OK;
}

static kdl_status read_memory(void *device, void *queue, void *data, uint64_t address,
                              uint64_t offset, uint64_t size) {
  (void)device, (void)queue;
  memcpy(data, at(address, offset), (size_t)size);
  return KDL_OK;
}

static kdl_status copy(void *device, void *queue, uint64_t to, uint64_t to_offset, uint64_t from,
                       uint64_t from_offset, uint64_t size) {
  (void)device, (void)queue;
  memmove(at(to, to_offset), at(from, from_offset), (size_t)size);
  return KDL_OK;
}

static kdl_status fill(void *device, void *queue, uint64_t address, uint64_t offset, uint64_t size,
                       const void *pattern, size_t pattern_size) {
  (void)device, (void)queue;
  for (uint64_t i = 0; i < size; i += pattern_size)
    memcpy(at(address, offset + i), pattern, pattern_size);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The table */

static void *device_native(void *device, kdl_native which) {
  (void)which;
  return device;
}

static void *itself(void *device, void *object) {
  (void)device;
  return object;
}

static const kdl_backend_table table = {
    .size = sizeof table,
    .abi = KDL_BACKEND_ABI,
    .name = "cuda",
    .devices = devices,
    .device_open = device_open,
    .module_load = module_load,
    .module_unload = module_unload,
    .kernel_find = kernel_find,
    .global_find = global_find,
    .queue_create = queue_create,
    .queue_adopt = queue_adopt,
    .queue_destroy = queue_destroy,
    .queue_sync = queue_sync,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_sync = queue_sync,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .alloc = allocate,
    .free = release,
    .write = write_memory,
    .read = read_memory,
    .copy = copy,
    .fill = fill,
    .device_native = device_native,
    .queue_native = itself,
    .event_native = itself,
    .kernel_native = itself,
};

EXPORT const kdl_backend_table *kdl_backend_open(const kdl_backend_host *host) {
  libkdl = host;
  return &table;
}
