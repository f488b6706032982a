/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a library is made of. */
#ifndef KDL_LIBRARY_LIBRARY_H
#define KDL_LIBRARY_LIBRARY_H

#include "lib/container/container.h"
#include "lib/select/ranking.h"

#include <kdl/kdl.h>

#include <stdatomic.h>

/* What others make of a library and have to end before it does. */
typedef struct kdl_attachment {
  struct kdl_attachment *next;
  void (*end)(struct kdl_attachment *own, kdl_library *lib);
} kdl_attachment;

struct kdl_library {
  kdl_container *container; /* the library itself is in its arena */
  atomic_size_t references;
  uint32_t flags;           /* KDL_OPEN_ */
  kdl_library *next_global; /* lib/library/scope.h */
  kdl_catalog *catalog;     /* its images' rules, kernels and rankings */
  _Atomic(kdl_attachment *) attachments;
};

/* The one that ends so, or NULL. */
static inline kdl_attachment *
kdl_library_attached(const kdl_library *lib, void (*end)(kdl_attachment *own, kdl_library *lib)) {
  kdl_attachment *at = atomic_load_explicit(&lib->attachments, memory_order_acquire);
  while (at && at->end != end)
    at = at->next;
  return at;
}

/* The same, made where there is none: `size` bytes that begin with a kdl_attachment, of zeros but
 * for that. Where another thread was first, its stays. NULL when out of memory. */
kdl_attachment *kdl_library_attach(kdl_library *lib, size_t size,
                                   void (*end)(kdl_attachment *own, kdl_library *lib));

/* A library that is a part of a file. */
kdl_status kdl_library_open_part(const char *path, const char *name, uint64_t offset, uint64_t size,
                                 kdl_library **out_lib);

/* An image's bytes for a while: kdl_image_bytes for those who read many and keep none. One release
 * for each hold that succeeded. */
kdl_status kdl_library_hold(kdl_library *lib, size_t index, const void **out_data,
                            size_t *out_size);
void kdl_library_release(kdl_library *lib, size_t index);

#endif
