/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The bytes of images. Compressed images are inflated into buffers. A reader acquires a buffer and
 * releases it; a caller of kdl_container_bytes, which has no release, pins it until the container
 * is closed. A buffer without a reference is evictable: it stays in LRU order within a budget of
 * the process, because the next image is often in the same stream. So reading every image of a file
 * takes the memory of a few.
 */
#include "lib/container/container.h"
#include "support/base/error.h"
#include "support/system/lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* For all containers of the process together, which several threads may read at once. */
static const uint64_t max_evictable_size = (uint64_t)32 << 20;
static const uint64_t max_free_size = (uint64_t)32 << 20;
static _Atomic(uint64_t) total_evictable, total_free;
enum { min_capacity = 64 * 1024 };

static void total_add(_Atomic(uint64_t) *all, uint64_t more) {
  atomic_fetch_add_explicit(all, more, memory_order_relaxed);
}

static void total_subtract(_Atomic(uint64_t) *all, uint64_t less) {
  atomic_fetch_sub_explicit(all, less, memory_order_relaxed);
}

static bool total_exceeds(const _Atomic(uint64_t) *all, uint64_t most) {
  return atomic_load_explicit(all, memory_order_relaxed) > most;
}

/* ------------------------------------------------------------------------------------------ */
/* Buffers: called with the container's lock held                                               */

/* Used pages cost less than new ones, which the system must clear: the largest pieces of memory
 * stay on the free list for later images. */
static void free_list_push(kdl_container *container, uint8_t *memory, uint64_t capacity) {
  if (!container->free_list)
    container->free_list = malloc((KDL_LIMIT_FREE_BUFFERS + 1) * sizeof *container->free_list);
  if (!container->free_list) {
    munmap(memory, capacity);
    return;
  }
  container->free_list[container->free_count++] = (kdl_free_buffer){memory, capacity};
  total_add(&total_free, capacity);
  while (container->free_count > KDL_LIMIT_FREE_BUFFERS ||
         (container->free_count && total_exceeds(&total_free, max_free_size))) {
    size_t least = 0;
    for (size_t i = 1; i < container->free_count; ++i) {
      if (container->free_list[i].capacity < container->free_list[least].capacity)
        least = i;
    }
    total_subtract(&total_free, container->free_list[least].capacity);
    munmap(container->free_list[least].memory, container->free_list[least].capacity);
    container->free_list[least] = container->free_list[--container->free_count];
  }
}

/* The smallest piece that is large enough. */
static bool free_list_pop(kdl_container *container, uint64_t size, kdl_free_buffer *out_free) {
  size_t best = container->free_count;
  for (size_t i = 0; i < container->free_count; ++i) {
    uint64_t capacity = container->free_list[i].capacity;
    if (capacity >= size &&
        (best == container->free_count || capacity < container->free_list[best].capacity))
      best = i;
  }
  if (best == container->free_count)
    return false;
  *out_free = container->free_list[best];
  total_subtract(&total_free, out_free->capacity);
  container->free_list[best] = container->free_list[--container->free_count];
  return true;
}

static void evict_buffer(kdl_container *container, kdl_inflated_buffer *buffer) {
  if (buffer->stream)
    kdl_source_evict(buffer->stream);
  else if (buffer->inflated)
    free_list_push(container, buffer->inflated, buffer->capacity);
  buffer->inflated = NULL;
}

static void lru_remove(kdl_container *container, kdl_inflated_buffer *buffer) {
  *(buffer->lru_older ? &buffer->lru_older->lru_newer : &container->lru_oldest) = buffer->lru_newer;
  *(buffer->lru_newer ? &buffer->lru_newer->lru_older : &container->lru_newest) = buffer->lru_older;
  total_subtract(&total_evictable, buffer->size);
  container->evictable_size -= buffer->size;
  buffer->is_evictable = false;
}

static void lru_append(kdl_container *container, kdl_inflated_buffer *buffer, uint64_t size) {
  buffer->size = size;
  buffer->lru_older = container->lru_newest;
  buffer->lru_newer = NULL;
  *(container->lru_newest ? &container->lru_newest->lru_newer : &container->lru_oldest) = buffer;
  container->lru_newest = buffer;
  total_add(&total_evictable, size);
  container->evictable_size += size;
  buffer->is_evictable = true;
  while (total_exceeds(&total_evictable, max_evictable_size) &&
         container->lru_oldest != container->lru_newest) {
    kdl_inflated_buffer *oldest = container->lru_oldest;
    lru_remove(container, oldest);
    evict_buffer(container, oldest);
  }
}

