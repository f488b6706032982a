/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/specialize.h"

#include "lib/inspect/launches.h"
#include "lib/target/fold_list.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"

#include <string.h>
#include <time.h>

/* One set of values with its image. In the container's memory. */
typedef struct specialized_image {
  kdl_background_task task; /* first, for image_of_task */
  kdl_specialized *owner;
  kdl_kernel *kernel; /* the handle of the image */
  uint64_t words[KDL_FOLD_WORDS];
  uint64_t masks[KDL_FOLD_WORDS]; /* all bits of the words that are compared */
} specialized_image;

struct kdl_specialized {
  kdl_kernel *kernel; /* the general one */
  kdl_fold_list folds;
  size_t argument_count; /* the least that a launch must have */

  /* Read by launches. An image is stored before the count that includes it. */
  atomic_uint ready;
  specialized_image *images[KDL_SPECIALIZED_LIMIT];
  atomic_bool is_observing;

  /* Of the thread that has set `is_busy`; other launches are not observed meanwhile. */
  atomic_flag is_busy;
  bool is_known; /* the cache was searched for the values of the first launch */
  kdl_observer *observer;

  atomic_uint failed;
  atomic_uint made;
  specialized_image *all[KDL_SPECIALIZED_LIMIT + 1];
};

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ------------------------------------------------------------------------------------------ */
/* The values of a launch                                                                       */

enum { far_alignment = 64, near_alignment = 16 };

static inline uint64_t alignment_of(uint64_t address) {
  if (address % far_alignment == 0)
    return far_alignment;
  return address % near_alignment == 0 ? near_alignment : 0;
}

/* False where the block is too large to compare. */
static __attribute__((noinline)) bool read_rare_word(const kdl_fold *fold, const kdl_kernel *kernel,
                                                     const kdl_launch_desc *desc,
                                                     const kdl_args *args, uint64_t *out_word) {
  if (fold->kind == KDL_FOLD_BLOCK)
    return kdl_fold_pack_block(desc->block[0] ? desc->block : kernel->block, out_word);
  *out_word = 0;
  memcpy(out_word, args->pointers[fold->index], fold->size);
  if (fold->kind == KDL_FOLD_POINTER)
    *out_word = alignment_of(*out_word);
  return true;
}

static inline bool read_word(const kdl_fold *fold, const kdl_kernel *kernel,
                             const kdl_launch_desc *desc, const kdl_args *args,
                             uint64_t *out_word) {
  if (fold->size != sizeof(uint32_t))
    return read_rare_word(fold, kernel, desc, args, out_word);
  uint32_t word;
  memcpy(&word, args->pointers[fold->index], sizeof word);
  *out_word = word;
  return true;
}

