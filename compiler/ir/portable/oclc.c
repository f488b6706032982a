/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constants of AMD's GPUs for portable images: those that ocml reads, and the version of code
 * objects, by which Clang finds the size of a group. */
#include <kdl/math/oclc.h>

KDL_OCLC(int, __oclc_ABI_version, 500);
