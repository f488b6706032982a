/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a library is made of. */
#ifndef KDL_LIBRARY_LIBRARY_H
#define KDL_LIBRARY_LIBRARY_H

#include "container/container.h"
#include "select/selector.h"
#include "system/lock.h"

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdatomic.h>

struct kdl_library {
  kdl_container *container;
  atomic_size_t references;
  uint32_t flags;           /* KDL_OPEN_ */
  kdl_library *next_global; /* library/scope.h */
  kdl_catalog *catalog;
  _Atomic(kdl_selector *) selectors; /* a list that only grows */
  struct kdl_module *modules;        /* binding/module.h: the newest first */
  struct kdl_kernel *kernels;        /* binding/kernel.h */
  void (*unbind)(kdl_library *lib);  /* frees these two; set with the first kernel */
};

/* Of what lies in the container's arena: held while modules or kernels are added. */
static inline pthread_mutex_t *kdl_library_lock(const kdl_library *lib) {
  return &lib->container->lock;
}

/* A library that is a part of a file. */
kdl_status kdl_library_open_part(const char *path, const char *name, uint64_t offset, uint64_t size,
                                 kdl_library **out_lib);

/* The library's catalog with every rule, for those who explain. */
kdl_status kdl_library_catalog(kdl_library *lib, kdl_catalog **out_catalog);

/* The remembered choices for a query, whose kernel is unset. */
kdl_status kdl_library_choices(kdl_library *lib, const kdl_query *query,
                               kdl_selector **out_selector);

/* An image's bytes for a while: kdl_image_bytes for those who read many and keep none. One release
 * for each hold that succeeded. */
kdl_status kdl_library_hold(kdl_library *lib, size_t index, const void **out_data,
                            size_t *out_size);
void kdl_library_release(kdl_library *lib, size_t index);

#endif
