/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The image of a file that a loaded module is, or was compiled from. */
#include "lib/inspect/selection.h"
#include "support/base/hash.h"
#include "support/base/text.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kinds.h"
#include "tools/kdl/trace/module_files.h"

#include <stdlib.h>
#include <string.h>

/* An image with the module's bytes: among those of the container, else in the complete file. */
static bool find_bytes(cli_opened_file *file, const cli_module *module,
                       const cli_module_images *among, size_t *out_image) {
  return (among->count &&
          cli_module_file_find(file, module->bytes, module->hash, among->module, out_image)) ||
         cli_module_file_find_cubin(file, module->bytes, module->hash, out_image);
}

/* ------------------------------------------------------------------------------------------ */
/* Fits                                                                                         */

/* How libkdl's rules call the fits of a module's images on a device. */
struct cli_module_fits {
  const kdl_library *lib;
  const char *device; /* in words */
  cli_module_images images;
  const char **fits;     /* of each image; NULL: it does not run */
  size_t best, best_ptx; /* images; SIZE_MAX: none runs */
};

typedef struct {
  cli_recordings *all;
  kdl_library *lib;
  cli_module_fits *made;
} fit_finder;

static size_t position_of(const cli_module_images *images, size_t image) {
  size_t low = 0, high = images->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (images->items[middle] < image)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int add_fit(void *user, const kdl_verdict *verdict) {
  const fit_finder *finder = user;
  cli_module_fits *made = finder->made;
  if (!verdict->eligible)
    return 0;
  made->fits[position_of(&made->images, verdict->image)] =
      xarena_string(&finder->all->arena, verdict->fit, strlen(verdict->fit)).data;
  if (made->best == SIZE_MAX)
    made->best = verdict->image;
  if (made->best_ptx == SIZE_MAX && cli_image_at(finder->lib, verdict->image).kind == KDL_IMAGE_PTX)
    made->best_ptx = verdict->image;
  return 0;
}

static void rank_images(cli_recordings *all, kdl_library *lib, cli_module_fits *made) {
  cli_devices devices = {.count = 0};
  kdl_select_opts opts = {.size = sizeof opts};
  if (made->images.count && made->device[0] &&
      cli_devices_parse(made->device, &devices) == KDL_OK && devices.count)
    kdl_library_explain(lib, devices.items[0].device, NULL, &opts, made->images.items,
                        made->images.count, add_fit, &(fit_finder){all, lib, made});
  cli_devices_free(&devices);
}

/* A module may have thousands of images, of which as many are loaded: all are ranked once. */
static const cli_module_fits *find_fits(cli_recordings *all, kdl_library *lib, const char *device,
                                        cli_module_images images) {
  uint64_t hash = kdl_hash_text(kdl_text_of(device));
  hash = kdl_hash_mix(kdl_hash_mix(hash, (uint64_t)(uintptr_t)lib), images.module);
  for (size_t i = cli_index_newest(&all->fits_by_module, hash); i != CLI_INDEX_NONE;
       i = cli_index_older(&all->fits_by_module, i)) {
    const cli_module_fits *known = &all->fits[i];
    if (known->lib == lib && known->images.items == images.items &&
        strcmp(known->device, device) == 0)
      return known;
  }
  all->fits = xgrow(all->fits, all->fits_by_module.count, &all->fit_room, 4, sizeof *all->fits);
  cli_module_fits *made = &all->fits[all->fits_by_module.count];
  *made = (cli_module_fits){.lib = lib,
                            .device = device,
                            .images = images,
                            .fits = xcalloc(images.count + 1, sizeof *made->fits),
                            .best = SIZE_MAX,
                            .best_ptx = SIZE_MAX};
  cli_index_add(&all->fits_by_module, hash);
  rank_images(all, lib, made);
  return made;
}

void cli_module_fits_free(cli_recordings *all) {
  for (size_t i = 0; i < all->fits_by_module.count; ++i)
    free(all->fits[i].fits);
  free(all->fits);
  cli_index_free(&all->fits_by_module);
}

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

static void describe_image(cli_recordings *all, kdl_library *lib, cli_module *module) {
  char room[CLI_IMAGE_KIND_ROOM];
  kdl_image_info image = cli_image_at(lib, module->image);
  const char *kind = cli_image_kind_name(&image, room);
  module->kind = xarena_string(&all->arena, kind, strlen(kind)).data;
  module->image_arch = xarena_string(&all->arena, image.arch.data, image.arch.length).data;
  if (!module->bytes)
    module->bytes = image.byte_count;
}

/* An image that the program copied or inflated itself, of a file that other modules come from. */
static void match_in_files(cli_recordings *all, cli_module *module) {
  for (size_t i = 0; i < all->file_count && module->hash; ++i) {
    cli_opened_file *file = cli_module_file_number(all, i);
    if (!file || !cli_module_file_find_cubin(file, module->bytes, module->hash, &module->image))
      continue;
    module->origin = CLI_MODULE_IMAGE;
    module->path = cli_module_file_path(file);
    module->choices = 1;
    module->fit = "as the program chose";
    describe_image(all, cli_module_file_library(file), module);
    return;
  }
}

/* A module that is loaded with its context, by private functions or after its load call, has no
 * load: one whose container has an image with these bytes is taken. */
void cli_module_match(cli_recordings *all, cli_recorded *recorded, cli_module *module) {
  const cli_load *load = cli_find_load(recorded, module->load);
  if (!load && module->hash)
    load = cli_module_files_load(all, recorded, module->bytes, module->hash);
  if (!load || !load->path[0]) {
    match_in_files(all, module);
    return;
  }
  cli_opened_file *file = cli_module_file(all, load->path);
  if (!file)
    return;
  kdl_library *lib = cli_module_file_library(file);
  cli_module_images among = cli_module_file_at(file, load->offset);
  module->load = load->number;
  module->path = load->path;
  module->choices = among.count;
  const cli_module_fits *fits =
      find_fits(all, lib, cli_traced_device_spec(recorded, module->device), among);
  bool has_bytes = module->hash != 0;
  size_t image = has_bytes ? fits->best_ptx : fits->best; /* what a driver compiles, or runs */
  if (has_bytes && find_bytes(file, module, &among, &image))
    module->origin = CLI_MODULE_IMAGE;
  if (image == SIZE_MAX)
    return;
  if (module->origin == CLI_MODULE_UNKNOWN)
    module->origin = has_bytes ? CLI_MODULE_COMPILED : CLI_MODULE_RULES;
  size_t position = position_of(&among, image);
  bool is_among = position < among.count && among.items[position] == image;
  module->image = image;
  module->fit = is_among && fits->fits[position] ? fits->fits[position] : "";
  describe_image(all, lib, module);
}
