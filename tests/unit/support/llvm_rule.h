/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM 22's own rule, for comparison. Its limits are LLVM's: triples are compared as text, only AMD
 * has a rule, and that one searches for the features' names anywhere in the target ID. */
#ifndef KDL_TESTS_UNIT_LLVM_RULE_H
#define KDL_TESTS_UNIT_LLVM_RULE_H

#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>

static inline bool llvm_contradicts(kdl_string left, kdl_string right, const char *on,
                                    const char *off) {
  return (kdl_text_contains(left, on) && kdl_text_contains(right, off)) ||
         (kdl_text_contains(left, off) && kdl_text_contains(right, on));
}

static inline bool llvm_is_amdgpu(kdl_string triple) {
  size_t end = kdl_text_find(triple, 0, "-");
  kdl_string arch = {triple.data, end};
  return kdl_text_is(arch, "amdgcn") || kdl_text_is(arch, "r600");
}

/* llvm::object::areTargetsCompatible for two (triple, arch) pairs. It is for targets that differ:
 * for two equal ones it returns false. */
static inline bool llvm_targets_compatible(kdl_string left_triple, kdl_string left_arch,
                                           kdl_string right_triple, kdl_string right_arch) {
  if (!kdl_text_equal(left_triple, right_triple) || kdl_text_equal(left_arch, right_arch))
    return false;
  if (kdl_text_is(left_arch, "generic") || kdl_text_is(right_arch, "generic"))
    return true;
  if (!llvm_is_amdgpu(left_triple))
    return false;
  kdl_string left = {left_arch.data, kdl_text_find(left_arch, 0, ":")};
  kdl_string right = {right_arch.data, kdl_text_find(right_arch, 0, ":")};
  return kdl_text_equal(left, right) &&
         !llvm_contradicts(left_arch, right_arch, "xnack+", "xnack-") &&
         !llvm_contradicts(left_arch, right_arch, "sramecc+", "sramecc-");
}

/* The question its callers ask: the image's target is the wanted one or compatible with it. */
static inline bool llvm_takes(kdl_string image_triple, kdl_string image_arch,
                              kdl_string wanted_triple, kdl_string wanted_arch) {
  return (kdl_text_equal(image_triple, wanted_triple) && kdl_text_equal(image_arch, wanted_arch)) ||
         llvm_targets_compatible(image_triple, image_arch, wanted_triple, wanted_arch);
}

#endif
