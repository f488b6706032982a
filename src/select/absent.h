/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel that no image holds: what may have been meant. */
#ifndef KDL_SELECT_ABSENT_H
#define KDL_SELECT_ABSENT_H

#include "select/catalog.h"

/* KDL_NO_MATCH with near names where no image holds the kernel; KDL_OK where one does, or does not
 * tell. Reads the kernels of every image until it is found. */
kdl_status kdl_kernel_absent(kdl_catalog *catalog, kdl_string kernel);

#endif
