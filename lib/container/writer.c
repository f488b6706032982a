/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Writes OffloadBinary version 1 (one binary per image, back to back), version 2 (one binary, an
 * entry table, images without padding between them) and version 3 (the same with a longer header,
 * and optionally everything after it compressed). The layout is LLVM's, down to the padding.
 */
#include "lib/container/writer.h"
#include "lib/container/container.h"
#include "lib/container/string_table.h"
#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "support/base/bytes.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/base/sized.h"
#include "support/system/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { entry_size = 40, version_mask = 0xff };

struct kdl_writer {
  int format;
  kdl_writer_image *images;
  kdl_image_ref *refs; /* one per image */
  size_t count;
  size_t capacity;
  size_t bytes; /* total of the images */
  kdl_arena arena;
};

/* One binary: a run of images that share a header and a string table. */
typedef struct {
  int format;
  const kdl_writer_image *images;
  const kdl_image_ref *refs;
  size_t count;
  kdl_string_table strings;
  uint64_t table_offset;
  uint64_t images_offset;
  uint64_t size;
} binary;

/* ------------------------------------------------------------------------------------------ */
/* Collecting                                                                                   */

kdl_status kdl_writer_create(int format, kdl_writer **out_writer) {
  KDL_TRY(KDL_GIVEN(out_writer));
  bool is_packed =
      format == (KDL_FORMAT_V3 | KDL_FORMAT_ZSTD) || format == (KDL_FORMAT_V3 | KDL_FORMAT_ZLIB);
  if (!is_packed && (format < KDL_FORMAT_V1 || format > KDL_FORMAT_V3))
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_writer_create: found format %d, expected 1 to 3, or 3 with one way to "
                    "compress",
                    format);
  kdl_writer *writer = calloc(1, sizeof *writer);
  if (!writer)
    return kdl_fail(KDL_NO_MEMORY, "kdl_writer_create: out of memory");
  writer->format = format;
  *out_writer = writer;
  return KDL_OK;
}

void kdl_writer_destroy(kdl_writer *writer) {
  if (!writer)
    return;
  kdl_arena_free(&writer->arena);
  free(writer->images);
  free(writer->refs);
  free(writer);
}

static kdl_status check_pair(const kdl_writer *writer, size_t index, const kdl_pair *pair) {
  if (!pair->key.data || !pair->value.data)
    return kdl_fail_null("kdl_writer_add", pair->key.data ? "a pair's value" : "a pair's key");
  if (memchr(pair->key.data, 0, pair->key.length))
    return kdl_fail(KDL_BAD_CALL, "image %zu: a key holds a NUL, which the format cannot carry",
                    index);
  if (writer->format == KDL_FORMAT_V1 && memchr(pair->value.data, 0, pair->value.length))
    return kdl_fail(KDL_BAD_CALL,
                    "image %zu: the value of \"%s\" holds a NUL, which version 1 cannot carry; "
                    "write version 2",
                    index, pair->key.data);
  if (pair->key.length > KDL_LIMIT_KEY || pair->value.length > KDL_LIMIT_VALUE)
    return kdl_fail(KDL_BAD_CALL,
                    "image %zu: found a key of %zu bytes with a value of %zu, expected at most %d "
                    "and %d",
                    index, pair->key.length, pair->value.length, KDL_LIMIT_KEY, KDL_LIMIT_VALUE);
  return KDL_OK;
}

static kdl_status copy_pairs(kdl_writer *writer, kdl_writer_image *image) {
  if (image->pair_count > KDL_LIMIT_PAIRS)
    return kdl_fail(KDL_BAD_CALL, "image %zu: found %zu pairs, expected at most %d", writer->count,
                    image->pair_count, KDL_LIMIT_PAIRS);
  kdl_pair *pairs = kdl_arena_alloc(&writer->arena, image->pair_count * sizeof *pairs);
  if (!pairs)
    return kdl_fail(KDL_NO_MEMORY, "kdl_writer_add: out of memory");
  for (size_t i = 0; i < image->pair_count; ++i) {
    const kdl_pair *from = &image->pairs[i];
    kdl_status status = check_pair(writer, writer->count, from);
    if (status != KDL_OK)
      return status;
    pairs[i].key = kdl_arena_string(&writer->arena, from->key.data, from->key.length);
    pairs[i].value = kdl_arena_string(&writer->arena, from->value.data, from->value.length);
    if (!pairs[i].key.data || !pairs[i].value.data)
      return kdl_fail(KDL_NO_MEMORY, "kdl_writer_add: out of memory");
  }
  image->pairs = pairs;
  return KDL_OK;
}

