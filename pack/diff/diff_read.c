/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the kernels of one library. Threads call this at the same time; names and targets are
 * shared, records belong to the library. */
#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/metadata.h"
#include "lib/inspect/selection.h"
#include "pack/diff/diff.h"
#include "support/base/error.h"
#include "support/base/hash.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  diff *d;
  kdl_library *lib;
  diff_library *library;
  size_t capacity;
  uint32_t image;
  uint16_t target;
  uint32_t devices;
  size_t first;     /* kernel of the image */
  uint32_t *places; /* by name: 1 + the number of the kernel that was added last */
  size_t place_count;
} reader;

/* ------------------------------------------------------------------------------------------ */
/* Kernels of an image                                                                          */

static uint32_t intern_kernel(diff *d, kdl_string name) {
  pthread_mutex_lock(&d->lock);
  uint32_t number = diff_names_add_kernel(&d->names, name);
  pthread_mutex_unlock(&d->lock);
  return number;
}

static void set_place(reader *r, uint32_t name, size_t place) {
  if (name >= r->place_count) {
    size_t count = (size_t)name * 2 + 1024;
    r->places = xreallocarray(r->places, count, sizeof *r->places);
    memset(r->places + r->place_count, 0, (count - r->place_count) * sizeof *r->places);
    r->place_count = count;
  }
  r->places[name] = (uint32_t)place;
}

static int add_kernel(void *user, kdl_string name, const kdl_kernel_digest *digest) {
  reader *r = user;
  uint32_t number = intern_kernel(r->d, name);
  diff_library *library = r->library;
  library->kernels =
      xgrow(library->kernels, library->kernel_count, &r->capacity, 64, sizeof *library->kernels);
  library->kernels[library->kernel_count++] = (diff_kernel){.name = number,
                                                            .image = r->image,
                                                            .partner = DIFF_NO_MATCH,
                                                            .devices = r->devices,
                                                            .target = r->target,
                                                            .digest = *digest,
                                                            .uses = kdl_no_resources};
  set_place(r, number, library->kernel_count);
  return 0;
}

/* The record of the image's kernel of that name; NULL where it has none. */
static diff_kernel *find_kernel(const reader *r, kdl_string name) {
  uint32_t number = intern_kernel(r->d, name);
  size_t place = number < r->place_count ? r->places[number] : 0;
  return place > r->first ? &r->library->kernels[place - 1] : NULL;
}

static int set_resources(void *user, const kdl_string *name, const kdl_kernel_resources *uses) {
  diff_kernel *kernel = find_kernel(user, *name);
  if (kernel) {
    kernel->uses = *uses;
    kernel->effect = (uint8_t)uses->effect;
  }
  return 0;
}

