/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tables of functions that extensions of the library fill in. The library calls an extension
 * through its table and includes none of its headers; where the table is absent, nothing is called.
 */
#ifndef KDL_HOOKS_H
#define KDL_HOOKS_H

#include "support/base/layer.h"

#include <kdl/backend.h>

/* What the records of one kernel, or of one sequence, are about. */
typedef struct kdl_trace_subject kdl_trace_subject;

/* A trace phase that has begun. */
typedef struct kdl_trace_mark {
  uint64_t begin; /* ticks */
  uint64_t begin_ns;
  const struct kdl_trace_device *device; /* NULL: the time on the device is not measured */
  struct kdl_trace_pair *events;
} kdl_trace_mark;

/* ext/trace. Launches record by these; the phases of a first launch are marked in
 * support/base/layer.h. */
typedef struct kdl_trace_hooks {
  /* Called once for a device that was opened with `table`. Returns the table to use it through,
   * which records copies, memory and waits. */
  const kdl_backend_table *(*open_device)(const kdl_backend_table *table, void *device,
                                          const char *name, bool is_host);

  /* Never NULL, and never freed. */
  const kdl_trace_subject *(*subject_of)(const kdl_layer_about *about);

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
 * in ext/trace, so that a program that links libkdl.a has it. */
extern const kdl_trace_hooks *kdl_tracing;

#endif
