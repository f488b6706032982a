/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl link and kdl cache, and their part of kdl doctor. */
#ifndef KDL_EXT_JIT_COMMANDS_COMMANDS_H
#define KDL_EXT_JIT_COMMANDS_COMMANDS_H

#include "tools/common/command.h"

#include <kdl/kdl.h>

int cli_run_link(const cli_args *args);
int cli_run_cache(const cli_args *args);

extern const cli_command cli_command_link, cli_command_cache;

/* For kdl explain: the values for which the kernel's bitcode has images in the cache; nothing where
 * its metadata names none. */
kdl_status cli_specialized_print(kdl_library *lib, const char *kernel);

/* Print whether kdl-ld works, and where the cache is. */
void cli_doctor_linker(void);
void cli_doctor_cache(void);

#endif