static inline bool has_words(const specialized_image *image, const uint64_t *words, size_t count) {
  uint64_t difference = 0;
  for (size_t i = 0; i < count; ++i)
    difference |= (words[i] ^ image->words[i]) & image->masks[i];
  return difference == 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Text                                                                                         */

/* "n=64 alpha=2" */
static void out_values(kdl_out *out, const kdl_specialized *specialized, const uint64_t *words,
                       uint32_t mask) {
  const char *join = "";
  for (size_t i = 0; i < specialized->folds.count; ++i) {
    if (!(mask >> i & 1))
      continue;
    kdl_out_format(out, "%s", join);
    kdl_fold_print(out, &specialized->folds.items[i], words[i]);
    join = " ";
  }
}

/* The options of kdl-ld, a line each, as a link's key has them. */
static void out_folds(kdl_out *out, const kdl_specialized *specialized, const uint64_t *words,
                      uint32_t mask) {
  for (size_t i = 0; i < specialized->folds.count; ++i) {
    if (mask >> i & 1)
      kdl_fold_print_line(out, &specialized->folds.items[i], words[i]);
  }
}

/* A copy that lives as long as the library. NULL when out of memory. */
static const char *copy_text(kdl_kernel *kernel, const char *a, const char *b) {
  size_t length = strlen(a), size = length + strlen(b) + 1;
  char *copy = kdl_container_alloc(kernel->lib->container, size);
  if (copy) {
    memcpy(copy, a, length);
    memcpy(copy + length, b, size - length);
  }
  return copy;
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;

/* Launches use the image from now on. */
static void publish_image(specialized_image *image) {
  kdl_specialized *specialized = image->owner;
  kdl_lock(&publishing);
  unsigned ready = atomic_load_explicit(&specialized->ready, memory_order_relaxed);
  if (ready < KDL_SPECIALIZED_LIMIT) {
    specialized->images[ready] = image;
    atomic_store_explicit(&specialized->ready, ready + 1, memory_order_release);
  }
  kdl_unlock(&publishing);
}

/* A group of the image must cover what one of the general kernel covers. */
static kdl_status bind_image(specialized_image *image) {
  const kdl_kernel *general = image->owner->kernel;
  KDL_TRY(kdl_kernel_bind(image->kernel));
  if (general->tile[0] && memcmp(general->tile, image->kernel->tile, sizeof general->tile) != 0)
    return kdl_fail(KDL_BAD_FILE, "its tile differs from that of the general kernel");
  publish_image(image);
  return KDL_OK;
}

static void make_image(specialized_image *image) {
  uint64_t begin = now_us();
  const kdl_kernel *kernel = image->kernel;
  if (bind_image(image) == KDL_OK) {
    kdl_debug(KDL_DEBUG_LINK, "%s: specialized for %s in %.1f ms: used from now on", kernel->name,
              kernel->values, (double)(now_us() - begin) / 1000);
    return;
  }
  atomic_fetch_add_explicit(&image->owner->failed, 1, memory_order_relaxed);
  kdl_debug(KDL_DEBUG_LINK, "%s: not specialized for %s: %s", kernel->name, kernel->values,
            kdl_error_message());
}

static void run_image_task(kdl_background_task *task) {
  make_image((specialized_image *)task);
}

/* A handle for the values; it is not bound. NULL when out of memory. */
static specialized_image *add_image(kdl_specialized *specialized, const uint64_t *words,
                                    uint32_t mask) {
  kdl_kernel *general = specialized->kernel;
  kdl_container *container = general->lib->container;
  char text[512], folds[512];
  out_values(&(kdl_out){text, sizeof text, 0}, specialized, words, mask);
  kdl_out lines = {folds, sizeof folds, 0};
  folds[0] = '\0';
  out_folds(&lines, specialized, words, mask);
  unsigned made = atomic_load_explicit(&specialized->made, memory_order_relaxed);
  kdl_bound_objects *bound = kdl_bound_objects_of(general->lib);
  specialized_image *image = kdl_container_alloc(container, sizeof *image);
  kdl_kernel *kernel = kdl_container_alloc(container, sizeof *kernel);
  const char *values = copy_text(general, text, "");
  const char *constants = copy_text(general, general->constants ? general->constants : "", folds);
  if (!bound || !image || !kernel || !values || !constants ||
      made == sizeof specialized->all / sizeof *specialized->all)
    return NULL;
  *kernel = (kdl_kernel){.head.entry = kdl_entry_resolve,
                         .items_entry = kdl_entry_resolve_items,
                         .lib = general->lib,
                         .runtime = general->runtime,
                         .name = general->name,
                         .constants = constants,
                         .ranking = general->ranking,
                         .first = general->position,
                         .end = general->position + 1,
                         .key = general->key,
                         .values = values};
  *image =
      (specialized_image){.task = {.run = run_image_task}, .owner = specialized, .kernel = kernel};
  for (size_t i = 0; i < specialized->folds.count; ++i) {
    image->words[i] = words[i];
    image->masks[i] = mask >> i & 1 ? UINT64_MAX : 0;
  }
  kdl_bound_objects_add(bound, kernel);
  specialized->all[made] = image;
  atomic_store_explicit(&specialized->made, made + 1, memory_order_release);
  return image;
}

/* ------------------------------------------------------------------------------------------ */
/* Observing                                                                                    */

static void end_observing(kdl_specialized *specialized, const char *why) {
  KDL_NOT_CANCELLED;
  kdl_debug(KDL_DEBUG_LINK, "%s: launches are not observed any more: %s", specialized->kernel->name,
            why);
  atomic_store_explicit(&specialized->is_observing, false, memory_order_relaxed);
  kdl_entry_update(specialized->kernel);
}

/* The values of the first launch may have an image from an earlier process. */
static bool use_cached(kdl_specialized *specialized, const uint64_t *words) {
  KDL_NOT_CANCELLED;
  uint32_t mask = (uint32_t)((1u << specialized->folds.count) - 1);
  specialized_image *image = add_image(specialized, words, mask);
  const kdl_runtime *runtime = specialized->kernel->runtime;
  if (!image)
    return false;
  const kdl_link_task task = {.lib = image->kernel->lib,
                              .image = kdl_kernel_image(specialized->kernel),
                              .device = runtime->device,
                              .route = runtime->route,
                              .kernel = image->kernel->name,
                              .constants = image->kernel->constants};
  if (!kdl_jit->is_cached(&task))
    return false;
  make_image(image);
  return atomic_load_explicit(&specialized->ready, memory_order_relaxed) > 0;
}

static void request_image(kdl_specialized *specialized, const uint64_t *words, uint32_t mask,
                          uint32_t times) {
  KDL_NOT_CANCELLED;
  specialized_image *image = add_image(specialized, words, mask);
  const char *name = specialized->kernel->name;
  if (!image)
    return;
  kdl_debug(KDL_DEBUG_LINK, "%s: %s in %u launches: an image for it is made in the background",
            name, image->kernel->values, times);
  if (!kdl_specializing->start(&image->task))
    kdl_debug(KDL_DEBUG_LINK, "%s: not specialized for %s: no thread can be started", name,
              image->kernel->values);
}

static void observe(kdl_specialized *specialized, const uint64_t *words) {
  uint32_t mask = 0, times = 0;
  switch (kdl_specializing->observe(specialized->observer, words, &mask, &times)) {
  case KDL_OBSERVE_FOLD:
    request_image(specialized, words, mask, times);
    break;
  case KDL_OBSERVE_END:
    end_observing(specialized, "its values vary, or have as many images as there may be");
    break;
  case KDL_OBSERVE_MORE:
    break;
  }
}

static __attribute__((noinline)) void observe_launch(kdl_specialized *specialized,
                                                     const uint64_t *words) {
  if (atomic_flag_test_and_set_explicit(&specialized->is_busy, memory_order_acquire))
    return;
  if (atomic_load_explicit(&specialized->is_observing, memory_order_relaxed)) {
    bool is_first = !specialized->is_known;
    specialized->is_known = true;
    if (!is_first || !use_cached(specialized, words))
      observe(specialized, words);
  }
  atomic_flag_clear_explicit(&specialized->is_busy, memory_order_release);
}

/* ------------------------------------------------------------------------------------------ */
/* The interceptor                                                                              */

/* The program may change the arguments of a launch that it captures. */
static bool is_captured(const kdl_kernel *kernel, void *queue) {
  const kdl_runtime *runtime = kernel->runtime;
  int capturing = 0;
  return runtime->table->queue_capturing && queue &&
         (runtime->table->queue_capturing(runtime->handle, queue, &capturing) != KDL_OK ||
          capturing);
}

static inline const kdl_kernel *find_image(const kdl_specialized *specialized,
                                           const uint64_t *words) {
  unsigned ready = atomic_load_explicit(&specialized->ready, memory_order_acquire);
  for (unsigned i = 0; i < ready; ++i) {
    if (has_words(specialized->images[i], words, specialized->folds.count))
      return specialized->images[i]->kernel;
  }
  return NULL;
}

kdl_status kdl_specialized_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                  const kdl_args *args, void *queue) {
  const kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_specialized *specialized = kernel->specialized;
  uint64_t words[KDL_FOLD_WORDS];
  bool is_comparable = args->count >= specialized->argument_count;
  for (size_t i = 0; is_comparable && i < specialized->folds.count; ++i)
    is_comparable = read_word(&specialized->folds.items[i], kernel, desc, args, &words[i]);
  if (is_comparable) {
    const kdl_kernel *image = find_image(specialized, words);
    if (!image && atomic_load_explicit(&specialized->is_observing, memory_order_relaxed) &&
        !is_captured(kernel, queue)) {
      observe_launch(specialized, words);
      image = find_image(specialized, words);
    }
    if (image && !is_captured(kernel, queue))
      return atomic_load_explicit(&image->grid_entry, memory_order_acquire)(&image->head, desc,
                                                                            args, queue);
  }
  return kdl_launch_next(KDL_INTERCEPT_SPECIALIZE, head, desc, args, queue);
}

/* ------------------------------------------------------------------------------------------ */
/* Creating                                                                                     */

/* Alignment is of no use to code for CPUs. */
static void remove_pointers(kdl_fold_list *folds) {
  size_t count = 0;
  for (size_t i = 0; i < folds->count; ++i) {
    if (folds->items[i].kind != KDL_FOLD_POINTER)
      folds->items[count++] = folds->items[i];
  }
  folds->count = count;
}

void kdl_specialized_create(kdl_kernel *kernel) {
  kdl_fold_list folds;
  if (!kdl_kernel_has(&kernel->key, KDL_KERNEL_SPECIALIZE) ||
      !kdl_fold_list_read(&kernel->key, &folds, NULL))
    return;
  if (kernel->loaded_image->kind == KDL_IMAGE_OBJECT)
    remove_pointers(&folds);
  kdl_observer *observer = folds.count ? kdl_specializing->open(folds.count) : NULL;
  kdl_specialized *made =
      observer ? kdl_container_alloc(kernel->lib->container, sizeof *made) : NULL;
  if (!made) {
    if (observer)
      kdl_specializing->close(observer);
    return;
  }
  *made = (kdl_specialized){.kernel = kernel,
                            .folds = folds,
                            .is_observing = true,
                            .is_busy = ATOMIC_FLAG_INIT,
                            .observer = observer};
  for (size_t i = 0; i < folds.count; ++i) {
    if (folds.items[i].kind != KDL_FOLD_BLOCK && made->argument_count <= folds.items[i].index)
      made->argument_count = folds.items[i].index + 1u;
  }
  kernel->specialized = made;
}

void kdl_specialized_stop(kdl_specialized *specialized) {
  unsigned made = atomic_load_explicit(&specialized->made, memory_order_acquire);
  for (unsigned i = 0; i < made; ++i)
    kdl_specializing->stop(&specialized->all[i]->task);
  kdl_specializing->close(specialized->observer);
  specialized->observer = NULL;
}

bool kdl_specialized_is_needed(const kdl_specialized *specialized) {
  return atomic_load_explicit(&specialized->is_observing, memory_order_relaxed) ||
         atomic_load_explicit(&specialized->made, memory_order_relaxed) > 1 ||
         atomic_load_explicit(&specialized->ready, memory_order_relaxed) > 0;
}

void kdl_kernel_count_specialized(const kdl_kernel *kernel, unsigned *out_ready,
                                  unsigned *out_failed) {
  const kdl_specialized *specialized = kernel->specialized;
  *out_ready = specialized ? atomic_load(&specialized->ready) : 0;
  *out_failed = specialized ? atomic_load(&specialized->failed) : 0;
}
