/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/opencl/opencl_c.h"

bool cc_opencl_has_function(kdl_string name) {
  static const char names[] =
      "abs abs_diff acos acosh acospi add_sat all any asin asinh asinpi atan atan2 atan2pi "
      "atanh atanpi barrier bit_reverse bitfield_extract_signed bitfield_extract_unsigned "
      "bitfield_insert bitselect capture_event_profiling_info cbrt ceil clamp clz "
      "commit_read_pipe commit_write_pipe copysign cos cosh cospi create_user_event cross ctz "
      "degrees distance dot enqueue_kernel enqueue_marker erf erfc exp exp10 exp2 expm1 fabs "
      "fast_distance fast_length fast_normalize fdim floor fma fmax fmin fmod fract frexp "
      "get_default_queue get_fence get_global_id get_global_linear_id get_global_offset "
      "get_global_size get_group_id get_local_id get_local_linear_id get_local_size "
      "get_max_sub_group_size get_num_groups get_num_sub_groups get_work_dim hadd hypot ilogb "
      "is_valid_reserve_id isequal isfinite isgreater isgreaterequal isinf isless islessequal "
      "islessgreater isnan isnormal isnotequal isordered isunordered ldexp length lgamma "
      "lgamma_r log log10 log1p log2 logb mad mad24 mad_hi mad_sat max maxmag mem_fence min "
      "minmag mix modf mul24 mul_hi nan ndrange_1D ndrange_2D ndrange_3D nextafter normalize "
      "popcount pow pown powr prefetch printf radians read_mem_fence read_pipe release_event "
      "remainder remquo reserve_read_pipe reserve_write_pipe retain_event rhadd rint rootn "
      "rotate round rsqrt select set_user_event_status shuffle shuffle2 sign signbit sin "
      "sincos sinh sinpi smoothstep sqrt step sub_sat tan tanh tanpi tgamma to_global "
      "to_local to_private trunc upsample vec_step wait_group_events write_mem_fence "
      "write_pipe ";
  /* convert_float4_sat_rte, vload_half2, sub_group_reduce_add, ... */
  static const char *const families[] = {
      "as_",         "async_work_group_", "atom_",          "atomic_",
      "clock_read_", "convert_",          "get_enqueued_",  "get_image_",
      "get_kernel_", "get_pipe_",         "get_sub_group_", "half_",
      "native_",     "read_image",        "sub_group_",     "vload",
      "vstore",      "work_group_",       "write_image"};
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
    if (kdl_text_starts(name, families[i]))
      return true;
  }
  kdl_string left = {names, sizeof names - 1};
  for (size_t end; left.length; left = kdl_text_substr(left, end + 1)) {
    end = kdl_text_find(left, 0, " ");
    if (kdl_text_equal((kdl_string){left.data, end}, name))
      return true;
  }
  return false;
}
