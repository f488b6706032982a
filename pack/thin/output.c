/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/output.h"

#include "support/base/error.h"
#include "support/system/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  zeros_size = 64 * 1024,
  buffer_size = 256 * 1024,
  smallest_hole = 4096,
  smallest_copy = 1 << 20,
};
static const uint8_t zeros[zeros_size];

/* ------------------------------------------------------------------------------------------ */
/* Collecting                                                                                   */

void thin_output_add(thin_output *out, const void *bytes, uint64_t size) {
  if (size == 0)
    return;
  thin_piece *last = out->count ? &out->pieces[out->count - 1] : NULL;
  bool goes_on = last && (bytes ? last->bytes && last->bytes + last->size == bytes : !last->bytes);
  if (!goes_on) {
    out->pieces = xgrow(out->pieces, out->count, &out->capacity, 64, sizeof *out->pieces);
    last = &out->pieces[out->count++];
    *last = (thin_piece){.at = out->size, .bytes = bytes};
  }
  last->size += size;
  out->size += size;
}

void thin_output_add_zeros(thin_output *out, uint64_t size) {
  thin_output_add(out, NULL, size);
}

uint8_t *thin_output_add_uninitialized(thin_output *out, size_t size) {
  uint8_t *room = xarena_alloc(&out->arena, size);
  thin_output_add(out, room, size);
  return room;
}

void thin_output_add_copy(thin_output *out, const void *bytes, size_t size) {
  if (size)
    memcpy(thin_output_add_uninitialized(out, size), bytes, size);
}

void thin_output_adopt(thin_output *out, kdl_arena *arena) {
  out->adopted = xreallocarray(out->adopted, out->adopted_count + 1, sizeof *out->adopted);
  out->adopted[out->adopted_count++] = *arena;
  *arena = (kdl_arena){.blocks = NULL};
}

void thin_output_free(thin_output *out) {
  for (size_t i = 0; i < out->adopted_count; ++i)
    kdl_arena_free(&out->adopted[i]);
  free(out->adopted);
  free(out->pieces);
  kdl_arena_free(&out->arena);
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* The piece that contains a byte of the output. */
static size_t find_piece(const thin_output *out, uint64_t at) {
  size_t low = 0, high = out->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    *(out->pieces[middle].at <= at ? &low : &high) = middle;
  }
  return low;
}

const uint8_t *thin_output_view(const thin_output *out, uint64_t at, uint64_t *out_size) {
  const thin_piece *piece = &out->pieces[find_piece(out, at)];
  uint64_t skip_bytes = at - piece->at;
  *out_size = piece->size - skip_bytes;
  return piece->bytes ? piece->bytes + skip_bytes : NULL;
}

void thin_output_read(const thin_output *out, uint64_t at, void *bytes, size_t size) {
  uint8_t *to = bytes;
  while (size) {
    uint64_t there;
    const uint8_t *from = thin_output_view(out, at, &there);
    size_t part = there < size ? (size_t)there : size;
    if (from)
      memcpy(to, from, part);
    else
      memset(to, 0, part);
    to += part;
    at += part;
    size -= part;
  }
}

uint8_t *thin_output_bytes(const thin_output *out) {
  uint8_t *bytes = xmalloc((size_t)out->size);
  thin_output_read(out, 0, bytes, (size_t)out->size);
  return bytes;
}

void thin_output_append(thin_output *out, const thin_output *from, uint64_t at, uint64_t size) {
  for (uint64_t part; size; at += part, size -= part) {
    const uint8_t *bytes = thin_output_view(from, at, &part);
    part = part < size ? part : size;
    thin_output_add(out, bytes, part);
  }
}

