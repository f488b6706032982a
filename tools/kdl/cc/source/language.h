/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The languages of source files, by their suffix or by -x. */
#ifndef KDL_TOOL_CC_LANGUAGE_H
#define KDL_TOOL_CC_LANGUAGE_H

#include <kdl/kdl.h>

typedef enum cc_language { CC_C, CC_CXX, CC_OPENCL_C, CC_CUDA, CC_HIP } cc_language;

/* `asked` is what -x says, or NULL. KDL_BAD_CALL where the file's suffix is none that is known. */
kdl_status cc_language_of(const char *path, const char *asked, cc_language *out_language);

#endif
