/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Instructions of SPIR-V and functions of OpenCL, by the functions of portable images: compiled to
 * portable bitcode when kdl is built, and linked into modules that were translated (spirv.h). The
 * name of each is that of the instruction, with the type of its first operand where there are
 * several. Source of the meanings: the OpenCL Extended Instruction Set Specification.
 */
#include <kdl/kernel/portable_functions.h>
#include <kdl/math/functions.h>

/* ------------------------------------------------------------------------------------------ */
/* The work-item                                                                                */

uint64_t kdl_cl_LocalInvocationId(int dim) {
  return dim < 3 ? kdl_p1_thread_id(dim) : 0;
}
uint64_t kdl_cl_WorkgroupId(int dim) {
  return dim < 3 ? kdl_p1_block_id(dim) : 0;
}
uint64_t kdl_cl_WorkgroupSize(int dim) {
  return dim < 3 ? kdl_p1_num_threads(dim) : 1;
}
uint64_t kdl_cl_EnqueuedWorkgroupSize(int dim) {
  return kdl_cl_WorkgroupSize(dim);
}
uint64_t kdl_cl_NumWorkgroups(int dim) {
  return dim < 3 ? kdl_p1_num_blocks(dim) : 1;
}
uint64_t kdl_cl_GlobalSize(int dim) {
  return kdl_cl_NumWorkgroups(dim) * kdl_cl_WorkgroupSize(dim);
}
uint64_t kdl_cl_GlobalInvocationId(int dim) {
  return kdl_cl_WorkgroupId(dim) * kdl_cl_WorkgroupSize(dim) + kdl_cl_LocalInvocationId(dim);
}
/* A launch of kdl has no offset, and three dimensions. */
uint64_t kdl_cl_GlobalOffset(int dim) {
  return 0 * (uint64_t)dim;
}
uint64_t kdl_cl_WorkDim(int none) {
  return 3 + 0 * (uint64_t)none;
}
uint64_t kdl_cl_LocalInvocationIndex(int none) {
  (void)none;
  return (kdl_cl_LocalInvocationId(2) * kdl_cl_WorkgroupSize(1) + kdl_cl_LocalInvocationId(1)) *
             kdl_cl_WorkgroupSize(0) +
         kdl_cl_LocalInvocationId(0);
}
uint64_t kdl_cl_GlobalLinearId(int none) {
  (void)none;
  return (kdl_cl_GlobalInvocationId(2) * kdl_cl_GlobalSize(1) + kdl_cl_GlobalInvocationId(1)) *
             kdl_cl_GlobalSize(0) +
         kdl_cl_GlobalInvocationId(0);
}

static uint64_t group_size(void) {
  return kdl_cl_WorkgroupSize(0) * kdl_cl_WorkgroupSize(1) * kdl_cl_WorkgroupSize(2);
}
uint64_t kdl_cl_SubgroupMaxSize(int none) {
  (void)none;
  return kdl_p1_num_lanes();
}
uint64_t kdl_cl_SubgroupId(int none) {
  return kdl_cl_LocalInvocationIndex(none) / kdl_p1_num_lanes();
}
uint64_t kdl_cl_SubgroupLocalInvocationId(int none) {
  (void)none;
  return kdl_p1_lane_id();
}
uint64_t kdl_cl_NumSubgroups(int none) {
  (void)none;
  return (group_size() + kdl_p1_num_lanes() - 1) / kdl_p1_num_lanes();
}
uint64_t kdl_cl_NumEnqueuedSubgroups(int none) {
  return kdl_cl_NumSubgroups(none);
}
uint64_t kdl_cl_SubgroupSize(int none) {
  uint64_t lanes = kdl_p1_num_lanes(), begin = kdl_cl_SubgroupId(none) * lanes;
  return group_size() - begin < lanes ? group_size() - begin : lanes;
}

enum { scope_subgroup = 3 };

void kdl_cl_ControlBarrier(uint32_t scope) {
  if (scope == scope_subgroup)
    kdl_p1_sync_lane(kdl_p1_lane_mask());
  else
    kdl_p1_sync_threads();
}

uint32_t kdl_cl_subgroup_any(uint32_t x) {
  return kdl_p1_ballot(kdl_p1_lane_mask(), x != 0) != 0;
}
uint32_t kdl_cl_subgroup_all(uint32_t x) {
  return kdl_p1_ballot(kdl_p1_lane_mask(), x == 0) == 0;
}
uint64_t kdl_cl_subgroup_ballot(uint32_t x) {
  return kdl_p1_ballot(kdl_p1_lane_mask(), x != 0);
}
uint32_t kdl_cl_subgroup_elect(uint32_t none) {
  (void)none;
  return kdl_p1_is_first_in_lane(kdl_p1_lane_mask());
}

enum { reduce, inclusive_scan };

