/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finding kernels and preparing them for launches. */
#include "lib/backends/level_zero/objects.h"

#include <stdlib.h>
#include <string.h>

enum { default_block = 256 };

/* ------------------------------------------------------------------------------------------ */
/* Numbers                                                                                      */

/* The smallest unused number. */
static bool ze_alloc_kernel_number(kdl_ze_device *device, uint32_t *out_number) {
  enum { bits = 64 };
  pthread_mutex_lock(&device->lock);
  uint32_t word = 0;
  while (word < device->kernel_words && device->kernel_numbers[word] == UINT64_MAX)
    ++word;
  if (word == device->kernel_words) {
    uint64_t *more = realloc(device->kernel_numbers, (word + 1) * sizeof *more);
    if (more) {
      more[word] = 0;
      device->kernel_numbers = more;
      ++device->kernel_words;
    }
  }
  bool has_room = word < device->kernel_words;
  if (has_room) {
    unsigned bit = (unsigned)__builtin_ctzll(~device->kernel_numbers[word]);
    device->kernel_numbers[word] |= (uint64_t)1 << bit;
    *out_number = word * bits + bit;
  }
  pthread_mutex_unlock(&device->lock);
  return has_room;
}

static void ze_free_kernel_number(kdl_ze_device *device, uint32_t number) {
  pthread_mutex_lock(&device->lock);
  device->kernel_numbers[number / 64] &= ~((uint64_t)1 << number % 64);
  pthread_mutex_unlock(&device->lock);
}

/* ------------------------------------------------------------------------------------------ */
/* Handles                                                                                      */

static void ze_destroy_kernel(const kdl_ze_device *device, void *handle) {
  kdl_ze_log_error(device, handle ? kdl_ze.kernel_destroy(handle) : KDL_ZE_SUCCESS,
                   "zeKernelDestroy");
}

/* A kernel may dereference addresses that it finds in memory or in a structure, so the driver must
 * keep all memory resident, not only that of arguments. */
kdl_status kdl_ze_kernel_create(const kdl_ze_kernel *kernel, void **out_handle) {
  kdl_ze_kernel_desc desc = {.type = KDL_ZE_KERNEL_DESC, .name = kernel->name};
  void *handle = NULL;
  int error = kdl_ze.kernel_create(kernel->module, &desc, &handle);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(kernel->device, error, "zeKernelCreate \"%s\"", kernel->name);
  error = kdl_ze.kernel_access(handle, KDL_ZE_ACCESS_ANY);
  if (error != KDL_ZE_SUCCESS) {
    kdl_status status =
        kdl_ze_fail(kernel->device, error, "zeKernelSetIndirectAccess \"%s\"", kernel->name);
    ze_destroy_kernel(kernel->device, handle);
    return status;
  }
  *out_handle = handle;
  return KDL_OK;
}

void *kdl_ze_kernel_native(void *device, void *context) {
  (void)device;
  return ((kdl_ze_kernel *)context)->handle;
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

static kdl_status ze_resolve_arguments(kdl_ze_kernel *kernel, const kdl_ze_loaded_image *loaded,
                                       const kdl_kernel_request *request, uint32_t count) {
  kdl_arguments learnt = {.count = count};
  char fault[256];
  if (count > KDL_MAX_ARGUMENTS)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "level_zero:%u: found %u parameters, expected at most %d",
                                  kernel->device->ordinal, count, KDL_MAX_ARGUMENTS);
  kdl_arguments_read_image(&learnt, &loaded->image, request->name);
  kdl_arguments_read_signature(&learnt, request);
  if (!kdl_arguments_resolve(&learnt, fault, sizeof fault))
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "level_zero:%u: %s", kernel->device->ordinal,
                                  fault);
  return kdl_argument_list_init(&kernel->list, &learnt) ? KDL_OK : kdl_ze_no_memory(kernel->device);
}

/* ------------------------------------------------------------------------------------------ */
/* Blocks                                                                                       */

/* The driver's suggestion for a long row of work-items; 0 if it has none. */
static uint32_t ze_suggest_block(const kdl_ze_kernel *kernel) {
  uint32_t x = 0, y = 0, z = 0;
  int error = kdl_ze.kernel_suggest(kernel->handle, 1 << 20, 1, 1, &x, &y, &z);
  if (error != KDL_ZE_SUCCESS)
    kdl_ze_log_error(kernel->device, error, "zeKernelSuggestGroupSize");
  return error == KDL_ZE_SUCCESS && y == 1 && z == 1 ? x : 0;
}

