/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/trace/module_files.h"

#include "ext/inject/recording.h"
#include "lib/inspect/libraries.h"
#include "support/base/hash.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"

#include <stdlib.h>
#include <string.h>

/* A key and an image, in the order of both. */
typedef struct {
  uint64_t key;
  uint32_t image;
} keyed_image;

typedef struct {
  keyed_image *items;
  size_t count;
} keyed_images;

struct cli_opened_file {
  char *path;
  kdl_library *lib;       /* NULL: cannot be read, or has no images */
  keyed_images by_offset; /* of headers, of images that a container begins with */
  keyed_images by_module, by_size;
  uint32_t *modules;   /* the images of by_module */
  bool *is_hashed;     /* of the first image of each size: all of them are below */
  uint32_t *hashed;    /* images, whose hashes the indexes have */
  size_t hashed_count; /* equal for all three */
  cli_index by_bytes, by_bytes_in_module; /* with the module in the key */
};

static uint64_t bytes_key(uint64_t size, uint64_t hash) {
  return kdl_hash_mix(kdl_hash_mix(kdl_hash_seed(), size), hash);
}

/* ------------------------------------------------------------------------------------------ */
/* Sorted images                                                                                */

static int compare_keyed(const void *left, const void *right) {
  const keyed_image *a = left, *b = right;
  if (a->key != b->key)
    return a->key < b->key ? -1 : 1;
  return a->image < b->image ? -1 : a->image > b->image;
}

static void add_keyed(keyed_images *to, uint64_t key, size_t image) {
  to->items[to->count++] = (keyed_image){key, (uint32_t)image};
}

static void sort_keyed(keyed_images *images) {
  qsort(images->items, images->count, sizeof *images->items, compare_keyed);
}

