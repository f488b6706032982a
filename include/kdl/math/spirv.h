/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/math.h> for SPIR-V: instructions of OpenCL's extended set, which the driver implements. */
#ifndef KDL_MATH_SPIRV_H
#define KDL_MATH_SPIRV_H

#define KDL_MATH_LINK __attribute__((overloadable, const))
#define KDL_MATH_LINK_2 __attribute__((overloadable))
#define KDL_MATH_OVERLOADS
#define KDL_MATH_PRIVATE
#define KDL_MATH_F32(name) __spirv_ocl_##name
#define KDL_MATH_F64(name) __spirv_ocl_##name
#define KDL_MATH_NATIVE(name) __spirv_ocl_native_##name

#endif
