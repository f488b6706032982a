/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What LLVM itself would take, for comparing with. */
#ifndef KDL_TARGET_LLVM_RULE_H
#define KDL_TARGET_LLVM_RULE_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* LLVM 22's llvm::object::areTargetsCompatible for two (triple, arch) pairs. It is about targets
 * that differ: of two equal ones it says no. */
bool kdl_llvm_targets_compatible(kdl_string left_triple, kdl_string left_arch,
                                 kdl_string right_triple, kdl_string right_arch);

/* The question its callers ask: the image's target is the wanted one or compatible with it. */
bool kdl_llvm_takes(kdl_string image_triple, kdl_string image_arch, kdl_string wanted_triple,
                    kdl_string wanted_arch);

#endif
