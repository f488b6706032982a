/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommands of `kdl cache` that do more than list entries. */
#ifndef KDL_EXT_JIT_COMMANDS_CACHE_H
#define KDL_EXT_JIT_COMMANDS_CACHE_H

#include "support/system/cache_settings.h"
#include "tools/common/options.h"

/* Writes every entry that is valid on this machine into a folder, with portable keys. */
kdl_status cli_cache_export(const kdl_cache_settings *settings, const char *folder);

/* Copies every entry of such a folder into the cache. */
kdl_status cli_cache_import(const kdl_cache_settings *settings, const char *folder);

/* Links a file's bitcode for the devices of --for, into the cache or the folder of --into. */
kdl_status cli_cache_warm(const cli_args *args, const char *file);

/* Prints where the cache and its tiers are, and what each holds. */
kdl_status cli_cache_stat(const kdl_cache_settings *settings, const cli_args *args);

#endif