static void acquire_buffer(kdl_container *container, kdl_inflated_buffer *buffer) {
  if (buffer->is_evictable)
    lru_remove(container, buffer);
  ++buffer->ref_count;
}

/* Evicts a buffer that could not be inflated. Reads the size only now, when no other thread can be
 * inflating into it. */
static void release_buffer(kdl_container *container, kdl_inflated_buffer *buffer) {
  if (--buffer->ref_count || buffer->is_pinned)
    return;
  uint64_t size = buffer->stream     ? kdl_source_evictable_size(buffer->stream)
                  : buffer->inflated ? buffer->capacity
                                     : 0;
  if (size == 0 || (buffer->stream && buffer->stream->failure != KDL_OK))
    evict_buffer(container, buffer);
  else
    lru_append(container, buffer, size);
}

/* ------------------------------------------------------------------------------------------ */
/* The buffers of an image: its own, if compressed, and those of the streams around it          */

static uint64_t inflated_size(const kdl_image *image) {
  return image->size + image->trailer;
}

static bool is_compressed(const kdl_image *image) {
  return image->codec != KDL_CODEC_NONE || image->source->codec != KDL_CODEC_NONE;
}

static kdl_status create_buffer(kdl_container *container, kdl_image *image) {
  if (!image->buffer)
    image->buffer = calloc(1, sizeof *image->buffer);
  if (!image->buffer)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", container->name);
  container->has_buffers = true;
  return KDL_OK;
}

static kdl_status acquire_buffers(kdl_container *container, kdl_image *image) {
  KDL_TRY(image->codec != KDL_CODEC_NONE ? create_buffer(container, image) : KDL_OK);
  if (image->buffer)
    acquire_buffer(container, image->buffer);
  for (kdl_source *at = image->source; at->codec != KDL_CODEC_NONE; at = at->packed.source) {
    at->buffer.stream = at;
    acquire_buffer(container, &at->buffer);
  }
  return KDL_OK;
}

/* Releases the streams first: the image's own bytes are more likely to be needed again. */
static void release_buffers(kdl_container *container, kdl_image *image, bool pin) {
  for (kdl_source *at = image->source; at->codec != KDL_CODEC_NONE; at = at->packed.source) {
    at->buffer.is_pinned |= pin && image->codec == KDL_CODEC_NONE && at == image->source;
    release_buffer(container, &at->buffer);
  }
  if (image->buffer) {
    image->buffer->is_pinned |= pin;
    release_buffer(container, image->buffer);
  }
}

static void release_image(kdl_container *container, kdl_image *image, bool pin) {
  if (is_compressed(image)) {
    kdl_lock(&container->lock);
    release_buffers(container, image, pin);
    kdl_unlock(&container->lock);
  }
  kdl_source *root = image->source;
  while (root->codec != KDL_CODEC_NONE)
    root = root->packed.source;
  kdl_source_trim_mapping(root);
}

/* ------------------------------------------------------------------------------------------ */
/* Inflating                                                                                    */

/* Rounds to a few sizes, so that other images can reuse the memory. Pages that are not written take
 * no memory. */
static uint64_t round_capacity(uint64_t size) {
  uint64_t capacity = min_capacity;
  while (capacity < size)
    capacity *= 2;
  return capacity <= max_free_size ? capacity : size;
}

static kdl_status allocate_memory(kdl_container *container, uint64_t size,
                                  kdl_free_buffer *out_memory) {
  kdl_lock(&container->lock);
  bool is_found = free_list_pop(container, size, out_memory);
  kdl_unlock(&container->lock);
  if (is_found)
    return KDL_OK;
  uint64_t capacity = round_capacity(size);
  void *memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return kdl_fail(KDL_NO_MEMORY, "cannot reserve %" PRIu64 " bytes for an image: %s", size,
                    strerror(errno));
  *out_memory = (kdl_free_buffer){memory, capacity};
  return KDL_OK;
}

/* Called by the one thread that inflates. */
static kdl_status inflate_image(kdl_container *container, kdl_image *image, const void *packed) {
  size_t total = (size_t)inflated_size(image);
  kdl_free_buffer found;
  KDL_TRY(allocate_memory(container, total, &found));
  uint8_t *memory = found.memory;
  kdl_status status = kdl_inflate(image->codec, packed, (size_t)image->stored_size, memory, total);
  for (size_t i = (size_t)image->size; i < total && status == KDL_OK; ++i) {
    if (memory[i] != 0)
      status = kdl_fail(KDL_BAD_FILE,
                        "found 0x%02x as inflated byte %zu, expected a NUL after %" PRIu64 " bytes",
                        memory[i], i, image->size);
  }
  if (status == KDL_OK) {
    image->buffer->inflated = memory;
    image->buffer->capacity = found.capacity;
  } else {
    munmap(memory, found.capacity);
  }
  return status;
}

