/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries, beyond <kdl/kdl.h>: limits, opening, bytes, how their file stores images, writing. */
#ifndef KDL_LIB_INSPECT_LIBRARIES_H
#define KDL_LIB_INSPECT_LIBRARIES_H

#include "support/base/blake2b.h"

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

/* The *.offload files of a folder, sorted by name; free() the array. *out_files is NULL where
 * `path` is not an existing folder. KDL_IO for a folder without any. */
kdl_status kdl_search_folder(const char *path, char ***out_files, size_t *out_count);

/* Opens a file, or all files of a folder as one library. `is_installed`: it is trusted as libkdl
 * is, with which it is installed. */
kdl_status kdl_library_open_path(const char *path, bool is_installed, kdl_library **out_lib);

/* Opens a part of a file as a library. */
kdl_status kdl_library_open_part(const char *path, const char *name, uint64_t offset, uint64_t size,
                                 kdl_library **out_lib);

/* ------------------------------------------------------------------------------------------ */
/* Contents                                                                                     */

/* Acquires an image's bytes: kdl_image_bytes for callers that read many images and keep none. Each
 * success needs one release. */
kdl_status kdl_library_acquire_bytes(kdl_library *lib, size_t index, const void **out_data,
                                     size_t *out_size);
void kdl_library_release_bytes(kdl_library *lib, size_t index);

/* "image 2 (cubin sm_90)" */
void kdl_image_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size);

/* kdl_image_bytes for bytes that will run. VERIFIED: KDL_BAD_FILE where the image's signature is
 * not trusted (lib/inspect/trust.h), or its digest does not match its metadata; if either is
 * checked, these are the bytes that were checked. The first call for an image checks. PRIVATE: in
 * memory that no other process can change or truncate: the bytes that were checked, or a copy of a
 * file's. */
typedef enum kdl_bytes_use { KDL_BYTES_VERIFIED, KDL_BYTES_PRIVATE } kdl_bytes_use;
kdl_status kdl_library_bytes(kdl_library *lib, uint32_t index, kdl_bytes_use use,
                             const void **out_data, size_t *out_size);

/* The last pair with that key, or NULL. */
const kdl_string *kdl_find_value(const kdl_pair *pairs, size_t count, const char *key);

/* ------------------------------------------------------------------------------------------ */
/* Images as their file stores them                                                             */

typedef struct kdl_source kdl_source;

/* An image as stored in its file, for programs that rewrite the file. Offsets are those in its
 * source. */
typedef struct kdl_stored_image {
  kdl_image_kind kind;
  uint16_t offload_kind;
  bool is_link_input; /* by its section: input of a device linker */
  bool is_packed;     /* its source is a compressed part of the file, maybe with other images */
  uint8_t codec;      /* kdl_codec, of the image alone */
  uint64_t header_offset;
  uint64_t offset;
  uint64_t stored_size;
  uint64_t size;       /* inflated */
  size_t parent;       /* index, or KDL_NO_PARENT */
  size_t module;       /* images of one module are variants of the same code */
  kdl_string arch;     /* "" where unknown */
  const char *label;   /* format and location, for messages */
  const char *problem; /* why its nested images cannot be listed; NULL where they can */
  const kdl_source *source;
} kdl_stored_image;

/* All images, for as long as the library is open; NULL when out of memory. */
const kdl_stored_image *kdl_stored_images(kdl_library *lib);

/* The source of images: a file, or a compressed part of another source. */
typedef struct kdl_source_info {
  uint64_t size;
  uint8_t codec;           /* kdl_codec; KDL_CODEC_NONE for a file, whose other members are 0 */
  const kdl_source *outer; /* the source of the compressed bytes */
  uint64_t packed_offset;  /* in `outer` */
  uint64_t packed_size;    /* in `outer` */
} kdl_source_info;

kdl_source_info kdl_source_read(const kdl_source *source);

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

/*
 * Writing OffloadBinaries whose images are not all in memory: an image's bytes are acquired while
 * it is written. Also the key kdl.digest, the digest of an image's bytes (docs/metadata.md).
 */

/* kdl_writer_add, or kdl_writer_add_with_digest, with the bytes of an image of a library, which
 * must stay open until the writer is destroyed; ignores `data`. */
kdl_status kdl_writer_add_copy(kdl_writer *writer, const kdl_writer_image *image, kdl_library *from,
                               uint32_t index, bool with_digest);

/* Writes the file image by image; compressed formats at once. `shown` is the file's name in
 * messages. */
kdl_status kdl_writer_write(kdl_writer *writer, int fd, const char *shown);

/* ------------------------------------------------------------------------------------------ */
/* Digests                                                                                      */

#define KDL_DIGEST_KEY "kdl.digest"
#define KDL_DIGEST_METHOD "blake2b-256:"

/* "blake2b-256:" and 64 hexadecimal digits, with a NUL. */
enum { KDL_DIGEST_VALUE = sizeof KDL_DIGEST_METHOD - 1 + KDL_DIGEST_TEXT };

/* Whether a value is well-formed; else the position of the error. */
bool kdl_digest_is_readable(kdl_string value, size_t *out_position);

/* KDL_BAD_FILE, with the key, found and expected, where the pairs have a digest that differs from
 * that of the bytes. */
kdl_status kdl_digest_check(const kdl_pair *pairs, size_t count, const void *data, size_t size);

#endif
