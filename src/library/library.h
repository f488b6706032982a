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

enum { KDL_SELECTOR_LISTS = 16 };

struct kdl_library {
  kdl_container *container;
  atomic_size_t references;
  uint32_t flags;           /* KDL_OPEN_ */
  kdl_library *next_global; /* library/scope.h */
  kdl_catalog *catalog;
  _Atomic(kdl_selector *) selectors[KDL_SELECTOR_LISTS]; /* by their device: lists that only grow */
  _Atomic(struct kdl_module *) modules; /* binding/module.h: likewise, the newest first */
  _Atomic(struct kdl_kernel *) kernels; /* binding/kernel.h: likewise */
  struct kdl_kernel **specials; /* binding/kernel.c: those with constants, by hash; guarded */
  size_t special_count, special_mask;
  void (*_Atomic unbind)(kdl_library *lib); /* frees these three; set with the first kernel */
};

/* Held while a kernel with constants is added. */
static inline pthread_mutex_t *kdl_library_lock(const kdl_library *lib) {
  return &lib->container->lock;
}

/* A library that is a part of a file. */
kdl_status kdl_library_open_part(const char *path, const char *name, uint64_t offset, uint64_t size,
                                 kdl_library **out_lib);

/* The library's catalog with every rule, for those who explain. */
kdl_status kdl_library_catalog(kdl_library *lib, kdl_catalog **out_catalog);

/* The choice for a query, whose kernel is unset, and a kernel: remembered, or made and remembered.
 */
kdl_status kdl_library_choose(kdl_library *lib, const kdl_query *query, const kdl_kernel_id *kernel,
                              const kdl_selection **out_selection);

/* An image's bytes for a while: kdl_image_bytes for those who read many and keep none. One release
 * for each hold that succeeded. */
kdl_status kdl_library_hold(kdl_library *lib, size_t index, const void **out_data,
                            size_t *out_size);
void kdl_library_release(kdl_library *lib, size_t index);

#endif
