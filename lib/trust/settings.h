/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The settings for signatures: KDL_TRUST, /etc/kdl/trust, /etc/kdl/keys.d. Read once. Ignores
 * folders and files that users other than root and this one may write to. */
#ifndef KDL_LIB_TRUST_SETTINGS_H
#define KDL_LIB_TRUST_SETTINGS_H

#include "lib/hooks.h"
#include "lib/inspect/trust.h"

#include <limits.h>

enum { KDL_TRUST_LIMIT_KEYS = 64, KDL_TRUST_LIMIT_FILE = 4096 };

typedef struct kdl_trust_settings {
  kdl_trust_policy policy;
  char problem[PATH_MAX + 256]; /* why the policy is unknown, so that nothing is loaded; "" */
  bool is_out_of_memory;        /* the problem is lack of memory */
  char folder[PATH_MAX];        /* of the keys */
  kdl_public_key keys[KDL_TRUST_LIMIT_KEYS];
  size_t key_count;
} kdl_trust_settings;

const kdl_trust_settings *kdl_trust_settings_read(void);

/* Disables all checks, if called before that. */
void kdl_trust_disable(void);

/* The effective policy: the user's. In a program with more rights than its user, at least as strict
 * as the system's. */
kdl_trust_policy kdl_trust_effective_policy(kdl_trust_policy of_system, kdl_trust_policy of_user,
                                            bool is_privileged);

/* Reads a key or signature file, of less than KDL_TRUST_LIMIT_FILE bytes. */
bool kdl_trust_read_file(int fd, char text[KDL_TRUST_LIMIT_FILE], kdl_string *out_text);

const char *kdl_trust_policy_name(kdl_trust_policy policy);

#endif
