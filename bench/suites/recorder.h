/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The clock between the layers: what runs while a layer is the innermost one counts as its own. */
#ifndef KDL_BENCH_SUITES_RECORDER_H
#define KDL_BENCH_SUITES_RECORDER_H

#include "support/base/layer.h"

typedef struct layer_times {
  double ns[KDL_LAYER_COUNT];
  double marks[KDL_LAYER_COUNT]; /* readings of the clock that the time holds */
} layer_times;

/* Between the two, libkdl's own marks are listened to as well. One recording at a time; the time
 * outside every layer is lost. */
void recorder_begin(layer_times *times);
void recorder_end(void);

/* For steps that the caller runs. */
void recorder_enter(kdl_layer layer);
void recorder_leave(void);

#endif
