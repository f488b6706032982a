/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/math.h> for NVIDIA: CUDA's libdevice, and LLVM's libclc for functions that it lacks. */
#ifndef KDL_MATH_NVIDIA_H
#define KDL_MATH_NVIDIA_H

#define KDL_MATH_LINK
#define KDL_MATH_LINK_2
#define KDL_MATH_PRIVATE
#define KDL_MATH_F32(name) __nv_##name##f
#define KDL_MATH_F64(name) __nv_##name
#define KDL_MATH_NATIVE(name) __nv_fast_##name##f

#define __nv_fast_exp2f __nv_exp2f
#define __nv_fast_rsqrtf __nv_rsqrtf

/* By default libdevice's plain square root is the fast one. */
#ifdef __cplusplus
extern "C"
#endif
    float kdl_nv_fast_sqrtf(float) __asm__("__nv_sqrtf");
#define __nv_fast_sqrtf kdl_nv_fast_sqrtf
#define __nv_sqrtf __nv_fsqrt_rn

#define __nv_acospif kdl_math_acospif
#define __nv_acospi kdl_math_acospi
#define __nv_asinpif kdl_math_asinpif
#define __nv_asinpi kdl_math_asinpi
#define __nv_atanpif kdl_math_atanpif
#define __nv_atanpi kdl_math_atanpi
#define __nv_atan2pif kdl_math_atan2pif
#define __nv_atan2pi kdl_math_atan2pi
#define __nv_tanpif kdl_math_tanpif
#define __nv_tanpi kdl_math_tanpi
#define __nv_maxmagf kdl_math_maxmagf
#define __nv_maxmag kdl_math_maxmag
#define __nv_minmagf kdl_math_minmagf
#define __nv_minmag kdl_math_minmag
#define __nv_powrf kdl_math_powrf
#define __nv_powr kdl_math_powr
#define __nv_pownf kdl_math_pownf
#define __nv_pown kdl_math_pown
#define __nv_rootnf kdl_math_rootnf
#define __nv_rootn kdl_math_rootn
#define __nv_lgamma_rf kdl_math_lgamma_rf
#define __nv_lgamma_r kdl_math_lgamma_r
#define __nv_fractf kdl_math_fractf
#define __nv_fract kdl_math_fract
#define __nv_sincosf kdl_math_sincosf
#define __nv_sincos kdl_math_sincos
#define __nv_madf kdl_math_madf
#define __nv_mad kdl_math_mad

#endif
