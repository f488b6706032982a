/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Environment variables, which code reads by a constant of environment.def: one without a row does
 * not compile. Needs libc alone: the MLIR runtime and ext/inject, which cannot call functions that
 * libkdl hides, compile variables.c too. */
#ifndef KDL_SUPPORT_SYSTEM_VARIABLES_H
#define KDL_SUPPORT_SYSTEM_VARIABLES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kdl_variable {
#define KDL_VARIABLE_GROUP(heading)
#define KDL_VARIABLE_ROW(constant, name, rule, meaning) constant,
#include "support/system/environment.def"
#undef KDL_VARIABLE_ROW
#undef KDL_VARIABLE_GROUP
  KDL_VARIABLE_COUNT,
} kdl_variable;

typedef enum kdl_variable_rule {
  KDL_VARIABLE_RULE_USUAL,      /* unset in programs with more rights than their user (AT_SECURE) */
  KDL_VARIABLE_RULE_LINK_KEY,   /* the same, and its value is in the link key: what kdl-ld makes
                                   depends on it, and on nothing else of the key */
  KDL_VARIABLE_RULE_PRIVILEGED, /* read in such programs too: it cannot give away rights */
} kdl_variable_rule;

const char *kdl_variable_name(kdl_variable which);

/* KDL_VARIABLE_COUNT where none has the name. */
kdl_variable kdl_variable_find(const char *name, size_t length);

kdl_variable_rule kdl_variable_rule_of(kdl_variable which);

/* NULL where unset, empty, or not to be trusted. */
const char *kdl_environment(kdl_variable which);

/* The same, but "" where it is set to nothing: to a driver an empty list of devices means none. */
const char *kdl_environment_or_empty(kdl_variable which);

#ifdef __cplusplus
}
#endif

#endif
