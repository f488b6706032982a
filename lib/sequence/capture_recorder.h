/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records the calls on a captured queue (lib/binding/capture.h) as a sequence. */
#ifndef KDL_LIB_SEQUENCE_CAPTURE_RECORDER_H
#define KDL_LIB_SEQUENCE_CAPTURE_RECORDER_H

#include "lib/binding/capture.h"

/* Records a run of a sequence. */
kdl_status kdl_capture_run(kdl_capture *head, const kdl_sequence *inner,
                           const kdl_binding *bindings, size_t count);

#endif
