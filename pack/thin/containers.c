/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/containers.h"

#include "lib/inspect/libraries.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "tools/common/images/kinds.h"

#include <stdlib.h>
#include <string.h>

enum { fatbin_header = 16, fatbin_entry = 64, bundle_entry = 24 };
static const char bundle_magic[] = KDL_MAGIC_BUNDLE;
enum { bundle_magic_size = sizeof bundle_magic - 1, bundle_header = bundle_magic_size + 8 };

/* ------------------------------------------------------------------------------------------ */
/* Fatbins                                                                                      */

static uint64_t entry_size(const uint8_t *entry) {
  return kdl_load_u32(entry + 4) + kdl_load_u64(entry + 8);
}

/* Whether the images are exactly the entries of a fatbin, from its header to its end. The reader
 * has checked each entry; this relies on nothing else. */
static bool match_fatbin(const thin_input *input, const kdl_stored_image *images, size_t count,
                         thin_container *out) {
  uint64_t first = images[0].header_offset;
  if (first < fatbin_header || !kdl_in_range(first, 0, input->size))
    return false;
  uint64_t start = first - fatbin_header;
  const uint8_t *header = input->data + start;
  if (kdl_load_u32(header) != KDL_MAGIC_FATBIN || kdl_load_u16(header + 6) != fatbin_header)
    return false;
  uint64_t end = first, body = kdl_load_u64(header + 8);
  for (size_t i = 0; i < count; ++i) {
    if (images[i].header_offset != end || !kdl_in_range(end, fatbin_entry, input->size))
      return false;
    uint64_t size = entry_size(input->data + end);
    if (!kdl_in_range(end, size, input->size))
      return false;
    end += size;
  }
  if (body != end - first)
    return false;
  out->kind = images[0].is_link_input ? THIN_RELOCATABLE_FATBIN : THIN_FATBIN;
  out->offset = start;
  out->size = end - start;
  return true;
}

