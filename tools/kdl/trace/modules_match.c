/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The image of a file that a loaded module is, or was compiled from. */
#include "ext/inject/recording_format.h"
#include "lib/inspect/images.h"
#include "lib/inspect/ranking.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kinds.h"
#include "tools/kdl/trace/modules.h"

#include <stdlib.h>
#include <string.h>

struct cli_opened_file {
  char *path;
  kdl_library *lib; /* NULL: cannot be read, or has no images */
};

static kdl_library *open_library(cli_recordings *all, const char *path) {
  for (size_t i = 0; i < all->file_count; ++i) {
    if (strcmp(all->files[i].path, path) == 0)
      return all->files[i].lib;
  }
  all->files = xgrow(all->files, all->file_count, &all->file_room, 4, sizeof *all->files);
  cli_opened_file *file = &all->files[all->file_count++];
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE};
  *file = (cli_opened_file){.path = xstrdup(path)};
  if (kdl_open(path, &opts, &file->lib) != KDL_OK)
    file->lib = NULL;
  return file->lib;
}

void cli_modules_close_files(cli_recordings *all) {
  for (size_t i = 0; i < all->file_count; ++i) {
    kdl_close(all->files[i].lib);
    free(all->files[i].path);
  }
  free(all->files);
}

/* ------------------------------------------------------------------------------------------ */

/* The images of the container at an offset: those of the module of the first image after it. */
static size_t images_at(kdl_library *lib, uint64_t offset, uint32_t **out_images) {
  const kdl_stored_image *images = cli_stored_images(lib);
  size_t count = kdl_image_count(lib), first = count, found = 0;
  *out_images = xcalloc(count + 1, sizeof **out_images);
  for (size_t i = 0; i < count; ++i) {
    bool is_candidate = images[i].header_offset >= offset && !images[i].is_packed &&
                        !cli_image_kind_is_container(images[i].kind);
    if (is_candidate && (first == count || images[i].header_offset < images[first].header_offset))
      first = i;
  }
  for (size_t i = 0; i < count && first < count; ++i) {
    if (images[i].module == images[first].module && !cli_image_kind_is_container(images[i].kind))
      (*out_images)[found++] = (uint32_t)i;
  }
  return found;
}

static bool has_hash(kdl_library *lib, size_t image, uint64_t hash) {
  const void *data;
  size_t size;
  if (kdl_library_acquire_bytes(lib, image, &data, &size) != KDL_OK)
    return false;
  bool is_equal = kdl_recording_hash(data, size) == hash;
  kdl_library_release_bytes(lib, image);
  return is_equal;
}

static bool find_bytes_among(kdl_library *lib, const cli_module *module, const uint32_t *among,
                             size_t count, size_t *out_image) {
  const kdl_stored_image *images = cli_stored_images(lib);
  for (size_t i = 0; i < count; ++i) {
    *out_image = among[i];
    if (images[*out_image].size == module->bytes && has_hash(lib, *out_image, module->hash))
      return true;
  }
  return false;
}

/* An image with the module's bytes: among those of the container, else in the complete file. */
static bool find_bytes(kdl_library *lib, const cli_module *module, const uint32_t *among,
                       size_t count, size_t *out_image) {
  const kdl_stored_image *images = cli_stored_images(lib);
  if (find_bytes_among(lib, module, among, count, out_image))
    return true;
  for (*out_image = 0; *out_image < kdl_image_count(lib); ++*out_image) {
    if (images[*out_image].kind == KDL_IMAGE_CUBIN && images[*out_image].size == module->bytes &&
        has_hash(lib, *out_image, module->hash))
      return true;
  }
  return false;
}

typedef struct {
  cli_recordings *all;
  size_t image;   /* whose fit is wanted; SIZE_MAX: of the first that runs */
  bool wants_ptx; /* only what a driver compiles counts */
  kdl_library *lib;
  const char *fit;
} fit_finder;

