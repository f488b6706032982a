/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the system and the user say of signatures: KDL_TRUST, /etc/kdl/trust, /etc/kdl/keys.d. Read
 * once. Folders and files that other users than this one and root may write to do not count. */
#ifndef KDL_TRUST_SETTINGS_H
#define KDL_TRUST_SETTINGS_H

#include "lib/inspect/trust.h"

#include <limits.h>

enum { KDL_TRUST_LIMIT_KEYS = 64, KDL_TRUST_LIMIT_FILE = 4096 };

typedef struct kdl_trust_settings {
  kdl_trust_policy policy;
  char problem[PATH_MAX + 256]; /* why it is not known what to load, and nothing is; "" */
  bool is_out_of_memory;        /* of memory, and that is why */
  char folder[PATH_MAX];        /* of the keys */
  kdl_public_key keys[KDL_TRUST_LIMIT_KEYS];
  size_t key_count;
} kdl_trust_settings;

const kdl_trust_settings *kdl_trust_settings_read(void);

/* What counts of what the system and the user say: the user's, but where the program has more
 * rights than its user it cannot be less strict than the system's. */
kdl_trust_policy kdl_trust_effective_policy(kdl_trust_policy of_system, kdl_trust_policy of_user,
                                            bool is_privileged);

/* A file of less than KDL_TRUST_LIMIT_FILE bytes, as keys and signatures are. */
bool kdl_trust_read_file(int fd, char text[KDL_TRUST_LIMIT_FILE], kdl_string *out_text);

#endif
