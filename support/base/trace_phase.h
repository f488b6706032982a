/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Trace phases of a dispatch, and the listener that is called when one begins and ends. Only the
 * path to a first launch has phases, never the launch of a bound kernel. Without a listener a phase
 * costs one load. Phases nest: time counts for the innermost one.
 */
#ifndef KDL_SUPPORT_BASE_TRACE_PHASE_H
#define KDL_SUPPORT_BASE_TRACE_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kdl_trace_phase {
#define KDL_TRACE_PHASE(constant, name) KDL_TRACE_PHASE_##constant,
#include "support/base/trace_phases.def"
#undef KDL_TRACE_PHASE
  KDL_TRACE_PHASE_COUNT,
} kdl_trace_phase;

/* "driver dlopen", ... */
const char *kdl_trace_phase_name(kdl_trace_phase phase);

/* What a phase is about. Strings that do not apply are NULL; they need not outlive the call. */
typedef struct kdl_trace_phase_info {
  const char *driver; /* the shared object that was opened or initialised */
  const char *library;
  const char *kernel;
  const char *device;
  const char *target; /* the image's architecture */
  const char *kind;   /* the image's: "cubin", ... */
  const char *variant;
  bool has_image;
  uint32_t image; /* its index in the library */
  uint64_t bytes;
  bool failed;
} kdl_trace_phase_info;

/* Called by the thread that does the work, which may be any thread. `about` may be NULL. */
typedef struct kdl_trace_listener {
  void (*begin)(kdl_trace_phase phase);
  void (*end)(kdl_trace_phase phase, const kdl_trace_phase_info *info);
} kdl_trace_listener;

/* NULL where there is no listener. A listener is never freed. */
extern const kdl_trace_listener *_Atomic kdl_trace_active_listener;

/* For callers that would have to compute what a phase is about. */
static inline bool kdl_trace_enabled(void) {
  return atomic_load_explicit(&kdl_trace_active_listener, memory_order_relaxed) != NULL;
}

static inline void kdl_trace_phase_begin(kdl_trace_phase phase) {
  const kdl_trace_listener *listener =
      atomic_load_explicit(&kdl_trace_active_listener, memory_order_acquire);
  if (listener)
    listener->begin(phase);
}

static inline void kdl_trace_phase_end(kdl_trace_phase phase, const kdl_trace_phase_info *info) {
  const kdl_trace_listener *listener =
      atomic_load_explicit(&kdl_trace_active_listener, memory_order_acquire);
  if (listener)
    listener->end(phase, info);
}

#endif
