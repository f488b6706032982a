/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The layers of a dispatch, and who is told when one is entered and left. Marks lie on the way to a
 * first launch alone, never on that of a bound kernel; without a listener, a mark is one load.
 * Layers nest: time belongs to the innermost one.
 */
#ifndef KDL_BASE_LAYER_H
#define KDL_BASE_LAYER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kdl_layer {
#define KDL_LAYER(constant, name) KDL_LAYER_##constant,
#include "support/base/layers.def"
#undef KDL_LAYER
  KDL_LAYER_COUNT,
} kdl_layer;

/* "driver dlopen", ... */
const char *kdl_layer_name(kdl_layer layer);

/* What a layer was about; strings are NULL where they do not apply, and need not outlive the call.
 */
typedef struct kdl_layer_about {
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
} kdl_layer_about;

/* Called by the thread that does the work, which may be any. `about` may be NULL. */
typedef struct kdl_layer_listener {
  void (*enter)(kdl_layer layer);
  void (*leave)(kdl_layer layer, const kdl_layer_about *about);
} kdl_layer_listener;

/* NULL where there is no listener. A listener is never freed. */
extern const kdl_layer_listener *_Atomic kdl_layer_listening;

/* For those who would have to find out first what a layer was about. */
static inline bool kdl_layer_is_heard(void) {
  return atomic_load_explicit(&kdl_layer_listening, memory_order_relaxed) != NULL;
}

static inline void kdl_layer_enter(kdl_layer layer) {
  const kdl_layer_listener *listener =
      atomic_load_explicit(&kdl_layer_listening, memory_order_acquire);
  if (listener)
    listener->enter(layer);
}

static inline void kdl_layer_leave(kdl_layer layer, const kdl_layer_about *about) {
  const kdl_layer_listener *listener =
      atomic_load_explicit(&kdl_layer_listening, memory_order_acquire);
  if (listener)
    listener->leave(layer, about);
}

#endif
