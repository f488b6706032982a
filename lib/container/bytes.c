/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The bytes of images. Where they are compressed they are inflated into memory of their own, which
 * is lent: to the holders of an image, and for as long as the container is open to those that ask
 * for its bytes without saying when they are no longer needed. Loans without a holder rest, the
 * newest of them within a budget of the process, since the next image often lies in the same
 * stream; so reading every image of a file takes the memory of a few.
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

/* Of all containers of the process together, which threads may read side by side. */
static const uint64_t most_resting = (uint64_t)32 << 20;
static const uint64_t most_spare = (uint64_t)32 << 20;
static _Atomic(uint64_t) all_resting, all_spare;
enum { least_room = 64 * 1024 };

static void count(_Atomic(uint64_t) *all, uint64_t more) {
  atomic_fetch_add_explicit(all, more, memory_order_relaxed);
}

static void discount(_Atomic(uint64_t) *all, uint64_t less) {
  atomic_fetch_sub_explicit(all, less, memory_order_relaxed);
}

static bool exceeds(const _Atomic(uint64_t) *all, uint64_t most) {
  return atomic_load_explicit(all, memory_order_relaxed) > most;
}

/* ------------------------------------------------------------------------------------------ */
/* Loans: called with the container's lock held                                                 */

/* Pages that were used once cost less than new ones, which the system clears: the largest pieces
 * of memory stay for the images to come. */
static void spare(kdl_container *container, uint8_t *memory, uint64_t room) {
  if (!container->spares)
    container->spares = malloc((KDL_MOST_SPARES + 1) * sizeof *container->spares);
  if (!container->spares) {
    munmap(memory, room);
    return;
  }
  container->spares[container->spare_count++] = (kdl_spare){memory, room};
  count(&all_spare, room);
  while (container->spare_count > KDL_MOST_SPARES ||
         (container->spare_count && exceeds(&all_spare, most_spare))) {
    size_t least = 0;
    for (size_t i = 1; i < container->spare_count; ++i) {
      if (container->spares[i].room < container->spares[least].room)
        least = i;
    }
    discount(&all_spare, container->spares[least].room);
    munmap(container->spares[least].memory, container->spares[least].room);
    container->spares[least] = container->spares[--container->spare_count];
  }
}

/* The smallest piece that has room. */
static bool find_spare(kdl_container *container, uint64_t size, kdl_spare *out_spare) {
  size_t best = container->spare_count;
  for (size_t i = 0; i < container->spare_count; ++i) {
    uint64_t room = container->spares[i].room;
    if (room >= size && (best == container->spare_count || room < container->spares[best].room))
      best = i;
  }
  if (best == container->spare_count)
    return false;
  *out_spare = container->spares[best];
  discount(&all_spare, out_spare->room);
  container->spares[best] = container->spares[--container->spare_count];
  return true;
}

static void free_loan(kdl_container *container, kdl_loan *loan) {
  if (loan->stream)
    kdl_source_rest(loan->stream);
  else if (loan->inflated)
    spare(container, loan->inflated, loan->room);
  loan->inflated = NULL;
}

static void wake(kdl_container *container, kdl_loan *loan) {
  *(loan->older ? &loan->older->newer : &container->oldest) = loan->newer;
  *(loan->newer ? &loan->newer->older : &container->newest) = loan->older;
  discount(&all_resting, loan->size);
  container->resting -= loan->size;
  loan->rests = false;
}

static void rest(kdl_container *container, kdl_loan *loan, uint64_t size) {
  loan->size = size;
  loan->older = container->newest;
  loan->newer = NULL;
  *(container->newest ? &container->newest->newer : &container->oldest) = loan;
  container->newest = loan;
  count(&all_resting, size);
  container->resting += size;
  loan->rests = true;
  while (exceeds(&all_resting, most_resting) && container->oldest != container->newest) {
    kdl_loan *oldest = container->oldest;
    wake(container, oldest);
    free_loan(container, oldest);
  }
}

static void take(kdl_container *container, kdl_loan *loan) {
  if (loan->rests)
    wake(container, loan);
  ++loan->holders;
}

