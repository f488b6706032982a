/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommands that link bitcode and look at the cache, and what kdl doctor prints of both. */
#ifndef KDL_JIT_COMMANDS_H
#define KDL_JIT_COMMANDS_H

#include "tools/common/command.h"

int cli_run_link(const cli_args *args);
int cli_run_cache(const cli_args *args);

extern const cli_command cli_command_link, cli_command_cache;

/* Print what works of kdl-ld, and where the cache lies. */
void cli_doctor_linker(void);
void cli_doctor_cache(void);

#endif
