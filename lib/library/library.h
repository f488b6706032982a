/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The members of a library. */
#ifndef KDL_LIB_LIBRARY_LIBRARY_H
#define KDL_LIB_LIBRARY_LIBRARY_H

#include "lib/container/container.h"
#include "lib/inspect/libraries.h"
#include "lib/select/ranking.h"

#include <kdl/kdl.h>

#include <stdatomic.h>

/* What another component keeps with a library; destroyed when the library is closed. */
typedef struct kdl_attachment {
  struct kdl_attachment *next;
  void (*destroy)(struct kdl_attachment *attachment, kdl_library *lib);
} kdl_attachment;

struct kdl_library {
  kdl_container *container; /* the library itself is in its arena */
  atomic_size_t references;
  uint32_t flags;           /* KDL_OPEN_ */
  kdl_library *next_global; /* lib/library/scope.h */
  kdl_catalog *catalog;     /* its images' rules, kernels and rankings */
  _Atomic(kdl_attachment *) attachments;
  _Atomic(kdl_stored_image *) stored_images; /* NULL until first used */
};

/* The attachment with this destroy function, or NULL. */
static inline kdl_attachment *
kdl_library_find_attachment(const kdl_library *lib,
                            void (*destroy)(kdl_attachment *attachment, kdl_library *lib)) {
  kdl_attachment *at = atomic_load_explicit(&lib->attachments, memory_order_acquire);
  while (at && at->destroy != destroy)
    at = at->next;
  return at;
}

/* The same, and creates it if there is none: `size` bytes that begin with a kdl_attachment, zero
 * otherwise. If another thread creates it first, returns that one. NULL when out of memory. */
kdl_attachment *kdl_library_attach(kdl_library *lib, size_t size,
                                   void (*destroy)(kdl_attachment *attachment, kdl_library *lib));

/* Keeps the library open until one kdl_close more. */
static inline kdl_library *kdl_library_retain(kdl_library *lib) {
  atomic_fetch_add_explicit(&lib->references, 1, memory_order_relaxed);
  return lib;
}

/* "saxpy.offload: image 2 (cubin sm_90)" */
void kdl_image_name_in_library(const kdl_library *lib, uint32_t image, char *buffer, size_t size);

/* The image's variant_tag, or NULL. */
const char *kdl_image_variant_tag(const kdl_library *lib, uint32_t image);

/* Room for a NUL after a name, which images do not have; its owner frees `data`. */
typedef struct kdl_name_buffer {
  char *data;
  size_t capacity;
} kdl_name_buffer;

/* Copies the name to the buffer, with a NUL, and lets it point there. False when out of memory. */
bool kdl_name_buffer_set(kdl_name_buffer *buffer, kdl_string *name);

#endif