/* The first with that key, or a larger one. */
static size_t first_from(const keyed_images *images, uint64_t key) {
  size_t low = 0, high = images->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (images->items[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void index_images(cli_opened_file *file) {
  const kdl_stored_image *images = cli_stored_images(file->lib);
  size_t count = kdl_image_count(file->lib);
  keyed_images *lists[] = {&file->by_offset, &file->by_module, &file->by_size};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i)
    lists[i]->items = xcalloc(count + 1, sizeof *lists[i]->items);
  for (size_t i = 0; i < count; ++i) {
    if (cli_image_kind_is_container(images[i].kind))
      continue;
    if (!images[i].is_packed)
      add_keyed(&file->by_offset, images[i].header_offset, i);
    add_keyed(&file->by_module, images[i].module, i);
    add_keyed(&file->by_size, images[i].size, i);
  }
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i)
    sort_keyed(lists[i]);
  file->modules = xcalloc(count + 1, sizeof *file->modules);
  file->hashed = xcalloc(count + 1, sizeof *file->hashed);
  file->is_hashed = xcalloc(count + 1, sizeof *file->is_hashed);
  for (size_t i = 0; i < file->by_module.count; ++i)
    file->modules[i] = file->by_module.items[i].image;
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

static size_t open_file(cli_recordings *all, const char *path) {
  uint64_t hash = kdl_hash_text(kdl_text_of(path));
  for (size_t i = cli_index_newest(&all->files_by_path, hash); i != CLI_INDEX_NONE;
       i = cli_index_older(&all->files_by_path, i)) {
    if (strcmp(all->files[i].path, path) == 0)
      return i;
  }
  all->files = xgrow(all->files, all->file_count, &all->file_room, 4, sizeof *all->files);
  cli_opened_file *file = &all->files[all->file_count++];
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE};
  *file = (cli_opened_file){.path = xstrdup(path)};
  cli_index_add(&all->files_by_path, hash);
  if (kdl_open(path, &opts, &file->lib) == KDL_OK)
    index_images(file);
  else
    file->lib = NULL;
  return all->file_count - 1;
}

cli_opened_file *cli_module_file_number(cli_recordings *all, size_t number) {
  return all->files[number].lib ? &all->files[number] : NULL;
}

cli_opened_file *cli_module_file(cli_recordings *all, const char *path) {
  return cli_module_file_number(all, open_file(all, path));
}

kdl_library *cli_module_file_library(const cli_opened_file *file) {
  return file->lib;
}

const char *cli_module_file_path(const cli_opened_file *file) {
  return file->path;
}

void cli_modules_close_files(cli_recordings *all) {
  for (size_t i = 0; i < all->file_count; ++i) {
    cli_opened_file *file = &all->files[i];
    void *owned[] = {file->path,     file->by_offset.items, file->by_module.items,
                     file->modules,  file->by_size.items,   file->hashed,
                     file->is_hashed};
    kdl_close(file->lib);
    cli_index_free(&file->by_bytes);
    cli_index_free(&file->by_bytes_in_module);
    for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k)
      free(owned[k]);
  }
  cli_index_free(&all->files_by_path);
  free(all->files);
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

cli_module_images cli_module_file_at(const cli_opened_file *file, uint64_t offset) {
  const kdl_stored_image *images = cli_stored_images(file->lib);
  size_t at = first_from(&file->by_offset, offset);
  if (at == file->by_offset.count)
    return (cli_module_images){.count = 0};
  size_t module = images[file->by_offset.items[at].image].module;
  size_t first = first_from(&file->by_module, module);
  size_t end = first_from(&file->by_module, module + 1);
  return (cli_module_images){file->modules + first, end - first, module};
}

/* The hashes of all images of that size, when the first one is wanted. The first image comes last:
 * an index has the newest first. */
static void hash_images(cli_opened_file *file, uint64_t wanted) {
  const kdl_stored_image *images = cli_stored_images(file->lib);
  size_t first = first_from(&file->by_size, wanted);
  if (first == file->by_size.count || file->is_hashed[first])
    return;
  file->is_hashed[first] = true;
  for (size_t i = first_from(&file->by_size, wanted + 1); i-- > first;) {
    uint32_t image = file->by_size.items[i].image;
    const void *data;
    size_t size;
    if (kdl_library_acquire_bytes(file->lib, image, &data, &size) != KDL_OK)
      continue;
    uint64_t key = bytes_key(size, kdl_recording_hash(data, size));
    kdl_library_release_bytes(file->lib, image);
    cli_index_add(&file->by_bytes, key);
    cli_index_add(&file->by_bytes_in_module, kdl_hash_mix(key, images[image].module));
    file->hashed[file->hashed_count++] = image;
  }
}

bool cli_module_file_find(cli_opened_file *file, uint64_t size, uint64_t hash, size_t module,
                          size_t *out_image) {
  hash_images(file, size);
  size_t found =
      cli_index_newest(&file->by_bytes_in_module, kdl_hash_mix(bytes_key(size, hash), module));
  if (found == CLI_INDEX_NONE)
    return false;
  *out_image = file->hashed[found];
  return true;
}

bool cli_module_file_find_cubin(cli_opened_file *file, uint64_t size, uint64_t hash,
                                size_t *out_image) {
  const kdl_stored_image *images = cli_stored_images(file->lib);
  hash_images(file, size);
  size_t found = cli_index_newest(&file->by_bytes, bytes_key(size, hash));
  if (found == CLI_INDEX_NONE || images[file->hashed[found]].kind != KDL_IMAGE_CUBIN)
    return false; /* equal bytes are of one kind */
  *out_image = file->hashed[found];
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Loads                                                                                        */

static uint64_t code_key(size_t file, size_t module) {
  return kdl_hash_mix(kdl_hash_mix(kdl_hash_seed(), file), module);
}

/* Those that were recorded since the last call. One without a known container has a key that no
 * image has. */
static void index_loads(cli_recordings *all, cli_recorded *recorded) {
  while (recorded->loads_by_code.count < recorded->load_count) {
    const cli_load *load = &recorded->loads[recorded->loads_by_code.count];
    size_t number = load->path[0] ? open_file(all, load->path) : 0;
    const cli_opened_file *file = load->path[0] ? cli_module_file_number(all, number) : NULL;
    cli_module_images images = {.count = 0};
    if (file)
      images = cli_module_file_at(file, load->offset);
    cli_index_add(&recorded->loads_by_code, images.count ? code_key(number, images.module) : 0);
  }
}

const cli_load *cli_module_files_load(cli_recordings *all, cli_recorded *recorded, uint64_t size,
                                      uint64_t hash) {
  size_t newest = CLI_INDEX_NONE;
  index_loads(all, recorded);
  for (size_t i = 0; i < all->file_count; ++i) {
    cli_opened_file *file = cli_module_file_number(all, i);
    if (!file)
      continue;
    const kdl_stored_image *images = cli_stored_images(file->lib);
    hash_images(file, size);
    for (size_t at = cli_index_newest(&file->by_bytes, bytes_key(size, hash)); at != CLI_INDEX_NONE;
         at = cli_index_older(&file->by_bytes, at)) {
      size_t load =
          cli_index_newest(&recorded->loads_by_code, code_key(i, images[file->hashed[at]].module));
      if (load != CLI_INDEX_NONE && (newest == CLI_INDEX_NONE || load > newest))
        newest = load;
    }
  }
  return newest == CLI_INDEX_NONE ? NULL : &recorded->loads[newest];
}
