/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Splits a file into a host part and one bundle per architecture, and merges them (docs/split.md).
 *
 *     libx.so                 the file with zeros in place of its images, as holes: the same length
 *     libx.so.sm_90.offload   an OffloadBinary with the images for sm_90 and their positions
 *     libx.so.kdl-split.json  the manifest: sizes and digests of the file and of every part
 *
 * An image is cut out as it is stored. One that is stored compressed in a fatbin gets a fatbin
 * around it, so that a bundle can be used as a library.
 */
#ifndef KDL_PACK_SPLIT_SPLIT_H
#define KDL_PACK_SPLIT_SPLIT_H

#include "lib/inspect/libraries.h"
#include "support/base/arena.h"
#include "support/base/blake2b.h"
#include "tools/common/input.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPLIT_MANIFEST_SUFFIX ".kdl-split.json"

/* Keys of the images in a bundle. */
#define SPLIT_KEY_OF "kdl.split.of"     /* digest of the original file */
#define SPLIT_KEY_AT "kdl.split.at"     /* position of the image in it */
#define SPLIT_KEY_HEAD "kdl.split.head" /* number of header bytes put in front of it */
/* Position of the compressed data that it was inflated from. */
#define SPLIT_KEY_IN "kdl.split.in"
#define SPLIT_KEY_ROOM "kdl.split.room"         /* size of the compressed data ... */
#define SPLIT_KEY_INFLATED "kdl.split.inflated" /* ... and of the inflated data */

/* The part with the bytes between images that are compressed together. */
#define SPLIT_SKELETON "skeleton"

/* A piece cut out of a file: one image, or several that overlap or are compressed together. */
typedef struct split_unit {
  uint64_t at;
  uint64_t size;
  uint64_t head; /* bytes of the entry header in front of a compressed image */
  uint32_t image;
  uint32_t part;
} split_unit;

/* A compressed bundle with images for several architectures. The compressed bundle goes to one
 * part; its inflated images also go to the parts of their architectures. */
typedef struct split_stream {
  uint64_t at, size; /* of the compressed bytes */
  uint64_t uncompressed_size;
  const uint8_t *table; /* the bytes before the first image; zeros are between images */
  size_t table_size;
} split_stream;

typedef struct split_copy {
  uint32_t image, part, stream;
} split_copy;

typedef struct split_part {
  const char *key;  /* the architecture in the metadata; "several" for more than one */
  const char *arch; /* the same, printable and shortened */
  const char *file; /* file name in the folder */
  size_t images;
  uint64_t bytes; /* size of its pieces in the original file */
  uint64_t size;  /* of the bundle */
  kdl_digest digest;
  bool is_needed; /* the other parts do not work without it */
  bool is_mixed;  /* contains code for several architectures */
} split_part;

typedef struct split_plan {
  split_unit *units; /* by position */
  size_t unit_count;
  split_part *parts; /* in the order of their first image */
  size_t part_count, part_capacity;
  split_stream *streams;
  size_t stream_count, stream_capacity;
  split_copy *copies;
  size_t copy_count, copy_capacity;
  uint32_t *slots; /* parts by key, during planning: 0 is free */
  size_t packed;   /* images that are compressed together with others */
  kdl_arena arena;
} split_plan;

/* Finds the pieces to cut out. `file` is the file name without its folder. */
kdl_status split_plan_make(kdl_library *lib, const cli_bytes *bytes, const char *file,
                           split_plan *out_plan);
void split_plan_free(split_plan *plan);

/* For the plan: the part of an architecture, created if needed; and the streams. */
kdl_status split_plan_get_part(split_plan *plan, const char *file, const char *arch,
                               uint32_t *out_part);
const char *split_image_arch(const kdl_stored_image *image);
kdl_status split_plan_find_streams(split_plan *plan, kdl_library *lib, const cli_bytes *bytes,
                                   const char *file);

bool split_is_zero(const uint8_t *data, uint64_t size);

/* The manifest, for writing and reading. */
typedef struct split_manifest {
  const char *file;
  unsigned mode;
  uint64_t size;
  kdl_digest digest;
  const char *host;
  kdl_digest host_digest;
  split_part *parts;
  size_t part_count;
  kdl_arena arena;
} split_manifest;

kdl_status split_manifest_save(const split_manifest *manifest, const char *path);
kdl_status split_manifest_read(const char *path, split_manifest *out_manifest);
void split_manifest_free(split_manifest *manifest);

/* The digest of the file with zeros for the units, or with the units; and the same written to a
 * descriptor, where zeros become holes. */
kdl_digest split_host_digest(const cli_bytes *bytes, const split_plan *plan);
kdl_status split_host_save(const cli_bytes *bytes, const split_plan *plan, const char *path);

/* Whether an operand of `kdl merge` is the output of `kdl split`: a folder or a manifest. */
bool split_is_split_output(const char *operand);

/* Rebuilt bundles inflate to at most 64 MiB plus this many times the size of the file. */
enum { SPLIT_LIMIT_INFLATE_RATIO = 128 };

/* A compressed bundle that is rebuilt from inflated images. */
typedef struct split_rebuilt_bundle {
  uint64_t at, compressed_size, uncompressed_size;
  uint8_t *data; /* inflated; zeros where images are missing */
} split_rebuilt_bundle;

/* Compresses it and puts it into the file, where its header already is. */
kdl_status split_rebuilt_bundle_compress(const split_rebuilt_bundle *rebuilt, uint8_t *file,
                                         uint64_t size, const char *name);

/* Writes the file without the images that are zeros, as `kdl thin` would. */
kdl_status split_save_thinned(const uint8_t *data, size_t size, const char *name,
                              const char *output);

/* kdl merge for the output of kdl split. */
kdl_status split_merge(const cli_args *args, const char *output);

#endif