/* What could not be inflated is of no use. The memory is looked at when no other thread
 * can be inflating into it. */
static void give_back(kdl_container *container, kdl_loan *loan) {
  if (--loan->holders || loan->kept)
    return;
  uint64_t size = loan->stream ? kdl_source_held(loan->stream) : loan->inflated ? loan->room : 0;
  if (size == 0 || (loan->stream && loan->stream->failure != KDL_OK))
    free_loan(container, loan);
  else
    rest(container, loan, size);
}

/* ------------------------------------------------------------------------------------------ */
/* What an image lies in: its own bytes, if compressed, and streams within streams              */

static uint64_t own_size(const kdl_image *image) {
  return image->size + image->trailer;
}

static bool is_lent(const kdl_image *image) {
  return image->codec != KDL_CODEC_NONE || image->source->codec != KDL_CODEC_NONE;
}

static kdl_status make_loan(kdl_container *container, kdl_image *image) {
  if (!image->loan)
    image->loan = calloc(1, sizeof *image->loan);
  if (!image->loan)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", container->name);
  container->has_loans = true;
  return KDL_OK;
}

static kdl_status take_all(kdl_container *container, kdl_image *image) {
  KDL_TRY(image->codec != KDL_CODEC_NONE ? make_loan(container, image) : KDL_OK);
  if (image->loan)
    take(container, image->loan);
  for (kdl_source *at = image->source; at->codec != KDL_CODEC_NONE; at = at->packed.source) {
    at->loan.stream = at;
    take(container, &at->loan);
  }
  return KDL_OK;
}

/* The streams first: an image's own bytes are what is asked for again. */
static void give_all_back(kdl_container *container, kdl_image *image, bool keep) {
  for (kdl_source *at = image->source; at->codec != KDL_CODEC_NONE; at = at->packed.source) {
    at->loan.kept |= keep && image->codec == KDL_CODEC_NONE && at == image->source;
    give_back(container, &at->loan);
  }
  if (image->loan) {
    image->loan->kept |= keep;
    give_back(container, image->loan);
  }
}

static void release(kdl_container *container, kdl_image *image, bool keep) {
  if (is_lent(image)) {
    kdl_lock(&container->lock);
    give_all_back(container, image, keep);
    kdl_unlock(&container->lock);
  }
  kdl_source *root = image->source;
  while (root->codec != KDL_CODEC_NONE)
    root = root->packed.source;
  kdl_source_relax(root);
}

/* ------------------------------------------------------------------------------------------ */
/* Inflating                                                                                    */

/* Room that others will use too is of a few sizes; what is not written to takes no memory. */
static uint64_t room_for(uint64_t size) {
  uint64_t room = least_room;
  while (room < size)
    room *= 2;
  return room <= most_spare ? room : size;
}

static kdl_status find_memory(kdl_container *container, uint64_t size, kdl_spare *out_memory) {
  kdl_lock(&container->lock);
  bool is_found = find_spare(container, size, out_memory);
  kdl_unlock(&container->lock);
  if (is_found)
    return KDL_OK;
  uint64_t room = room_for(size);
  void *memory =
      mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return kdl_fail(KDL_NO_MEMORY, "cannot reserve %" PRIu64 " bytes for an image: %s", size,
                    strerror(errno));
  *out_memory = (kdl_spare){memory, room};
  return KDL_OK;
}

/* For the thread whose work it is. */
static kdl_status inflate_image(kdl_container *container, kdl_image *image, const void *packed) {
  size_t total = (size_t)own_size(image);
  kdl_spare found;
  KDL_TRY(find_memory(container, total, &found));
  uint8_t *memory = found.memory;
  kdl_status status = kdl_inflate(image->codec, packed, (size_t)image->stored_size, memory, total);
  for (size_t i = (size_t)image->size; i < total && status == KDL_OK; ++i) {
    if (memory[i] != 0)
      status = kdl_fail(KDL_BAD_FILE,
                        "found 0x%02x as inflated byte %zu, expected a NUL after %" PRIu64 " bytes",
                        memory[i], i, image->size);
  }
  if (status == KDL_OK) {
    image->loan->inflated = memory;
    image->loan->room = found.room;
  } else {
    munmap(memory, found.room);
  }
  return status;
}

