/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A backend as a shared object of its own: a device that takes any image, keeps memory on the host
 * and runs nothing. What it costs is what libkdl costs, which is what bench_launch measures with
 * it; and it is the place to start from when writing a real one. <kdl/backend.h> is the contract.
 *
 *     cc -shared -fPIC null_backend.c -o null_backend.so
 *     KDL_BACKEND_PATH=./null_backend.so kdl run saxpy.offload saxpy --device=cuda ...
 *
 * Queues, events and memory come ready made from <kdl/backend_in_process.h>. A backend over a
 * driver writes its own: each is one function of the table, and most are one call of the driver.
 */
#include <kdl/backend.h>

/* What libkdl does for a backend: record failures, log, read the environment. */
static const kdl_backend_services *libkdl;
#define KDL_IN_PROCESS_SERVICES libkdl
#include <kdl/backend_in_process.h>

#define EXPORT __attribute__((visibility("default")))

/* ------------------------------------------------------------------------------------------ */
/* The driver: one function, with as many arguments as cuLaunchKernel has. Programs may call it
 * directly to compare. */

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
/* Devices. A backend that serves those libkdl finds itself has no `devices`; this one brings a
 * device that no other backend knows. */

static char the_device; /* whatever the functions below need to know of it */

static kdl_status devices(void (*visit)(void *user, const char *spec), void *user) {
  visit(user, "cuda:sm_90 driver=13.0 name=null");
  return KDL_OK;
}

static kdl_status device_open(const kdl_backend_device *desc, void **out_device) {
  (void)desc; /* its spec, its number, and the caller's own context where there is one */
  *out_device = &the_device;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Loaded images and kernels. What is refused here, with the driver's own code and words, lets
 * libkdl go on to the next best image. */

typedef struct {
  unsigned block[3];
} null_kernel;

/* What programs call from the second launch on: all that it needs is in kernel->context, and it
 * takes no lock. */
static kdl_status launch(const kdl_kernel_head *kernel, const kdl_launch_desc *desc,
                         const kdl_args *args, void *queue) {
  const null_kernel *self = (const null_kernel *)kernel->context;
  const unsigned *block = desc->block[0] ? desc->block : self->block;
  int code =
      null_launch(kernel->context, desc->grid[0], desc->grid[1], desc->grid[2], block[0], block[1],
                  block[2], desc->shared, queue, (void **)(uintptr_t)args->pointers, NULL);
  return code == 0 ? KDL_OK : libkdl->fail(KDL_DEVICE, code, "null_launch: error %d", code);
}

static kdl_status image_load(void *device, const kdl_backend_image *image, void **out_loaded) {
  (void)device;
  if (image->data_size == 0)
    return libkdl->fail(KDL_BAD_FILE, 0, "found no bytes, expected an image");
  null_kernel *loaded = (null_kernel *)malloc(sizeof *loaded);
  if (!loaded)
    return kdl_in_process_no_memory();
  *loaded = (null_kernel){{256, 1, 1}};
  *out_loaded = loaded;
  return KDL_OK;
}

/* Nothing of it runs any more: launches are over when they return. */
static void image_unload(void *device, void *loaded) {
  (void)device;
  free(loaded);
}

/* The request is what metadata says. Where the image itself knows better, that goes into
 * out_kernel: the block it works with, and its parameters. */
static kdl_status kernel_find(void *device, void *loaded, const kdl_kernel_request *request,
                              kdl_backend_kernel *out_kernel) {
  (void)device;
  null_kernel *kernel = (null_kernel *)loaded; /* all kernels of an image are the same */
  if (request->block[0])
    memcpy(kernel->block, request->block, sizeof kernel->block);
  out_kernel->launch = launch;
  out_kernel->context = kernel;
  return KDL_OK;
}

static kdl_status global_find(void *device, void *loaded, const char *name, uint64_t *out_address,
                              uint64_t *out_size) {
  (void)device, (void)loaded;
  *out_address = *out_size = 0;
  return libkdl->fail(KDL_NO_MATCH, 0, "found no variable %s", name);
}

/* ------------------------------------------------------------------------------------------ */
/* The table, and what libkdl looks for in the shared object. */

static const kdl_backend_table table = {
    .size = sizeof table,
    .abi = KDL_BACKEND_ABI,
    .name = "cuda", /* it serves devices whose spec begins so */
    .devices = devices,
    .device_open = device_open,
    .image_load = image_load,
    .image_unload = image_unload,
    .kernel_find = kernel_find,
    .global_find = global_find,
    KDL_IN_PROCESS_QUEUES,
    KDL_IN_PROCESS_EVENTS,
    KDL_IN_PROCESS_MEMORY,
    KDL_IN_PROCESS_NATIVES,
    .kernel_native = kdl_in_process_native,
};

EXPORT const kdl_backend_table *kdl_backend_open(const kdl_backend_services *services) {
  libkdl = services;
  return &table;
}
