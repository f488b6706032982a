/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/host/host.h"

#include "lib/backends/common/built_in.h"
#include "lib/backends/common/services.h"
#include "lib/device/host_cpu.h"
#include "support/base/error.h"
#include "support/system/lock.h"

#define KDL_IN_PROCESS_SERVICES (&kdl_core_services)
#include <kdl/backend_in_process.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct {
  kdl_host_image image;
  pthread_mutex_t lock;
  kdl_host_loaded_kernel *kernels;
} host_loaded_image;

/* It has nothing to remember; it only must not be NULL. */
static char host_device;

#define FAIL(status, ...) kdl_core_services.fail(status, 0, __VA_ARGS__)

static kdl_status host_device_open(const kdl_backend_device *desc, void **out_device) {
  if (desc->native_context)
    return FAIL(KDL_BAD_CALL, "the host has no contexts to adopt");
  *out_device = &host_device;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

/* A queue's handle is a number: that of a queue with a limit has the highest bit, and the limit in
 * its lowest. */
enum { queue_limit_bits = 16, max_queue_limit = (1 << queue_limit_bits) - 1 };
static const uintptr_t limited_queue = UINTPTR_MAX / 2 + 1;

static kdl_status host_queue_create_limited(void *device, int32_t priority, uint32_t threads,
                                            void **out_queue) {
  void *number;
  KDL_TRY(kdl_in_process_queue_create(device, priority, &number));
  *out_queue = (void *)(limited_queue | (uintptr_t)number << queue_limit_bits |
                        (threads < max_queue_limit ? threads : max_queue_limit));
  return KDL_OK;
}

uint32_t kdl_host_queue_threads(const void *queue) {
  uintptr_t handle = (uintptr_t)queue;
  return handle & limited_queue ? (uint32_t)(handle & max_queue_limit) : 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static kdl_status host_check_shape(const kdl_host_kernel *kernel, const kdl_launch_desc *desc,
                                   uint64_t *out_groups) {
  const uint32_t *grid = desc->grid;
  uint64_t area = (uint64_t)grid[0] * grid[1];
  if (area == 0 || grid[2] == 0 || (area > KDL_HOST_LIMIT_GROUPS / grid[2]))
    return FAIL(KDL_BAD_CALL, "found a grid of %ux%ux%u groups, expected 1 to 2^63 - 1", grid[0],
                grid[1], grid[2]);
  if (desc->flags || desc->cluster[0] > 1)
    return FAIL(KDL_UNSUPPORTED, "the host has no cooperative launches and no clusters");
  if (kernel->block[0] && desc->block[0] &&
      memcmp(desc->block, kernel->block, sizeof desc->block) != 0)
    return FAIL(KDL_BAD_CALL, "found a block of %ux%ux%u, expected %ux%ux%u as the image has it",
                desc->block[0], desc->block[1], desc->block[2], kernel->block[0], kernel->block[1],
                kernel->block[2]);
  if (!kernel->block[0] && !desc->block[0])
    return FAIL(KDL_BAD_CALL, "found no block, which this image leaves to the launch");
  if (desc->shared > UINT32_MAX - kernel->shared)
    return FAIL(KDL_BAD_CALL, "found %u bytes of group memory, which is too much", desc->shared);
  *out_groups = area * grid[2];
  return KDL_OK;
}

static inline __attribute__((always_inline)) kdl_status
host_prepare_launch(const kdl_host_loaded_kernel *kernel, const kdl_launch_desc *desc,
                    const kdl_args *args, const char **error, kdl_host_work *out_work) {
  const kdl_host_kernel *declared = &kernel->declared;
  if (args->count != declared->param_count)
    return FAIL(KDL_BAD_CALL, "found %zu arguments, expected %u", args->count,
                declared->param_count);
  KDL_TRY(host_check_shape(declared, desc, &out_work->group_count));
  const uint32_t *block = declared->block[0] ? declared->block : desc->block;
  const uint32_t *tile = kernel->tile[0] ? kernel->tile : block;
  out_work->shape = (kdl_host_group){
      .size = sizeof out_work->shape,
      .group_count = {desc->grid[0], desc->grid[1], desc->grid[2]},
      .block = {block[0], block[1], block[2]},
      .tile = {tile[0], tile[1], tile[2]},
      .shared_size = declared->shared + desc->shared,
      .error = error,
  };
  return KDL_OK;
}

kdl_status kdl_host_prepare_work(const kdl_host_loaded_kernel *kernel, const kdl_launch_desc *desc,
                                 const kdl_args *args, const char **error,
                                 kdl_host_work *out_work) {
  kdl_status status = host_prepare_launch(kernel, desc, args, error, out_work);
  out_work->run = kernel->declared.run;
  out_work->args = args->pointers;
  out_work->next = NULL;
  out_work->threads = desc->threads;
  out_work->end = out_work->group_count;
  return status;
}

/* Apart, so that a launch of one group stays as short as it can be. */
static __attribute__((noinline)) kdl_status host_run_many(kdl_host_work *work,
                                                          const kdl_launch_desc *desc,
                                                          const void *queue) {
  work->end = work->group_count;
  return kdl_host_run(work, work->group_count,
                      desc->threads ? desc->threads : kdl_host_queue_threads(queue));
}

static kdl_status host_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue) {
  const kdl_host_loaded_kernel *kernel = head->context;
  kdl_host_work work = {.run = kernel->declared.run, .args = args->pointers};
  const char *error = NULL;
  KDL_TRY(host_prepare_launch(kernel, desc, args, &error, &work));
  if (work.group_count == 1 && work.shape.shared_size == 0)
    work.run(&work.shape, work.args);
  else
    KDL_TRY(host_run_many(&work, desc, queue));
  if (error)
    return FAIL(KDL_DEVICE, "%s", error);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Loaded images                                                                              */

static kdl_status host_image_load(void *device, const kdl_backend_image *image, void **out_loaded) {
  (void)device;
  host_loaded_image *loaded = calloc(1, sizeof *loaded);
  if (!loaded)
    return kdl_in_process_no_memory();
  kdl_status status = kdl_host_image_load(image, &loaded->image);
  if (status == KDL_OK)
    pthread_mutex_init(&loaded->lock, NULL);
  return kdl_return_or_free(status, loaded, out_loaded);
}

static void host_image_unload(void *device, void *handle) {
  (void)device;
  host_loaded_image *loaded = handle;
  kdl_host_image_unload(&loaded->image);
  while (loaded->kernels) {
    kdl_host_loaded_kernel *kernel = loaded->kernels;
    loaded->kernels = kernel->next;
    free(kernel);
  }
  pthread_mutex_destroy(&loaded->lock);
  free(loaded);
}

static bool host_is_block_valid(const uint32_t extent[3]) {
  return extent[0] ? extent[1] && extent[2] : !extent[1] && !extent[2];
}

static bool host_is_descriptor(const kdl_host_image *image, const kdl_host_kernel *kernel) {
  void *run;
  memcpy(&run, &kernel->run, sizeof run);
  return kdl_host_image_holds(image, run, 1, true) &&
         kernel->param_count <= KDL_HOST_LIMIT_PARAMS &&
         (!kernel->param_count ||
          ((uintptr_t)kernel->params % _Alignof(kdl_host_param) == 0 &&
           kdl_host_image_holds(image, kernel->params, kernel->param_count * sizeof *kernel->params,
                                false))) &&
         host_is_block_valid(kernel->block) && host_is_block_valid(kernel->tile);
}

/* An image is code and could lie about anything; what is checked is what damage looks like. */
static kdl_status host_read_descriptor(const kdl_host_image *image, const char *name,
                                       kdl_host_kernel *out_declared) {
  char symbol[512];
  uint64_t size = 0;
  int length = snprintf(symbol, sizeof symbol, "kdl_host_kernel_%s", name);
  const void *found =
      (size_t)length < sizeof symbol ? kdl_host_image_find(image, symbol, &size) : NULL;
  if (!found)
    return FAIL(KDL_BAD_FILE,
                "%s: found no symbol %s, expected the description of a host kernel: see "
                "<kdl/kernel.h>",
                name, symbol);
  memcpy(out_declared, found, size < sizeof *out_declared ? size : sizeof *out_declared);
  if (size < sizeof *out_declared || out_declared->abi != KDL_HOST_ABI ||
      out_declared->size < sizeof *out_declared)
    return FAIL(KDL_UNSUPPORTED, "%s: found host ABI %u of %u bytes, expected %u of %zu", name,
                out_declared->abi, out_declared->size, (unsigned)KDL_HOST_ABI,
                sizeof *out_declared);
  if (!host_is_descriptor(image, out_declared))
    return FAIL(KDL_BAD_FILE, "%s: %s is not a description of a kernel", name, symbol);
  return KDL_OK;
}

static kdl_status host_lay_out_params(kdl_host_loaded_kernel *kernel) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < kernel->declared.param_count; ++i) {
    const kdl_host_param *param = &kernel->declared.params[i];
    if (!param->align || (param->align & (param->align - 1)) || param->align > 4096)
      return FAIL(KDL_BAD_FILE, "parameter %u: found an alignment of %u, expected a power of two",
                  i, param->align);
    at = (at + param->align - 1) & ~((uint64_t)param->align - 1);
    kernel->params[i] = (kdl_param_info){(uint32_t)at, param->size};
    at += param->size;
    if (at > UINT32_MAX)
      return FAIL(KDL_BAD_FILE, "parameter %u: found more than 4 GiB of arguments", i);
  }
  return KDL_OK;
}