#define SUBGROUP(type, name, real, suffix)                                                         \
  type kdl_cl_subgroup_shuffle_##name(type x, uint32_t lane) {                                     \
    return (type)kdl_p1_shuffle_idx_##suffix(kdl_p1_lane_mask(), lane, (real)x,                    \
                                             kdl_p1_num_lanes());                                  \
  }                                                                                                \
  type kdl_cl_subgroup_shuffle_xor_##name(type x, uint32_t mask) {                                 \
    return kdl_cl_subgroup_shuffle_##name(x, kdl_p1_lane_id() ^ mask);                             \
  }                                                                                                \
  type kdl_cl_subgroup_shuffle_up_##name(type x, uint32_t delta) {                                 \
    return kdl_cl_subgroup_shuffle_##name(x, kdl_p1_lane_id() - delta);                            \
  }                                                                                                \
  type kdl_cl_subgroup_shuffle_down_##name(type x, uint32_t delta) {                               \
    return kdl_cl_subgroup_shuffle_##name(x, kdl_p1_lane_id() + delta);                            \
  }                                                                                                \
  type kdl_cl_subgroup_first_##name(type x) {                                                      \
    return (type)kdl_p1_read_first_lane_##suffix(kdl_p1_lane_mask(), (real)x);                     \
  }                                                                                                \
  type kdl_cl_subgroup_add_##name(type x, uint32_t how) {                                          \
    if (how == reduce)                                                                             \
      return (type)kdl_p1_lane_sum_##suffix(kdl_p1_lane_mask(), (real)x);                          \
    type sum = (type)kdl_p1_lane_scan_##suffix(kdl_p1_lane_mask(), (real)x);                       \
    return how == inclusive_scan ? sum : (type)((real)sum - (real)x);                              \
  }
SUBGROUP(int32_t, i32, uint32_t, u32)
SUBGROUP(int64_t, i64, uint64_t, u64)
SUBGROUP(float, f32, float, f32)
SUBGROUP(double, f64, double, f64)

/* ------------------------------------------------------------------------------------------ */
/* Integers                                                                                     */

