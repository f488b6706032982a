/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A kernel handle: a name on a device, its ranked images, and from the first launch on the one of
 * them that was loaded.
 *
 * kernel.c makes handles, bind.c loads, entry.c is what a handle's entry can be, arguments.c checks
 * what a launch is given.
 */
#ifndef KDL_BINDING_KERNEL_H
#define KDL_BINDING_KERNEL_H

#include "base/arena.h"
#include "binding/module.h"
#include "library/selection.h"
#include "registry/runtime.h"
#include "target/kernel_key.h"

/* How many arguments a kernel can have where libkdl has to lay them out itself. */
enum { KDL_LIMIT_ARGS = 256 };

typedef enum kdl_bound_state {
  KDL_UNBOUND,
  KDL_BOUND,
  KDL_TRACED,     /* bound, in a process that is traced, or while a queue of the device is captured:
                     never KDL_BOUND, so that launches of those that are need not ask */
  KDL_UNBINDABLE, /* no image loaded; `failure` says why */
} kdl_bound_state;

struct kdl_kernel {
  kdl_kernel_head head;
  /* As head.entry, without the refusal of explicit grids: for launches whose groups libkdl counts
   * itself. */
  _Atomic(kdl_launch_entry *) counted;

  /* Its key, which does not change. */
  kdl_trie_node node; /* of the library's handles */
  kdl_kernel *next;   /* of the library */
  kdl_library *lib;
  const kdl_runtime *runtime;
  const char *name;
  const char *constants; /* bitcode/constants.h; NULL: none */
  const kdl_ranking *ranking;

  /* The answer: written once, by the thread whose work it is, before `binding`. */
  kdl_work work;
  _Atomic(kdl_bound_state) binding;
  kdl_remembered failure;
  kdl_load_failure *failures; /* of the images that were tried before it, in `told` */
  size_t failure_count;
  kdl_arena told;
  size_t place; /* in the ranking */
  kdl_module *module;
  kdl_kernel_key key; /* of the loaded image; nothing is present where it has none */
  kdl_backend_kernel loaded;
  uint32_t block[3]; /* for launches that do not say; 0 where it is unknown */
  uint32_t tile[3];
  int64_t param_count;             /* that the caller gives; -1 where it is unknown */
  uint32_t *param_sizes;           /* NULL likewise; 0 for one that is not known */
  uint32_t few_sizes[8];           /* they lie here, where these are enough */
  uint64_t numbers;                /* bit i: the signature has a number as parameter i */
  bool is_checked;                 /* KDL_CHECK */
  char *disagreement;              /* why explicit grids are refused, or NULL */
  const kdl_trace_subject *traced; /* what its records are about; NULL where there are none */
  kdl_launch_entry *untraced;      /* the entry beneath the one that records */
  /* The entries where no queue is captured, which otherwise lie beneath those that ask. */
  kdl_launch_entry *usual, *usual_counted;
  kdl_fork_link fork;
};

static inline kdl_kernel *kdl_kernel_of(const kdl_kernel_head *head) {
  return (kdl_kernel *)(uintptr_t)head;
}

static inline bool kdl_kernel_is_bound(const kdl_kernel *kernel) {
  kdl_bound_state binding = atomic_load_explicit(&kernel->binding, memory_order_acquire);
  return binding == KDL_BOUND || binding == KDL_TRACED;
}

/* Loads the best image that loads, where that has not happened yet. */
kdl_status kdl_kernel_bind(kdl_kernel *kernel);

/* The image that was loaded. */
static inline uint32_t kdl_kernel_image(const kdl_kernel *kernel) {
  return kernel->ranking->candidates[kernel->place].image;
}

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

/* Binds, then launches. Both entries of a new handle. */
kdl_status kdl_entry_resolve(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                             const kdl_args *args, void *queue);
kdl_status kdl_entry_resolve_counted(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue);

/* Binds for a launch on that queue of the backend, which may be NULL; refuses where the queue is
 * being captured. */
kdl_status kdl_entry_prepare(kdl_kernel *kernel, void *queue);

/* Sets both entries of a handle that was just bound, and that it is. */
void kdl_entry_publish(kdl_kernel *kernel);

/* Every further launch is refused by this. */
void kdl_entry_disable(kdl_kernel *kernel, kdl_launch_entry *refuse);

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

/* Finds out, when an image is bound, what the caller has to give; refuses an image whose own
 * parameters contradict its metadata. */
kdl_status kdl_arguments_learn(kdl_kernel *kernel);
void kdl_arguments_forget(kdl_kernel *kernel);

/* Whether a launch of the bound kernel is given what it takes. */
kdl_status kdl_arguments_check(const kdl_kernel *kernel, const kdl_args *args);

/* Pointers into a packed buffer. */
kdl_status kdl_arguments_unpack(const kdl_kernel *kernel, const void *packed, size_t size,
                                const void *out_pointers[KDL_LIMIT_ARGS], kdl_args *out_args);

#endif