kdl_status thin_output_send(const thin_output *out,
                            kdl_status (*write_bytes)(void *user, const void *bytes, size_t size),
                            void *user) {
  for (size_t i = 0; i < out->count; ++i) {
    const thin_piece *piece = &out->pieces[i];
    for (uint64_t at = 0, part; at < piece->size; at += part) {
      uint64_t most = piece->bytes ? (uint64_t)1 << 30 : (uint64_t)zeros_size;
      part = piece->size - at < most ? piece->size - at : most;
      KDL_TRY(write_bytes(user, piece->bytes ? piece->bytes + at : zeros, (size_t)part));
    }
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

typedef struct {
  const thin_mapped *from;
  const char *name;
  int fd;
  bool cannot_copy; /* the kernel cannot copy between these files */
  uint8_t *buffer;  /* collects small pieces */
  size_t used;
} writer;

/* Copies in the kernel where possible; a file system may even share the blocks. False where the
 * remainder, from *done on, must be written. */
static bool copy_in_kernel(writer *w, const thin_piece *piece, uint64_t *done) {
  bool lies_there = w->from && w->from->fd >= 0 && piece->bytes >= w->from->data &&
                    (uint64_t)(piece->bytes - w->from->data) < w->from->size;
  if (!lies_there || w->cannot_copy)
    return false;
  off_t offset = piece->bytes - w->from->data;
  while (*done < piece->size) {
    ssize_t moved = copy_file_range(w->from->fd, &offset, w->fd, NULL, piece->size - *done, 0);
    if (moved <= 0 && !(moved < 0 && errno == EINTR)) {
      w->cannot_copy = true;
      return false;
    }
    *done += moved > 0 ? (uint64_t)moved : 0;
  }
  return true;
}

static kdl_status write_out(writer *w, const void *bytes, size_t size) {
  return kdl_fd_write(w->fd, bytes, size) ? KDL_OK : kdl_fd_write_failed(w->name);
}

static kdl_status flush_buffer(writer *w) {
  size_t used = w->used;
  w->used = 0;
  return used ? write_out(w, w->buffer, used) : KDL_OK;
}

static kdl_status write_bytes(void *user, const void *bytes, size_t size) {
  writer *w = user;
  if (size > buffer_size - w->used)
    KDL_TRY(flush_buffer(w));
  if (size > buffer_size)
    return write_out(w, bytes, size);
  memcpy(w->buffer + w->used, bytes, size);
  w->used += size;
  return KDL_OK;
}

static kdl_status skip_bytes(writer *w, uint64_t size) {
  KDL_TRY(flush_buffer(w));
  return lseek(w->fd, (off_t)size, SEEK_CUR) >= 0 ? KDL_OK : kdl_fd_write_failed(w->name);
}

static kdl_status write_piece(writer *w, const thin_piece *piece) {
  uint64_t done = 0;
  if (piece->bytes && piece->size >= smallest_copy) {
    KDL_TRY(flush_buffer(w));
    if (copy_in_kernel(w, piece, &done))
      return KDL_OK;
  }
  thin_piece rest = *piece;
  rest.bytes = piece->bytes ? piece->bytes + done : NULL;
  rest.size -= done;
  return thin_output_send(&(thin_output){.pieces = &rest, .count = 1}, write_bytes, w);
}

kdl_status thin_output_write(const thin_output *out, const thin_mapped *from, int fd, bool sparse,
                             const char *name) {
  struct rlimit limit;
  bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
  writer w = {from, name, fd, is_limited, xmalloc(buffer_size),
              0}; /* exceeding RLIMIT_FSIZE raises a signal */
  off_t start = lseek(fd, 0, SEEK_CUR);
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < out->count && status == KDL_OK; ++i) {
    const thin_piece *piece = &out->pieces[i];
    bool is_hole = !piece->bytes && sparse && start >= 0 && piece->size >= smallest_hole;
    status = is_hole ? skip_bytes(&w, piece->size) : write_piece(&w, piece);
  }
  if (status == KDL_OK)
    status = flush_buffer(&w);
  /* A hole at the end needs the length to be set. */
  if (status == KDL_OK && sparse && start >= 0 && ftruncate(fd, start + (off_t)out->size) != 0)
    status = kdl_fd_write_failed(name);
  free(w.buffer);
  return status;
}