static bool writer_reserve(kdl_writer *writer) {
  if (writer->count < writer->capacity)
    return true;
  size_t capacity = writer->capacity ? writer->capacity * 2 : 16;
  kdl_writer_image *images = realloc(writer->images, capacity * sizeof *images);
  if (images)
    writer->images = images;
  kdl_image_ref *refs = realloc(writer->refs, capacity * sizeof *refs);
  if (refs)
    writer->refs = refs;
  if (images && refs)
    writer->capacity = capacity;
  return images && refs;
}

static kdl_status writer_add_image(kdl_writer *writer, const kdl_writer_image *image,
                                   kdl_image_ref ref) {
  /* The output may be one allocation, whose size is limited. */
  if (image->data_size > PTRDIFF_MAX - writer->bytes)
    return kdl_fail(
        KDL_BAD_CALL,
        "kdl_writer_add: image.data_size is %zu, expected at most %zu beside the images "
        "before",
        image->data_size, (size_t)PTRDIFF_MAX - writer->bytes);
  if (!writer_reserve(writer))
    return kdl_fail(KDL_NO_MEMORY, "kdl_writer_add: out of memory");
  kdl_writer_image *slot = &writer->images[writer->count];
  *slot = *image;
  writer->refs[writer->count] = ref;
  KDL_TRY(copy_pairs(writer, slot));
  ++writer->count;
  writer->bytes += image->data_size;
  return KDL_OK;
}

kdl_status kdl_writer_image_read(const char *call, const kdl_writer_image *image,
                                 kdl_writer_image *out_image) {
  const kdl_sized what = {call, "image", sizeof *image, sizeof *image};
  KDL_TRY(kdl_sized_read(what, image, out_image));
  if (out_image->pair_count && !out_image->pairs)
    return kdl_fail_null(call, "image->pairs");
  if (out_image->data_size && !out_image->data)
    return kdl_fail_null(call, "image->data");
  return KDL_OK;
}

kdl_status kdl_writer_add(kdl_writer *writer, const kdl_writer_image *image) {
  kdl_writer_image whole;
  kdl_status status = KDL_GIVEN(writer, image);
  if (status == KDL_OK)
    status = kdl_writer_image_read("kdl_writer_add", image, &whole);
  return status == KDL_OK ? writer_add_image(writer, &whole, (kdl_image_ref){NULL, 0}) : status;
}

kdl_status kdl_writer_add_ref(kdl_writer *writer, const kdl_writer_image *image,
                              kdl_image_ref ref) {
  return writer_add_image(writer, image, ref);
}

/* ------------------------------------------------------------------------------------------ */
/* Laying out                                                                                   */

static uint64_t pair_stride(int format) {
  return format == KDL_FORMAT_V1 ? 16 : 24;
}

static uint64_t header_size_of(int format) {
  return (format & version_mask) < KDL_FORMAT_V3 ? 32 : 40;
}

static kdl_status plan(binary *out, const kdl_writer *writer, size_t first, size_t count) {
  int format = writer->format;
  const kdl_writer_image *images = writer->images + first;
  *out = (binary){.format = format, .images = images, .refs = writer->refs + first, .count = count};
  uint64_t pairs = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < images[i].pair_count; ++k) {
      if (!kdl_string_table_add(&out->strings, images[i].pairs[k].key) ||
          !kdl_string_table_add(&out->strings, images[i].pairs[k].value))
        return kdl_fail(KDL_NO_MEMORY, "writing an OffloadBinary: out of memory");
    }
    pairs += images[i].pair_count;
    bytes += images[i].data_size;
  }
  kdl_string_table_layout(&out->strings);
  out->table_offset = header_size_of(format) + count * entry_size + pairs * pair_stride(format);
  out->images_offset = kdl_align8(out->table_offset + out->strings.size);
  out->size = kdl_align8(out->images_offset + bytes);
  return KDL_OK;
}