static kdl_status view_or_inflate(kdl_container *container, kdl_image *image, uint32_t index,
                                  const void **out_data) {
  const void *stored;
  kdl_status status = kdl_source_view(image->source, image->offset, image->stored_size, &stored);
  if (status == KDL_OK && image->codec != KDL_CODEC_NONE) {
    kdl_work_take(&image->buffer->inflating);
    if (!image->buffer->inflated)
      status = inflate_image(container, image, stored);
    stored = image->buffer->inflated;
    kdl_work_end(&image->buffer->inflating);
    if (status != KDL_OK)
      kdl_error_prefix("%s: offset 0x%" PRIx64 ": image %" PRIu32, image->source->name,
                       image->offset, index);
  }
  if (status == KDL_OK)
    *out_data = stored;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Acquiring and releasing bytes                                                                */

kdl_status kdl_container_acquire_bytes(kdl_container *container, uint32_t index,
                                       const void **out_data, size_t *out_size) {
  kdl_image *image = &container->images[index];
  kdl_status status = KDL_OK;
  if (image->size == 0) {
    *out_data = "";
    *out_size = 0;
    return KDL_OK;
  }
  if (is_compressed(image)) {
    kdl_lock(&container->lock);
    status = acquire_buffers(container, image);
    kdl_unlock(&container->lock);
  }
  if (status != KDL_OK)
    return status;
  status = view_or_inflate(container, image, index, out_data);
  if (status == KDL_OK)
    *out_size = (size_t)image->size;
  else
    release_image(container, image, false);
  return status;
}

void kdl_container_release_bytes(kdl_container *container, uint32_t index) {
  if (container->images[index].size)
    release_image(container, &container->images[index], false);
}

kdl_status kdl_container_bytes(kdl_container *container, uint32_t index, const void **out_data,
                               size_t *out_size) {
  KDL_TRY(kdl_container_acquire_bytes(container, index, out_data, out_size));
  if (container->images[index].size)
    release_image(container, &container->images[index], true);
  return KDL_OK;
}

/* Called by the one thread that copies. A large copy uses huge pages, which cause fewer faults. */
static kdl_status copy_image(kdl_container *container, kdl_image *image) {
  enum { large = 4 * 1024 * 1024 };
  kdl_free_buffer found;
  KDL_TRY(allocate_memory(container, image->size, &found));
  if (image->size >= large)
    (void)madvise(found.memory, image->size, MADV_HUGEPAGE);
  kdl_status status = kdl_source_copy(image->source, image->offset, image->size, found.memory);
  if (status == KDL_OK) {
    image->buffer->inflated = found.memory;
    image->buffer->capacity = found.capacity;
  } else {
    munmap(found.memory, found.capacity);
  }
  return status;
}

kdl_status kdl_container_private_bytes(kdl_container *container, uint32_t index,
                                       const void **out_data, size_t *out_size) {
  kdl_image *image = &container->images[index];
  if (image->size == 0 || is_compressed(image) || image->source->fd < 0)
    return kdl_container_bytes(container, index, out_data, out_size);
  kdl_lock(&container->lock);
  kdl_status status = create_buffer(container, image);
  kdl_unlock(&container->lock);
  if (status != KDL_OK)
    return status;
  kdl_work_take(&image->buffer->inflating);
  if (!image->buffer->inflated)
    status = copy_image(container, image);
  if (status == KDL_OK) {
    *out_data = image->buffer->inflated;
    *out_size = (size_t)image->size;
  }
  kdl_work_end(&image->buffer->inflating);
  return status;
}

void kdl_container_free_buffers(kdl_container *container) {
  total_subtract(&total_evictable, container->evictable_size);
  container->evictable_size = 0;
  for (uint32_t i = 0; i < container->count; ++i) {
    kdl_image *image = &container->images[i];
    if (image->buffer)
      evict_buffer(container, image->buffer);
    free(image->buffer);
  }
  for (size_t i = 0; i < container->free_count; ++i) {
    total_subtract(&total_free, container->free_list[i].capacity);
    munmap(container->free_list[i].memory, container->free_list[i].capacity);
  }
  free(container->free_list);
  container->free_list = NULL;
  container->free_count = 0;
}