/* Signatures and blocks in the metadata count where the image has none. */
static void set_keys(const reader *r, const kdl_image_info *image) {
  for (size_t i = 0; i < image->pair_count && r->library->kernel_count > r->first; ++i) {
    kdl_string name;
    kdl_kernel_key key;
    if (!kdl_kernel_name(image->pairs[i].key, &name) ||
        !kdl_kernel_parse(image->pairs[i].value, &key, NULL))
      continue;
    diff_kernel *kernel = find_kernel(r, name);
    if (kernel && !kernel->uses.block[0] && kdl_kernel_has(&key, KDL_KERNEL_BLOCK))
      memcpy(kernel->uses.block, key.block, sizeof key.block);
    if (kernel && !kernel->digest.params && kdl_kernel_has(&key, KDL_KERNEL_SIG)) {
      kernel->digest.params = kdl_hash_text(key.sig) | 1;
      kernel->uses.params = key.param_count;
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

static uint16_t intern_target(diff *d, const kdl_image_info *image) {
  char room[CLI_IMAGE_KIND_ROOM];
  const char *kind = cli_image_kind_name(image, room);
  size_t i = 0;
  pthread_mutex_lock(&d->lock);
  while (i < d->target_count &&
         (d->targets[i].kind != image->kind || !kdl_text_is(image->arch, d->targets[i].arch) ||
          !kdl_starts_with(d->targets[i].label, kind)))
    ++i;
  if (i == d->target_count) {
    if (i == DIFF_LIMIT_TARGETS)
      cli_fatal("too many targets");
    d->targets = xgrow(d->targets, i, &d->target_capacity, 32, sizeof *d->targets);
    const char *arch = xarena_string(&d->names.arena, image->arch.data, image->arch.length).data;
    d->targets[d->target_count++] = (diff_target){
        image->kind, arch,
        xarena_format(&d->names.arena, "%s%s%s", kind, image->arch.length ? " " : "", arch)};
  }
  pthread_mutex_unlock(&d->lock);
  return (uint16_t)i;
}

/* An image whose kernels cannot be read is counted; that of a device linker has none. */
static kdl_status read_image(reader *r, const kdl_image_info *image) {
  const void *data;
  size_t size;
  r->first = r->library->kernel_count;
  kdl_status status = image->problem.length
                          ? KDL_BAD_FILE
                          : kdl_library_acquire_bytes(r->lib, r->image, &data, &size);
  if (status != KDL_OK) {
    ++r->library->unreadable;
    return status == KDL_NO_MEMORY ? status : KDL_OK;
  }
  status = kdl_image_read_digests(image->kind, data, size, add_kernel, r);
  if (status == KDL_OK && r->library->kernel_count > r->first &&
      kdl_image_resources(r->lib, r->image, set_resources, r) == KDL_NO_MEMORY)
    status = KDL_NO_MEMORY;
  kdl_library_release_bytes(r->lib, r->image);
  if (status == KDL_NO_MEMORY)
    return status;
  if (status != KDL_OK) {
    r->library->kernel_count = r->first;
    ++r->library->unreadable;
    return KDL_OK;
  }
  set_keys(r, image);
  return KDL_OK;
}

typedef struct {
  const kdl_library *lib;
  uint32_t *devices; /* by image */
  uint32_t bit;
  bool is_served;
  bool decides_tools; /* kdl-ld makes the library run, or llvm-spirv would */
} device_images;

static int note_verdict(void *user, const kdl_verdict *verdict) {
  device_images *to = user;
  kdl_image_kind kind = cli_image_at(to->lib, verdict->image).kind;
  if (verdict->eligible)
    to->devices[verdict->image] |= to->bit;
  if (!to->is_served)
    to->decides_tools |=
        verdict->eligible ? kind == KDL_IMAGE_BITCODE : cli_would_be_translated(to->lib, verdict);
  to->is_served |= verdict->eligible;
  return 0;
}

static kdl_status find_devices(diff *d, kdl_library *lib, uint32_t *devices) {
  const cli_devices *all =
      check_is_loaded_by_libkdl(lib) ? &d->walk.devices : &d->walk.foreign_devices;
  for (size_t i = 0; i < all->count; ++i) {
    device_images to = {.lib = lib, .devices = devices, .bit = 1u << i};
    KDL_TRY(kdl_explain(lib, all->items[i].device, NULL, &d->walk.opts, note_verdict, &to));
    pthread_mutex_lock(&d->lock);
    d->assumes_tools |= to.decides_tools && cli_device_assumes_tools(&all->items[i]);
    pthread_mutex_unlock(&d->lock);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Libraries                                                                                    */

/* Where the library is in its operand. */
static const char *find_place(diff *d, const check_file *file, const char *member) {
  const char *operand = d->walk.operands[file->operand].display_path;
  const char *below = file->path;
  size_t length = strlen(operand);
  if (file->is_operand)
    below = "";
  else if (strncmp(below, operand, length) == 0)
    below += length;
  while (*below == '/')
    ++below;
  char *place = xasprintf("%s%s%s", below, *below && member ? "!" : "", member ? member : "");
  const char *copy = check_copy_string(&d->walk, place);
  free(place);
  return copy;
}

static bool is_link_input(const kdl_catalog *catalog, size_t image) {
  kdl_image_traits traits = kdl_catalog_traits(catalog, image);
  return traits.is_link_input ||
         kdl_image_kind_get((kdl_image_kind)traits.kind)->holds == KDL_HOLDS_LINK_INPUT;
}

static bool has_linked_code(const kdl_library *lib, const kdl_catalog *catalog) {
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    if (!cli_image_kind_is_container(cli_image_at(lib, i).kind) && !is_link_input(catalog, i))
      return true;
  }
  return false;
}

/* As for coverage, input of a device linker counts only if there is nothing else. */
static kdl_status read_images(reader *r, uint32_t *devices) {
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(r->lib, &catalog));
  KDL_TRY(find_devices(r->d, r->lib, devices));
  bool with_link_inputs = !has_linked_code(r->lib, catalog);
  for (size_t i = 0; i < kdl_image_count(r->lib); ++i) {
    kdl_image_info image = cli_image_at(r->lib, i);
    if (cli_image_kind_is_container(image.kind) || image.kind == KDL_IMAGE_SEQUENCE ||
        (is_link_input(catalog, i) && !with_link_inputs))
      continue;
    r->image = (uint32_t)i;
    r->target = intern_target(r->d, &image);
    r->devices = devices[i];
    ++r->library->images;
    KDL_TRY(read_image(r, &image));
  }
  return KDL_OK;
}

static void add_library(diff *d, size_t side, const diff_library *library) {
  diff_side *to = &d->sides[side];
  pthread_mutex_lock(&d->lock);
  to->libraries =
      xgrow(to->libraries, to->library_count, &to->library_capacity, 64, sizeof *to->libraries);
  to->libraries[to->library_count++] = *library;
  pthread_mutex_unlock(&d->lock);
}

kdl_status diff_read_library(void *user, kdl_library *lib, const check_file *file,
                             const char *member) {
  diff *d = user;
  diff_library library = {.place = find_place(d, file, member)};
  char *path = xasprintf("%s%s%s", file->path, member ? "!" : "", member ? member : "");
  library.path = check_copy_string(&d->walk, path);
  free(path);
  reader r = {.d = d, .lib = lib, .library = &library};
  uint32_t *devices = xcalloc(kdl_image_count(lib) + 1, sizeof *devices);
  kdl_status status = read_images(&r, devices);
  free(devices);
  free(r.places);
  if (status != KDL_OK || !library.images || check_was_changed(file)) {
    free(library.kernels);
    return status;
  }
  if (library.kernel_count)
    library.kernels = xreallocarray(library.kernels, library.kernel_count, sizeof *library.kernels);
  add_library(d, file->operand, &library);
  return KDL_OK;
}
