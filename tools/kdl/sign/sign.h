/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Key and signature files, for kdl sign and kdl verify. */
#ifndef KDL_TOOLS_KDL_SIGN_SIGN_H
#define KDL_TOOLS_KDL_SIGN_SIGN_H

#include "lib/inspect/trust.h"
#include "tools/common/input.h"

/* Opens keys in minisign's format. */
kdl_status cli_public_key_open(const char *path, kdl_public_key *out_key);
kdl_status cli_secret_key_open(const char *path, kdl_secret_key *out_key);

/* Opens a signature file. The signature points into the bytes, which the caller frees. */
kdl_status cli_signature_open(const char *path, cli_bytes *out_bytes, kdl_signature *out_signature);

/* The message to sign: of one image, or of all that are not nested (SIZE_MAX). malloc'ed. */
kdl_status cli_sign_message(const cli_input *input, size_t index, kdl_string *out_message);

/* Verifies an image's own signature with the key. */
kdl_status cli_sign_check(const cli_input *input, size_t index, const kdl_public_key *key);

/* Verifies a file's detached signature of all images with the key. */
kdl_status cli_sign_check_detached(const cli_input *input, const char *path,
                                   const kdl_public_key *key);

#endif