static int find_fit(void *user, const kdl_verdict *verdict) {
  fit_finder *finder = user;
  kdl_image_kind kind = cli_image_at(finder->lib, verdict->image).kind;
  if (!verdict->eligible || (finder->image != SIZE_MAX && verdict->image != finder->image) ||
      (finder->wants_ptx && kind != KDL_IMAGE_PTX))
    return 0;
  finder->image = verdict->image;
  finder->fit = xarena_string(&finder->all->arena, verdict->fit, strlen(verdict->fit)).data;
  return 1;
}

/* How libkdl's rules call the fit of an image on the device; finds the image where it is not
 * known. */
static void find_fit_of(const cli_recorded *recorded, const uint32_t *among, size_t count,
                        uint32_t device, fit_finder *finder) {
  cli_devices devices = {.count = 0};
  kdl_select_opts opts = {.size = sizeof opts};
  const char *spec = cli_traced_device_spec(recorded, device);
  if (count && spec[0] && cli_devices_parse(spec, &devices) == KDL_OK && devices.count)
    kdl_library_explain(finder->lib, devices.items[0].device, NULL, &opts, among, count, find_fit,
                        finder);
  cli_devices_free(&devices);
}

static void describe_image(cli_recordings *all, kdl_library *lib, cli_module *module) {
  char room[CLI_IMAGE_KIND_ROOM];
  kdl_image_info image = cli_image_at(lib, module->image);
  const char *kind = cli_image_kind_name(&image, room);
  module->kind = xarena_string(&all->arena, kind, strlen(kind)).data;
  module->image_arch = xarena_string(&all->arena, image.arch.data, image.arch.length).data;
  if (!module->bytes)
    module->bytes = image.byte_count;
}

/* A module that is loaded with its context, by private functions or after its load call: a load
 * whose container has an image with these bytes. */
static const cli_load *find_load_by_bytes(cli_recordings *all, const cli_recorded *recorded,
                                          const cli_module *module) {
  for (size_t i = recorded->load_count; module->hash && i-- > 0;) {
    const cli_load *load = &recorded->loads[i];
    kdl_library *lib = load->path[0] ? open_library(all, load->path) : NULL;
    uint32_t *among;
    size_t image, count = lib ? images_at(lib, load->offset, &among) : 0;
    bool found = lib && find_bytes_among(lib, module, among, count, &image);
    if (lib)
      free(among);
    if (found)
      return load;
  }
  return NULL;
}

/* An image that the program copied or inflated itself, of a file that other modules come from. */
static void match_in_files(cli_recordings *all, cli_module *module) {
  for (size_t i = 0; i < all->file_count && module->hash; ++i) {
    kdl_library *lib = all->files[i].lib;
    if (!lib || !find_bytes(lib, module, NULL, 0, &module->image))
      continue;
    module->origin = CLI_MODULE_IMAGE;
    module->path = all->files[i].path;
    module->choices = 1;
    module->fit = "as the program chose";
    describe_image(all, lib, module);
    return;
  }
}

void cli_module_match(cli_recordings *all, const cli_recorded *recorded, cli_module *module) {
  const cli_load *load = cli_find_load(recorded, module->load);
  if (!load)
    load = find_load_by_bytes(all, recorded, module);
  if (!load || !load->path[0]) {
    match_in_files(all, module);
    return;
  }
  kdl_library *lib = open_library(all, load->path);
  uint32_t *among;
  if (!lib)
    return;
  module->load = load->number;
  module->path = load->path;
  module->choices = images_at(lib, load->offset, &among);
  fit_finder finder = {.all = all, .lib = lib, .image = SIZE_MAX, .fit = ""};
  bool has_bytes = module->hash != 0;
  if (has_bytes && find_bytes(lib, module, among, module->choices, &finder.image)) {
    module->origin = CLI_MODULE_IMAGE;
  } else {
    finder.image = SIZE_MAX;
    finder.wants_ptx = has_bytes;
  }
  find_fit_of(recorded, among, module->choices, module->device, &finder);
  if (finder.image != SIZE_MAX) {
    if (module->origin == CLI_MODULE_UNKNOWN)
      module->origin = has_bytes ? CLI_MODULE_COMPILED : CLI_MODULE_RULES;
    module->image = finder.image;
    module->fit = finder.fit;
    describe_image(all, lib, module);
  }
  free(among);
}
