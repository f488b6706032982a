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

#include "base/arena.h"
#include "base/blake2b.h"
#include "cli/input.h"
#include "cli/options.h"
#include "library/library.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPLIT_MANIFEST_SUFFIX ".kdl-split.json"

/* Keys of the images in a bundle. */
#define SPLIT_KEY_OF "kdl.split.of"     /* the digest of the file that was split */
#define SPLIT_KEY_AT "kdl.split.at"     /* where the image lay in it */
#define SPLIT_KEY_HEAD "kdl.split.head" /* so many first bytes were put before it */

/* What is cut out of a file: one image, or several that overlap or are compressed together. */
typedef struct split_unit {
  uint64_t at;
  uint64_t size;
  uint64_t head; /* bytes before it that go with a compressed image: the header of its entry */
  uint32_t image;
  uint32_t part;
} split_unit;

typedef struct split_part {
  const char *key;  /* as the images say it; "several" for what is for more than one */
  const char *arch; /* the same for people: printable, and not too long */
  const char *file; /* name in the folder */
  size_t images;
  uint64_t bytes; /* of the file that they were */
  uint64_t size;  /* of the bundle */
  kdl_digest digest;
  bool is_needed; /* without it the others do not work */
} split_part;

typedef struct split_plan {
  split_unit *units; /* by their place */
  size_t unit_count;
  split_part *parts; /* in the order of their first image */
  size_t part_count;
  uint32_t *slots; /* parts by their key, while the plan is made: 0 is none */
  size_t packed;   /* images that are compressed together with others */
  kdl_arena arena;
} split_plan;

/* Finds what to cut out. `file` is the name of the file without its folder. */
kdl_status split_plan_make(kdl_library *lib, const cli_bytes *bytes, const char *file,
                           split_plan *out_plan);
void split_plan_free(split_plan *plan);

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
bool split_is_result(const char *operand);

/* Writes the file without the images that are zeros, as `kdl thin` would without them. */
kdl_status split_save_thinned(const uint8_t *data, size_t size, const char *name,
                              const char *output);

/* kdl merge of those. */
kdl_status split_merge(const cli_args *args, const char *output);

#endif
