/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The choosing side of a container: the rules of its images, which kernels they hold, and the
 * rankings that were made of them (lib/select/ranking.h).
 *
 * A choice compiles the rules of images that may run, and keeps none; explanations have them all
 * compiled, once. Kernel names come from the `kdl.kernel.NAME` keys where an image has them, and
 * then not a byte of the image is read; otherwise they are read from the image when first asked
 * for, and kept.
 */
#ifndef KDL_SELECT_CATALOG_H
#define KDL_SELECT_CATALOG_H

#include "lib/container/container.h"
#include "lib/inspect/catalog.h"
#include "lib/inspect/ranking.h"
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
  kdl_trie rankings;               /* lib/select/ranking.h: those that are remembered */
  _Atomic(kdl_image_rule *) rules; /* of every image; NULL: not compiled yet */
  kdl_work compiling;
  atomic_size_t memory_failures;
  const bool *admitted;          /* NULL: every image */
  atomic_size_t images_searched; /* how many images kdl_catalog_any_has_kernel looked at */
  _Atomic(struct kdl_kernel_map *) kernel_map; /* NULL: these were few */
  kdl_catalog_entry images[];
};

static inline kdl_container *kdl_catalog_container(const kdl_catalog *catalog) {
  return catalog->container;
}

static inline const kdl_image *kdl_catalog_image(const kdl_catalog *catalog, size_t index) {
  return &catalog->container->images[index];
}

/* Compiles every image's rule, where that has not happened yet: comes before the next one. */
kdl_status kdl_catalog_compile_all(kdl_catalog *catalog);

/* One image's rule. */
static inline const kdl_image_rule *kdl_catalog_rule(const kdl_catalog *catalog, size_t index) {
  return &atomic_load_explicit(&catalog->rules, memory_order_acquire)[index];
}

/* The same, compiled for the caller alone. */
void kdl_catalog_compile(const kdl_catalog *catalog, size_t index, kdl_image_rule *out_rule);

/* Whether its rule is that of every such image with its kind, triple and arch. */
bool kdl_catalog_rule_is_shared(const kdl_image *image);

/* The description a rule was compiled from, for explanations. */
kdl_image_desc kdl_catalog_desc(const kdl_catalog *catalog, size_t index);

/* Whether any image holds it. Images are read until one does; who asks often has all of them read,
 * once. */
bool kdl_catalog_any_has_kernel(kdl_catalog *catalog, kdl_string kernel);

/* The families that the images are for which may hold the kernel, as 1 << KDL_FAMILY_x: what an
 * index rules out is left out, and no image is read. `kernel.data` may be NULL: any. */
uint32_t kdl_catalog_families(kdl_catalog *catalog, kdl_string kernel);

#endif