static void ze_select_block(kdl_ze_kernel *kernel, const kdl_kernel_request *request,
                            const uint32_t required[3], kdl_backend_kernel *out_kernel) {
  const uint32_t *fixed = required[0] ? required : request->block;
  memcpy(out_kernel->block, fixed, sizeof out_kernel->block);
  memcpy(kernel->block, fixed, sizeof kernel->block);
  if (fixed[0])
    return;
  uint32_t most = kernel->device->max_block;
  uint32_t block = ze_suggest_block(kernel);
  block = block ? block : default_block;
  kernel->block[0] = most && block > most ? most : block;
  kernel->block[1] = kernel->block[2] = 1;
  memcpy(out_kernel->suggested, kernel->block, sizeof out_kernel->suggested);
}

/* ------------------------------------------------------------------------------------------ */
/* Finding                                                                                      */

void kdl_ze_kernel_free(kdl_ze_kernel *kernel) {
  ze_destroy_kernel(kernel->device, kernel->handle);
  if (kernel->number != UINT32_MAX)
    ze_free_kernel_number(kernel->device, kernel->number);
  kdl_argument_list_free(&kernel->list);
  free(kernel->name);
  free(kernel);
}

static kdl_status ze_prepare_kernel(kdl_ze_kernel *kernel, const kdl_ze_loaded_image *loaded,
                                    const kdl_kernel_request *request,
                                    kdl_backend_kernel *out_kernel) {
  kernel->name = strdup(request->name);
  kernel->list.name = kernel->name;
  if (!kernel->name || !ze_alloc_kernel_number(kernel->device, &kernel->number))
    return kdl_ze_no_memory(kernel->device);
  KDL_TRY(kdl_ze_kernel_create(kernel, &kernel->handle));
  kdl_ze_kernel_properties properties = {.type = KDL_ZE_KERNEL_PROPERTIES};
  int error = kdl_ze.kernel_properties(kernel->handle, &properties);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(kernel->device, error, "zeKernelGetProperties \"%s\"", kernel->name);
  KDL_TRY(ze_resolve_arguments(kernel, loaded, request, properties.argument_count));
  ze_select_block(kernel, request, properties.group_size, out_kernel);
  return KDL_OK;
}

/* Setting arguments. The driver looks up the memory of an address when it is set. */

static int ze_set_value(void *handle, uint32_t index, size_t size, const void *value) {
  return kdl_ze.kernel_argument(handle, index, size, value);
}

static int ze_set_memory(const void *device, void *handle, uint32_t index, uint64_t address) {
  (void)device;
  return kdl_ze.kernel_argument(handle, index, sizeof address, &address);
}

static kdl_status ze_argument_refused(const void *device, int error, bool is_memory, size_t index,
                                      const char *kernel) {
  (void)is_memory;
  return kdl_ze_fail(device, error, "zeKernelSetArgumentValue of argument %zu of \"%s\"", index,
                     kernel);
}

static const kdl_argument_setter ze_setter = {"level_zero", &kdl_core_services, ze_set_value,
                                              ze_set_memory, ze_argument_refused};

kdl_status kdl_ze_kernel_find(void *device, void *loaded_handle, const kdl_kernel_request *request,
                              kdl_backend_kernel *out_kernel) {
  kdl_ze_loaded_image *loaded = loaded_handle;
  kdl_ze_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel)
    return kdl_ze_no_memory(device);
  kernel->device = device;
  kernel->list = (kdl_argument_list){.setter = &ze_setter,
                                     .device = device,
                                     .ordinal = kernel->device->ordinal,
                                     .ranges = &kernel->device->ranges};
  kernel->module = loaded->handle;
  kernel->number = UINT32_MAX;
  kdl_status status = ze_prepare_kernel(kernel, loaded, request, out_kernel);
  if (status != KDL_OK) {
    kdl_ze_kernel_free(kernel);
    return status;
  }
  const kdl_argument_list *list = &kernel->list;
  memcpy(out_kernel->tile, request->tile, sizeof out_kernel->tile);
  out_kernel->launch = kdl_ze_entry_of(list);
  out_kernel->context = kernel;
  out_kernel->params = list->params.list;
  out_kernel->param_count = list->count;
  kernel->next = atomic_load(&loaded->kernels);
  while (!atomic_compare_exchange_weak(&loaded->kernels, &kernel->next, kernel))
    ;
  return KDL_OK;
}
