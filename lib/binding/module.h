/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One image on one device: loaded once, or failed once and remembered so. A shortage of memory is
 * not remembered: there may be enough the next time. */
#ifndef KDL_BINDING_MODULE_H
#define KDL_BINDING_MODULE_H

#include "lib/library/library.h"
#include "lib/registry/runtime.h"

/* A failure that is returned again by each later call. */
typedef struct kdl_cached_failure {
  kdl_status status;
  int64_t code;
  char *message;
} kdl_cached_failure;

/* Keeps what was last recorded on this thread. */
void kdl_cache_failure(kdl_status status, kdl_cached_failure *out_failure);
kdl_status kdl_fail_cached(const kdl_cached_failure *failure);

/* Whether the failure that was last recorded on this thread is one to try again after: memory was
 * short. A limit that was reached, of time or of size, is reached again. */
bool kdl_failure_is_transient(kdl_status status);

/* What of a kernel's constants a module was made for; both NULL where the image is loaded as a
 * whole: for any kernel, with no constants or of a kind that has none. */
typedef struct kdl_specialisation {
  const char *kernel;
  const char *constants; /* as kdl_jit prints them */
} kdl_specialisation;

typedef struct kdl_module {
  struct kdl_module *next;
  const kdl_runtime *runtime;
  uint32_t image;
  kdl_specialisation special; /* its own copies */
  kdl_work loading;
  atomic_bool tried;
  kdl_cached_failure failure;
  kdl_image_kind kind; /* by the image's own bytes; of bitcode, what it was linked to */
  void *linked;        /* holds the image that bitcode was linked to */
  void *handle;        /* the backend's */
} kdl_module;

/* The module, loaded. Fails with what the driver said, also the second time, without asking it
 * again unless memory was short. `special` matters to bitcode only. */
kdl_status kdl_module_load(kdl_library *lib, const kdl_runtime *runtime, uint32_t image,
                           kdl_specialisation special, kdl_module **out_module);

/* What was made of a library, in memory of its container. */
typedef struct kdl_bound_objects {
  kdl_attachment attachment;
  _Atomic(kdl_module *) modules;        /* a list that only grows, the newest first */
  _Atomic(struct kdl_kernel *) kernels; /* likewise */
  kdl_trie handles;                     /* the same, by ranking and constants */
} kdl_bound_objects;

/* NULL when out of memory. */
kdl_bound_objects *kdl_bound_objects_of(kdl_library *lib);

/* For the library's end: the newest first. */
void kdl_modules_unload(kdl_bound_objects *bound, const kdl_library *lib);

#endif
