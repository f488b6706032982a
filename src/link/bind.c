/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Binding: the ranked images are tried in order until one loads and has the kernel. What an image
 * that did not was found guilty of is kept for the story, should none be left.
 */
#include "base/environment.h"
#include "base/error.h"
#include "link/kernel.h"
#include "link/permission.h"
#include "target/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Geometry                                                                                     */

typedef struct {
  uint32_t block[3];
  uint32_t tile[3];
} geometry;

/* What an image's key says; zeros where it says nothing. A group covers its block unless said
 * otherwise. */
static geometry key_geometry(const kdl_kernel_key *key) {
  geometry made = {{0}, {0}};
  if (kdl_kernel_has(key, KDL_KERNEL_BLOCK))
    memcpy(made.block, key->block, sizeof made.block);
  memcpy(made.tile, made.block, sizeof made.tile);
  if (kdl_kernel_has(key, KDL_KERNEL_TILE))
    memcpy(made.tile, key->tile, sizeof made.tile);
  return made;
}

static void read_key(const kdl_kernel *kernel, uint32_t image, kdl_kernel_key *out_key) {
  const kdl_string *value =
      kdl_catalog_kernel_key(kernel->ranked.catalog, image, kdl_text_of(kernel->name));
  kdl_parse_error error;
  if (!value || !kdl_kernel_parse(*value, out_key, &error))
    *out_key = (kdl_kernel_key){0};
}

/* Why an explicit grid would mean different things to images that may run; NULL where it does not,
 * or when out of memory for the words. */
static char *find_disagreement(const kdl_kernel *kernel) {
  const kdl_selection *selection = kernel->ranked.selection;
  kdl_kernel_key key;
  read_key(kernel, selection->images[0], &key);
  geometry first = key_geometry(&key);
  for (size_t i = 1; i < selection->count; ++i) {
    read_key(kernel, selection->images[i], &key);
    geometry other = key_geometry(&key);
    if (memcmp(&first, &other, sizeof first) == 0)
      continue;
    char *words;
    const uint32_t *a = first.block, *b = other.block, *c = first.tile, *d = other.tile;
    if (asprintf(&words,
                 "image %u has block=%ux%ux%u tile=%ux%ux%u and image %u has block=%ux%ux%u "
                 "tile=%ux%ux%u, so that one grid means two problems; use kdl_launch_items",
                 (unsigned)selection->images[0], a[0], a[1], a[2], c[0], c[1], c[2],
                 (unsigned)selection->images[i], b[0], b[1], b[2], d[0], d[1], d[2]) < 0)
      return NULL;
    return words;
  }
  return NULL;
}

static bool is_set(const uint32_t extent[3]) {
  return extent[0] != 0;
}

static kdl_status take_extent(const char *what, const uint32_t key[3], const uint32_t image[3],
                              uint32_t out[3]) {
  if (is_set(key) && is_set(image) && memcmp(key, image, 3 * sizeof *key) != 0)
    return kdl_fail(KDL_BAD_FILE, "metadata says %s=%ux%ux%u, the image itself %ux%ux%u", what,
                    key[0], key[1], key[2], image[0], image[1], image[2]);
  memcpy(out, is_set(image) ? image : key, 3 * sizeof *out);
  return KDL_OK;
}

