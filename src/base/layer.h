/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The layers of a dispatch, and who is told when one is entered and left. Marks lie on the way to a
 * first launch alone, never on that of a bound kernel; where nobody listens, a mark is one load.
 * Layers nest: time belongs to the innermost one.
 */
#ifndef KDL_BASE_LAYER_H
#define KDL_BASE_LAYER_H

#include <stdatomic.h>
#include <stddef.h>

typedef enum kdl_layer {
#define KDL_LAYER(constant, name, meaning) KDL_LAYER_##constant,
#include "base/layers.def"
#undef KDL_LAYER
  KDL_LAYER_COUNT,
} kdl_layer;

/* "driver dlopen", ...; what is in it, in words */
const char *kdl_layer_name(kdl_layer layer);
const char *kdl_layer_meaning(kdl_layer layer);

/* Called by the thread that does the work, which may be any. `what` is the library, image or kernel
 * that it is about; it does not outlive the call. */
typedef struct kdl_layer_listener {
  void (*enter)(kdl_layer layer, const char *what);
  void (*leave)(kdl_layer layer);
} kdl_layer_listener;

/* NULL where nobody listens. A listener is never freed. */
extern const kdl_layer_listener *_Atomic kdl_layer_listening;

static inline void kdl_layer_enter(kdl_layer layer, const char *what) {
  const kdl_layer_listener *listener =
      atomic_load_explicit(&kdl_layer_listening, memory_order_acquire);
  if (listener)
    listener->enter(layer, what);
}

static inline void kdl_layer_leave(kdl_layer layer) {
  const kdl_layer_listener *listener =
      atomic_load_explicit(&kdl_layer_listening, memory_order_acquire);
  if (listener)
    listener->leave(layer);
}

#endif
