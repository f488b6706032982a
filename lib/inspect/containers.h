/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Containers: files of images of any format. A library is built on one.
 */
#ifndef KDL_LIB_INSPECT_CONTAINERS_H
#define KDL_LIB_INSPECT_CONTAINERS_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Documented limits for untrusted input: docs/formats.md. */
enum {
  KDL_LIMIT_IMAGES = 1 << 20,
  KDL_LIMIT_PAIRS = 1 << 16,              /* per image */
  KDL_LIMIT_KEY = 4096,                   /* bytes */
  KDL_LIMIT_VALUE = 1 << 20,              /* bytes */
  KDL_LIMIT_METADATA = 256 * 1024 * 1024, /* bytes, per container */
  KDL_LIMIT_DEPTH = 4,                    /* containers within containers */
};
#define KDL_LIMIT_INFLATED ((uint64_t)1 << 36)

/* Limits in proportion to the input. Compressed parts may inflate to INFLATED_BASE bytes plus
 * INFLATED_RATIO times the packed size: each part by its own, all together by the file's. Metadata
 * may take METADATA_BASE bytes plus METADATA_RATIO times the file's size, within
 * KDL_LIMIT_METADATA. */
enum {
  KDL_INFLATED_BASE = 64 * 1024 * 1024,
  KDL_INFLATED_RATIO = 1024,
  KDL_METADATA_BASE = 16 * 1024 * 1024,
  KDL_METADATA_RATIO = 64,
};

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

/* The folders of the libraries that are installed with libkdl; fewer for a privileged program. */
typedef struct kdl_search_folders {
  size_t count;
  char paths[2][PATH_MAX];
} kdl_search_folders;

void kdl_search_system(bool is_privileged, kdl_search_folders *out_folders);

/* The *.offload files of a folder, sorted by name; *out_files is NULL where `path` is not an
 * existing folder. KDL_IO for a folder without any. */
kdl_status kdl_search_folder(const char *path, char ***out_files, size_t *out_count);
void kdl_search_folder_free(char **files, size_t count);

/* Opens a file, or all files of a folder as one library. `is_installed`: it is trusted as libkdl
 * is, with which it is installed. */
kdl_status kdl_library_open_path(const char *path, bool is_installed, kdl_library **out_lib);

/* ------------------------------------------------------------------------------------------ */
/* Contents                                                                                     */

/* Its name in messages. */
const char *kdl_library_name(const kdl_library *lib);

/* kdl_image_bytes for bytes that will run: KDL_BAD_FILE where the image's signature is not trusted
 * (lib/inspect/trust.h), or its digest does not match its metadata. If either is checked, these are
 * the bytes that were checked. The first call for an image checks. */
kdl_status kdl_library_verified_bytes(kdl_library *lib, uint32_t index, const void **out_data,
                                      size_t *out_size);

/* kdl_image_bytes in memory that no other process can change or truncate: the bytes that were
 * checked, or a copy of a file's. */
kdl_status kdl_library_private_bytes(kdl_library *lib, uint32_t index, const void **out_data,
                                     size_t *out_size);

/* The last pair with that key, or NULL. */
const kdl_string *kdl_find_value(const kdl_pair *pairs, size_t count, const char *key);

#endif