/* `out` holds binary->images_offset zero bytes, or more. */
static void emit_tables(const binary *plan, uint8_t *out) {
  kdl_store_u32(out, KDL_MAGIC_OFFLOAD);
  uint64_t header_size = header_size_of(plan->format);
  kdl_store_u32(out + 4, (uint32_t)(plan->format & version_mask));
  kdl_store_u64(out + 8, plan->size);
  kdl_store_u64(out + 16, header_size);
  kdl_store_u64(out + 24, plan->format == KDL_FORMAT_V1 ? entry_size : plan->count);

  uint64_t map = header_size + plan->count * entry_size;
  uint64_t image_offset = plan->images_offset;
  const kdl_table_entry *string = plan->strings.entries;
  for (size_t i = 0; i < plan->count; ++i) {
    const kdl_writer_image *image = &plan->images[i];
    uint8_t *entry = out + header_size + i * entry_size;
    kdl_store_u16(entry, image->declared_kind);
    kdl_store_u16(entry + 2, image->offload_kind);
    kdl_store_u32(entry + 4, image->flags);
    kdl_store_u64(entry + 8, map);
    kdl_store_u64(entry + 16, image->pair_count);
    kdl_store_u64(entry + 24, image_offset);
    kdl_store_u64(entry + 32, image->data_size);
    for (size_t k = 0; k < image->pair_count; ++k, map += pair_stride(plan->format)) {
      kdl_store_u64(out + map, plan->table_offset + (string++)->offset);
      kdl_store_u64(out + map + 8, plan->table_offset + (string++)->offset);
      if (plan->format != KDL_FORMAT_V1)
        kdl_store_u64(out + map + 16, image->pairs[k].value.length);
    }
    image_offset += image->data_size;
  }
  kdl_string_table_write(&plan->strings, out + plan->table_offset);
}

static kdl_status acquire_ref(const binary *plan, size_t i, const void **out_data) {
  const kdl_image_ref *ref = &plan->refs[i];
  size_t size = plan->images[i].data_size;
  *out_data = plan->images[i].data;
  if (!ref->container || size == 0)
    return KDL_OK;
  size_t found;
  KDL_TRY(kdl_container_acquire_bytes(ref->container, ref->index, out_data, &found));
  if (found != size) {
    kdl_container_release_bytes(ref->container, ref->index);
    return kdl_fail(KDL_BAD_CALL, "found %zu bytes lent, expected %zu", found, size);
  }
  return KDL_OK;
}

static void release_ref(const binary *plan, size_t i) {
  if (plan->refs[i].container && plan->images[i].data_size)
    kdl_container_release_bytes(plan->refs[i].container, plan->refs[i].index);
}

/* `out` holds binary->size zero bytes. */
static kdl_status emit_binary(const binary *plan, uint8_t *out) {
  uint64_t offset = plan->images_offset;
  kdl_status status = KDL_OK;
  emit_tables(plan, out);
  for (size_t i = 0; i < plan->count && status == KDL_OK; ++i) {
    const void *data;
    status = acquire_ref(plan, i, &data);
    if (status != KDL_OK)
      break;
    if (plan->images[i].data_size)
      memcpy(out + offset, data, plan->images[i].data_size);
    release_ref(plan, i);
    offset += plan->images[i].data_size;
  }
  return status;
}

static kdl_status append_binary(const kdl_writer *writer, size_t first, size_t count,
                                uint8_t **data, size_t *size) {
  binary layout;
  kdl_status status = plan(&layout, writer, first, count);
  if (status == KDL_OK) {
    uint8_t *grown = layout.size > SIZE_MAX - *size ? NULL : realloc(*data, *size + layout.size);
    if (grown) {
      memset(grown + *size, 0, layout.size);
      status = emit_binary(&layout, grown + *size);
      *data = grown;
      *size += layout.size;
    } else {
      status =
          kdl_fail(KDL_NO_MEMORY, "writing an OffloadBinary of %" PRIu64 " bytes: out of memory",
                   layout.size);
    }
  }
  kdl_string_table_free(&layout.strings);
  return status;
}

/* Compresses everything after the header of the one binary at *data. */
static kdl_status compress_binary(kdl_codec codec, int format, uint8_t **data, size_t *size) {
  size_t header = (size_t)header_size_of(format);
  void *packed;
  size_t packed_size;
  kdl_status status =
      kdl_deflate(codec, *data + header, *size - header, NULL, NULL, &packed, &packed_size);
  if (status != KDL_OK)
    return status;
  size_t total = (size_t)kdl_align8(header + packed_size);
  uint8_t *whole = calloc(1, total);
  if (whole) {
    memcpy(whole, *data, header);
    kdl_store_u64(whole + 8, header + packed_size);
    kdl_store_u64(whole + 32, *size);
    memcpy(whole + header, packed, packed_size);
    free(*data);
    *data = whole;
    *size = total;
  } else {
    status = kdl_fail(KDL_NO_MEMORY, "writing an OffloadBinary of %zu bytes: out of memory", total);
  }
  free(packed);
  return status;
}

