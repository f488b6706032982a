/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What was done, as JSON: docs/linking.md. */
#ifndef KDL_LD_WRITE_REPORT_H
#define KDL_LD_WRITE_REPORT_H

#include "emit/emit.h"

/* `error` is NULL where all went well; `output` where there is none. The caller frees *out_text. */
kdl_status ld_report_make(const ld_linker *linker, const ld_output *output, const char *error,
                          char **out_text, size_t *out_size);

#endif
