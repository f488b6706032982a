/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CUDA and HIP, as Clang has them: the device's side of a program, with the vendor's own headers.
 */
#ifndef KDL_TOOL_CC_VENDOR_LANGUAGE_H
#define KDL_TOOL_CC_VENDOR_LANGUAGE_H

#include "cc/job/job.h"

/* Whether the source is in one of them. */
bool cc_vendor_is(const cc_job *job);

/* Why the target has no image from such a source; NULL where it has one. */
const char *cc_vendor_refusal(const cc_job *job);

/* The target and the language, for every call of Clang. */
void cc_vendor_add(kdl_words *words, const cc_job *job);

#endif
