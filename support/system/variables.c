/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/variables.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Names of one size need no relocations when a program starts. */
enum { name_size = 36 };

static const struct {
  char name[name_size];
  uint8_t rule;
} variables[] = {
#define KDL_VARIABLE_GROUP(heading)
#define KDL_VARIABLE_ROW(constant, name, rule, meaning) [constant] = {name, rule},
#include "support/system/environment.def"
#undef KDL_VARIABLE_ROW
};

#define KDL_VARIABLE_ROW(constant, name, rule, meaning)                                            \
  _Static_assert(sizeof name <= name_size, name " does not fit: enlarge name_size");
#include "support/system/environment.def"
#undef KDL_VARIABLE_ROW
#undef KDL_VARIABLE_GROUP

const char *kdl_variable_name(kdl_variable which) {
  return variables[which].name;
}

kdl_variable kdl_variable_find(const char *name, size_t length) {
  kdl_variable which = 0;
  while (which < KDL_VARIABLE_COUNT && (strlen(variables[which].name) != length ||
                                        memcmp(variables[which].name, name, length) != 0))
    ++which;
  return which;
}

kdl_variable_rule kdl_variable_rule_of(kdl_variable which) {
  return (kdl_variable_rule)variables[which].rule;
}

const char *kdl_environment_or_empty(kdl_variable which) {
  return variables[which].rule == KDL_VARIABLE_RULE_PRIVILEGED
             ? getenv(variables[which].name)
             : secure_getenv(variables[which].name);
}

const char *kdl_environment(kdl_variable which) {
  const char *value = kdl_environment_or_empty(which);
  return value && *value ? value : NULL;
}
