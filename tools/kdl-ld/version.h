/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which kdl-ld this is: what it makes may change with each of these. */
#ifndef KDL_LD_VERSION_H
#define KDL_LD_VERSION_H

#include <stddef.h>

/* "22.1.8", of the LLVM that was loaded. */
void ld_version_llvm(char *buffer, size_t size);

/* The file of that LLVM; "" where it is unknown. */
const char *ld_version_library(void);

/* The GNU build ID of the program in hexadecimal digits; "none" where the linker made none. */
void ld_version_build(char *buffer, size_t size);

#endif
