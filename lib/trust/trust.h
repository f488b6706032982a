/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checks of the images of a file, for the library only. */
#ifndef KDL_LIB_TRUST_TRUST_H
#define KDL_LIB_TRUST_TRUST_H

#include "lib/inspect/trust.h"

/* The key ID as minisign prints it: hexadecimal, last byte first. */
void kdl_key_id_print(const uint8_t id[KDL_KEY_ID], char out_text[KDL_KEY_ID_TEXT]);

/* Whether the current FILE.minisig permits loading all images of a file. The caller applies the
 * policy to the result per image. */
kdl_status kdl_trust_check_detached(const char *file, const kdl_signed_image *images, size_t count);

/* Under `warn`, prints the last error to standard error and permits the image. */
kdl_status kdl_trust_apply_policy(kdl_status status, const char *file, uint32_t index);

/* Checks that the key signed this message and comment. */
kdl_status kdl_signature_check(const kdl_signature *signature, const kdl_public_key *key,
                               kdl_string message, bool *out_fits);

#endif
