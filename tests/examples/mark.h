/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Included before an example kernel (kdl cc --flag=-include): one more kernel, which writes down
 * what it was compiled for, so that a test knows whose code ran and not only what was said to run.
 */
#ifndef KDL_TEST_MARK_H
#define KDL_TEST_MARK_H

#include <kdl/kernel.h>

#define MARK KDL_TARGET "/" KDL_TAG
#define MARK_AT(i) out[i] = (i) < sizeof(MARK) ? MARK[(i) < sizeof(MARK) ? (i) : 0] : 0
#define MARK_FOUR(i) MARK_AT(i), MARK_AT(i + 1), MARK_AT(i + 2), MARK_AT(i + 3)

KDL_BLOCK(1)
__gpu_kernel void mark(__gpu_global uint8_t *out) {
  MARK_FOUR(0), MARK_FOUR(4), MARK_FOUR(8), MARK_FOUR(12);
  MARK_FOUR(16), MARK_FOUR(20), MARK_FOUR(24), MARK_FOUR(28);
}

#endif