static kdl_status rewrite_fatbin(const thin_input *input, const thin_selection *selection,
                                 const bool *kept, const kdl_stored_image *images,
                                 const thin_container *container, thin_output *out) {
  uint8_t *header = thin_output_add_uninitialized(out, fatbin_header);
  uint64_t start = out->size;
  for (size_t i = 0; i < container->count; ++i) {
    const uint8_t *entry = input->data + images[i].header_offset;
    if (kept[i] && thin_entry_compresses(selection, container, entry))
      KDL_TRY(thin_entry_compress(input, selection, entry, out));
    else if (kept[i])
      thin_output_add(out, entry, entry_size(entry));
  }
  memcpy(header, input->data + container->offset, fatbin_header);
  kdl_store_u64(header + 8, out->size - start);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Bundles                                                                                      */

static bool match_bundle(const thin_input *input, const kdl_stored_image *images, size_t count,
                         thin_container *out) {
  uint64_t at = images[0].header_offset;
  if (!kdl_in_range(at, bundle_entry, input->size))
    return false;
  uint64_t relative = kdl_load_u64(input->data + at);
  if (images[0].stored_size == 0 || relative > images[0].offset)
    return false;
  uint64_t start = images[0].offset - relative;
  if (!kdl_in_range(start, bundle_header, input->size) || start >= at ||
      memcmp(input->data + start, bundle_magic, bundle_magic_size) != 0)
    return false;
  uint64_t entries = kdl_load_u64(input->data + start + bundle_magic_size);
  uint64_t table = start + bundle_header, end = table;
  size_t seen = 0;
  for (uint64_t i = 0; i < entries; ++i) {
    if (!kdl_in_range(table, bundle_entry, input->size))
      return false;
    const uint8_t *entry = input->data + table;
    uint64_t offset = kdl_load_u64(entry), size = kdl_load_u64(entry + 8);
    uint64_t id = kdl_load_u64(entry + 16);
    if (!kdl_in_range(table + bundle_entry, id, input->size) ||
        !kdl_in_range(offset, size, input->size - start))
      return false;
    seen += seen < count && images[seen].header_offset == table;
    table += bundle_entry + id;
    if (size && start + offset + size > end)
      end = start + offset + size;
  }
  if (seen != count)
    return false;
  out->kind = THIN_BUNDLE;
  out->offset = start;
  out->size = (end > table ? end : table) - start;
  return true;
}

/* The common alignment of all code objects' offsets: runtimes map some of them in place. */
static uint64_t bundle_alignment(const uint8_t *bundle, uint64_t entries) {
  uint64_t all = 4096;
  const uint8_t *entry = bundle + bundle_header;
  for (uint64_t i = 0; i < entries; ++i) {
    if (kdl_load_u64(entry + 8))
      all |= kdl_load_u64(entry);
    entry += bundle_entry + kdl_load_u64(entry + 16);
  }
  return all & -all;
}

/* Iterates over the entries that stay. The host's entry is not an image. */
typedef struct {
  const thin_input *input;
  const bool *kept;
  const kdl_stored_image *images;
  size_t count, image;
  const uint8_t *entry;
  uint64_t entries_left;
} bundle_walk;

static uint64_t entry_length(const uint8_t *entry) {
  return bundle_entry + kdl_load_u64(entry + 16);
}

static bool next_kept(bundle_walk *w, const uint8_t **out_entry) {
  bool stays = false;
  for (; w->entries_left > 0 && !stays; --w->entries_left) {
    bool is_image =
        w->image < w->count && w->input->data + w->images[w->image].header_offset == w->entry;
    stays = !is_image || w->kept[w->image];
    w->image += is_image;
    *out_entry = w->entry;
    w->entry += entry_length(w->entry);
  }
  return stays;
}

void thin_bundle_rewrite(const thin_input *input, const bool *kept, const kdl_stored_image *images,
                         size_t count, const thin_container *container, thin_output *out) {
  const uint8_t *bundle = input->data + container->offset;
  const uint8_t *entry = bundle;
  uint64_t entries = kdl_load_u64(bundle + bundle_magic_size);
  uint64_t alignment = bundle_alignment(bundle, entries);
  const bundle_walk start_of_all = {input, kept, images, count, 0, bundle + bundle_header, entries};
  uint64_t table = bundle_header, stay = 0;
  bundle_walk walk = start_of_all;
  for (; next_kept(&walk, &entry); ++stay)
    table += entry_length(entry);
  uint8_t *to = thin_output_add_uninitialized(out, (size_t)table);
  memcpy(to, bundle, bundle_magic_size);
  kdl_store_u64(to + bundle_magic_size, stay);
  to += bundle_header;
  uint64_t end = table;
  for (walk = start_of_all; next_kept(&walk, &entry);) {
    uint64_t offset = kdl_load_u64(entry), size = kdl_load_u64(entry + 8);
    uint64_t start = size ? (end + alignment - 1) & -alignment : offset ? end : 0;
    memcpy(to, entry, entry_length(entry));
    kdl_store_u64(to, start);
    to += entry_length(entry);
    if (!size)
      continue;
    thin_output_add_zeros(out, start - end);
    thin_output_add(out, bundle + offset, size);
    end = start + size;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* All of them                                                                                  */

/* Whether an image's bytes are stored uncompressed in the file. */
static bool is_stored_uncompressed(const thin_input *input, const kdl_stored_image *image) {
  return image->parent == KDL_NO_PARENT && !image->is_packed &&
         kdl_source_read(image->source).size == input->size && !image->problem;
}

void thin_containers_sort(thin_container_list *list) {
  kdl_array_sort(list->items, list->count, sizeof *list->items, offsetof(thin_container, offset));
}

void thin_containers_add(thin_container_list *list, const thin_container *found) {
  list->items = xgrow(list->items, list->count, &list->capacity, 64, sizeof *list->items);
  list->items[list->count++] = *found;
}

kdl_status thin_containers_find(const thin_input *input, const thin_selection *selection,
                                thin_container_list *out_list) {
  const kdl_stored_image *images = cli_stored_images(input->lib);
  *out_list = (thin_container_list){.count = 0};
  for (size_t i = 0, end; i < selection->count; i = end) {
    thin_container found = {.first = i};
    bool is_plain = is_stored_uncompressed(input, &images[i]);
    for (end = i; end < selection->count && images[end].module == images[i].module; ++end) {
      is_plain = is_plain && is_stored_uncompressed(input, &images[end]);
      found.kept += selection->kept[end];
    }
    found.count = end - i;
    bool is_found = is_plain ? match_fatbin(input, &images[i], end - i, &found) ||
                                   match_bundle(input, &images[i], end - i, &found)
                             : thin_compressed_bundle_match(input, &images[i], end - i, &found);
    if (!is_found)
      continue;
    KDL_TRY(thin_container_compresses(input, selection, &found, &found.is_compressed));
    thin_containers_add(out_list, &found);
  }
  thin_containers_sort(out_list);
  return KDL_OK;
}

void thin_containers_free(thin_container_list *list) {
  free(list->items);
}

void thin_container_kept_images(const thin_input *input, const thin_selection *selection,
                                const thin_container *container, bool *out_kept) {
  const kdl_stored_image *images = cli_stored_images(input->lib) + container->first;
  memcpy(out_kept, selection->kept + container->first, container->count);
  bool is_bundle = container->kind == THIN_BUNDLE || container->kind == THIN_COMPRESSED_BUNDLE;
  if (container->kept || !(is_bundle || container->must_keep_one))
    return;
  size_t smallest = 0;
  for (size_t i = 1; i < container->count; ++i)
    smallest = images[i].stored_size < images[smallest].stored_size ? i : smallest;
  out_kept[smallest] = true;
}

bool thin_container_changes(const thin_container *container) {
  return container->kept != container->count || container->is_compressed;
}

static kdl_status rewrite_bundle(const thin_input *input, const thin_selection *selection,
                                 const bool *kept, const kdl_stored_image *images,
                                 const thin_container *container, thin_output *out) {
  thin_output plain = {.count = 0};
  thin_bundle_rewrite(input, kept, images, container->count, container,
                      container->is_compressed ? &plain : out);
  kdl_status status = container->is_compressed
                          ? thin_bundle_compress(input, selection, container, &plain, out)
                          : KDL_OK;
  thin_output_free(&plain);
  return status;
}

kdl_status thin_container_rewrite(const thin_input *input, const thin_selection *selection,
                                  const thin_container *container, thin_output *out) {
  const kdl_stored_image *images = cli_stored_images(input->lib) + container->first;
  bool *kept = xmalloc(container->count);
  thin_container_kept_images(input, selection, container, kept);
  kdl_status status =
      container->kind == THIN_BUNDLE
          ? rewrite_bundle(input, selection, kept, images, container, out)
      : container->kind == THIN_COMPRESSED_BUNDLE
          ? thin_compressed_bundle_rewrite(input, kept, images, container->count, container, out)
          : rewrite_fatbin(input, selection, kept, images, container, out);
  free(kept);
  return status;
}
