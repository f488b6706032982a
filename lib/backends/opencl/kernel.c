/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finding kernels and preparing them for launches. */
#include "lib/backends/opencl/objects.h"
#include "lib/inspect/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { default_block = 256 };

/* ------------------------------------------------------------------------------------------ */
/* Instances                                                                                    */

/* Its cache is empty. */
static kdl_opencl_instance *opencl_alloc_instance(kdl_opencl_kernel *kernel) {
  const kdl_argument_list *list = &kernel->list;
  kdl_opencl_instance *made =
      calloc(1, sizeof *made + kdl_argument_cache_value_count(list) * sizeof *made->values);
  if (!made)
    return NULL;
  made->of = kernel;
  made->device = kernel->device;
  kdl_argument_cache_init(&made->given, list, made->values);
  return made;
}

/* `kdl cc` adds a prefix to names that collide with functions of a driver. */
static void *opencl_create_prefixed_kernel(const kdl_opencl_kernel *kernel) {
  char name[256];
  int32_t error;
  int length = snprintf(name, sizeof name, KDL_OPENCL_C_PREFIX "%s", kernel->name);
  return (size_t)length < sizeof name ? kdl_opencl.kernel_create(kernel->program, name, &error)
                                      : NULL;
}

kdl_status kdl_opencl_instance_create(kdl_opencl_kernel *kernel,
                                      kdl_opencl_instance **out_instance) {
  uint32_t ordinal = kernel->device->ordinal;
  kdl_opencl_instance *made = opencl_alloc_instance(kernel);
  if (!made)
    return kdl_opencl_no_memory(ordinal);
  int32_t error = KDL_CL_SUCCESS;
  made->kernel = kdl_opencl.kernel_create(kernel->program, kernel->name, &error);
  if (!made->kernel && error == KDL_CL_INVALID_KERNEL_NAME)
    made->kernel = opencl_create_prefixed_kernel(kernel);
  if (!made->kernel) {
    free(made);
    return kdl_opencl_fail(ordinal, error, "clCreateKernel \"%s\"", kernel->name);
  }
  *out_instance = made;
  return KDL_OK;
}

void kdl_opencl_instance_free(kdl_opencl_kernel *kernel, kdl_opencl_instance *instance) {
  kdl_opencl_log_error(kernel->device->ordinal, kdl_opencl.kernel_release(instance->kernel),
                       "clReleaseKernel");
  free(instance);
}

void kdl_opencl_kernel_free(kdl_opencl_kernel *kernel) {
  for (kdl_opencl_instance *instance = kernel->instances; instance;) {
    kdl_opencl_instance *next = instance->next;
    kdl_opencl_instance_free(kernel, instance);
    instance = next;
  }
  pthread_mutex_destroy(&kernel->lock);
  kdl_argument_list_free(&kernel->list);
  free(kernel->name);
  free(kernel);
}

