/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LLVM 22's rule, with its limits: triples are compared as text, only AMD has a rule of its own,
 * and that rule looks for the features' names anywhere in the target ID. */
#include "target/llvm_rule.h"

#include "target/text.h"

static bool contradicts(kdl_string left, kdl_string right, const char *on, const char *off) {
  return (kdl_text_contains(left, on) && kdl_text_contains(right, off)) ||
         (kdl_text_contains(left, off) && kdl_text_contains(right, on));
}

static bool is_amdgpu(kdl_string triple) {
  size_t end = kdl_text_find(triple, 0, "-");
  kdl_string arch = {triple.data, end};
  return kdl_text_is(arch, "amdgcn") || kdl_text_is(arch, "r600");
}

bool kdl_llvm_targets_compatible(kdl_string left_triple, kdl_string left_arch,
                                 kdl_string right_triple, kdl_string right_arch) {
  if (!kdl_text_equal(left_triple, right_triple) || kdl_text_equal(left_arch, right_arch))
    return false;
  if (kdl_text_is(left_arch, "generic") || kdl_text_is(right_arch, "generic"))
    return true;
  if (!is_amdgpu(left_triple))
    return false;
  kdl_string left = {left_arch.data, kdl_text_find(left_arch, 0, ":")};
  kdl_string right = {right_arch.data, kdl_text_find(right_arch, 0, ":")};
  return kdl_text_equal(left, right) && !contradicts(left_arch, right_arch, "xnack+", "xnack-") &&
         !contradicts(left_arch, right_arch, "sramecc+", "sramecc-");
}

bool kdl_llvm_takes(kdl_string image_triple, kdl_string image_arch, kdl_string wanted_triple,
                    kdl_string wanted_arch) {
  return (kdl_text_equal(image_triple, wanted_triple) && kdl_text_equal(image_arch, wanted_arch)) ||
         kdl_llvm_targets_compatible(image_triple, image_arch, wanted_triple, wanted_arch);
}
