/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A kernel handle: a name on a device, its ranked images, and, after the first launch, the image
 * that was loaded.
 *
 * kernel.c creates handles, bind.c loads images, entry.c builds the launch entries, items.c counts
 * groups, kernel_args.c checks arguments, variants.c selects by the conditions of images,
 * specialize.c by values that repeat.
 */
#ifndef KDL_LIB_BINDING_KERNEL_H
#define KDL_LIB_BINDING_KERNEL_H

#include "lib/binding/loaded_image.h"
#include "lib/hooks.h"
#include "lib/library/selection.h"
#include "lib/registry/runtime.h"
#include "lib/target/kernel_key.h"
#include "support/base/arena.h"

/* The most arguments of a kernel where libkdl lays them out. */
enum { KDL_LIMIT_ARGS = 256 };

typedef enum kdl_bound_state {
  KDL_UNBOUND,
  KDL_BOUND,
  KDL_UNBINDABLE, /* no image loads; `failure` has the reasons */
} kdl_bound_state;

/*
 * Interceptors: functions that run before a launch reaches the backend's function, or instead of
 * it.
 *
 * A launch enters a kernel through one of two entries: head.entry for a grid of the caller,
 * items_entry where libkdl counts the groups. Each is the start of a chain that ends in the
 * backend's function. build_chain in entry.c builds both chains from the interceptors that the
 * kernel needs at the moment; without any, head.entry is the backend's function.
 *
 * To add one: write its two functions, which continue by kdl_launch_next and kdl_items_next, add it
 * to the enum below, and add a line to build_chain.
 */
typedef enum kdl_interceptor_id {
  KDL_INTERCEPT_CAPTURE,    /* a queue of the device is captured */
  KDL_INTERCEPT_SPECIALIZE, /* values that repeat have images of their own */
  KDL_INTERCEPT_FIRST,      /* the backend has a `launched` flag to set */
  KDL_INTERCEPT_TRACE,      /* KDL_TRACE */
  KDL_INTERCEPT_DEBUG,      /* KDL_DEBUG=launch */
  KDL_INTERCEPT_CHECK,      /* KDL_CHECK */
  KDL_INTERCEPT_DECLARED,   /* the image needs more than the caller passes */
  KDL_INTERCEPTOR_COUNT,
} kdl_interceptor_id;

typedef kdl_status kdl_items_entry(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   const kdl_args *args);

/* The next functions of the chain. They stay valid after the kernel stops needing the interceptor,
 * because a thread may still be in it. */
typedef struct kdl_interceptor {
  _Atomic(kdl_launch_entry *) next;
  _Atomic(kdl_items_entry *) next_items;
} kdl_interceptor;

struct kdl_kernel {
  kdl_kernel_head head;
  _Atomic(kdl_items_entry *) items_entry;
  _Atomic(kdl_launch_entry *)
      grid_entry; /* the rest of the chain for launches by items, once their grid is known */

  /* The key of the handle; constant. */
  kdl_trie_node node; /* in kdl_bound_objects.handles */
  kdl_kernel *next;   /* in kdl_bound_objects.kernels */
  kdl_library *lib;
  const kdl_runtime *runtime;
  const char *name;
  const char *constants; /* as kdl_jit prints them; NULL: none */
  const kdl_ranking *ranking;
  size_t first, end; /* the images of the ranking that it may load */
  /* NULL unless an image of the ranking has a condition or the policy is adaptive. Then each launch
   * selects a handle of one image, and this handle loads none. */
  struct kdl_variants *variants;
  /* NULL unless the key of the loaded image, which is bitcode, names values to specialize for
   * (specialize.h). */
  struct kdl_specialized *specialized;
  const char *values; /* "n=64 alpha=2", of a handle that was specialized for them; else NULL */

  /* The result of binding: written once, by the thread that binds, before `bind_state`. */
  kdl_work work;
  _Atomic(kdl_bound_state) bind_state;
  kdl_cached_failure failure;
  kdl_load_failure *failures; /* of the images that were tried before it, in `failure_arena` */
  size_t failure_count;
  kdl_arena failure_arena;
  size_t position; /* in the ranking */
  kdl_loaded_image *loaded_image;
  kdl_kernel_key key; /* of the loaded image; no member is present where it has none */
  kdl_backend_kernel loaded;
  uint32_t block[3]; /* the default block; 0 where it is unknown */
  uint32_t tile[3];
  int64_t param_count;      /* that the caller passes; -1 where it is unknown */
  uint32_t *param_sizes;    /* NULL where they are unknown; 0 for a single unknown size */
  uint32_t inline_sizes[8]; /* storage of param_sizes, if large enough */
  uint64_t scalar_params;   /* bit i: parameter i is a scalar in the signature */
  char *geometry_conflict;  /* why explicit grids are refused, or NULL */
  const kdl_trace_subject *trace_subject; /* NULL: not traced */
  kdl_fork_link fork;
  bool is_disabled; /* its entries refuse every launch */
  kdl_interceptor interceptors[KDL_INTERCEPTOR_COUNT];
};