static kdl_status learn_geometry(kdl_kernel *kernel) {
  geometry key = key_geometry(&kernel->key);
  if (kernel->key.shared > UINT32_MAX)
    return kdl_fail(KDL_BAD_FILE, "metadata says shared=%" PRIu64 ", expected less than 4 GiB",
                    kernel->key.shared);
  kdl_status status = take_extent("block", key.block, kernel->loaded.block, kernel->block);
  if (status != KDL_OK)
    return status;
  /* A tile that the key only implies does not contradict one that the image declares. */
  static const uint32_t unsaid[3] = {0};
  bool said = kdl_kernel_has(&kernel->key, KDL_KERNEL_TILE);
  status = take_extent("tile", said ? key.tile : unsaid, kernel->loaded.tile, kernel->tile);
  if (status == KDL_OK && !is_set(kernel->tile))
    memcpy(kernel->tile, kernel->block, sizeof kernel->tile);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

static kdl_status try_image(kdl_kernel *kernel, size_t place) {
  const kdl_runtime *runtime = kernel->runtime;
  uint32_t image = kernel->ranked.selection->images[place];
  if (!kdl_device_permit(runtime->device, runtime->route,
                         kdl_catalog_rule(kernel->ranked.catalog, image)))
    return kdl_fail(KDL_DEVICE, "it needs AMX, and the system refused permission to use it");
  kdl_specialisation special = {kernel->constants ? kernel->name : NULL, kernel->constants};
  kdl_status status = kdl_module_load(kernel->lib, runtime, image, special, &kernel->module);
  if (status != KDL_OK)
    return status;
  read_key(kernel, image, &kernel->key);
  geometry key = key_geometry(&kernel->key);
  kdl_backend_wish wish = {.size = sizeof wish,
                           .name = kernel->name,
                           .shared = kernel->key.shared,
                           .hidden = kernel->key.hidden};
  if (kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG))
    wish.sig = kernel->key.sig;
  memcpy(wish.block, key.block, sizeof wish.block);
  memcpy(wish.tile, key.tile, sizeof wish.tile);
  kernel->loaded = (kdl_backend_kernel){.size = sizeof kernel->loaded};
  status =
      runtime->table->kernel_find(runtime->handle, kernel->module->handle, &wish, &kernel->loaded);
  if (status == KDL_OK)
    status = learn_geometry(kernel);
  if (status == KDL_OK)
    status = kdl_arguments_learn(kernel);
  if (status == KDL_OK)
    kernel->place = place;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The chain                                                                                    */

static void say_bound(const kdl_kernel *kernel) {
  char name[128];
  kdl_module_name(kernel->lib, kdl_kernel_image(kernel), name, sizeof name);
  kdl_debug(KDL_DEBUG_LOAD, "%s: bound to %s of %s, %s %zu of %zu", kernel->name, name,
            kernel->lib->container->name, kernel->place ? "fallback: choice" : "choice",
            kernel->place + 1, kernel->ranked.selection->count);
}

/* The status and code of the whole are those of the image that was wanted most. */
static kdl_status try_images(kdl_kernel *kernel) {
  const kdl_selection *selection = kernel->ranked.selection;
  char tried[1536];
  kdl_out out = {tried, sizeof tried, 0};
  kdl_status first_status = KDL_OK;
  int64_t first_code = 0;
  for (size_t i = 0; i < selection->count; ++i) {
    kdl_status status = try_image(kernel, i);
    if (status == KDL_OK) {
      say_bound(kernel);
      return KDL_OK;
    }
    char name[128];
    kdl_module_name(kernel->lib, selection->images[i], name, sizeof name);
    if (i == 0) {
      first_status = status;
      first_code = kdl_error_code();
    }
    kdl_out_format(&out, "%s%s: %s", i ? "; " : "", name, kdl_error_message());
    kdl_debug(KDL_DEBUG_LOAD, "%s: %s failed: %s%s", kernel->name, name, kdl_error_message(),
              i + 1 < selection->count ? "; trying the next" : "");
  }
  return kdl_fail_code(first_status, first_code,
                       "%s: %s: none of %zu images could be loaded on %s: %s",
                       kernel->lib->container->name, kernel->name, selection->count,
                       kernel->runtime->table->name, tried);
}

static void disable_after_fork(kdl_fork_link *link);

static kdl_status bind(kdl_kernel *kernel) {
  kdl_status status = try_images(kernel);
  if (status != KDL_OK) {
    kdl_remember(status, &kernel->failure);
    atomic_store_explicit(&kernel->binding, KDL_UNBINDABLE, memory_order_release);
    return status;
  }
  kernel->disagreement = find_disagreement(kernel);
  kernel->fork.disable = disable_after_fork;
  kdl_fork_add(&kernel->fork);
  kdl_entry_publish(kernel);
  atomic_store_explicit(&kernel->binding, KDL_BOUND, memory_order_release);
  return KDL_OK;
}

kdl_status kdl_kernel_bind(kdl_kernel *kernel) {
  kdl_binding binding = atomic_load_explicit(&kernel->binding, memory_order_acquire);
  if (binding == KDL_BOUND)
    return KDL_OK;
  if (binding == KDL_UNBINDABLE)
    return kdl_fail_again(&kernel->failure);
  /* Before the lock: in the child of a fork it may be held by a thread that is no more. */
  kdl_status status = kdl_runtime_usable(kernel->runtime);
  if (status != KDL_OK)
    return status;
  pthread_mutex_lock(&kernel->lock);
  binding = atomic_load_explicit(&kernel->binding, memory_order_relaxed);
  if (binding == KDL_UNBOUND)
    status = bind(kernel);
  else if (binding == KDL_UNBINDABLE)
    status = kdl_fail_again(&kernel->failure);
  pthread_mutex_unlock(&kernel->lock);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* After a fork                                                                                 */

static kdl_status refuse_after_fork(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                    const kdl_args *args, void *queue) {
  (void)queue, (void)desc, (void)args;
  return kdl_fail_forked(kdl_kernel_of(head)->runtime->label);
}

static void disable_after_fork(kdl_fork_link *link) {
  kdl_kernel *kernel = (kdl_kernel *)((char *)link - offsetof(kdl_kernel, fork));
  if (kdl_backend_survives_fork(kernel->runtime->table))
    return;
  __atomic_store_n(&kernel->head.entry, refuse_after_fork, __ATOMIC_RELEASE);
  atomic_store_explicit(&kernel->counted, refuse_after_fork, memory_order_release);
}
