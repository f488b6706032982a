/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The caller and the microkernels it needs, made one module. */
#ifndef KDL_LD_LINKER_H
#define KDL_LD_LINKER_H

#include "linker/choose.h"
#include "linker/constants.h"
#include "linker/stages.h"
#include "linker/target.h"

typedef struct ld_linker {
  const ld_request *request;
  ld_context *context;
  ld_libraries libraries;
  char *builtin; /* the path of the last library, or NULL */
  ld_target target;
  ld_stages stages;
  LLVMModuleRef module; /* the caller; in the end, all of it */
  ld_words kernels;     /* those that are kept */
  ld_choice *choices;   /* one for each microkernel */
  size_t choice_count;
  ld_words undefined; /* what stays so */
  ld_words depends;   /* files that the result depends on, beyond those that were given */
  ld_constants constants;
  size_t calls_before;
  size_t calls_after;
} ld_linker;

/* Adds a copy of a word to words that are freed one by one. */
kdl_status ld_words_add(ld_words *words, const char *word);
void ld_words_free(ld_words *words);

/* Drops of the caller what the wanted kernels do not need. */
kdl_status ld_link_keep(ld_linker *linker);

/* Chooses and links every microkernel that is needed; nothing is inlined yet. */
kdl_status ld_link(ld_linker *linker);

/* Binds constants; everything but kernels and exported variables becomes the module's own. */
kdl_status ld_link_close(ld_linker *linker);

#endif