kdl_status kdl_writer_finish(kdl_writer *writer, void **out_data, size_t *out_size) {
  KDL_NOT_CANCELLED;
  uint8_t *data = NULL;
  size_t size = 0;
  kdl_status status = KDL_GIVEN(writer, out_data, out_size);
  if (status != KDL_OK)
    return status;
  if (writer->count == 0)
    return kdl_fail(KDL_BAD_CALL, "writing an OffloadBinary: found no image, expected one or more");
  if (writer->format == KDL_FORMAT_V1) {
    for (size_t i = 0; i < writer->count && status == KDL_OK; ++i)
      status = append_binary(writer, i, 1, &data, &size);
  } else {
    status = append_binary(writer, 0, writer->count, &data, &size);
  }
  if (status == KDL_OK && writer->format & (KDL_FORMAT_ZSTD | KDL_FORMAT_ZLIB))
    status = compress_binary(writer->format & KDL_FORMAT_ZSTD ? KDL_CODEC_ZSTD : KDL_CODEC_ZLIB,
                             writer->format, &data, &size);
  if (status != KDL_OK) {
    free(data);
    return status;
  }
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

typedef struct {
  int fd;
  const char *shown;
} sink;

static kdl_status sink_write(const sink *to, const void *data, size_t size) {
  return kdl_fd_write(to->fd, data, size) ? KDL_OK : kdl_fd_write_failed(to->shown);
}

static kdl_status write_images(const binary *layout, const sink *to) {
  static const uint8_t zeros[8];
  uint64_t end = layout->images_offset;
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < layout->count && status == KDL_OK; ++i) {
    const void *data;
    status = acquire_ref(layout, i, &data);
    if (status != KDL_OK)
      break;
    status = sink_write(to, data, layout->images[i].data_size);
    release_ref(layout, i);
    end += layout->images[i].data_size;
  }
  return status == KDL_OK ? sink_write(to, zeros, (size_t)(layout->size - end)) : status;
}

static kdl_status write_binary(const kdl_writer *writer, size_t first, size_t count,
                               const sink *to) {
  binary layout;
  kdl_status status = plan(&layout, writer, first, count);
  uint8_t *tables = status == KDL_OK ? calloc(1, (size_t)layout.images_offset) : NULL;
  if (status == KDL_OK && !tables)
    status = kdl_fail(KDL_NO_MEMORY, "writing an OffloadBinary: out of memory");
  if (status == KDL_OK) {
    emit_tables(&layout, tables);
    status = sink_write(to, tables, (size_t)layout.images_offset);
  }
  if (status == KDL_OK)
    status = write_images(&layout, to);
  free(tables);
  kdl_string_table_free(&layout.strings);
  return status;
}

static kdl_status write_finished(kdl_writer *writer, const sink *to) {
  void *data;
  size_t size;
  KDL_TRY(kdl_writer_finish(writer, &data, &size));
  kdl_status status = sink_write(to, data, size);
  free(data);
  return status;
}

kdl_status kdl_writer_write(kdl_writer *writer, int fd, const char *shown) {
  sink to = {fd, shown};
  if (writer->count == 0 || writer->format & (KDL_FORMAT_ZSTD | KDL_FORMAT_ZLIB))
    return write_finished(writer, &to);
  if (writer->format != KDL_FORMAT_V1)
    return write_binary(writer, 0, writer->count, &to);
  for (size_t i = 0; i < writer->count; ++i)
    KDL_TRY(write_binary(writer, i, 1, &to));
  return KDL_OK;
}

typedef struct {
  kdl_writer *writer;
  const char *path;
} save_context;

static kdl_status write_draft(void *user, int fd) {
  const save_context *save = user;
  return kdl_writer_write(save->writer, fd, save->path);
}

kdl_status kdl_writer_save(kdl_writer *writer, const char *path) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(writer, path);
  if (status == KDL_OK && writer->count == 0) {
    status = write_finished(writer, NULL); /* reports that there is no image */
    kdl_error_prefix("%s", path);
  }
  return status == KDL_OK ? kdl_file_save_by(path, write_draft, &(save_context){writer, path})
                          : status;
}