static kdl_status host_kernel_find(void *device, void *handle, const kdl_kernel_request *request,
                                   kdl_backend_kernel *out_kernel) {
  (void)device;
  host_loaded_image *loaded = handle;
  kdl_host_kernel declared = {0};
  KDL_TRY(host_read_descriptor(&loaded->image, request->name, &declared));
  kdl_host_loaded_kernel *kernel =
      calloc(1, sizeof *kernel + declared.param_count * sizeof *kernel->params);
  if (!kernel)
    return kdl_in_process_no_memory();
  if (!declared.block[0]) /* an image that works with any, as one that was translated */
    memcpy(declared.block, request->block, sizeof declared.block);
  kernel->declared = declared;
  kdl_status status = host_lay_out_params(kernel);
  if (status != KDL_OK) {
    free(kernel);
    return status;
  }
  memcpy(kernel->tile, declared.tile[0] ? declared.tile : request->tile, sizeof kernel->tile);
  kdl_lock(&loaded->lock);
  kernel->next = loaded->kernels;
  loaded->kernels = kernel;
  kdl_unlock(&loaded->lock);
  out_kernel->launch = host_launch;
  out_kernel->context = kernel;
  memcpy(out_kernel->block, declared.block, sizeof out_kernel->block);
  memcpy(out_kernel->tile, declared.tile, sizeof out_kernel->tile);
  out_kernel->params = kernel->params;
  out_kernel->param_count = declared.param_count;
  return KDL_OK;
}

