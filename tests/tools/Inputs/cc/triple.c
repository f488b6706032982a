/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A microkernel. */
#include <kdl/ukernel.h>

static float two(float x) {
  return 2 * x;
}

KDL_UKERNEL float triple(float x) {
  return x + two(x);
}