#define INTEGERS(s, u, wide_s, wide_u, bits)                                                       \
  u kdl_cl_s_abs_i##bits(s x) {                                                                    \
    return x < 0 ? (u)(0 - (u)x) : (u)x;                                                           \
  }                                                                                                \
  u kdl_cl_u_abs_i##bits(u x) {                                                                    \
    return x;                                                                                      \
  }                                                                                                \
  u kdl_cl_s_abs_diff_i##bits(s x, s y) {                                                          \
    return x > y ? (u)((u)x - (u)y) : (u)((u)y - (u)x);                                            \
  }                                                                                                \
  u kdl_cl_u_abs_diff_i##bits(u x, u y) {                                                          \
    return x > y ? (u)(x - y) : (u)(y - x);                                                        \
  }                                                                                                \
  s kdl_cl_s_add_sat_i##bits(s x, s y) {                                                           \
    return __builtin_elementwise_add_sat(x, y);                                                    \
  }                                                                                                \
  u kdl_cl_u_add_sat_i##bits(u x, u y) {                                                           \
    return __builtin_elementwise_add_sat(x, y);                                                    \
  }                                                                                                \
  s kdl_cl_s_sub_sat_i##bits(s x, s y) {                                                           \
    return __builtin_elementwise_sub_sat(x, y);                                                    \
  }                                                                                                \
  u kdl_cl_u_sub_sat_i##bits(u x, u y) {                                                           \
    return __builtin_elementwise_sub_sat(x, y);                                                    \
  }                                                                                                \
  s kdl_cl_s_hadd_i##bits(s x, s y) {                                                              \
    return (s)((x >> 1) + (y >> 1) + (x & y & 1));                                                 \
  }                                                                                                \
  u kdl_cl_u_hadd_i##bits(u x, u y) {                                                              \
    return (u)((x >> 1) + (y >> 1) + (x & y & 1));                                                 \
  }                                                                                                \
  s kdl_cl_s_rhadd_i##bits(s x, s y) {                                                             \
    return (s)((x >> 1) + (y >> 1) + ((x | y) & 1));                                               \
  }                                                                                                \
  u kdl_cl_u_rhadd_i##bits(u x, u y) {                                                             \
    return (u)((x >> 1) + (y >> 1) + ((x | y) & 1));                                               \
  }                                                                                                \
  s kdl_cl_s_min_i##bits(s x, s y) {                                                               \
    return x < y ? x : y;                                                                          \
  }                                                                                                \
  u kdl_cl_u_min_i##bits(u x, u y) {                                                               \
    return x < y ? x : y;                                                                          \
  }                                                                                                \
  s kdl_cl_s_max_i##bits(s x, s y) {                                                               \
    return x > y ? x : y;                                                                          \
  }                                                                                                \
  u kdl_cl_u_max_i##bits(u x, u y) {                                                               \
    return x > y ? x : y;                                                                          \
  }                                                                                                \
  s kdl_cl_s_clamp_i##bits(s x, s low, s high) {                                                   \
    return x < low ? low : x > high ? high : x;                                                    \
  }                                                                                                \
  u kdl_cl_u_clamp_i##bits(u x, u low, u high) {                                                   \
    return x < low ? low : x > high ? high : x;                                                    \
  }                                                                                                \
  s kdl_cl_s_mul_hi_i##bits(s x, s y) {                                                            \
    return (s)((wide_s)x * (wide_s)y >> bits);                                                     \
  }                                                                                                \
  u kdl_cl_u_mul_hi_i##bits(u x, u y) {                                                            \
    return (u)((wide_u)x * (wide_u)y >> bits);                                                     \
  }                                                                                                \
  s kdl_cl_s_mad_hi_i##bits(s x, s y, s z) {                                                       \
    return (s)((u)kdl_cl_s_mul_hi_i##bits(x, y) + (u)z);                                           \
  }                                                                                                \
  u kdl_cl_u_mad_hi_i##bits(u x, u y, u z) {                                                       \
    return (u)(kdl_cl_u_mul_hi_i##bits(x, y) + z);                                                 \
  }                                                                                                \
  s kdl_cl_s_mad_sat_i##bits(s x, s y, s z) {                                                      \
    wide_s most = (wide_s)((u) ~(u)0 >> 1), sum = (wide_s)x * (wide_s)y + (wide_s)z;               \
    return (s)(sum > most ? most : sum < -most - 1 ? -most - 1 : sum);                             \
  }                                                                                                \
  u kdl_cl_u_mad_sat_i##bits(u x, u y, u z) {                                                      \
    wide_u most = (u) ~(u)0, sum = (wide_u)x * (wide_u)y + (wide_u)z;                              \
    return (u)(sum > most ? most : sum);                                                           \
  }                                                                                                \
  u kdl_cl_rotate_i##bits(u x, u by) {                                                             \
    by &= bits - 1;                                                                                \
    return (u)(x << by | x >> (-by & (bits - 1)));                                                 \
  }                                                                                                \
  u kdl_cl_clz_i##bits(u x) {                                                                      \
    return x ? (u)(__builtin_clzll((uint64_t)x) - (64 - bits)) : bits;                             \
  }                                                                                                \
  u kdl_cl_ctz_i##bits(u x) {                                                                      \
    return x ? (u)__builtin_ctzll((uint64_t)x) : bits;                                             \
  }                                                                                                \
  u kdl_cl_popcount_i##bits(u x) {                                                                 \
    return (u)__builtin_popcountll((uint64_t)x);                                                   \
  }
INTEGERS(int8_t, uint8_t, int32_t, uint32_t, 8)
INTEGERS(int16_t, uint16_t, int32_t, uint32_t, 16)
INTEGERS(int32_t, uint32_t, int64_t, uint64_t, 32)
INTEGERS(int64_t, uint64_t, __int128, unsigned __int128, 64)

#define UPSAMPLE(s, u, wide_s, wide_u, bits)                                                       \
  wide_s kdl_cl_s_upsample_i##bits(s high, u low) {                                                \
    return (wide_s)((wide_u)(wide_s)high << bits | low);                                           \
  }                                                                                                \
  wide_u kdl_cl_u_upsample_i##bits(u high, u low) {                                                \
    return (wide_u)((wide_u)high << bits | low);                                                   \
  }
UPSAMPLE(int8_t, uint8_t, int16_t, uint16_t, 8)
UPSAMPLE(int16_t, uint16_t, int32_t, uint32_t, 16)
UPSAMPLE(int32_t, uint32_t, int64_t, uint64_t, 32)

int32_t kdl_cl_s_mul24_i32(int32_t x, int32_t y) {
  return (int32_t)((uint32_t)x * (uint32_t)y);
}
uint32_t kdl_cl_u_mul24_i32(uint32_t x, uint32_t y) {
  return x * y;
}
int32_t kdl_cl_s_mad24_i32(int32_t x, int32_t y, int32_t z) {
  return (int32_t)((uint32_t)x * (uint32_t)y + (uint32_t)z);
}
uint32_t kdl_cl_u_mad24_i32(uint32_t x, uint32_t y, uint32_t z) {
  return x * y + z;
}
float kdl_cl_nan_i32(uint32_t code) {
  uint32_t bits = code | 0x7fc00000u;
  return __builtin_bit_cast(float, bits);
}
double kdl_cl_nan_i64(uint64_t code) {
  uint64_t bits = code | 0x7ff8000000000000u;
  return __builtin_bit_cast(double, bits);
}

