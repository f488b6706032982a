/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which images are loaded, by who signed them: KDL_TRUST, keys of /etc/kdl/keys.d. What was found
 * right is remembered for as long as the process lives.
 */
#ifndef KDL_TRUST_TRUST_H
#define KDL_TRUST_TRUST_H

#include "trust/message.h"
#include "trust/minisign.h"

typedef enum kdl_trust_policy {
  KDL_TRUST_OFF,
  KDL_TRUST_WARN,
  KDL_TRUST_REQUIRE,
} kdl_trust_policy;

/* KDL_TRUST, else what /etc/kdl/trust says, else off; read once. Where the program has more rights
 * than its user, the stricter of the two. KDL_BAD_CALL where it is none of the words. */
kdl_status kdl_trust_read_policy(kdl_trust_policy *out_policy);

/* What counts of what the system and the user say: the user's, but where the program has more
 * rights than its user it cannot be less strict than the system's. */
kdl_trust_policy kdl_trust_decide(kdl_trust_policy of_system, kdl_trust_policy of_user,
                                  bool is_privileged);

/* Whether an image may be loaded by its own signature; under `warn` what speaks against it goes to
 * standard error, and it may. `file` is named there. */
kdl_status kdl_trust_check(const char *file, uint32_t index, const kdl_signed_image *image);

/* Likewise by the signature in FILE.minisig, of all the images of a file. */
kdl_status kdl_trust_check_beside(const char *file, uint32_t index, const kdl_signed_image *images,
                                  size_t count);

/* Whether a signature of a message is by one of the keys. `where` says which keys they are. */
kdl_status kdl_trust_check_by(const kdl_signature *signature, kdl_string message,
                              const kdl_public_key *keys, size_t count, const char *where);

#endif
