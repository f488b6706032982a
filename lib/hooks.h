/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tables of functions that extensions of the library fill in. The library calls an extension
 * through its table and includes none of its headers; where the table is absent, nothing is called.
 */
#ifndef KDL_HOOKS_H
#define KDL_HOOKS_H

#include "support/base/trace_phase.h"

#include <kdl/backend.h>

/* ------------------------------------------------------------------------------------------ */
/* ext/trace                                                                                    */

/* What the records of one kernel, or of one sequence, are about. */
typedef struct kdl_trace_subject kdl_trace_subject;

/* A trace phase that has begun. */
typedef struct kdl_trace_mark {
  uint64_t begin; /* ticks */
  uint64_t begin_ns;
  const struct kdl_trace_device *device; /* NULL: the time on the device is not measured */
  struct kdl_trace_event_pair *events;
} kdl_trace_mark;

/* Launches record by these; the phases of a first launch are marked in
 * support/base/trace_phase.h. */
typedef struct kdl_trace_hooks {
  /* Called once for a device that was opened with `table`. Returns the table to use it through,
   * which records copies, memory and waits. */
  const kdl_backend_table *(*open_device)(const kdl_backend_table *table, void *device,
                                          const char *name, bool is_host);

  /* Never NULL, and never freed. */
  const kdl_trace_subject *(*subject_of)(const kdl_trace_phase_info *about);

  /* Begins a phase. `device` and `queue` are those of a launch whose time on the device is to be
   * measured; else NULL. */
  void (*begin)(void *device, void *queue, kdl_trace_mark *out_mark);

  /* Ends a launch on a queue of the backend. */
  void (*end_launch)(const kdl_trace_subject *subject, const kdl_trace_mark *mark,
                     const uint32_t grid[3], const uint32_t block[3], void *queue,
                     kdl_status status);

  /* Ends what libkdl does with the arguments before a launch. */
  void (*end_arguments)(const kdl_trace_subject *subject, const kdl_trace_mark *mark);
} kdl_trace_hooks;

/* NULL where the process is not traced. Set before any device is opened, and constant then. Defined
 * in ext/trace, so that a program that links libkdl.a has it, or in lib/without_trace.c. */
extern const kdl_trace_hooks *kdl_tracing;

/* ------------------------------------------------------------------------------------------ */
/* ext/jit                                                                                      */

/* One image of bitcode for one device. */
typedef struct kdl_link_task {
  kdl_library *lib;
  uint32_t image;
  kdl_device *device;
  size_t route;          /* of the device */
  const char *kernel;    /* the one to keep; NULL: all */
  const char *constants; /* what print_constants gave; NULL: none */
} kdl_link_task;

/* Loads an image that was linked, for the caller of `load`. */
typedef kdl_status kdl_linked_load(void *user, kdl_image_kind kind, const void *data, size_t size);

typedef struct kdl_jit_hooks {
  /* Specialisation constants as one text, which is the same for the same constants. *out_text is
   * malloc'ed; NULL where there are none. */
  kdl_status (*print_constants)(const kdl_constant *constants, size_t count, char **out_text);

  /* Links the bitcode, or takes it from the cache, and calls `load` with the image. What loads is
   * kept in the cache; an image of the cache that does not load is linked again. *out_memory holds
   * the image and is freed with free() when the module is unloaded. `about` describes the task in
   * traces. */
  kdl_status (*load)(const kdl_link_task *task, const kdl_trace_phase_info *about,
                     kdl_linked_load *load, void *user, void **out_memory);
} kdl_jit_hooks;

/* NULL where the library was built without ext/jit. */
extern const kdl_jit_hooks *const kdl_jit;

#endif
