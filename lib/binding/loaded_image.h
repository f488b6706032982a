/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One image on one device: loaded once, or failed once with the failure cached. Lack of memory is
 * not cached, because it may be transient. */
#ifndef KDL_LIB_BINDING_LOADED_IMAGE_H
#define KDL_LIB_BINDING_LOADED_IMAGE_H

#include "lib/library/library.h"
#include "lib/registry/runtime.h"

/* A failure that each later call returns again. */
typedef struct kdl_cached_failure {
  kdl_status status;
  int64_t code;
  char *message;
} kdl_cached_failure;

/* Copies the failure that was last recorded on this thread. */
void kdl_cache_failure(kdl_status status, kdl_cached_failure *out_failure);
kdl_status kdl_fail_cached(const kdl_cached_failure *failure);

/* Whether the last failure of this thread may succeed later, because memory ran out. A limit of
 * time or size is not transient. */
bool kdl_failure_is_transient(kdl_status status);

/* The specialization that an image was linked for. Both members are NULL where the image is loaded
 * for all its kernels: without constants, or of a kind that has none. */
typedef struct kdl_specialization {
  const char *kernel;
  const char *constants; /* as kdl_jit prints them */
} kdl_specialization;

typedef struct kdl_loaded_image {
  struct kdl_loaded_image *next;
  const kdl_runtime *runtime;
  uint32_t image;
  kdl_specialization special; /* own copies */
  kdl_work loading;
  atomic_bool tried;
  kdl_cached_failure failure;
  kdl_image_kind kind; /* by the image's bytes; for bitcode, the kind it was linked to */
  void *linked;        /* memory of the image that bitcode was linked to */
  void *handle;        /* the backend's */
} kdl_loaded_image;

/* Loads the image, or returns the loaded one. A failure is cached, and the driver is not called
 * again, unless memory ran out. `special` matters to bitcode only. */
kdl_status kdl_image_load(kdl_library *lib, const kdl_runtime *runtime, uint32_t image,
                          kdl_specialization special, kdl_loaded_image **out_loaded);

/* The loaded images and kernels of a library, in the container's memory. */
typedef struct kdl_bound_objects {
  kdl_attachment attachment;
  _Atomic(kdl_loaded_image *) loaded;   /* a list that only grows, newest first */
  _Atomic(struct kdl_kernel *) kernels; /* a list that only grows, newest first */
  kdl_trie handles;                     /* the kernels by ranking and constants */
} kdl_bound_objects;

/* NULL when out of memory. */
kdl_bound_objects *kdl_bound_objects_of(kdl_library *lib);

/* Adds a kernel, which is freed with the library. */
void kdl_bound_objects_add(kdl_bound_objects *bound, struct kdl_kernel *kernel);

/* Unloads the images when the library is closed, newest first. */
void kdl_images_unload(kdl_bound_objects *bound, const kdl_library *lib);

#endif
