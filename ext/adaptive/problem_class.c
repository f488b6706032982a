/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/problem_class.h"

#include <inttypes.h>

void kdl_class_range(uint64_t bucket, uint64_t *out_least, uint64_t *out_most) {
  if (bucket <= 16) {
    *out_least = *out_most = bucket;
    return;
  }
  uint64_t quarter = (bucket - 32) / 2 + 16;
  unsigned exponent = (unsigned)(quarter / 4);
  uint64_t step = (uint64_t)1 << (exponent - 2);
  *out_least = (4 + quarter % 4) * step;
  *out_most = *out_least + step - 1;
}

static void print_bucket(uint64_t bucket, kdl_out *out) {
  uint64_t least, most;
  kdl_class_range(bucket, &least, &most);
  bool is_multiple = bucket > 16 && bucket % 2;
  if (is_multiple) {
    least = (least + 15) / 16 * 16;
    most = most / 16 * 16;
  }
  kdl_out_format(out, "%" PRIu64, least);
  if (most > least)
    kdl_out_format(out, "..%" PRIu64, most);
  if (is_multiple && most > least)
    kdl_out_format(out, "(16)");
}

void kdl_class_print(const kdl_problem_class *of, const kdl_shape_argument *arguments, size_t count,
                     kdl_out *out) {
  kdl_out_format(out, kdl_class_is_grid(of) ? "grid " : "items ");
  unsigned shown = 1;
  for (unsigned i = 1; i < KDL_CLASS_EXTENTS; ++i) {
    if (kdl_class_bucket_at(of, i) != 1)
      shown = i + 1;
  }
  for (unsigned i = 0; i < shown; ++i) {
    kdl_out_format(out, "%s", i ? "x" : "");
    print_bucket(kdl_class_bucket_at(of, i), out);
  }
  for (unsigned i = 0; i < count && i < KDL_CLASS_ARGUMENTS; ++i) {
    kdl_out_format(out, " %.*s=", (int)arguments[i].name.length, arguments[i].name.data);
    print_bucket(kdl_class_bucket_at(of, KDL_CLASS_EXTENTS + i), out);
  }
}

/* In eighths of doublings from 16; the small ones are rounded to the same scale. */
static int32_t scale_of(uint64_t bucket) {
  static const uint8_t small[] = {0, 0, 8, 13, 16, 19, 21, 22, 24, 25, 27, 28, 29, 30, 30, 31, 32};
  return bucket <= 16 ? small[bucket] : (int32_t)((bucket - 32) / 2 * 2 + 32);
}

uint32_t kdl_class_distance(const kdl_problem_class *a, const kdl_problem_class *b) {
  if (kdl_class_is_grid(a) != kdl_class_is_grid(b) ||
      a->words[1] >> KDL_CLASS_CONDITIONS_AT != b->words[1] >> KDL_CLASS_CONDITIONS_AT)
    return UINT32_MAX;
  uint32_t distance = 0;
  for (unsigned i = 0; i < KDL_CLASS_NUMBERS; ++i) {
    int32_t apart = scale_of(kdl_class_bucket_at(a, i)) - scale_of(kdl_class_bucket_at(b, i));
    distance += (uint32_t)(apart < 0 ? -apart : apart);
  }
  return distance;
}
