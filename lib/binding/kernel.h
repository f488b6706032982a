/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A kernel handle: a name on a device, its ranked images, and from the first launch on the one of
 * them that was loaded.
 *
 * kernel.c makes handles, bind.c loads, entry.c makes the entries of it, items.c counts groups,
 * arguments.c checks what a launch is given.
 */
#ifndef KDL_BINDING_KERNEL_H
#define KDL_BINDING_KERNEL_H

#include "lib/binding/module.h"
#include "lib/hooks.h"
#include "lib/library/selection.h"
#include "lib/registry/runtime.h"
#include "lib/target/kernel_key.h"
#include "support/base/arena.h"

/* How many arguments a kernel can have where libkdl has to lay them out itself. */
enum { KDL_LIMIT_ARGS = 256 };

typedef enum kdl_bound_state {
  KDL_UNBOUND,
  KDL_BOUND,
  KDL_UNBINDABLE, /* no image loaded; `failure` says why */
} kdl_bound_state;

/*
 * Interceptors: what a launch does before it reaches the backend's function, or instead of it.
 *
 * A launch enters a kernel through one of two entries: head.entry where the caller made the grid,
 * items_entry where libkdl counts the groups. Each begins a chain that ends in the backend's
 * function. One function makes them (chain, in entry.c), of the interceptors that the kernel needs
 * now; where it needs none, head.entry is the backend's function itself.
 *
 * To add one: write its functions, which go on by kdl_launch_next and kdl_items_next, name it
 * below, and give it a line in that function.
 */
typedef enum kdl_interceptor_id {
  KDL_INTERCEPT_CAPTURE,  /* a queue of the device is captured */
  KDL_INTERCEPT_FIRST,    /* the backend wants to know of the first launch */
  KDL_INTERCEPT_TRACE,    /* KDL_TRACE */
  KDL_INTERCEPT_DEBUG,    /* KDL_DEBUG=launch */
  KDL_INTERCEPT_CHECK,    /* KDL_CHECK */
  KDL_INTERCEPT_DECLARED, /* the image declares more than the caller gives */
  KDL_INTERCEPTOR_COUNT,
} kdl_interceptor_id;

typedef kdl_status kdl_items_entry(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   const kdl_args *args);

/* Where the launches of a kernel go on. Stays valid when the kernel needs it no longer: a thread
 * may be in it. */
typedef struct kdl_interceptor {
  _Atomic(kdl_launch_entry *) next;
  _Atomic(kdl_items_entry *) next_items;
} kdl_interceptor;

struct kdl_kernel {
  kdl_kernel_head head;
  _Atomic(kdl_items_entry *) items_entry;
  _Atomic(kdl_launch_entry *) grid_entry; /* where launches by items go on with their grid */

  /* Its key, which does not change. */
  kdl_trie_node node; /* of the library's handles */
  kdl_kernel *next;   /* of the library */
  kdl_library *lib;
  const kdl_runtime *runtime;
  const char *name;
  const char *constants; /* as kdl_jit prints them; NULL: none */
  const kdl_ranking *ranking;

  /* The answer: written once, by the thread whose work it is, before `binding`. */
  kdl_work work;
  _Atomic(kdl_bound_state) bind_state;
  kdl_cached_failure failure;
  kdl_load_failure *failures; /* of the images that were tried before it, in `told` */
  size_t failure_count;
  kdl_arena failure_arena;
  size_t position; /* in the ranking */
  kdl_module *module;
  kdl_kernel_key key; /* of the loaded image; nothing is present where it has none */
  kdl_backend_kernel loaded;
  uint32_t block[3]; /* for launches that do not say; 0 where it is unknown */
  uint32_t tile[3];
  int64_t param_count;                    /* that the caller gives; -1 where it is unknown */
  uint32_t *param_sizes;                  /* NULL likewise; 0 for one that is not known */
  uint32_t inline_sizes[8];               /* they lie here, where these are enough */
  uint64_t scalar_params;                 /* bit i: the signature has a number as parameter i */
  char *geometry_conflict;                /* why explicit grids are refused, or NULL */
  const kdl_trace_subject *trace_subject; /* NULL: not */
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

/* The backend's queue that a launch on `queue`, which may be NULL, goes to. */
static inline void *kdl_kernel_queue(const kdl_kernel *kernel, const kdl_queue *queue) {
  return queue ? queue->head.queue : __atomic_load_n(&kernel->head.queue, __ATOMIC_RELAXED);
}

/* Loads the best image that loads, where that has not happened yet. */
kdl_status kdl_kernel_bind(kdl_kernel *kernel);

/* The image that was loaded. */
static inline uint32_t kdl_kernel_image(const kdl_kernel *kernel) {
  return kernel->ranking->candidates[kernel->position].image;
}

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

/* Bind, then launch. The entries of a new handle. */
kdl_launch_entry kdl_entry_resolve;
kdl_items_entry kdl_entry_resolve_items;

/* Binds for a launch on that queue of the backend, which may be NULL; refuses where the program
 * captures the queue by the driver's means. */
kdl_status kdl_entry_prepare(kdl_kernel *kernel, void *queue);

/* Makes the entries of a handle that was just given an image, and sets that it is bound. `fork` is
 * filled in. */
void kdl_entry_publish(kdl_kernel *kernel);

/* Makes them anew, since what decides on an interceptor has changed; of every kernel of a device
 * that is bound. */
void kdl_entry_update(kdl_kernel *kernel);
void kdl_entry_update_all(const kdl_runtime *runtime);

/* Refuses every further launch: when the driver has ended, with the lock of the links held, and in
 * the child of a fork. */
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

/* The end of the chain: counts the groups, and launches them. */
kdl_items_entry kdl_items_launch;

/* The two steps of that, of a kernel that is bound. Without work-items there is nothing to launch:
 * then *out_desc has a grid of 0. */
kdl_status kdl_items_check(const kdl_kernel *kernel, const kdl_queue *queue,
                           const kdl_extent *items, const kdl_args *args,
                           kdl_launch_desc *out_desc);
kdl_status kdl_items_enqueue(const kdl_kernel *kernel, const kdl_queue *queue,
                             const kdl_launch_desc *desc, const kdl_args *args);

/* The launch that covers the items, by the image that is bound; grid[i] is 0 where an item is. */
kdl_status kdl_items_to_grid(const kdl_kernel *kernel, const kdl_extent *items,
                             kdl_launch_desc *out_desc);

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

/* Finds out, when an image is bound, what the caller has to give; refuses an image whose own
 * parameters contradict its metadata. */
kdl_status kdl_kernel_args_resolve(kdl_kernel *kernel);
void kdl_kernel_args_reset(kdl_kernel *kernel);

/* Whether a launch is on a queue of the kernel's device. */
kdl_status kdl_kernel_fail_wrong_queue(const kdl_kernel *kernel, const kdl_queue *queue);
static inline kdl_status kdl_kernel_check_queue(const kdl_kernel *kernel, const kdl_queue *queue) {
  bool is_right = !queue || queue->runtime == kernel->runtime;
  return is_right ? KDL_OK : kdl_kernel_fail_wrong_queue(kernel, queue);
}

/* Whether a launch of the bound kernel is given what it takes. */
kdl_status kdl_kernel_args_check(const kdl_kernel *kernel, const kdl_args *args);

/* Pointers into a packed buffer. */
kdl_status kdl_kernel_args_unpack(const kdl_kernel *kernel, const void *packed, size_t size,
                                  const void *out_pointers[KDL_LIMIT_ARGS], kdl_args *out_args);

#endif
