/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/math.h> for the target `portable`: kdl-ld links the device's library when it is loaded. */
#ifndef KDL_MATH_PORTABLE_H
#define KDL_MATH_PORTABLE_H

#define KDL_MATH_LINK __attribute__((const))
#define KDL_MATH_LINK_2
#define KDL_MATH_PRIVATE
#define KDL_MATH_F32(name) kdl_math_##name##f
#define KDL_MATH_F64(name) kdl_math_##name
#define KDL_MATH_NATIVE(name) kdl_math_native_##name##f

#endif
