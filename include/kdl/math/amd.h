/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/math.h> for AMD: ocml, of ROCm's device libraries, which `kdl cc` links. */
#ifndef KDL_MATH_AMD_H
#define KDL_MATH_AMD_H

#define KDL_MATH_LINK
#define KDL_MATH_LINK_2
#define KDL_MATH_PRIVATE __attribute__((address_space(5)))
#define KDL_MATH_F32(name) __ocml_##name##_f32
#define KDL_MATH_F64(name) __ocml_##name##_f64
#define KDL_MATH_NATIVE(name) __ocml_native_##name##_f32

/* ocml lacks this one. */
#define __ocml_native_tan_f32 __ocml_tan_f32

#ifndef KDL_MATH_OCML
#define KDL_MATH_MISSING                                                                           \
  "AMD's ocml.bc was not found: install ROCm's device libraries (Debian: rocm-device-libs), or "   \
  "let KDL_ROCM_DEVICE_LIBS name their folder"
#endif

#endif
