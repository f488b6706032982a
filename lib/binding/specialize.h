/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Values of launches that repeat become constants (docs/specialize.md).
 *
 * A handle that is bound to bitcode whose key has the field `specialize` gets an interceptor. It
 * reads the values that the field names and compares them with those of the images that exist.
 * Where one has the same values, the launch continues with that image: a handle of its own, whose
 * `constants` have the values. Else ext/specialize observes the launch and decides when values are
 * worth an image, which is linked and loaded on a background thread (lib/hooks.h).
 *
 * The interceptor runs after that of captures, so that a recorded launch has the general kernel:
 * the arguments of a sequence can be changed.
 */
#ifndef KDL_LIB_BINDING_SPECIALIZE_H
#define KDL_LIB_BINDING_SPECIALIZE_H

#include "lib/binding/kernel.h"

typedef struct kdl_specialized kdl_specialized;

/* For a handle that was just bound to bitcode: sets kernel->specialized if its key asks for it. */
void kdl_specialized_create(kdl_kernel *kernel);

/* Before handles of the library are freed: no thread works for this one any more. */
void kdl_specialized_stop(kdl_specialized *specialized);

/* Whether launches must still be compared or observed. */
bool kdl_specialized_is_needed(const kdl_specialized *specialized);

/* The interceptor. */
kdl_launch_entry kdl_specialized_launch;

#endif
