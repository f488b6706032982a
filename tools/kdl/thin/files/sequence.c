/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Containers that lie one after another, and OffloadBinaries that do. */
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/magic.h"
#include "library/library.h"
#include "thin/kinds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Images and ranges                                                                            */

static uint64_t place_of(const kdl_image *image) {
  const kdl_source *source = image->source;
  uint64_t at = image->header_offset; /* one without bytes may stand at the end of its container */
  for (; source->codec != KDL_CODEC_NONE; source = source->packed.source)
    at = source->packed.base;
  return at;
}

static int by_place(const void *a, const void *b) {
  const thin_place *x = a, *y = b;
  return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->image < y->image ? -1 : 1;
}

kdl_status thin_work_begin(const thin_input *input, const thin_choice *choice, thin_report *report,
                           thin_work *out_work) {
  const kdl_container *container = input->lib->container;
  *out_work = (thin_work){.input = input, .choice = choice, .report = report};
  out_work->places = calloc((size_t)container->count + 1, sizeof *out_work->places);
  if (!out_work->places)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", input->name);
  for (uint32_t i = 0; i < container->count; ++i) {
    const kdl_image *image = &container->images[i];
    if (image->parent == KDL_PARENT_NONE)
      out_work->places[out_work->place_count++] = (thin_place){place_of(image), i};
  }
  qsort(out_work->places, out_work->place_count, sizeof *out_work->places, by_place);
  kdl_status status = thin_containers_find(input, choice, &out_work->containers);
  if (status != KDL_OK)
    thin_work_end(out_work);
  return status;
}

void thin_work_end(thin_work *work) {
  thin_containers_free(&work->containers);
  free(work->places);
}

/* The first place from `at` on. */
static size_t first_place(const thin_work *work, uint64_t at) {
  return kdl_array_first(work->places, work->place_count, sizeof *work->places,
                         offsetof(thin_place, at), at);
}

const thin_place *thin_places_in(const thin_work *work, thin_range range, size_t *out_count) {
  size_t first = first_place(work, range.at);
  *out_count = first_place(work, range.at + range.size) - first;
  return work->places + first;
}

/* The first container from `at` on. */
static size_t first_container(const thin_work *work, uint64_t at) {
  return kdl_array_first(work->containers.items, work->containers.count,
                         sizeof *work->containers.items, offsetof(thin_container, offset), at);
}

