/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Generates documents from the table of commands.h, those of lib/inspect and that of the
 * environment's variables; each function prints a part. */
#ifndef KDL_TOOLS_KDL_DESCRIBE_DESCRIBE_H
#define KDL_TOOLS_KDL_DESCRIBE_DESCRIBE_H

#include "tools/kdl/commands.h"

#include <stddef.h>

/* The man page, in mdoc. */
void describe_man_synopsis(void);
void describe_man_commands(void);
void describe_man_exit_codes(void);
void describe_man_variables(void);

/* Text in which nothing is a macro or an escape. */
void describe_put_mdoc(const char *text, size_t length);

/* Markdown: a table for each group of variables. */
void describe_variable_tables(void);

/* Completions: names and options of commands, and the values of options. */
void describe_bash_options(void);
void describe_bash_actions(void);
void describe_bash_values(void);
void describe_zsh_commands(void);
void describe_zsh_options(void);

/* The table of NVIDIA's architectures, in Markdown. */
void describe_nvidia(void);

/* The names of image kinds: one a line, those of the man page, and a term of docs/cli.md. */
void describe_image_kinds(void);
void describe_man_image_kinds(void);
void describe_image_kind_term(void);

/* The names that completions offer, of the last column of lib/inspect/nvptx.def. */
#define DESCRIBE_OFFER_NONE(number, after)
#define DESCRIBE_OFFER_SM(number, after) "sm_" #number after
#define DESCRIBE_OFFER_SM_PTX(number, after) "sm_" #number after "compute_" #number after
#define DESCRIBE_OFFER_SM_A_PTX(number, after)                                                     \
  "sm_" #number after "sm_" #number "a" after "compute_" #number after

#endif
