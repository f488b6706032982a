/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/math.h> for CPUs, and for NVIDIA where there is no libdevice: LLVM's libclc, which comes with
 * `kdl cc` as bitcode, is linked by it and inlined into the loop over work-items. */
#ifndef KDL_MATH_CLC_H
#define KDL_MATH_CLC_H

#define KDL_MATH_LINK
#define KDL_MATH_PRIVATE
#define KDL_MATH_F32(name) kdl_math_##name##f
#define KDL_MATH_F64(name) kdl_math_##name
#define KDL_MATH_NATIVE(name) kdl_math_##name##f

#ifndef KDL_MATH_CLC
#define KDL_MATH_MISSING                                                                           \
  "this kdl was built without libclc's functions: build it again with libclc installed (Debian: "  \
  "libclc-22)"
#endif

#endif
