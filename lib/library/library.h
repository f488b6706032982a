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
  kdl_library *next_global; /* see kdl_scope_visit */
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

/* Opens the libraries embedded in the program or shared object at an address: from its file or,
 * where that no longer exists, from its mapping. `name` as for kdl_container_open_self. */
kdl_status kdl_embedded_open(const void *address, const char *name, kdl_container **out_container);

/* Where kdl_open searches, by the rules of <kdl/kdl.h>: the file or folder that `name` refers to
 * for the code at address `caller`. The caller frees *out_path. KDL_IO, with every path that was
 * tried, where there is none. */
kdl_status kdl_search(const char *name, const void *caller, char **out_path);

/* Opens a file, or all files of a folder as one library; `name` is for messages, NULL: the path. */
kdl_status kdl_search_open(const char *path, const char *name, kdl_container **out_container);

/* Refuses a relative path in a program that runs with more rights than its user. */
kdl_status kdl_search_check(const char *path);

/* The scope is the libraries that are searched for a kernel, in order: those that KDL_PRELOAD
 * names, then the one that the caller passed or, without one, those opened with KDL_OPEN_GLOBAL,
 * oldest first. */
void kdl_scope_add(kdl_library *lib);
void kdl_scope_remove(kdl_library *lib);

/* Calls `visit` with each library in order until it returns true. A library stays open while it is
 * visited. Fails where KDL_PRELOAD names a file that cannot be opened. */
kdl_status kdl_scope_visit(kdl_library *lib, bool (*visit)(void *user, kdl_library *lib),
                           void *user);

#endif
