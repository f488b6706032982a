/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/container/source.h"

#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/system/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* After a far jump only a header is needed, so little is read. Between headers that are close
 * together, copying the gap is cheaper than a system call for each. */
enum { min_window = 512, max_window = 64 * 1024, dense_gap = 8 * 1024 };

/* A file of at most this size is read completely when it is opened, and its descriptor is closed: a
 * process may open a thousand libraries, and has by default as many descriptors. */
enum { max_small_file = 64 * 1024 };

/* Pages of a mapped file that were read stay in memory while there is room, and count as memory of
 * the process. */
enum { max_mapped = 32 * 1024 * 1024 }; /* of all mapped files of the process together */
static _Atomic(uint64_t) mapped_count;

static kdl_status new_source(kdl_arena *arena, const char *name, kdl_source **out_source) {
  size_t name_size = strlen(name) + 1;
  kdl_source *source = kdl_arena_alloc(arena, sizeof *source + name_size);
  if (!source)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", name);
  *source = (kdl_source){
      .name = memcpy(source + 1, name, name_size),
      .fd = -1,
      .ready = (const uint8_t *)"", /* not NULL, so that a peek at 0 bytes succeeds */
      .lock = PTHREAD_MUTEX_INITIALIZER,
  };
  *out_source = source;
  return KDL_OK;
}

kdl_status kdl_source_open_memory(kdl_arena *arena, const void *data, size_t size, const char *name,
                                  kdl_source **out_source) {
  KDL_TRY(new_source(arena, name, out_source));
  if (size)
    (*out_source)->ready = data;
  (*out_source)->ready_size = size;
  (*out_source)->size = size;
  return KDL_OK;
}

kdl_status kdl_source_open_owned(kdl_arena *arena, void *data, size_t size, const char *name,
                                 kdl_source **out_source) {
  kdl_status status = kdl_source_open_memory(arena, data, size, name, out_source);
  if (status == KDL_OK)
    (*out_source)->owned = data;
  else
    free(data);
  return status;
}

/* Reads up to `want` bytes, fewer at the end of the file; fewer than `length` is an error. */
static kdl_status pread_source(const kdl_source *source, uint64_t offset, size_t want,
                               size_t length, uint8_t *out_data, uint64_t *out_size) {
  uint64_t size = 0;
  while (size < want) {
    ssize_t got = pread(source->fd, out_data + size, want - size, (off_t)(offset + size));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return kdl_fail(KDL_IO, "%s: cannot read at offset 0x%" PRIx64 ": %s", source->name, offset,
                      strerror(errno));
    if (got == 0)
      break;
    size += (size_t)got;
    *out_size = size;
  }
  if (size < length)
    return kdl_fail(KDL_IO,
                    "%s: the file ends at offset 0x%" PRIx64 ", expected 0x%" PRIx64
                    " bytes: it was truncated while being read",
                    source->name, offset + size, source->size);
  return KDL_OK;
}

/* Reads into the window, which is large enough. */
static kdl_status read_window(kdl_source *source, uint64_t offset, size_t want, size_t length) {
  source->ready = source->window;
  source->ready_offset = offset;
  source->ready_size = 0;
  return pread_source(source, offset, want, length, source->window, &source->ready_size);
}

kdl_status kdl_source_copy(const kdl_source *source, uint64_t offset, uint64_t length,
                           uint8_t *out_data) {
  uint64_t size = 0;
  return pread_source(source, offset, (size_t)length, (size_t)length, out_data, &size);
}

static kdl_status grow_window(kdl_source *source, size_t size) {
  if (source->window && size <= source->window_capacity)
    return KDL_OK;
  uint8_t *window = realloc(source->window, size);
  if (!window)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory for %zu bytes of headers", source->name,
                    size);
  source->window = window;
  source->window_capacity = size;
  return KDL_OK;
}

/* Reads at least `length` bytes at `offset` into the window. */
static kdl_status fill_window(kdl_source *source, uint64_t offset, size_t length) {
  uint64_t previous_end = source->ready_offset + source->ready_size;
  size_t want = min_window;
  if (source->window && offset >= source->ready_offset && offset <= previous_end + dense_gap)
    want =
        source->ready_size * 4 < max_window ? (size_t)source->ready_size * 4 : (size_t)max_window;
  if (want < length)
    want = length;
  if (want > source->size - offset)
    want = (size_t)(source->size - offset);
  kdl_status status = grow_window(source, want);
  return status == KDL_OK ? read_window(source, offset, want, length) : status;
}

/* Reads the whole file into the window, which then serves as memory. */
static kdl_status read_whole_file(kdl_source *source) {
  KDL_TRY(grow_window(source, (size_t)source->size));
  KDL_TRY(read_window(source, 0, (size_t)source->size, (size_t)source->size));
  close(source->fd);
  source->fd = -1;
  return KDL_OK;
}

