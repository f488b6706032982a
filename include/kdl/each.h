/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_EACH(m, p, a, b, c) is m(p, a) m(p, b) m(p, c), for one to 32 arguments. */
#ifndef KDL_EACH_H
#define KDL_EACH_H

#define KDL_COUNT(...)                                                                             \
  KDL_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15,  \
             14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KDL_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,     \
                   a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n,   \
                   ...)                                                                            \
  n

#define KDL_JOIN(a, b) KDL_JOIN_(a, b)
#define KDL_JOIN_(a, b) a##b

#define KDL_EACH(m, p, ...) KDL_JOIN(KDL_EACH_, KDL_COUNT(__VA_ARGS__))(m, p, __VA_ARGS__)
#define KDL_EACH_1(m, p, a) m(p, a)
#define KDL_EACH_2(m, p, a, ...) m(p, a) KDL_EACH_1(m, p, __VA_ARGS__)
#define KDL_EACH_3(m, p, a, ...) m(p, a) KDL_EACH_2(m, p, __VA_ARGS__)
#define KDL_EACH_4(m, p, a, ...) m(p, a) KDL_EACH_3(m, p, __VA_ARGS__)
#define KDL_EACH_5(m, p, a, ...) m(p, a) KDL_EACH_4(m, p, __VA_ARGS__)
#define KDL_EACH_6(m, p, a, ...) m(p, a) KDL_EACH_5(m, p, __VA_ARGS__)
#define KDL_EACH_7(m, p, a, ...) m(p, a) KDL_EACH_6(m, p, __VA_ARGS__)
#define KDL_EACH_8(m, p, a, ...) m(p, a) KDL_EACH_7(m, p, __VA_ARGS__)
#define KDL_EACH_9(m, p, a, ...) m(p, a) KDL_EACH_8(m, p, __VA_ARGS__)
#define KDL_EACH_10(m, p, a, ...) m(p, a) KDL_EACH_9(m, p, __VA_ARGS__)
#define KDL_EACH_11(m, p, a, ...) m(p, a) KDL_EACH_10(m, p, __VA_ARGS__)
#define KDL_EACH_12(m, p, a, ...) m(p, a) KDL_EACH_11(m, p, __VA_ARGS__)
#define KDL_EACH_13(m, p, a, ...) m(p, a) KDL_EACH_12(m, p, __VA_ARGS__)
#define KDL_EACH_14(m, p, a, ...) m(p, a) KDL_EACH_13(m, p, __VA_ARGS__)
#define KDL_EACH_15(m, p, a, ...) m(p, a) KDL_EACH_14(m, p, __VA_ARGS__)
#define KDL_EACH_16(m, p, a, ...) m(p, a) KDL_EACH_15(m, p, __VA_ARGS__)
#define KDL_EACH_17(m, p, a, ...) m(p, a) KDL_EACH_16(m, p, __VA_ARGS__)
#define KDL_EACH_18(m, p, a, ...) m(p, a) KDL_EACH_17(m, p, __VA_ARGS__)
#define KDL_EACH_19(m, p, a, ...) m(p, a) KDL_EACH_18(m, p, __VA_ARGS__)
#define KDL_EACH_20(m, p, a, ...) m(p, a) KDL_EACH_19(m, p, __VA_ARGS__)
#define KDL_EACH_21(m, p, a, ...) m(p, a) KDL_EACH_20(m, p, __VA_ARGS__)
#define KDL_EACH_22(m, p, a, ...) m(p, a) KDL_EACH_21(m, p, __VA_ARGS__)
#define KDL_EACH_23(m, p, a, ...) m(p, a) KDL_EACH_22(m, p, __VA_ARGS__)
#define KDL_EACH_24(m, p, a, ...) m(p, a) KDL_EACH_23(m, p, __VA_ARGS__)
#define KDL_EACH_25(m, p, a, ...) m(p, a) KDL_EACH_24(m, p, __VA_ARGS__)
#define KDL_EACH_26(m, p, a, ...) m(p, a) KDL_EACH_25(m, p, __VA_ARGS__)
#define KDL_EACH_27(m, p, a, ...) m(p, a) KDL_EACH_26(m, p, __VA_ARGS__)
#define KDL_EACH_28(m, p, a, ...) m(p, a) KDL_EACH_27(m, p, __VA_ARGS__)
#define KDL_EACH_29(m, p, a, ...) m(p, a) KDL_EACH_28(m, p, __VA_ARGS__)
#define KDL_EACH_30(m, p, a, ...) m(p, a) KDL_EACH_29(m, p, __VA_ARGS__)
#define KDL_EACH_31(m, p, a, ...) m(p, a) KDL_EACH_30(m, p, __VA_ARGS__)
#define KDL_EACH_32(m, p, a, ...) m(p, a) KDL_EACH_31(m, p, __VA_ARGS__)

#endif
