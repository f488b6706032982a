/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report as JSON (docs/linking.md), and the version of kdl-ld. */
#ifndef KDL_LD_REPORT_H
#define KDL_LD_REPORT_H

#include "compiler/ir/emit/emit.h"

/* `error` is NULL after success, `output` where there is none. The caller frees the result. */
char *ld_report_make(const ir_linker *linker, const ir_output *output, const char *error,
                     size_t *out_size);

/* ------------------------------------------------------------------------------------------ */
/* Versions on which the output of kdl-ld depends (version.c)                                   */

/* "22.1.8", of the LLVM that is loaded. */
void ld_version_llvm(char *buffer, size_t size);

/* The path of that LLVM; "" where unknown. */
const char *ld_version_library(void);

/* The program's GNU build ID in hexadecimal; "none" where it has none. */
void ld_version_build(char *buffer, size_t size);

#endif
