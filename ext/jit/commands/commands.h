/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl link and kdl cache, and their part of kdl doctor. */
#ifndef KDL_EXT_JIT_COMMANDS_COMMANDS_H
#define KDL_EXT_JIT_COMMANDS_COMMANDS_H

#include "support/system/cache_settings.h"
#include "tools/common/command.h"
#include "tools/common/options.h"

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

/* ------------------------------------------------------------------------------------------ */
/* The subcommands of kdl cache that do more than list entries                                  */

/* Writes every entry that is valid on this machine into a folder, with portable keys. */
kdl_status cli_cache_export(const kdl_cache_settings *settings, const char *folder);

/* Copies every entry of such a folder into the cache. */
kdl_status cli_cache_import(const kdl_cache_settings *settings, const char *folder);

/* Links a file's bitcode for the devices of --for, into the cache or the folder of --into. */
kdl_status cli_cache_warm(const cli_args *args, const char *file);

/* Prints where the cache and its tiers are, and what each holds. */
kdl_status cli_cache_stat(const kdl_cache_settings *settings, const cli_args *args);

#endif
