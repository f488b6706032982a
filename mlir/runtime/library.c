/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The libraries of the program, and how their kernels are bound. */
#include "host_streams.h"
#include "support/system/variables.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_mlir_module *modules;

/* ------------------------------------------------------------------------------------------ */
/* The list                                                                                     */

kdl_mlir_module *kdl_mlir_module_add(const kdl_mlir_library *declared) {
  kdl_mlir_module *module = calloc(1, sizeof *module);
  if (!module)
    return NULL;
  module->declared = *declared;
  pthread_mutex_lock(&list_lock);
  kdl_mlir_module **end = &modules;
  while (*end)
    end = &(*end)->next;
  *end = module;
  pthread_mutex_unlock(&list_lock);
  return module;
}

void kdl_mlir_module_remove(kdl_mlir_module *module) {
  if (!module)
    return;
  pthread_mutex_lock(&list_lock);
  kdl_mlir_module **at = &modules;
  while (*at && *at != module)
    at = &(*at)->next;
  if (*at)
    *at = module->next;
  pthread_mutex_unlock(&list_lock);
  kdl_mlir_contractions_free(module->contractions);
  kdl_close(module->library);
  for (kdl_mlir_cached_kernel *known = module->cached_kernels, *next; known; known = next) {
    next = known->next;
    free(known);
  }
  free(module);
}

