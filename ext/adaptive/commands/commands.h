/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl tune, and the measured times in kdl explain and kdl cache. */
#ifndef KDL_EXT_ADAPTIVE_COMMANDS_COMMANDS_H
#define KDL_EXT_ADAPTIVE_COMMANDS_COMMANDS_H

#include "tools/common/command.h"
#include "tools/common/json.h"

#include <kdl/kdl.h>

int cli_run_tune(const cli_args *args);

extern const cli_command cli_command_tune;

/* Prints what was measured of a kernel's variants: each table of this user's cache with one of the
 * library's images, else those that the library carries, by classes of problems. *out_count is the
 * number of classes. */
kdl_status cli_choices_print(kdl_library *lib, const char *kernel, size_t *out_count);

/* The same as an array of JSON. */
kdl_status cli_choices_json(kdl_library *lib, const char *kernel, cli_json *json);

/* The tables of a kernel that have one of the library's images, as lines; malloc'ed, NULL where
 * there is none. */
char *cli_choices_collect(kdl_library *lib, const char *kernel, size_t *out_size);

/* For kdl cache: the tables of this user; `is_long`: with every feature of a CPU. */
kdl_status cli_choices_list(bool is_long);
kdl_status cli_choices_clear(void);
kdl_status cli_choices_export(const char *folder);
kdl_status cli_choices_import(const char *folder);

#endif
