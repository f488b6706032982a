/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compressed bundles with images for several architectures, written by ROCm's compilers. */
#include "pack/split/split.h"

#include "lib/inspect/libraries.h"
#include "pack/thin/containers.h"
#include "support/base/array.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

/* The unit at a position, or NULL. */
static const split_unit *find_unit(const split_plan *plan, uint64_t at) {
  size_t first = kdl_array_lower_bound(plan->units, plan->unit_count, sizeof *plan->units,
                                       offsetof(split_unit, at), at);
  return first < plan->unit_count && plan->units[first].at == at ? &plan->units[first] : NULL;
}

bool split_is_zero(const uint8_t *data, uint64_t size) {
  return size == 0 || (data[0] == 0 && memcmp(data, data + 1, (size_t)size - 1) == 0);
}

/* Whether the images are in order with only zeros between them and after the table; *out_table is
 * the offset of the first. */
static bool has_zeros_between_images(const uint8_t *inflated, uint64_t size,
                                     const kdl_stored_image *images, size_t count,
                                     uint64_t *out_table) {
  uint64_t end = 0;
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    if (images[i].stored_size == 0)
      continue;
    if (images[i].offset < end || images[i].codec != KDL_CODEC_NONE ||
        (any && !split_is_zero(inflated + end, images[i].offset - end)))
      return false;
    if (!any)
      *out_table = images[i].offset;
    any = true;
    end = images[i].offset + images[i].stored_size;
  }
  return any && end <= size && split_is_zero(inflated + end, size - end);
}

static kdl_status add_stream(split_plan *plan, const kdl_stored_image *images, size_t count,
                             uint32_t first, const uint8_t *inflated, uint64_t table,
                             const char *file) {
  kdl_source_info source = kdl_source_read(images[0].source);
  uint8_t *copy = xarena_alloc(&plan->arena, (size_t)table + 1);
  memcpy(copy, inflated, (size_t)table);
  plan->streams =
      xgrow(plan->streams, plan->stream_count, &plan->stream_capacity, 16, sizeof *plan->streams);
  uint32_t number = (uint32_t)plan->stream_count++, skeleton;
  plan->streams[number] =
      (split_stream){source.packed_offset, source.packed_size, source.size, copy, (size_t)table};
  KDL_TRY(split_plan_get_part(plan, file, SPLIT_SKELETON, &skeleton));
  plan->parts[skeleton].is_needed = plan->parts[skeleton].is_mixed = true;
  for (size_t i = 0; i < count; ++i) {
    split_copy made = {.image = first + (uint32_t)i, .stream = number};
    KDL_TRY(split_plan_get_part(plan, file, split_image_arch(&images[i]), &made.part));
    plan->copies =
        xgrow(plan->copies, plan->copy_count, &plan->copy_capacity, 64, sizeof *plan->copies);
    plan->copies[plan->copy_count++] = made;
    ++plan->parts[made.part].images;
    plan->parts[made.part].bytes += images[i].stored_size;
  }
  return KDL_OK;
}

static kdl_status try_stream(split_plan *plan, const kdl_stored_image *images, size_t count,
                             uint32_t first, const thin_input *input, bool *out_taken) {
  kdl_source_info source = kdl_source_read(images[0].source);
  uint8_t *inflated = xmalloc((size_t)source.size);
  uint64_t table = 0;
  kdl_status status = kdl_inflate(source.codec, input->data + source.packed_offset,
                                  (size_t)source.packed_size, inflated, (size_t)source.size);
  if (status == KDL_OK && has_zeros_between_images(inflated, source.size, images, count, &table)) {
    status = add_stream(plan, images, count, first, inflated, table, input->name);
    *out_taken = status == KDL_OK;
  }
  free(inflated);
  return status;
}

kdl_status split_plan_find_streams(split_plan *plan, kdl_library *lib, const cli_bytes *bytes,
                                   const char *file) {
  const kdl_stored_image *all = cli_stored_images(lib);
  size_t count = kdl_image_count(lib);
  thin_input input = {.data = bytes->data, .size = bytes->size, .name = file, .fd = -1};
  size_t mixed = 0, taken = 0;
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < plan->unit_count; ++i)
    mixed += plan->parts[plan->units[i].part].is_mixed;
  for (uint32_t i = 0, end; i < count && status == KDL_OK; i = end) {
    const kdl_stored_image *images = &all[i];
    thin_container found;
    for (end = i + 1; end < count && all[end].source == images->source;)
      ++end;
    if (!images->is_packed || !thin_compressed_bundle_match(&input, images, end - i, &found))
      continue;
    const split_unit *unit = find_unit(plan, kdl_source_read(images->source).packed_offset);
    bool is_taken = false;
    if (unit && plan->parts[unit->part].is_mixed)
      status = try_stream(plan, images, end - i, i, &input, &is_taken);
    taken += is_taken;
  }
  /* If every image also has a copy in its own part, the compressed bundle is not needed. */
  for (size_t i = 0; i < plan->part_count && taken == mixed; ++i) {
    if (plan->parts[i].is_mixed && strcmp(plan->parts[i].key, SPLIT_SKELETON) != 0)
      plan->parts[i].is_needed = false;
  }
  return status;
}

kdl_status split_rebuilt_bundle_compress(const split_rebuilt_bundle *rebuilt, uint8_t *file,
                                         uint64_t size, const char *name) {
  thin_input input = {.name = name, .fd = -1};
  if (!file || rebuilt->at > size || rebuilt->compressed_size > size - rebuilt->at)
    return kdl_fail(KDL_BAD_FILE, "%s: found a compressed bundle beyond the end of the file", name);
  return thin_compressed_bundle_replace(&input, file, rebuilt->at, rebuilt->compressed_size,
                                        rebuilt->data, (size_t)rebuilt->uncompressed_size);
}
