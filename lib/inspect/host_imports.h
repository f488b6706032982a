/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions that a host image may leave to the process that loads it. */
#ifndef KDL_INSPECT_HOST_IMPORTS_H
#define KDL_INSPECT_HOST_IMPORTS_H

#include <kdl/kdl.h>

typedef enum kdl_host_import {
  KDL_HOST_IMPORT_NONE, /* not one of them */
  KDL_HOST_IMPORT_LIBC,
  KDL_HOST_IMPORT_LIBM,
} kdl_host_import;

/* No name of one is as long. */
enum { KDL_HOST_LIMIT_IMPORT = 64 };

kdl_host_import kdl_host_import_of(kdl_string name);

#endif
