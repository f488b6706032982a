/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/examine.h"

#include "cc/ir/ir_text.h"
#include "cc/job/math.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"
#include "tools/common/images/name_set.h"
#include "tools/common/images/vocabulary.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* SPIR-V                                                                                       */

kdl_status cc_examine_capabilities(kdl_string module, kdl_feature_set *needs) {
  kdl_image_target target;
  kdl_feature_set found;
  KDL_TRY(kdl_image_read_target(KDL_IMAGE_SPIRV, module.data, module.length, &target));
  if (kdl_feature_parse(KDL_CLASS_GPU, kdl_text_of(target.features), &found, NULL))
    kdl_feature_join(needs, found);
  return KDL_OK;
}

void cc_examine_blocks(kdl_string module, cc_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; ++i) {
    cc_kernel *kernel = &kernels->items[i];
    const kdl_image_geometry found = kdl_image_read_geometry(
        KDL_IMAGE_SPIRV, module.data, module.length, kdl_text_of(kernel->name));
    if (cc_kernel_has(kernel, CC_BLOCK) || !found.block[0])
      continue;
    kernel->fields |= 1u << CC_BLOCK;
    memcpy(kernel->values[CC_BLOCK], found.block, sizeof found.block);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* LLVM IR                                                                                      */

/* Intrinsics belong to the backend, mangled names to OpenCL; the barrier is an instruction of
 * SPIR-V (<kdl/kernel/gpu.h>); the wrapper has those for the CPU. */
static bool is_provided(kdl_string name, const cc_target *target) {
  static const char *const memory[] = {"memcpy", "memmove", "memset"};
  if (kdl_text_starts(name, "llvm.") || cc_math_has(target, name))
    return true;
  if (kdl_text_is(name, target->family == CC_HOST ? "kdl_cc_barrier" : "kdl_local_dynamic"))
    return true;
  if (target->family == CC_OPENCL)
    return kdl_text_starts(name, "_Z") || kdl_text_is(name, "printf");
  if (target->family == CC_PORTABLE)
    return kdl_text_starts(name, "kdl_p1_") || KDL_TEXT_AMONG(name, memory);
  if (target->family == CC_SPIRV)
    return kdl_text_is(name, "_Z22__spirv_ControlBarrierjjj");
  return target->family == CC_HOST && KDL_TEXT_AMONG(name, memory);
}

kdl_string cc_examine_undefined(kdl_string ir, const cc_target *target) {
  kdl_string declared;
  for (kdl_string rest = ir; cc_ir_next_declared(&rest, &declared);) {
    if (!is_provided(declared, target))
      return declared;
  }
  return (kdl_string){"", 0};
}

bool cc_examine_math(kdl_string ir, const cc_target *target, bool *out_calls_libm) {
  kdl_string declared;
  bool calls = false;
  *out_calls_libm = false;
  for (kdl_string rest = ir; cc_ir_next_declared(&rest, &declared);) {
    calls |= cc_math_has(target, declared);
    *out_calls_libm |= target->family == CC_HOST && cc_math_is_libm(declared);
  }
  return calls;
}

/* "target-features"="+avx2,-avx512f,+cx8" */
static void add_listed_features(kdl_string list, kdl_feature_class which, kdl_feature_set *set) {
  for (size_t at = 0, end; at < list.length; at = end + 1) {
    end = kdl_text_find(list, at, ",");
    int bit = list.data[at] == '+'
                  ? kdl_feature_bit(which, (kdl_string){list.data + at + 1, end - at - 1})
                  : -1;
    if (bit >= 0)
      kdl_feature_add(set, (unsigned)bit);
  }
}

static kdl_feature_set features_in(kdl_string attributes, kdl_feature_class which) {
  kdl_feature_set set = {{0, 0}};
  while (cli_text_after(attributes, "\"target-features\"=\"", &attributes))
    add_listed_features(cli_text_until(attributes, "\""), which, &set);
  return set;
}

void cc_examine_functions(kdl_string ir, const cc_target *target, kdl_feature_set *needs) {
  kdl_feature_set used = features_in(ir, target->features), free = target->available_features;
  if (target->features == KDL_CLASS_AARCH64) /* hints, which other CPUs ignore */
    kdl_feature_add(&free, KDL_AARCH64_BTI);
  needs->word[0] |= used.word[0] & ~free.word[0];
  needs->word[1] |= used.word[1] & ~free.word[1];
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static kdl_status compare_names(const cli_name_set *shown, const cc_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; ++i) {
    if (!cli_name_set_has(shown, kdl_text_of(kernels->items[i].name)))
      return kdl_fail(KDL_BAD_FILE, "the source defines the kernel %s, and the image lacks it",
                      kernels->items[i].name);
  }
  return KDL_OK;
}

kdl_status cc_examine_kernels(kdl_image_kind kind, kdl_string image, const cc_kernels *kernels) {
  cli_name_set shown = {.count = 0};
  kdl_status status = cli_name_set_read_kernels(kind, image.data, image.length, &shown);
  if (status == KDL_OK)
    status = compare_names(&shown, kernels);
  cli_name_set_free(&shown);
  char problem[192];
  for (size_t i = 0; i < kernels->count && status == KDL_OK; ++i) {
    const cc_kernel *kernel = &kernels->items[i];
    if (cli_signature_contradicts(kind, image, kdl_text_of(kernel->name), kdl_text_of(kernel->sig),
                                  0, problem, sizeof problem))
      status = kdl_fail(KDL_BAD_FILE, "the source says that %s is %s, and the image disagrees: %s",
                        kernel->name, kernel->sig, problem);
  }
  return status == KDL_UNSUPPORTED ? KDL_OK : status;
}
