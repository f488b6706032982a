/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl cc` gives as <math.h>: there is no C library, and the target's own functions serve. */
#include <kdl/math.h>
