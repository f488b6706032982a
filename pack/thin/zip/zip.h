/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Zip archives, such as wheels: members with device code are thinned, the others stay as they are
 * stored. The order, times, attributes and methods of members do not change, and a wheel's RECORD
 * gets the new digests and sizes.
 */
#ifndef KDL_PACK_THIN_ZIP_ZIP_H
#define KDL_PACK_THIN_ZIP_ZIP_H

#include "pack/thin/file_kinds.h"
#include "pack/zip/directory.h"

/* A member, from the directory and its own header. */
typedef struct zip_member {
  zip_entry entry;
  uint64_t data; /* offset of its bytes */
  uint64_t
      end; /* of everything that belongs to it: the start of the next one or of the directory */

  /* The new contents: */
  bool is_changed, is_dropped;
  const uint8_t *new_data; /* compressed, in the output's arena */
  uint64_t new_compressed_size, new_uncompressed_size;
  uint32_t new_crc;
  uint8_t digest[32]; /* SHA-256 of the inflated bytes */
  uint64_t new_header_offset;
} zip_member;

typedef struct zip_archive {
  const uint8_t *data;
  uint64_t size;
  const char *name;
  zip_member *members; /* in the order of the directory */
  size_t count;
  zip_member **order; /* by position in the file */
  uint64_t directory, directory_size;
  const uint8_t *comment;
  size_t comment_size;
  bool is_zip64; /* has the records of zip64 */
} zip_archive;

/* Reads the directory and every member's header. Refuses members with equal names, with shared
 * bytes, or with names that lead out of the folder into which they are unpacked. */
kdl_status zip_read(const uint8_t *data, uint64_t size, const char *name, zip_archive *out_archive);
void zip_free(zip_archive *archive);

/* The inflated bytes of a member, in a mapped unnamed file or in the archive itself. Release with
 * zip_release. */
typedef struct zip_bytes {
  const uint8_t *data;
  size_t size;
  void *mapping;
} zip_bytes;
kdl_status zip_inflate(const zip_archive *archive, const zip_member *member, zip_bytes *out_bytes);
void zip_release(zip_bytes *bytes);

/* The first bytes, as many as exist and fit. */
kdl_status zip_peek(const zip_archive *archive, const zip_member *member, uint8_t *head,
                    size_t room, size_t *out_size);

/* Replaces a member's bytes, compressed as before. */
kdl_status zip_replace(const zip_archive *archive, zip_member *member, const void *data,
                       size_t size, kdl_arena *arena);

/* The archive with replaced and dropped members. */
kdl_status zip_write(zip_archive *archive, thin_output *out);

/* After members were changed: rewrites a wheel's RECORD, and drops its signatures. */
kdl_status zip_update_record(zip_archive *archive, kdl_arena *arena);

/* Called for each member with device code: with the result, or in `left` the reason why it
 * stays. */
typedef void thin_zip_visit(void *user, const char *member, const thin_selection *selection,
                            const thin_report *report, const char *retained_reason);

/* Thins every member. `input` has no library. */
kdl_status thin_zip(const thin_rules *rules, const thin_input *input, thin_zip_visit *visit,
                    void *user, thin_report *out_report, thin_output *out);

#endif
