/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What was done, as JSON (docs/linking.md), and which kdl-ld did it. */
#ifndef KDL_LD_REPORT_H
#define KDL_LD_REPORT_H

#include "ld/emit/emit.h"

/* `error` is NULL where all went well; `output` where there is none. The caller frees it. */
char *ld_report_make(const ld_linker *linker, const ld_output *output, const char *error,
                     size_t *out_size);

/* ------------------------------------------------------------------------------------------ */
/* Versions: what kdl-ld makes may change with each of these (version.c)                        */

/* "22.1.8", of the LLVM that was loaded. */
void ld_version_llvm(char *buffer, size_t size);

/* The file of that LLVM; "" where it is unknown. */
const char *ld_version_library(void);

/* The GNU build ID of the program in hexadecimal digits; "none" where the linker made none. */
void ld_version_build(char *buffer, size_t size);

#endif
