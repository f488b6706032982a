/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constants that AMD's ocml reads: its accuracy, and the processor. `kdl cc` compiles this and
 * links it with ocml; ROCm's own files do not know generic processors. */
#define KDL_OCLC(type, name, value)                                                                \
  extern const type __attribute__((address_space(4), visibility("hidden"))) name;                  \
  const type __attribute__((address_space(4), visibility("hidden"))) name = value

#ifdef __FAST_MATH__
#define KDL_OCLC_FAST 1
#else
#define KDL_OCLC_FAST 0
#endif

KDL_OCLC(unsigned char, __oclc_unsafe_math_opt, KDL_OCLC_FAST);
KDL_OCLC(unsigned char, __oclc_finite_only_opt, KDL_OCLC_FAST);
KDL_OCLC(unsigned char, __oclc_correctly_rounded_sqrt32, !KDL_OCLC_FAST);
KDL_OCLC(unsigned char, __oclc_daz_opt, 0);
KDL_OCLC(unsigned char, __oclc_wavefrontsize64, KDL_OCLC_WAVE64);
KDL_OCLC(int, __oclc_ISA_version, KDL_OCLC_ISA);
