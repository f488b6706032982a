/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/geometry.h"

#include "lib/image/readers.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void kdl_geometry_read_key(const kdl_kernel *kernel, size_t position, kdl_kernel_key *out_key) {
  kdl_string value = kernel->ranking->candidates[position].key;
  if (!value.data || !kdl_kernel_parse(value, out_key, NULL))
    *out_key = (kdl_kernel_key){0};
}

kdl_image_geometry kdl_geometry_of_key(const kdl_kernel_key *key) {
  kdl_image_geometry made = {{0}, {0}};
  if (kdl_kernel_has(key, KDL_KERNEL_BLOCK))
    memcpy(made.block, key->block, sizeof made.block);
  memcpy(made.tile, made.block, sizeof made.tile);
  if (kdl_kernel_has(key, KDL_KERNEL_TILE))
    memcpy(made.tile, key->tile, sizeof made.tile);
  return made;
}

/* ------------------------------------------------------------------------------------------ */
/* The loaded image                                                                             */

static bool is_extent_set(const uint32_t extent[3]) {
  return extent[0] != 0;
}

static kdl_status merge_extents(const char *what, const uint32_t key[3], const uint32_t image[3],
                                uint32_t out[3]) {
  if (is_extent_set(key) && is_extent_set(image) && memcmp(key, image, 3 * sizeof *key) != 0)
    return kdl_fail(KDL_BAD_FILE, "metadata says %s=%ux%ux%u, the image itself %ux%ux%u", what,
                    key[0], key[1], key[2], image[0], image[1], image[2]);
  memcpy(out, is_extent_set(image) ? image : key, 3 * sizeof *out);
  return KDL_OK;
}

/* A launch by items divides by each. */
static inline bool is_partly_0(const uint32_t extent[3]) {
  return !extent[0] != !extent[1] || !extent[1] != !extent[2];
}

static __attribute__((cold, noinline)) kdl_status fail_partly_0(const char *what,
                                                                const uint32_t extent[3]) {
  return kdl_fail(KDL_BAD_FILE, "found %s=%ux%ux%u, expected no 0", what, extent[0], extent[1],
                  extent[2]);
}

kdl_status kdl_geometry_resolve(kdl_kernel *kernel) {
  kdl_image_geometry key = kdl_geometry_of_key(&kernel->key);
  if (kernel->key.shared > UINT32_MAX)
    return kdl_fail(KDL_BAD_FILE, "metadata says shared=%" PRIu64 ", expected less than 4 GiB",
                    kernel->key.shared);
  if (is_partly_0(kernel->loaded.block))
    return fail_partly_0("block", kernel->loaded.block);
  if (is_partly_0(kernel->loaded.tile))
    return fail_partly_0("tile", kernel->loaded.tile);
  if (!is_extent_set(kernel->loaded.block) && is_partly_0(kernel->loaded.suggested))
    return fail_partly_0("suggested block", kernel->loaded.suggested);
  KDL_TRY(merge_extents("block", key.block, kernel->loaded.block, kernel->block));
  /* A tile that the key only implies does not contradict one that the image declares. */
  static const uint32_t unspecified[3] = {0};
  bool has_tile_key = kdl_kernel_has(&kernel->key, KDL_KERNEL_TILE);
  KDL_TRY(merge_extents("tile", has_tile_key ? key.tile : unspecified, kernel->loaded.tile,
                        kernel->tile));
  if (!is_extent_set(kernel->tile))
    memcpy(kernel->tile, kernel->block, sizeof kernel->tile);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* All images that may run                                                                      */

/* Reads the image itself only where its key leaves something open. */
static kdl_image_geometry read_image_geometry(const kdl_kernel *kernel, size_t position) {
  const kdl_candidate *image = &kernel->ranking->candidates[position];
  const void *data;
  size_t size;
  if (!kdl_image_has_geometry(image->kind) ||
      kdl_container_bytes(kernel->lib->container, image->image, &data, &size) != KDL_OK)
    return (kdl_image_geometry){{0}, {0}};
  return kdl_image_read_geometry(image->kind, data, size, kdl_text_of(kernel->name));
}

static kdl_image_geometry candidate_geometry(const kdl_kernel *kernel, size_t position) {
  kdl_kernel_key key;
  kdl_geometry_read_key(kernel, position, &key);
  kdl_image_geometry made = kdl_geometry_of_key(&key);
  bool has_block = kdl_kernel_has(&key, KDL_KERNEL_BLOCK);
  bool has_tile = kdl_kernel_has(&key, KDL_KERNEL_TILE);
  if (has_block && has_tile)
    return made;
  kdl_image_geometry own = read_image_geometry(kernel, position);
  if (!has_block)
    memcpy(made.block, own.block, sizeof made.block);
  if (!has_tile)
    memcpy(made.tile, is_extent_set(own.tile) ? own.tile : made.block, sizeof made.tile);
  return made;
}

/* Whether images have the same geometry because their keys are equal and the images declare
 * none. */
static bool have_same_key(const kdl_candidate *a, const kdl_candidate *b) {
  return a->key.data && b->key.data && kdl_text_equal(a->key, b->key) &&
         !kdl_image_has_geometry(a->kind) && !kdl_image_has_geometry(b->kind);
}

char *kdl_geometry_conflict(const kdl_kernel *kernel) {
  const kdl_ranking *ranking = kernel->ranking;
  size_t same = 1;
  while (same < ranking->count &&
         have_same_key(&ranking->candidates[0], &ranking->candidates[same]))
    ++same;
  if (same >= ranking->count)
    return NULL;
  kdl_image_geometry first = candidate_geometry(kernel, 0);
  for (size_t i = same; i < ranking->count; ++i) {
    kdl_image_geometry other = candidate_geometry(kernel, i);
    if (memcmp(&first, &other, sizeof first) == 0)
      continue;
    char *words;
    const uint32_t *a = first.block, *b = other.block, *c = first.tile, *d = other.tile;
    if (asprintf(&words,
                 "image %u has block=%ux%ux%u tile=%ux%ux%u and image %u has block=%ux%ux%u "
                 "tile=%ux%ux%u, so that one grid means two problems; use kdl_launch_items",
                 (unsigned)ranking->candidates[0].image, a[0], a[1], a[2], c[0], c[1], c[2],
                 (unsigned)ranking->candidates[i].image, b[0], b[1], b[2], d[0], d[1], d[2]) < 0)
      return NULL;
    return words;
  }
  return NULL;
}
