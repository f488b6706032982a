/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Packages of Linux distributions, which are not opened. */
#ifndef KDL_PACK_SYSTEM_PACKAGE_H
#define KDL_PACK_SYSTEM_PACKAGE_H

#include <stddef.h>

/* "is a Debian package, which is not opened: ..."; NULL for any other file. `head`
 * is the first bytes of the file. */
const char *pack_system_package(const void *head, size_t size);

#endif