static kdl_status look_at(kdl_container *container, kdl_image *image, uint32_t index,
                          const void **out_data) {
  const void *stored;
  kdl_status status = kdl_source_view(image->source, image->offset, image->stored_size, &stored);
  if (status == KDL_OK && image->codec != KDL_CODEC_NONE) {
    kdl_work_take(&image->loan->inflating);
    if (!image->loan->inflated)
      status = inflate_image(container, image, stored);
    stored = image->loan->inflated;
    kdl_work_end(&image->loan->inflating);
    if (status != KDL_OK)
      kdl_error_prefix("%s: offset 0x%" PRIx64 ": image %" PRIu32, image->source->name,
                       image->offset, index);
  }
  if (status == KDL_OK)
    *out_data = stored;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The functions                                                                                */

kdl_status kdl_container_hold(kdl_container *container, uint32_t index, const void **out_data,
                              size_t *out_size) {
  kdl_image *image = &container->images[index];
  kdl_status status = KDL_OK;
  if (image->size == 0) {
    *out_data = "";
    *out_size = 0;
    return KDL_OK;
  }
  if (is_lent(image)) {
    kdl_lock(&container->lock);
    status = take_all(container, image);
    kdl_unlock(&container->lock);
  }
  if (status != KDL_OK)
    return status;
  status = look_at(container, image, index, out_data);
  if (status == KDL_OK)
    *out_size = (size_t)image->size;
  else
    release(container, image, false);
  return status;
}

void kdl_container_release(kdl_container *container, uint32_t index) {
  if (container->images[index].size)
    release(container, &container->images[index], false);
}

kdl_status kdl_container_bytes(kdl_container *container, uint32_t index, const void **out_data,
                               size_t *out_size) {
  KDL_TRY(kdl_container_hold(container, index, out_data, out_size));
  if (container->images[index].size)
    release(container, &container->images[index], true);
  return KDL_OK;
}

/* For the thread whose work it is. A large one costs fewer faults on large pages. */
static kdl_status copy_image(kdl_container *container, kdl_image *image) {
  enum { large = 4 * 1024 * 1024 };
  kdl_spare found;
  KDL_TRY(find_memory(container, image->size, &found));
  if (image->size >= large)
    (void)madvise(found.memory, image->size, MADV_HUGEPAGE);
  kdl_status status = kdl_source_copy(image->source, image->offset, image->size, found.memory);
  if (status == KDL_OK) {
    image->loan->inflated = found.memory;
    image->loan->room = found.room;
  } else {
    munmap(found.memory, found.room);
  }
  return status;
}

kdl_status kdl_container_own_bytes(kdl_container *container, uint32_t index, const void **out_data,
                                   size_t *out_size) {
  kdl_image *image = &container->images[index];
  if (image->size == 0 || is_lent(image) || image->source->fd < 0)
    return kdl_container_bytes(container, index, out_data, out_size);
  kdl_lock(&container->lock);
  kdl_status status = make_loan(container, image);
  kdl_unlock(&container->lock);
  if (status != KDL_OK)
    return status;
  kdl_work_take(&image->loan->inflating);
  if (!image->loan->inflated)
    status = copy_image(container, image);
  if (status == KDL_OK) {
    *out_data = image->loan->inflated;
    *out_size = (size_t)image->size;
  }
  kdl_work_end(&image->loan->inflating);
  return status;
}

void kdl_container_forget(kdl_container *container) {
  discount(&all_resting, container->resting);
  container->resting = 0;
  for (uint32_t i = 0; i < container->count; ++i) {
    kdl_image *image = &container->images[i];
    if (image->loan)
      free_loan(container, image->loan);
    free(image->loan);
  }
  for (size_t i = 0; i < container->spare_count; ++i) {
    discount(&all_spare, container->spares[i].room);
    munmap(container->spares[i].memory, container->spares[i].room);
  }
  free(container->spares);
  container->spares = NULL;
  container->spare_count = 0;
}
