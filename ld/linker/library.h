/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries of microkernels: fat binaries, bitcode files and folders. Each is ranked once for the
 * device, by the same rules as every image. */
#ifndef KDL_LD_LIBRARY_H
#define KDL_LD_LIBRARY_H

#include "ld/linker/module.h"
#include "ld/linker/request.h"
#include "lib/inspect/catalog.h"
#include "lib/inspect/containers.h"

typedef struct ld_symbols {
  const kdl_string *names;
  size_t count;
  bool is_read;
  const char *error; /* why the symbols could not be read, or NULL */
} ld_symbols;

typedef struct ld_library {
  const char *name; /* the path */
  kdl_container *container;
  kdl_catalog *catalog;
  kdl_ranking *ranking; /* of all images */
  ld_symbols *symbols;  /* per image */
} ld_library;

typedef struct ld_libraries {
  ld_library *items;
  size_t count;
  kdl_arena *arena;
} ld_libraries;

/* Opens the libraries of a request in order; `builtin` is the last one and may be NULL. The caller
 * frees *out_libraries, also after a failure. */
kdl_status ld_libraries_open(const ld_request *request, const char *portable, const char *builtin,
                             ld_libraries *out_libraries);
void ld_libraries_free(ld_libraries *libraries);

/* Whether an image is bitcode that defines a function of that name. Reads the image where its
 * metadata has no list. */
bool ld_library_defines(ld_libraries *libraries, ld_library *library, uint32_t image,
                        kdl_string symbol, ld_context *context);

#endif