static kdl_status host_global_find(void *device, void *handle, const char *name,
                                   uint64_t *out_address, uint64_t *out_size) {
  (void)device;
  const host_loaded_image *loaded = handle;
  void *address = kdl_host_image_find(&loaded->image, name, out_size);
  if (!address)
    return FAIL(KDL_NO_MATCH, "found no variable %s", name);
  *out_address = (uint64_t)(uintptr_t)address;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static void *host_kernel_native(void *device, void *context) {
  (void)device;
  void *function;
  memcpy(&function, &((kdl_host_loaded_kernel *)context)->declared.run, sizeof function);
  return function;
}

static const kdl_backend_table host_table = {
    .size = sizeof host_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_SURVIVES_FORK | KDL_BACKEND_READS_NO_PAIRS,
    .name = "host",
    .device_open = host_device_open,
    .image_load = host_image_load,
    .image_unload = host_image_unload,
    .kernel_find = host_kernel_find,
    .global_find = host_global_find,
    KDL_IN_PROCESS_QUEUES,
    KDL_IN_PROCESS_EVENTS,
    KDL_IN_PROCESS_MEMORY,
    KDL_IN_PROCESS_NATIVES,
    .kernel_native = host_kernel_native,
    .memory_info = kdl_host_memory_info,
    .clock_rate = kdl_host_clock_rate,
    .sequence_create = kdl_host_sequence_create,
    .sequence_destroy = kdl_host_sequence_destroy,
    .sequence_run = kdl_host_sequence_run,
    .queue_create_limited = host_queue_create_limited,
};

static void host_list_cpu(kdl_spec_list *list) {
  kdl_device_spec *spec = kdl_spec_list_add(list);
  if (!spec)
    return;
  spec->device_class = KDL_DEVICE_CPU;
  if (kdl_cpu_describe(spec) != KDL_OK)
    kdl_spec_list_drop_last(list, "%s", kdl_error_message());
  kdl_spec_list_finish(list);
}

static const kdl_variable limits[] = {KDL_VARIABLE_CPU};

const kdl_built_in kdl_built_in_host = {
    .table = &host_table,
    .list = host_list_cpu,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
};