bool thin_loses_any(const thin_work *work, thin_range range) {
  size_t count;
  const thin_place *places = thin_places_in(work, range, &count);
  for (size_t i = 0; i < count; ++i) {
    if (!work->choice->kept[places[i].image])
      return true;
  }
  for (size_t i = first_container(work, range.at);
       i < work->containers.count && work->containers.items[i].offset - range.at < range.size;
       ++i) {
    if (work->containers.items[i].packs)
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Fatbins and bundles                                                                          */

static kdl_status note_move(thin_moves *moves, thin_move move) {
  if (!moves)
    return KDL_OK;
  thin_move *items = kdl_array_grow(moves->items, moves->count, &moves->capacity, 16, sizeof move);
  if (!items)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  moves->items = items;
  items[moves->count++] = move;
  return KDL_OK;
}

static kdl_status copy_range(const thin_work *work, thin_range range, uint64_t from, uint64_t to,
                             uint64_t start, thin_moves *moves, thin_output *out) {
  if (from == to)
    return KDL_OK;
  thin_move move = {from - range.at, to - from, out->size - start, to - from};
  kdl_status status = thin_output_add(out, work->input->data + from, to - from);
  return status == KDL_OK ? note_move(moves, move) : status;
}

/* What every start of a container in the range is a multiple of, at most a page: they are aligned
 * so again. */
static uint64_t alignment_of(const thin_work *work, thin_range range) {
  uint64_t all = 4096;
  for (size_t i = first_container(work, range.at); i < work->containers.count; ++i) {
    const thin_container *container = &work->containers.items[i];
    if (container->offset - range.at >= range.size)
      break;
    all |= container->offset - range.at;
  }
  return all & -all;
}

void thin_note_gone(const thin_work *work, thin_range range) {
  bool *went = work->report->went;
  size_t count = 0;
  const thin_place *places = NULL;
  if (thin_is_offload_binary(work->input->data + range.at, range.size))
    places = thin_places_in(work, range, &count);
  for (size_t i = 0; i < count; ++i)
    went[places[i].image] = !work->choice->kept[places[i].image];
  for (size_t i = first_container(work, range.at); i < work->containers.count; ++i) {
    const thin_container *container = &work->containers.items[i];
    if (container->offset - range.at >= range.size)
      break;
    bool *kept = went + container->first; /* first what stays, then what goes */
    thin_container_keeps(work->input, work->choice, container, kept);
    for (size_t k = 0; k < container->count; ++k)
      kept[k] = !kept[k];
  }
}

static bool is_zero(const uint8_t *data, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) {
    if (data[i])
      return false;
  }
  return true;
}

kdl_status thin_sequence(const thin_work *work, thin_range range, thin_moves *moves,
                         thin_output *out) {
  const thin_input *input = work->input;
  uint64_t end = range.at + range.size, at = range.at, start = out->size;
  uint64_t alignment = alignment_of(work, range);
  kdl_status status = KDL_OK;
  if (!thin_loses_any(work, range))
    return copy_range(work, range, at, end, start, moves, out);
  for (size_t i = first_container(work, at); i < work->containers.count && status == KDL_OK; ++i) {
    const thin_container *container = &work->containers.items[i];
    if (container->offset >= end)
      break;
    if (container->offset < at || container->size > end - container->offset)
      continue;
    /* Padding is made anew; anything else between containers stays. */
    if (!is_zero(input->data + at, container->offset - at))
      status = copy_range(work, range, at, container->offset, start, moves, out);
    uint64_t padding = -(out->size - start) & (alignment - 1);
    if (status == KDL_OK && padding)
      status = thin_output_add_zeros(out, padding);
    uint64_t before = out->size;
    if (status == KDL_OK && !thin_container_changes(container))
      status = thin_output_add(out, input->data + container->offset, container->size);
    else if (status == KDL_OK)
      status = thin_container_rewrite(input, work->choice, container, out);
    if (status == KDL_OK)
      status = note_move(moves, (thin_move){container->offset - range.at, container->size,
                                            before - start, out->size - before});
    work->report->moved += thin_container_changes(container);
    at = container->offset + container->size;
  }
  if (status == KDL_OK && !is_zero(input->data + at, end - at))
    status = copy_range(work, range, at, end, start, moves, out);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* OffloadBinaries                                                                              */

enum { offload_header = 32 };

bool thin_is_offload_binary(const uint8_t *data, uint64_t size) {
  return size >= offload_header && kdl_load_u32(data) == KDL_MAGIC_OFFLOAD;
}

/* One that loses some of its images, and keeps others. */
static kdl_status rewrite_offload(const thin_work *work, thin_range binary, thin_output *out) {
  kdl_library *lib = work->input->lib;
  kdl_writer *writer = NULL;
  kdl_status status = KDL_OK;
  void *made = NULL;
  size_t size = 0, count;
  const thin_place *places = thin_places_in(work, binary, &count);
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    uint32_t index = places[i].image;
    if (!work->choice->kept[index])
      continue;
    kdl_image_info info = {.size = sizeof info};
    status = kdl_image_get(lib, index, &info);
    if (status == KDL_OK && !writer) {
      const kdl_source *source = lib->container->images[index].source;
      int packed = source->codec == KDL_CODEC_ZSTD   ? KDL_FORMAT_ZSTD
                   : source->codec == KDL_CODEC_ZLIB ? KDL_FORMAT_ZLIB
                                                     : 0;
      int version = (int)kdl_load_u32(work->input->data + binary.at + 4);
      status = kdl_writer_create(version | packed, &writer);
    }
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = info.declared_kind,
                              .offload_kind = info.offload_kind,
                              .flags = info.flags,
                              .pairs = info.pairs,
                              .pair_count = info.pair_count,
                              .data_size = (size_t)info.byte_count};
    size_t bytes;
    if (status == KDL_OK)
      status = kdl_image_bytes(lib, index, &image.data, &bytes);
    if (status == KDL_OK)
      status = kdl_writer_add(writer, &image);
  }
  if (status == KDL_OK && writer)
    status = kdl_writer_finish(writer, &made, &size);
  kdl_writer_destroy(writer);
  uint8_t *room = status == KDL_OK && made ? thin_output_add_room(out, size) : NULL;
  if (room)
    memcpy(room, made, size);
  else if (status == KDL_OK && made)
    status = kdl_error_status();
  free(made);
  return status;
}

static kdl_status thin_one_offload(const thin_work *work, thin_range binary, thin_output *out) {
  size_t kept = 0, count;
  const thin_place *places = thin_places_in(work, binary, &count);
  for (size_t i = 0; i < count; ++i)
    kept += work->choice->kept[places[i].image];
  ++work->report->containers;
  if (kept == count)
    return thin_output_add(out, work->input->data + binary.at, binary.size);
  ++work->report->moved;
  return kept ? rewrite_offload(work, binary, out) : KDL_OK;
}

kdl_status thin_offload_binaries(const thin_work *work, thin_range range, thin_moves *moves,
                                 thin_output *out) {
  const uint8_t *data = work->input->data;
  uint64_t end = range.at + range.size, start = out->size;
  kdl_status status = KDL_OK;
  if (!thin_loses_any(work, range))
    return copy_range(work, range, range.at, end, start, moves, out);
  for (uint64_t at = range.at; at < end && status == KDL_OK;) {
    if (data[at] == 0) { /* padding between binaries */
      ++at;
      continue;
    }
    uint64_t size = thin_is_offload_binary(data + at, end - at) ? kdl_load_u64(data + at + 8) : 0;
    if (size < offload_header || size > end - at)
      return kdl_fail(KDL_BAD_FILE,
                      "%s: offset 0x%" PRIx64 ": found no OffloadBinary, expected one",
                      work->input->name, at);
    uint64_t padding = -(out->size - start) & 7;
    if (padding)
      status = thin_output_add_zeros(out, padding);
    uint64_t before = out->size;
    if (status == KDL_OK)
      status = thin_one_offload(work, (thin_range){at, size}, out);
    if (status == KDL_OK)
      status =
          note_move(moves, (thin_move){at - range.at, size, before - start, out->size - before});
    at += size;
  }
  return status;
}
