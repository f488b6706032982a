/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A container as selection sees it: the rules of its images, the kernels they hold, and the cached
 * rankings (lib/select/ranking.h).
 *
 * A selection compiles the rules of images that may run, and does not store them. An explanation
 * compiles all rules once and stores them. Kernel names come from the `kdl.kernel.NAME` keys, if an
 * image has them, and no byte of the image is read. Otherwise they are read from the image on first
 * use, and stored.
 */
#ifndef KDL_LIB_SELECT_CATALOG_H
#define KDL_LIB_SELECT_CATALOG_H

#include "lib/container/container.h"
#include "lib/inspect/selection.h"
#include "lib/target/target.h"
#include "support/base/trie.h"
#include "support/system/lock.h"

#include <kdl/kdl.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names of one image's kernels. */
typedef struct kdl_catalog_entry {
  _Atomic(const struct kdl_kernel_list *) kernels; /* NULL: not read yet */
  kdl_work reading;
} kdl_catalog_entry;

struct kdl_catalog {
  kdl_container *container;
  kdl_trie rankings;               /* lib/select/ranking.h: the cache */
  _Atomic(kdl_image_rule *) rules; /* of every image; NULL: not compiled yet */
  kdl_work compiling;
  atomic_size_t memory_failures;
  const bool *admitted;                        /* NULL: every image */
  atomic_size_t images_searched;               /* by kdl_catalog_any_has_kernel */
  _Atomic(struct kdl_kernel_map *) kernel_map; /* NULL until images_searched is large */
  kdl_catalog_entry images[];
};

static inline kdl_container *kdl_catalog_container(const kdl_catalog *catalog) {
  return catalog->container;
}

static inline const kdl_image *kdl_catalog_image(const kdl_catalog *catalog, size_t index) {
  return &catalog->container->images[index];
}

/* In the container's arena. Create it before other threads use the container, and destroy it before
 * the container is closed. */
kdl_status kdl_catalog_create(kdl_container *container, kdl_catalog **out_catalog);
void kdl_catalog_destroy(kdl_catalog *catalog);

static inline size_t kdl_catalog_count(const kdl_catalog *catalog) {
  return catalog->container->count;
}

/* The value of an image's key for a kernel; `data` is NULL where it has none. No image is read. */
kdl_string kdl_catalog_kernel_key(kdl_catalog *catalog, size_t index, kdl_string kernel);

/* kdl_kernel_names.is_unresolved; indexes are not read. */
bool kdl_catalog_unresolved(kdl_catalog *catalog, size_t index);

/* Why the kernels of an image cannot be read; "" where they can. */
const char *kdl_catalog_error(kdl_catalog *catalog, size_t index);

/* Compiles every image's rule, unless that is done. Must precede kdl_catalog_rule. */
kdl_status kdl_catalog_compile_all(kdl_catalog *catalog);

/* The stored rule of one image. */
static inline const kdl_image_rule *kdl_catalog_rule(const kdl_catalog *catalog, size_t index) {
  return &atomic_load_explicit(&catalog->rules, memory_order_acquire)[index];
}

/* Compiles the rule of one image without storing it. */
void kdl_catalog_compile(const kdl_catalog *catalog, size_t index, kdl_image_rule *out_rule);

/* Whether kind, triple and arch alone determine the image's rule, so that images may share it. */
bool kdl_catalog_rule_is_shared(const kdl_image *image);

/* The description a rule was compiled from, for explanations. */
kdl_image_desc kdl_catalog_desc(const kdl_catalog *catalog, size_t index);

/* Whether any image holds the kernel. Reads images until one does; after many calls it reads all
 * images once and builds a kernel map. */
bool kdl_catalog_any_has_kernel(kdl_catalog *catalog, kdl_string kernel);

/* The families of the images that may hold the kernel, as a mask of 1 << KDL_FAMILY_x. Images whose
 * index lacks the kernel do not count; no image is read. `kernel.data` may be NULL: any kernel. */
uint32_t kdl_catalog_families(kdl_catalog *catalog, kdl_string kernel);

#endif
