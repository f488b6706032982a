/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The annotations of a manifest and of its layers. */
#ifndef KDL_TOOL_OCI_MANIFEST_KEYS_H
#define KDL_TOOL_OCI_MANIFEST_KEYS_H

#define OCI_KEY_TITLE "org.opencontainers.image.title"
#define OCI_KEY_FORMAT "vnd.kdl.format"
#define OCI_KEY_WHOLE "vnd.kdl.digest"

#define OCI_KEY_IMAGE "vnd.kdl.image"
#define OCI_KEY_CHOICE "vnd.kdl.choice"
#define OCI_CHOICE_ANY_TEXT "any"
#define OCI_CHOICE_UNKNOWN_TEXT "unknown"

#endif
