/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Rewrites a range of the input with device code: a sequence of containers (fatbins, bundles), or
 * of OffloadBinaries. A section of an object is such a range, as is a member of an archive, or a
 * complete file.
 *
 * Each container is copied, or written with fewer images. Zeros between two are padding, which is
 * computed again; other bytes between them are copied. On request, the new position of each part is
 * recorded (moves).
 */
#include "lib/inspect/libraries.h"
#include "pack/thin/file_kinds.h"
#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Images and containers of a file, by position                                                 */

static int compare_located_images(const void *left, const void *right) {
  const thin_located_image *a = left, *b = right;
  return a->at != b->at ? (a->at < b->at ? -1 : 1) : a->image < b->image ? -1 : 1;
}

kdl_status thin_context_init(const thin_input *input, const thin_selection *selection,
                             thin_report *report, thin_context *out_work) {
  const kdl_stored_image *images = cli_stored_images(input->lib);
  size_t count = kdl_image_count(input->lib);
  *out_work = (thin_context){.input = input,
                             .selection = selection,
                             .report = report,
                             .located_images = xcalloc(count, sizeof *out_work->located_images)};
  for (uint32_t i = 0; i < count; ++i) {
    if (images[i].parent == KDL_NO_PARENT)
      out_work->located_images[out_work->located_image_count++] =
          (thin_located_image){thin_image_offset(&images[i]), i};
  }
  qsort(out_work->located_images, out_work->located_image_count, sizeof *out_work->located_images,
        compare_located_images);
  return thin_containers_find(input, selection, &out_work->containers);
}

void thin_context_destroy(thin_context *context) {
  thin_containers_free(&context->containers);
  free(context->located_images);
}

/* The first image at or after an offset of the file. */
static size_t first_image_at(const thin_context *context, uint64_t offset) {
  return kdl_array_lower_bound(context->located_images, context->located_image_count,
                               sizeof *context->located_images, offsetof(thin_located_image, at),
                               offset);
}

const thin_located_image *thin_images_in_range(const thin_context *context, thin_range range,
                                               size_t *out_count) {
  size_t first = first_image_at(context, range.at);
  *out_count = first_image_at(context, range.at + range.size) - first;
  return context->located_images + first;
}

/* The containers that begin in a range. */
static const thin_container *containers_in(const thin_context *context, thin_range range,
                                           size_t *out_count) {
  const thin_container_list *list = &context->containers;
  size_t first = kdl_array_lower_bound(list->items, list->count, sizeof *list->items,
                                       offsetof(thin_container, offset), range.at);
  size_t end = first;
  while (end < list->count && list->items[end].offset - range.at < range.size)
    ++end;
  *out_count = end - first;
  return list->items + first;
}

bool thin_range_changes(const thin_context *context, thin_range range) {
  size_t place_count, container_count;
  const thin_located_image *places = thin_images_in_range(context, range, &place_count);
  const thin_container *containers = containers_in(context, range, &container_count);
  for (size_t i = 0; i < place_count; ++i) {
    if (!context->selection->kept[places[i].image])
      return true;
  }
  for (size_t i = 0; i < container_count; ++i) {
    if (containers[i].is_compressed)
      return true;
  }
  return false;
}

