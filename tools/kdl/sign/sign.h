/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of keys and signatures, for kdl sign and kdl verify. */
#ifndef KDL_TOOL_SIGN_H
#define KDL_TOOL_SIGN_H

#include "lib/inspect/trust.h"
#include "tools/common/input.h"

/* Keys that are files of minisign's. */
kdl_status cli_public_key_open(const char *path, kdl_public_key *out_key);
kdl_status cli_secret_key_open(const char *path, kdl_secret_key *out_key);

/* A signature that is a file. It points into the bytes, to be freed after it. */
kdl_status cli_signature_open(const char *path, cli_bytes *out_bytes, kdl_signature *out_signature);

/* What is signed of the file's images, as they are: of one, or of all that are in no other
 * (SIZE_MAX). malloc'ed. */
kdl_status cli_sign_message(const cli_input *input, size_t index, kdl_string *out_message);

/* Whether an image's own signature is by the key. */
kdl_status cli_sign_check(const cli_input *input, size_t index, const kdl_public_key *key);

/* Whether a file has a signature of all images, by the key. */
kdl_status cli_sign_check_detached(const cli_input *input, const char *path,
                                   const kdl_public_key *key);

#endif
