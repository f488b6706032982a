/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which images are loaded, by who signed them: KDL_TRUST, keys of /etc/kdl/keys.d. What was found
 * right is remembered for as long as the process lives.
 */
#ifndef KDL_TRUST_TRUST_H
#define KDL_TRUST_TRUST_H

#include "lib/trust/message.h"
#include "lib/trust/settings.h"
#include "support/base/blake2b.h"

/* KDL_TRUST, else what /etc/kdl/trust says, else off; read once. Where the program has more rights
 * than its user, the stricter of the two. KDL_BAD_CALL where it is none of the words. */
kdl_status kdl_trust_read_policy(kdl_trust_policy *out_policy);

/* Of the keys that images must be signed by; false where they need not be. */
bool kdl_trust_identity(kdl_digest *out_digest);

/* Reads and opens what checking needs, for a program that soon may not. */
void kdl_trust_prepare(void);

/* Whether an image may be loaded by its own signature; under `warn` what speaks against it goes to
 * standard error, and it may. `file` is named there. */
kdl_status kdl_trust_check(const char *file, uint32_t index, const kdl_signed_image *image);

/* Whether all the images of a file may be by the signature in FILE.minisig, as it is now. What
 * speaks against it is to be judged for each image that is wanted. */
kdl_status kdl_trust_check_beside(const char *file, const kdl_signed_image *images, size_t count);

/* Under `warn`, what the last error says goes to standard error, and the image may be loaded. */
kdl_status kdl_trust_judge(kdl_status status, const char *file, uint32_t index);

/* Whether a signature of a message is by one of the keys. `where` says which keys they are. */
kdl_status kdl_trust_check_by(const kdl_signature *signature, kdl_string message,
                              const kdl_public_key *keys, size_t count, const char *where);

#endif
