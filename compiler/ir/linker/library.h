/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries of microkernels: fat binaries, bitcode files and folders. Each is ranked once for the
 * device, by the same rules as every image. */
#ifndef KDL_COMPILER_IR_LINKER_LIBRARY_H
#define KDL_COMPILER_IR_LINKER_LIBRARY_H

#include "compiler/ir/linker/module.h"
#include "compiler/ir/linker/request.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"

typedef struct ir_symbols {
  const kdl_string *names;
  size_t count;
  bool is_read;
  const char *error; /* why the symbols could not be read, or NULL */
} ir_symbols;

typedef struct ir_library {
  const char *name; /* the path */
  kdl_library *lib;
  kdl_ranking *ranking; /* of all images */
  ir_symbols *symbols;  /* per image */
} ir_library;

typedef struct ir_libraries {
  ir_library *items;
  size_t count;
  kdl_arena *arena;
} ir_libraries;

/* Opens the libraries of a request in order; `builtin` is the last one and may be NULL. The caller
 * frees *out_libraries, also after a failure. */
kdl_status ir_libraries_open(const ir_request *request, const char *portable, const char *builtin,
                             ir_libraries *out_libraries);
void ir_libraries_free(ir_libraries *libraries);

/* Whether an image is bitcode that defines a function of that name. Reads the image where its
 * metadata has no list. */
bool ir_library_defines(ir_libraries *libraries, ir_library *library, uint32_t image,
                        kdl_string symbol, ir_context *context);

#endif
