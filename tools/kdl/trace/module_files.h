/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that modules come from, and their images by what a recording knows: the offset of the code
 * that was loaded, or the bytes. Each is found in constant time, since a program may load thousands
 * of modules of a file with as many images. */
#ifndef KDL_TOOLS_KDL_TRACE_MODULE_FILES_H
#define KDL_TOOLS_KDL_TRACE_MODULE_FILES_H

#include "tools/kdl/trace/modules.h"

/* Images of a module of a file; `count` 0: there is none. */
typedef struct cli_module_images {
  const uint32_t *items;
  size_t count, module;
} cli_module_images;

/* NULL: the file cannot be read, or has no images. Valid until the next file is opened. */
cli_opened_file *cli_module_file(cli_recordings *all, const char *path);
kdl_library *cli_module_file_library(const cli_opened_file *file);

/* The images of the container at an offset: those of the module of the first image after it. */
cli_module_images cli_module_file_at(const cli_opened_file *file, uint64_t offset);

/* An image with these bytes in a module of the file; that of a cubin in any. */
bool cli_module_file_find(cli_opened_file *file, uint64_t size, uint64_t hash, size_t module,
                          size_t *out_image);
bool cli_module_file_find_cubin(cli_opened_file *file, uint64_t size, uint64_t hash,
                                size_t *out_image);

/* The newest load whose container has an image with these bytes; NULL: there is none. */
const cli_load *cli_module_files_load(cli_recordings *all, cli_recorded *recorded, uint64_t size,
                                      uint64_t hash);

/* The file of that number, in the order of opening; NULL: it cannot be read. */
cli_opened_file *cli_module_file_number(cli_recordings *all, size_t number);
const char *cli_module_file_path(const cli_opened_file *file);

#endif
