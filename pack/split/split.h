/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A file as a host part and one bundle for each architecture, and back (docs/split.md).
 *
 *     libx.so                 the file with zeros where its images lay, as holes: the same length
 *     libx.so.sm_90.offload   an OffloadBinary with the images for sm_90, each with its place
 *     libx.so.kdl-split.json  the manifest: sizes and digests of the file and of every part
 *
 * An image is cut out as it is stored. One that is stored compressed in a fatbin is put into a
 * fatbin of its own, so that a bundle is a library by itself.
 */
#ifndef KDL_TOOL_SPLIT_H
#define KDL_TOOL_SPLIT_H

#include "lib/inspect/images.h"
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
#define SPLIT_KEY_OF "kdl.split.of"     /* the digest of the file that was split */
#define SPLIT_KEY_AT "kdl.split.at"     /* where the image lay in it */
#define SPLIT_KEY_HEAD "kdl.split.head" /* so many first bytes were put before it */
#define SPLIT_KEY_IN "kdl.split.in" /* the place of what it was compressed in, and was inflated */
#define SPLIT_KEY_ROOM "kdl.split.room"         /* how many bytes that was ... */
#define SPLIT_KEY_INFLATED "kdl.split.inflated" /* ... and is */

/* The part with what lies between images that are compressed together. */
#define SPLIT_SKELETON "skeleton"

/* What is cut out of a file: one image, or several that overlap or are compressed together. */
typedef struct split_unit {
  uint64_t at;
  uint64_t size;
  uint64_t head; /* bytes before it that go with a compressed image: the header of its entry */
  uint32_t image;
  uint32_t part;
} split_unit;

/* A compressed bundle with images for several architectures: as it is it goes to one part, and its
 * images, inflated, also to those of their architectures. */
typedef struct split_stream {
  uint64_t at, size; /* of the compressed bytes */
  uint64_t uncompressed_size;
  const uint8_t *table; /* what lies before the first image; between them are zeros */
  size_t table_size;
} split_stream;

typedef struct split_copy {
  uint32_t image, part, stream;
} split_copy;

typedef struct split_part {
  const char *key;  /* as the images say it; "several" for what is for more than one */
  const char *arch; /* the same for people: printable, and not too long */
  const char *file; /* name in the folder */
  size_t images;
  uint64_t bytes; /* of the file that they were */
  uint64_t size;  /* of the bundle */
  kdl_digest digest;
  bool is_needed; /* without it the others do not work */
  bool is_mixed;  /* what it holds is for several architectures */
} split_part;

typedef struct split_plan {
  split_unit *units; /* by their place */
  size_t unit_count;
  split_part *parts; /* in the order of their first image */
  size_t part_count, part_capacity;
  split_stream *streams;
  size_t stream_count, stream_capacity;
  split_copy *copies;
  size_t copy_count, copy_capacity;
  uint32_t *slots; /* parts by their key, while the plan is made: 0 is none */
  size_t packed;   /* images that are compressed together with others */
  kdl_arena arena;
} split_plan;

/* Finds what to cut out. `file` is the name of the file without its folder. */
kdl_status split_plan_make(kdl_library *lib, const cli_bytes *bytes, const char *file,
                           split_plan *out_plan);
void split_plan_free(split_plan *plan);

/* For the plan: the part of an architecture, made where there is none, and the streams. */
kdl_status split_plan_get_part(split_plan *plan, const char *file, const char *arch,
                               uint32_t *out_part);
const char *split_image_arch(const kdl_stored_image *image);
kdl_status split_plan_find_streams(split_plan *plan, kdl_library *lib, const cli_bytes *bytes,
                                   const char *file);

bool split_is_zero(const uint8_t *data, uint64_t size);

/* A manifest, as it is written and read. */
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

/* The file with zeros for the units, or with the units: its digest, and written to a descriptor,
 * where zeros become holes. */
kdl_digest split_host_digest(const cli_bytes *bytes, const split_plan *plan);
kdl_status split_host_save(const cli_bytes *bytes, const split_plan *plan, const char *path);

/* Whether an operand of `kdl merge` is what `kdl split` wrote: a folder or a manifest. */
bool split_is_split_output(const char *operand);

/* Compressed bundles that are put together inflate to 64 MiB and so many times the file at most. */
enum { SPLIT_LIMIT_INFLATE_RATIO = 128 };

/* A compressed bundle that is put together again. */
typedef struct split_rebuilt_bundle {
  uint64_t at, compressed_size, uncompressed_size;
  uint8_t *data; /* inflated: zeros where images are missing */
} split_rebuilt_bundle;

/* Compresses it and puts it into the file, where its header lies before it. */
kdl_status split_rebuilt_bundle_compress(const split_rebuilt_bundle *rebuilt, uint8_t *file,
                                         uint64_t size, const char *name);

/* Writes the file without the images that are zeros, as `kdl thin` would without them. */
kdl_status split_save_thinned(const uint8_t *data, size_t size, const char *name,
                              const char *output);

/* kdl merge of those. */
kdl_status split_merge(const cli_args *args, const char *output);

#endif
