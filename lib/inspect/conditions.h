/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Conditions under which a launch uses a variant: the fields `when` and `names` of a kernel's key
 * (docs/metadata.md). */
#ifndef KDL_LIB_INSPECT_CONDITIONS_H
#define KDL_LIB_INSPECT_CONDITIONS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

struct kdl_kernel_key;

/* The text of the field `when`; `data` is NULL where the key has none. */
kdl_string kdl_kernel_condition(const struct kdl_kernel_key *key);

/* The text of the fields `shape`, `specialize` and `effects`, likewise. */
kdl_string kdl_kernel_specialize(const struct kdl_kernel_key *key);
kdl_string kdl_kernel_shape(const struct kdl_kernel_key *key);
kdl_string kdl_kernel_effects(const struct kdl_kernel_key *key);

/* The index of the parameter with that name in the key's `names`; -1 where it has none. */
long kdl_kernel_find_param(const struct kdl_kernel_key *key, kdl_string name);

/* Whether a launch of these items with these arguments uses the variant; true for a key without a
 * condition. `items` may be NULL, as may each pointer of `args`: such values are not known, and
 * comparisons of them are false. */
bool kdl_kernel_is_for_launch(const struct kdl_kernel_key *key, const kdl_extent *items,
                              const kdl_args *args);

#endif
