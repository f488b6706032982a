/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions that a host image may import from the process. */
#ifndef KDL_LIB_INSPECT_HOST_IMPORTS_H
#define KDL_LIB_INSPECT_HOST_IMPORTS_H

#include <kdl/kdl.h>

typedef enum kdl_host_import {
  KDL_HOST_IMPORT_NONE, /* not permitted */
  KDL_HOST_IMPORT_LIBC,
  KDL_HOST_IMPORT_LIBM,
} kdl_host_import;

/* Longer than any of their names. */
enum { KDL_HOST_LIMIT_IMPORT = 64 };

kdl_host_import kdl_host_import_of(kdl_string name);

#endif