void *kdl_opencl_kernel_native(void *device, void *context) {
  (void)device;
  return ((kdl_opencl_instance *)context)->kernel;
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

static kdl_status opencl_resolve_params(kdl_opencl_kernel *kernel,
                                        const kdl_opencl_loaded_image *loaded,
                                        const kdl_kernel_request *request, void *native) {
  kdl_arguments learnt;
  KDL_TRY(kdl_opencl_params_resolve(kernel->device, loaded, native, request, &learnt));
  return kdl_argument_list_init(&kernel->list, &learnt)
             ? KDL_OK
             : kdl_opencl_no_memory(kernel->device->ordinal);
}

/* ------------------------------------------------------------------------------------------ */
/* Groups                                                                                       */

static size_t opencl_query_group(const kdl_opencl_kernel *kernel, void *native, uint32_t what) {
  size_t value = 0;
  int32_t error =
      kdl_opencl.kernel_group_info(native, kernel->device->id, what, sizeof value, &value, NULL);
  return error == KDL_CL_SUCCESS ? value : 0;
}

/* The block that the source requires; zeros for none. */
static void opencl_query_required_block(const kdl_opencl_kernel *kernel, void *native,
                                        uint32_t out_block[3]) {
  size_t required[3] = {0};
  if (kdl_opencl.kernel_group_info(native, kernel->device->id,
                                   KDL_CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required,
                                   NULL) != KDL_CL_SUCCESS)
    memset(required, 0, sizeof required);
  for (int i = 0; i < 3; ++i)
    out_block[i] = (uint32_t)required[i];
}

/* The largest multiple of the preferred size, up to the default size. */
static uint32_t opencl_suggest_block(size_t most, size_t multiple) {
  size_t size = most && most < default_block ? most : default_block;
  if (multiple && size > multiple)
    size -= size % multiple;
  return (uint32_t)size;
}

static kdl_status opencl_resolve_block(kdl_opencl_kernel *kernel, void *native,
                                       const kdl_kernel_request *request,
                                       kdl_backend_kernel *out_kernel) {
  uint32_t required[3];
  size_t most = opencl_query_group(kernel, native, KDL_CL_KERNEL_WORK_GROUP_SIZE);
  opencl_query_required_block(kernel, native, required);
  const uint32_t *block = required[0] ? required : request->block;
  uint64_t items = (uint64_t)block[0] * block[1] * block[2];
  if (most && items > most)
    return kdl_core_services.fail(KDL_DEVICE, KDL_CL_INVALID_WORK_GROUP_SIZE,
                                  "opencl:%u: block %ux%ux%u has more than the %zu work-items that "
                                  "the driver allows for \"%s\"",
                                  kernel->device->ordinal, block[0], block[1], block[2], most,
                                  kernel->name);
  if (block[0]) {
    memcpy(kernel->block, block, sizeof kernel->block);
    memcpy(out_kernel->block, block, sizeof kernel->block);
    return KDL_OK;
  }
  kernel->block[0] = opencl_suggest_block(
      most, opencl_query_group(kernel, native, KDL_CL_KERNEL_PREFERRED_MULTIPLE));
  kernel->block[1] = kernel->block[2] = 1;
  memcpy(out_kernel->suggested, kernel->block, sizeof kernel->block);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Finding                                                                                      */

/* The first cl_kernel is used for queries, before the size of its cache is known. */
static kdl_status opencl_prepare_kernel(kdl_opencl_kernel *kernel,
                                        const kdl_opencl_loaded_image *loaded,
                                        const kdl_kernel_request *request,
                                        kdl_backend_kernel *out_kernel) {
  kdl_opencl_instance *asked;
  KDL_TRY(kdl_opencl_instance_create(kernel, &asked));
  kdl_status status = opencl_resolve_params(kernel, loaded, request, asked->kernel);
  if (status == KDL_OK)
    status = opencl_resolve_block(kernel, asked->kernel, request, out_kernel);
  kdl_opencl_instance *first = status == KDL_OK ? opencl_alloc_instance(kernel) : NULL;
  if (!first) {
    kdl_opencl_instance_free(kernel, asked);
    return status == KDL_OK ? kdl_opencl_no_memory(kernel->device->ordinal) : status;
  }
  first->kernel = asked->kernel;
  free(asked);
  kernel->first = first;
  kernel->instances = first;
  kernel->instance_count = 1;
  return KDL_OK;
}

static void opencl_fill_kernel(const kdl_opencl_kernel *kernel, const kdl_kernel_request *request,
                               kdl_backend_kernel *out_kernel) {
  const kdl_argument_list *list = &kernel->list;
  memcpy(out_kernel->tile, request->tile, sizeof out_kernel->tile);
  out_kernel->launch = kdl_opencl_entry_of(list);
  out_kernel->context = kernel->first;
  out_kernel->params = list->params.list;
  out_kernel->param_count = list->count;
}

kdl_status kdl_opencl_kernel_find(void *handle, void *loaded_handle,
                                  const kdl_kernel_request *request,
                                  kdl_backend_kernel *out_kernel) {
  kdl_opencl_device *device = handle;
  kdl_opencl_loaded_image *loaded = loaded_handle;
  kdl_opencl_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel)
    return kdl_opencl_no_memory(device->ordinal);
  kernel->device = device;
  kernel->program = loaded->program;
  kernel->name = strdup(request->name);
  kernel->list = (kdl_argument_list){.setter = &kdl_opencl_setter,
                                     .device = device,
                                     .ordinal = device->ordinal,
                                     .ranges = &device->ranges,
                                     .name = kernel->name};
  pthread_mutex_init(&kernel->lock, NULL);
  kdl_status status = kernel->name ? opencl_prepare_kernel(kernel, loaded, request, out_kernel)
                                   : kdl_opencl_no_memory(device->ordinal);
  if (status != KDL_OK) {
    kdl_opencl_kernel_free(kernel);
    return status;
  }
  opencl_fill_kernel(kernel, request, out_kernel);
  kernel->next = atomic_load_explicit(&loaded->kernels, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&loaded->kernels, &kernel->next, kernel))
    ;
  return KDL_OK;
}