static inline kdl_kernel *kdl_kernel_of(const kdl_kernel_head *head) {
  return (kdl_kernel *)(uintptr_t)head;
}

static inline bool kdl_kernel_is_bound(const kdl_kernel *kernel) {
  return atomic_load_explicit(&kernel->bind_state, memory_order_acquire) == KDL_BOUND;
}

/* The backend's queue for a launch on `queue`, which may be NULL. */
static inline void *kdl_kernel_queue(const kdl_kernel *kernel, const kdl_queue *queue) {
  return queue ? queue->head.queue : __atomic_load_n(&kernel->head.queue, __ATOMIC_RELAXED);
}

/* Loads the best image that loads, unless the kernel is bound. */
kdl_status kdl_kernel_bind(kdl_kernel *kernel);

/* The image that was loaded. */
static inline uint32_t kdl_kernel_image(const kdl_kernel *kernel) {
  return kernel->ranking->candidates[kernel->position].image;
}

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

/* The entries of a new handle: bind, then launch. */
kdl_launch_entry kdl_entry_resolve;
kdl_items_entry kdl_entry_resolve_items;

/* Binds for a launch on that backend's queue, which may be NULL. Fails while the program captures
 * the queue through the driver. */
kdl_status kdl_entry_prepare(kdl_kernel *kernel, void *queue);

/* Builds the entries of a handle whose image was just loaded, and marks it as bound. Fills in
 * `fork`. */
void kdl_entry_publish(kdl_kernel *kernel);

/* Rebuild the entries after a condition of an interceptor changed: of one kernel, and of all bound
 * kernels of a device. */
void kdl_entry_update(kdl_kernel *kernel);
void kdl_entry_update_all(const kdl_runtime *runtime);

/* Makes every further launch fail: in the child of a fork, and when the driver has ended, with the
 * lock of the fork links held. */
void kdl_entry_disable(kdl_kernel *kernel);

static inline kdl_status kdl_launch_next(kdl_interceptor_id from, const kdl_kernel_head *head,
                                         const kdl_launch_desc *desc, const kdl_args *args,
                                         void *queue) {
  return atomic_load_explicit(&kdl_kernel_of(head)->interceptors[from].next,
                              memory_order_acquire)(head, desc, args, queue);
}

static inline kdl_status kdl_items_next(kdl_interceptor_id from, kdl_kernel *kernel,
                                        kdl_queue *queue, const kdl_extent *items,
                                        const kdl_args *args) {
  return atomic_load_explicit(&kernel->interceptors[from].next_items,
                              memory_order_acquire)(kernel, queue, items, args);
}

/* ------------------------------------------------------------------------------------------ */
/* Launches by items                                                                            */

/* The end of the chain: counts the groups and launches them. */
kdl_items_entry kdl_items_launch;

/* The two steps of kdl_items_launch, for a bound kernel. Without work-items there is nothing to
 * launch: *out_desc then has a grid of 0. */
kdl_status kdl_items_check(const kdl_kernel *kernel, const kdl_queue *queue,
                           const kdl_extent *items, const kdl_args *args,
                           kdl_launch_desc *out_desc);
kdl_status kdl_items_enqueue(const kdl_kernel *kernel, const kdl_queue *queue,
                             const kdl_launch_desc *desc, const kdl_args *args);

/* The launch that covers the items with the bound image; grid[i] is 0 where an extent is 0. */
kdl_status kdl_items_to_grid(const kdl_kernel *kernel, const kdl_extent *items,
                             kdl_launch_desc *out_desc);

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

/* Determines the arguments that the caller passes, when an image is bound. Refuses an image whose
 * parameters contradict its metadata. */
kdl_status kdl_kernel_args_resolve(kdl_kernel *kernel);
void kdl_kernel_args_reset(kdl_kernel *kernel);

/* Checks that the queue is of the kernel's device. */
kdl_status kdl_kernel_fail_wrong_queue(const kdl_kernel *kernel, const kdl_queue *queue);
static inline kdl_status kdl_kernel_check_queue(const kdl_kernel *kernel, const kdl_queue *queue) {
  bool is_right = !queue || queue->runtime == kernel->runtime;
  return is_right ? KDL_OK : kdl_kernel_fail_wrong_queue(kernel, queue);
}

/* Checks the arguments of a launch against the bound kernel's parameters. */
kdl_status kdl_kernel_args_check(const kdl_kernel *kernel, const kdl_args *args);

#endif