/* ------------------------------------------------------------------------------------------ */
/* Numbers                                                                                      */

#define DECLARE_MATH(real, suffix)                                                                 \
  KDL_P1_VALUE real kdl_math_fmin##suffix(real, real);                                             \
  KDL_P1_VALUE real kdl_math_fmax##suffix(real, real);                                             \
  KDL_P1_VALUE real kdl_math_sqrt##suffix(real);                                                   \
  KDL_P1_VALUE real kdl_math_powr##suffix(real, real);
DECLARE_MATH(float, f)
DECLARE_MATH(double, )

#define NUMBERS(real, suffix, name, LARGE, SCALE)                                                  \
  real kdl_cl_fclamp_##name(real x, real low, real high) {                                         \
    return kdl_math_fmin##suffix(kdl_math_fmax##suffix(x, low), high);                             \
  }                                                                                                \
  real kdl_cl_fmax_common_##name(real x, real y) {                                                 \
    return x < y ? y : x;                                                                          \
  }                                                                                                \
  real kdl_cl_fmin_common_##name(real x, real y) {                                                 \
    return y < x ? y : x;                                                                          \
  }                                                                                                \
  real kdl_cl_degrees_##name(real x) {                                                             \
    return x * (real)57.295779513082320876798154814105;                                            \
  }                                                                                                \
  real kdl_cl_radians_##name(real x) {                                                             \
    return x * (real)0.017453292519943295769236907684886;                                          \
  }                                                                                                \
  real kdl_cl_mix_##name(real x, real y, real a) {                                                 \
    return x + (y - x) * a;                                                                        \
  }                                                                                                \
  real kdl_cl_step_##name(real edge, real x) {                                                     \
    return x < edge ? (real)0 : (real)1;                                                           \
  }                                                                                                \
  real kdl_cl_smoothstep_##name(real low, real high, real x) {                                     \
    real t = kdl_cl_fclamp_##name((x - low) / (high - low), 0, 1);                                 \
    return t * t * (3 - 2 * t);                                                                    \
  }                                                                                                \
  real kdl_cl_sign_##name(real x) {                                                                \
    return x > 0 ? (real)1 : x < 0 ? (real) - 1 : x == 0 ? x : (real)0;                            \
  }                                                                                                \
  real kdl_cl_divide_##name(real x, real y) {                                                      \
    return x / y;                                                                                  \
  }                                                                                                \
  real kdl_cl_recip_##name(real x) {                                                               \
    return 1 / x;                                                                                  \
  }                                                                                                \
  /* Of vectors: `n` elements. */                                                                  \
  real kdl_cl_dot_##name(const real *x, const real *y, int n) {                                    \
    real sum = x[0] * y[0];                                                                        \
    for (int i = 1; i < n; ++i)                                                                    \
      sum += x[i] * y[i];                                                                          \
    return sum;                                                                                    \
  }                                                                                                \
  /* Scaled where squares would overflow or vanish. */                                             \
  real kdl_cl_length_##name(const real *x, int n) {                                                \
    real sum = kdl_cl_dot_##name(x, x, n), scaled = 0;                                             \
    if (sum > 1 / (real)LARGE && sum < (real)LARGE)                                                \
      return kdl_math_sqrt##suffix(sum);                                                           \
    real by = sum >= 1 ? 1 / (real)SCALE : (real)SCALE;                                            \
    for (int i = 0; i < n; ++i)                                                                    \
      scaled += x[i] * by * (x[i] * by);                                                           \
    return kdl_math_sqrt##suffix(scaled) / by;                                                     \
  }                                                                                                \
  real kdl_cl_distance_##name(const real *x, const real *y, int n) {                               \
    real apart[4];                                                                                 \
    for (int i = 0; i < 4; ++i)                                                                    \
      apart[i] = i < n ? x[i] - y[i] : 0;                                                          \
    return kdl_cl_length_##name(apart, n);                                                         \
  }                                                                                                \
  void kdl_cl_normalize_##name(const real *x, real *to, int n) {                                   \
    real length = kdl_cl_length_##name(x, n);                                                      \
    for (int i = 0; i < n; ++i)                                                                    \
      to[i] = length == 0 ? x[i] : x[i] / length;                                                  \
  }                                                                                                \
  void kdl_cl_cross_##name(const real *x, const real *y, real *to, int n) {                        \
    to[0] = x[1] * y[2] - x[2] * y[1];                                                             \
    to[1] = x[2] * y[0] - x[0] * y[2];                                                             \
    to[2] = x[0] * y[1] - x[1] * y[0];                                                             \
    if (n == 4)                                                                                    \
      to[3] = 0;                                                                                   \
  }
NUMBERS(float, f, f32, 0x1p100, 0x1p80)
NUMBERS(double, , f64, 0x1p900, 0x1p600)
