/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_LIB_BACKENDS_COMMON_IMAGE_KIND_H
#define KDL_LIB_BACKENDS_COMMON_IMAGE_KIND_H

#include "lib/inspect/targets.h"

#include <kdl/backend.h>

/* KDL_UNSUPPORTED where drivers of the family load no images of that kind, by the rows of
 * lib/inspect/kinds.def. The message begins with "BACKEND:ORDINAL". */
kdl_status kdl_image_kind_check(const kdl_backend_image *image, kdl_target_family family,
                                const char *backend, uint32_t ordinal);

#endif
