/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strings of JSON that may be long, and what they must be. */
#ifndef KDL_TOOL_OCI_JSON_TEXT_H
#define KDL_TOOL_OCI_JSON_TEXT_H

#include "base/arena.h"
#include "base/json/reader.h"
#include "oci/digest.h"

/* Into the arena, whatever its length. */
kdl_status oci_json_text(kdl_json *json, kdl_arena *arena, kdl_string *out_text);

kdl_status oci_json_digest(kdl_json *json, char out_digest[OCI_DIGEST_TEXT]);

#endif