kdl_status kdl_source_open_file(kdl_arena *arena, const char *path, const char *name,
                                kdl_source **out_source) {
  kdl_source *source = NULL; /* gcc 12 at -O3 warns without it */
  kdl_status status = new_source(arena, name, &source);
  if (status != KDL_OK)
    return status;
  /* O_NONBLOCK keeps a FIFO without a writer from hanging the open; the check below refuses it. */
  source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (source->fd < 0 || fstat(source->fd, &info) != 0) {
    status = kdl_fail(kdl_status_from_errno(errno), "%s: cannot open: %s", name, strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    status = kdl_fail(KDL_IO, "%s: found %s, expected a regular file", name,
                      S_ISDIR(info.st_mode) ? "a directory" : "a device, pipe or socket");
  }
  if (status == KDL_OK) {
    source->size = (uint64_t)info.st_size;
    if (source->size > 0 && source->size <= max_small_file)
      status = read_whole_file(source);
  }
  if (status != KDL_OK) {
    kdl_source_close(source);
    return status;
  }
  *out_source = source;
  return KDL_OK;
}

kdl_status kdl_source_open_stream(kdl_arena *arena, kdl_codec codec, const kdl_region *packed,
                                  uint64_t inflated_size, const char *name,
                                  kdl_source **out_source) {
  KDL_TRY(kdl_codec_check(codec));
  KDL_TRY(new_source(arena, name, out_source));
  (*out_source)->codec = codec;
  (*out_source)->packed = *packed;
  (*out_source)->size = inflated_size;
  return KDL_OK;
}

void kdl_source_close(kdl_source *source) {
  if (!source)
    return;
  if (source->fd >= 0)
    close(source->fd);
  if (source->mapping) {
    munmap((void *)(uintptr_t)source->mapping, source->mapping_size);
    atomic_fetch_sub_explicit(&mapped_count, 1, memory_order_relaxed);
  }
  kdl_source_evict(source);
  free(source->window);
  free(source->owned);
  free(atomic_load_explicit(&source->detached, memory_order_relaxed));
  pthread_mutex_destroy(&source->lock);
}

void kdl_source_evict(kdl_source *source) {
  if (source->codec == KDL_CODEC_NONE)
    return;
  kdl_inflater_destroy(source->inflater);
  if (source->inflated)
    munmap(source->inflated, source->size);
  source->inflater = NULL;
  source->inflated = NULL;
  source->ready = NULL;
  source->ready_size = 0;
  if (source->failure != KDL_BAD_FILE)
    source->failure = KDL_OK; /* lack of memory may be transient */
}

static kdl_status start_stream(kdl_source *source, const void *packed) {
  uint8_t *memory = mmap(NULL, source->size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return kdl_fail(KDL_NO_MEMORY, "cannot reserve %" PRIu64 " bytes to inflate into: %s",
                    source->size, strerror(errno));
  source->ready = source->inflated = memory;
  return kdl_inflater_create(source->codec, packed, (size_t)source->packed.size, &source->inflater);
}

static kdl_status continue_stream(kdl_source *source, uint64_t end) {
  size_t count = 0;
  kdl_status status =
      kdl_inflater_read(source->inflater, source->inflated + source->ready_size,
                        end - source->ready_size, source->size - source->ready_size, &count);
  source->ready_size += count;
  bool is_complete = source->ready_size == source->size;
  if (status == KDL_OK && is_complete)
    status = kdl_inflater_finish(source->inflater);
  if (status != KDL_OK || is_complete) {
    kdl_inflater_destroy(source->inflater);
    source->inflater = NULL;
  }
  return status;
}

static kdl_status inflate_up_to(kdl_source *source, uint64_t end) {
  if (source->failure != KDL_OK)
    return kdl_fail(source->failure, "%s: the compressed data could not be inflated before%s",
                    source->name, source->failure == KDL_NO_MEMORY ? ", for lack of memory" : "");
  if (end <= source->ready_size)
    return KDL_OK;
  /* Viewed again each time: the file may have been truncated since. */
  const void *packed;
  kdl_status status =
      kdl_source_view(source->packed.source, source->packed.base, source->packed.size, &packed);
  if (status != KDL_OK)
    return status;
  if (!source->inflated)
    status = start_stream(source, packed);
  else
    kdl_inflater_move(source->inflater, packed);
  if (status == KDL_OK)
    status = continue_stream(source, end);
  if (status == KDL_OK)
    return KDL_OK;
  source->failure = status;
  kdl_error_prefix("%s", source->name);
  return status;
}

const uint8_t *kdl_source_peek_slow(kdl_source *source, uint64_t offset, size_t length) {
  if (!kdl_in_range(offset, length, source->size)) {
    kdl_fail(KDL_BAD_FILE,
             "%s: %zu bytes at offset 0x%" PRIx64 " end beyond the %" PRIu64
             " bytes that are there",
             source->name, length, offset, source->size);
    return NULL;
  }
  kdl_status status = KDL_OK;
  if (source->fd >= 0)
    status = fill_window(source, offset, length);
  else if (source->codec != KDL_CODEC_NONE)
    status = inflate_up_to(source, offset + length);
  return status == KDL_OK ? source->ready + (offset - source->ready_offset) : NULL;
}

/* In the child of a fork, the partly inflated stream of another thread stays as it is: its bytes
 * may be in use. */
static void abandon_stream(kdl_source *source) {
  source->inflater = NULL;
  source->inflated = NULL;
  source->ready_size = 0;
}

static kdl_status view_stream(kdl_source *source, uint64_t offset, uint64_t length,
                              const void **out_data) {
  if (kdl_work_take(&source->inflating) == KDL_WORK_ABANDONED)
    abandon_stream(source);
  kdl_status status = inflate_up_to(source, offset + length);
  if (status == KDL_OK)
    *out_data = source->inflated + offset;
  kdl_work_end(&source->inflating);
  return status;
}

/* Maps the file once. Checks the size each time, so that a truncated file is an error here and not
 * a SIGBUS in the reader. */
static kdl_status map_source_file(kdl_source *source, uint64_t offset, uint64_t length,
                                  const void **out_data) {
  struct stat info;
  if (fstat(source->fd, &info) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot stat: %s", source->name,
                    strerror(errno));
  if (!kdl_in_range(offset, length, (uint64_t)info.st_size))
    return kdl_fail(KDL_IO,
                    "%s: the file now has %" PRIu64 " bytes, expected %" PRIu64
                    ": it was truncated while open",
                    source->name, (uint64_t)info.st_size, source->size);
  if (!source->mapping) {
    void *mapping = mmap(NULL, source->size, PROT_READ, MAP_PRIVATE, source->fd, 0);
    if (mapping == MAP_FAILED)
      return kdl_fail(kdl_status_from_errno(errno), "%s: cannot map %" PRIu64 " bytes: %s",
                      source->name, source->size, strerror(errno));
    source->mapping = mapping;
    atomic_fetch_add_explicit(&mapped_count, 1, memory_order_relaxed);
    source->mapping_size = source->size;
  }
  source->mapping_viewed += length;
  *out_data = source->mapping + offset;
  return KDL_OK;
}

static kdl_status view_file(kdl_source *source, uint64_t offset, uint64_t length,
                            const void **out_data) {
  kdl_lock(&source->lock);
  kdl_status status = map_source_file(source, offset, length, out_data);
  kdl_unlock(&source->lock);
  return status;
}

kdl_status kdl_source_view(kdl_source *source, uint64_t offset, uint64_t length,
                           const void **out_data) {
  if (!kdl_in_range(offset, length, source->size))
    return kdl_fail(KDL_BAD_FILE,
                    "%s: %" PRIu64 " bytes at offset 0x%" PRIx64 " end beyond the %" PRIu64
                    " bytes that are there",
                    source->name, length, offset, source->size);
  if (length == 0) {
    *out_data = "";
    return KDL_OK;
  }
  if (source->fd < 0 && source->codec == KDL_CODEC_NONE) {
    *out_data = source->ready + offset;
    return KDL_OK;
  }
  return source->fd >= 0 ? view_file(source, offset, length, out_data)
                         : view_stream(source, offset, length, out_data);
}

void kdl_source_trim_mapping(kdl_source *source) {
  if (source->fd < 0)
    return;
  uint64_t count = atomic_load_explicit(&mapped_count, memory_order_relaxed);
  uint64_t share = max_mapped / (count ? count : 1);
  kdl_lock(&source->lock);
  if (source->mapping && source->mapping_viewed > share) {
    madvise((void *)(uintptr_t)source->mapping, source->mapping_size, MADV_DONTNEED);
    source->mapping_viewed = 0;
  }
  kdl_unlock(&source->lock);
}

kdl_status kdl_region_skip_zeros(const kdl_region *region, uint64_t offset, uint64_t *out_offset) {
  while (offset < region->size) {
    size_t look = region->size - offset < 4096 ? (size_t)(region->size - offset) : 4096;
    const uint8_t *bytes = kdl_region_peek(region, offset, look < 8 ? look : 8);
    if (bytes && bytes[0] == 0)
      bytes = kdl_region_peek(region, offset, look);
    if (!bytes)
      return kdl_error_status();
    if (bytes[0] != 0)
      break;
    size_t zeros = 0;
    while (zeros < look && bytes[zeros] == 0)
      ++zeros;
    offset += zeros;
  }
  *out_offset = offset < region->size ? offset : region->size;
  return KDL_OK;
}

kdl_status(kdl_malformed)(const kdl_region *region, uint64_t offset, const char *field,
                          const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return kdl_fail(KDL_BAD_FILE, "%s: offset 0x%" PRIx64 ": %s: %s", region->source->name,
                  region->base + offset, field, message);
}