void thin_report_removed(const thin_context *context, thin_range range) {
  bool *is_removed = context->report->is_removed;
  size_t place_count = 0, container_count;
  const thin_located_image *places = NULL;
  const thin_container *containers = containers_in(context, range, &container_count);
  if (thin_sniff(context->input->data + range.at, range.size) == THIN_KIND_OFFLOAD)
    places = thin_images_in_range(context, range, &place_count);
  for (size_t i = 0; i < place_count; ++i)
    is_removed[places[i].image] = !context->selection->kept[places[i].image];
  for (size_t i = 0; i < container_count; ++i) {
    bool *of_container = is_removed + containers[i].first;
    thin_container_kept_images(context->input, context->selection, &containers[i], of_container);
    for (size_t k = 0; k < containers[i].count; ++k)
      of_container[k] = !of_container[k];
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Writing a range                                                                              */

typedef struct {
  const thin_context *context;
  thin_range range;
  uint64_t start;    /* its start in the output */
  thin_moves *moves; /* NULL: not recorded */
  thin_output *out;
} range_rewriter;

/* Records that [from, from + size) of the input became the output since `before`. */
static void note_move(const range_rewriter *s, uint64_t from, uint64_t size, uint64_t before) {
  thin_moves *moves = s->moves;
  if (!moves)
    return;
  moves->items = xgrow(moves->items, moves->count, &moves->capacity, 16, sizeof *moves->items);
  moves->items[moves->count++] =
      (thin_move){from - s->range.at, size, before - s->start, s->out->size - before};
}

static void copy_bytes(const range_rewriter *s, uint64_t from, uint64_t to) {
  uint64_t before = s->out->size;
  if (from == to)
    return;
  thin_output_add(s->out, s->context->input->data + from, to - from);
  note_move(s, from, to - from, before);
}

static void pad_to(const range_rewriter *s, uint64_t alignment) {
  thin_output_add_zeros(s->out, -(s->out->size - s->start) & (alignment - 1));
}

/* ------------------------------------------------------------------------------------------ */
/* Fatbins and bundles                                                                          */

/* The common alignment of all containers in the range, at most a page; the output keeps it. */
static uint64_t container_alignment(const range_rewriter *s) {
  size_t count;
  const thin_container *containers = containers_in(s->context, s->range, &count);
  uint64_t all = 4096;
  for (size_t i = 0; i < count; ++i)
    all |= containers[i].offset - s->range.at;
  return all & -all;
}

/* Bytes between containers. Zeros are padding, which is computed again. */
static void copy_between(const range_rewriter *s, uint64_t from, uint64_t to) {
  const uint8_t *data = s->context->input->data;
  for (uint64_t at = from; at < to; ++at) {
    if (data[at]) {
      copy_bytes(s, from, to);
      return;
    }
  }
}

kdl_status thin_container_range(const thin_context *context, thin_range range, thin_moves *moves,
                                thin_output *out) {
  const thin_input *input = context->input;
  range_rewriter s = {context, range, out->size, moves, out};
  uint64_t at = range.at, end = range.at + range.size;
  if (!thin_range_changes(context, range)) {
    copy_bytes(&s, at, end);
    return KDL_OK;
  }
  uint64_t alignment = container_alignment(&s);
  size_t count;
  const thin_container *containers = containers_in(context, range, &count);
  for (size_t i = 0; i < count; ++i) {
    const thin_container *container = &containers[i];
    if (container->offset < at || container->size > end - container->offset)
      continue; /* overlaps the one before it, or leaves the range: copied like other bytes */
    copy_between(&s, at, container->offset);
    pad_to(&s, alignment);
    uint64_t before = out->size;
    bool changes = thin_container_changes(container);
    if (changes)
      KDL_TRY(thin_container_rewrite(input, context->selection, container, out));
    else
      thin_output_add(out, input->data + container->offset, container->size);
    note_move(&s, container->offset, container->size, before);
    context->report->moved += changes;
    at = container->offset + container->size;
  }
  copy_between(&s, at, end);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* OffloadBinaries                                                                              */

/* A writer for a binary like the one at `at`: same version, same compression of its images. */
static kdl_status create_writer(const thin_context *context, uint64_t at,
                                const kdl_stored_image *image, kdl_writer **out_writer) {
  uint8_t codec = kdl_source_read(image->source).codec;
  int packed = codec == KDL_CODEC_ZSTD   ? KDL_FORMAT_ZSTD
               : codec == KDL_CODEC_ZLIB ? KDL_FORMAT_ZLIB
                                         : 0;
  return kdl_writer_create((int)kdl_load_u32(context->input->data + at + 4) | packed, out_writer);
}

static kdl_status add_to_writer(kdl_library *lib, uint32_t index, kdl_writer *writer) {
  kdl_image_info info = {.size = sizeof info};
  size_t size;
  KDL_TRY(kdl_image_get(lib, index, &info));
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = info.declared_kind,
                            .offload_kind = info.offload_kind,
                            .flags = info.flags,
                            .pairs = info.pairs,
                            .pair_count = info.pair_count,
                            .data_size = (size_t)info.byte_count};
  KDL_TRY(kdl_image_bytes(lib, index, &image.data, &size));
  return kdl_writer_add(writer, &image);
}

/* Rewrites a binary that loses some of its images. */
static kdl_status rewrite_offload_binary(const thin_context *context, thin_range binary,
                                         thin_output *out) {
  kdl_library *lib = context->input->lib;
  kdl_writer *writer = NULL;
  kdl_status status = KDL_OK;
  void *made = NULL;
  size_t size = 0, count;
  const thin_located_image *places = thin_images_in_range(context, binary, &count);
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    uint32_t index = places[i].image;
    if (!context->selection->kept[index])
      continue;
    if (!writer)
      status = create_writer(context, binary.at, &cli_stored_images(lib)[index], &writer);
    if (status == KDL_OK)
      status = add_to_writer(lib, index, writer);
  }
  if (status == KDL_OK)
    status = kdl_writer_finish(writer, &made, &size);
  kdl_writer_destroy(writer);
  if (status == KDL_OK)
    thin_output_add_copy(out, made, size);
  free(made);
  return status;
}

static kdl_status put_offload_binary(const thin_context *context, thin_range binary,
                                     thin_output *out) {
  size_t kept = 0, count;
  const thin_located_image *places = thin_images_in_range(context, binary, &count);
  for (size_t i = 0; i < count; ++i)
    kept += context->selection->kept[places[i].image];
  ++context->report->containers;
  if (kept == count) {
    thin_output_add(out, context->input->data + binary.at, binary.size);
    return KDL_OK;
  }
  ++context->report->moved;
  return kept ? rewrite_offload_binary(context, binary, out) : KDL_OK;
}

kdl_status thin_offload_binaries(const thin_context *context, thin_range range, thin_moves *moves,
                                 thin_output *out) {
  enum { header_size = 32, alignment = 8 };
  const uint8_t *data = context->input->data;
  range_rewriter s = {context, range, out->size, moves, out};
  uint64_t end = range.at + range.size;
  if (!thin_range_changes(context, range)) {
    copy_bytes(&s, range.at, end);
    return KDL_OK;
  }
  for (uint64_t at = range.at; at < end;) {
    if (data[at] == 0) { /* padding between binaries */
      ++at;
      continue;
    }
    bool is_binary = thin_sniff(data + at, end - at) == THIN_KIND_OFFLOAD;
    uint64_t size = is_binary ? kdl_load_u64(data + at + 8) : 0;
    if (size < header_size || size > end - at)
      return kdl_fail(KDL_BAD_FILE,
                      "%s: offset 0x%" PRIx64 ": found no OffloadBinary, expected one",
                      context->input->name, at);
    pad_to(&s, alignment);
    uint64_t before = out->size;
    KDL_TRY(put_offload_binary(context, (thin_range){at, size}, out));
    note_move(&s, at, size, before);
    at += size;
  }
  return KDL_OK;
}
