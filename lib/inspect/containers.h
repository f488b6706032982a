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

typedef struct kdl_container kdl_container;

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

kdl_container *kdl_library_container(const kdl_library *lib);

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

/* Opens a file, or all files of a folder as one library; `name` is for messages, NULL: the path. */
kdl_status kdl_search_open(const char *path, const char *name, kdl_container **out_container);
void kdl_container_close(kdl_container *container);

/* Marks it as installed with libkdl, and as trusted as that. */
void kdl_container_set_installed(kdl_container *container);

/* ------------------------------------------------------------------------------------------ */
/* Contents                                                                                     */

/* Its name in messages. */
const char *kdl_container_name(const kdl_container *container);
size_t kdl_container_count(const kdl_container *container);
size_t kdl_container_module_count(const kdl_container *container);

/* As kdl_image_get; the index must be valid. */
kdl_image_info kdl_container_image(const kdl_container *container, size_t index);

/* The last pair with that key, or NULL. */
const kdl_string *kdl_find_value(const kdl_pair *pairs, size_t count, const char *key);

/* The image's bytes, inflated if needed, until the container is closed; see kdl_image_bytes. */
kdl_status kdl_container_bytes(kdl_container *container, uint32_t index, const void **out_data,
                               size_t *out_size);

/* The same in memory that no other process can change or truncate: bytes of a file are copied. */
kdl_status kdl_container_private_bytes(kdl_container *container, uint32_t index,
                                       const void **out_data, size_t *out_size);

/* The same for bytes that will run: KDL_BAD_FILE where the image's signature is not trusted
 * (lib/inspect/trust.h), or its digest does not match its metadata. If either is checked, these are
 * the bytes that were checked. The first call for an image checks. */
kdl_status kdl_container_verified_bytes(kdl_container *container, uint32_t index,
                                        const void **out_data, size_t *out_size);

/* Whether kdl_container_verified_bytes copied them, so that they cannot change. */
bool kdl_container_is_verified(const kdl_container *container, uint32_t index);

#endif