kdl_status kdl_mlir_modules_visit(kdl_status (*visit)(void *user, kdl_mlir_module *module),
                                  void *user) {
  kdl_status status = KDL_OK;
  pthread_mutex_lock(&list_lock);
  for (kdl_mlir_module *at = modules; at && status == KDL_OK; at = at->next)
    status = visit(user, at);
  pthread_mutex_unlock(&list_lock);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* One of them                                                                                  */

kdl_status kdl_mlir_module_open(kdl_mlir_module *module) {
  kdl_library *library = __atomic_load_n(&module->library, __ATOMIC_ACQUIRE);
  if (library)
    return KDL_OK;
  kdl_open_opts opts = {.size = sizeof opts, .name = module->declared.name};
  kdl_status status =
      kdl_open_memory(module->declared.data, (size_t)module->declared.data_size, &opts, &library);
  if (status != KDL_OK)
    return status;
  kdl_library *none = NULL;
  if (!__atomic_compare_exchange_n(&module->library, &none, library, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    kdl_close(library); /* another thread was faster */
  return KDL_OK;
}

void kdl_mlir_module_select(const kdl_mlir_module *module, kdl_mlir_select *out_select) {
  out_select->opts = (kdl_select_opts){.size = sizeof out_select->opts,
                                       .policy = (kdl_policy)module->declared.policy,
                                       .variant_tag = kdl_environment(KDL_VARIABLE_VARIANT_TAG)};
  out_select->overrides = kdl_environment(KDL_VARIABLE_POLICY) ? NULL : &out_select->opts;
}

static kdl_mlir_cached_kernel *find_cached_kernel(kdl_mlir_module *module, const char *name) {
  kdl_mlir_cached_kernel *at = __atomic_load_n(&module->cached_kernels, __ATOMIC_ACQUIRE);
  while (at && strcmp(at->name, name) != 0)
    at = at->next;
  return at;
}

/* If two threads add the same kernel, or memory is short, later searches are slower. */
static void add_cached_kernel(kdl_mlir_module *module, const char *name, kdl_kernel *kernel) {
  size_t size = strlen(name) + 1;
  kdl_mlir_cached_kernel *added = malloc(sizeof *added + size);
  if (!added)
    return;
  added->kernel = kernel;
  kdl_mlir_host_kernel_init(&added->on_host, kernel);
  memcpy(added->name, name, size);
  added->next = __atomic_load_n(&module->cached_kernels, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&module->cached_kernels, &added->next, added, true,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    ;
}

static kdl_status look_up_kernel(kdl_mlir_module *module, const char *name,
                                 kdl_kernel **out_kernel) {
  const kdl_mlir_device *device;
  kdl_mlir_select select;
  kdl_status status = kdl_mlir_device_get(&device);
  if (status == KDL_OK)
    status = kdl_mlir_module_open(module);
  if (status != KDL_OK)
    return status;
  kdl_mlir_module_select(module, &select);
  status = strncmp(name, KDL_MLIR_CONTRACTION, sizeof KDL_MLIR_CONTRACTION - 1) == 0
               ? kdl_mlir_contraction_get(module, device, name, out_kernel)
               : kdl_sym(module->library, device->device, name, select.overrides, out_kernel);
  if (status == KDL_OK)
    add_cached_kernel(module, name, *out_kernel);
  return status;
}

kdl_status kdl_mlir_module_kernel(kdl_mlir_module *module, const char *name,
                                  kdl_kernel **out_kernel) {
  const kdl_mlir_cached_kernel *cached = find_cached_kernel(module, name);
  *out_kernel = cached ? cached->kernel : NULL;
  return cached ? KDL_OK : look_up_kernel(module, name, out_kernel);
}

/* ------------------------------------------------------------------------------------------ */
/* What compiled code calls                                                                     */

void kdl_mlir_register(kdl_mlir_library *library) {
  if (library->abi == KDL_MLIR_ABI) {
    library->state = kdl_mlir_module_add(library);
    if (library->state)
      return;
    kdl_mlir_set_error(KDL_NO_MEMORY, "out of memory");
  } else {
    kdl_mlir_set_error(KDL_UNSUPPORTED,
                       "found ABI %u, expected %d: the program was compiled for another version of "
                       "libkdl_mlir_runtime",
                       library->abi, KDL_MLIR_ABI);
  }
  kdl_mlir_report_error(library->name);
}

void kdl_mlir_unregister(kdl_mlir_library *library) {
  kdl_mlir_host_drain(NULL);
  kdl_mlir_module_remove(library->state);
  library->state = NULL;
}

kdl_status kdl_mlir_bind(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                         const kdl_args *args, void *queue) {
  const kdl_mlir_stub *stub = (const kdl_mlir_stub *)head;
  const kdl_mlir_device *device;
  kdl_kernel *kernel = NULL;
  if (!stub->library->state)
    return kdl_mlir_set_error(KDL_BAD_CALL, "its library is not registered");
  kdl_status status = kdl_mlir_module_kernel(stub->library->state, stub->name, &kernel);
  if (status == KDL_OK)
    status = kdl_mlir_device_get(&device);
  if (status != KDL_OK)
    return status;
  kdl_mlir_cached_kernel *cached =
      device->is_host ? find_cached_kernel(stub->library->state, stub->name) : NULL;
  kdl_kernel_head *bound = cached ? &cached->on_host.head : (kdl_kernel_head *)kernel;
  void *own_queue = ((kdl_queue_head *)device->queue)->queue;
  __atomic_store_n(&stub->slot->queue, own_queue, __ATOMIC_RELAXED);
  __atomic_store_n(&stub->slot->kernel, bound, __ATOMIC_RELEASE);
  kdl_launch_entry *entry = __atomic_load_n(&bound->entry, __ATOMIC_ACQUIRE);
  return entry(bound, desc, args, queue ? queue : own_queue);
}

void kdl_mlir_launch_failed(const kdl_mlir_stub *stub, const kdl_launch_desc *desc) {
  char what[512];
  if (desc->grid[0] == 0 || desc->grid[1] == 0 || desc->grid[2] == 0)
    return;
  snprintf(what, sizeof what, "launch of %s::@%s", stub->library->name, stub->name);
  kdl_mlir_report_error(what);
}

void kdl_mlir_wait(void) {
  const kdl_mlir_device *device = kdl_mlir_device_for("wait");
  if (device && !device->is_host)
    kdl_mlir_ok(kdl_sync(device->queue), "wait");
}
