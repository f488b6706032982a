/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The directory of a zip archive: the records at the end, including those of zip64, the entries,
 * and the position of a member's bytes. Nothing of the archive is trusted; the caller checks what
 * an entry claims about other parts of the archive.
 */
#ifndef KDL_PACK_ZIP_DIRECTORY_H
#define KDL_PACK_ZIP_DIRECTORY_H

#include "support/base/magic.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Documented in docs/cli.md and docs/thin.md: members may inflate to this size plus this many times
 * the compressed size. */
#define ZIP_INFLATED_BASE ((uint64_t)64 << 20)
#define ZIP_INFLATED_RATIO ((uint64_t)128)

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };         /* methods */
enum { ZIP_ENCRYPTED = 1, ZIP_DESCRIPTOR = 8 };    /* flags */
enum { ZIP_LOCAL_SIZE = 30, ZIP_ENTRY_SIZE = 46 }; /* without names and extra fields */
enum { ZIP_END_SIZE = 22, ZIP_END64_SIZE = 56, ZIP_LOCATOR_SIZE = 20 };

#define ZIP_LOCAL KDL_MAGIC_ZIP
#define ZIP_ENTRY UINT32_C(0x02014b50)
#define ZIP_END KDL_MAGIC_EMPTY_ZIP
#define ZIP_END64 UINT32_C(0x06064b50)
#define ZIP_LOCATOR UINT32_C(0x07064b50)

/* An archive in memory or, where `data` is NULL, in a file. */
typedef struct zip_source {
  const uint8_t *data;
  int fd;
  uint64_t size;
} zip_source;

/* False where the archive has no such bytes, or they cannot be read. */
bool zip_source_read(const zip_source *source, uint64_t offset, void *out, size_t size);

/* The contents of the records at the end. */
typedef struct zip_end {
  uint64_t at;    /* of the record that every archive has */
  uint64_t first; /* of the first end record: zip64's where there is one */
  uint64_t directory, directory_size;
  uint64_t count;
  size_t comment_size;
  bool is_zip64; /* has the records of zip64 */
  bool is_split; /* is one of several volumes */
} zip_end;

typedef enum zip_end_found {
  ZIP_END_FOUND,
  ZIP_END_MISSING,
  ZIP_END_DAMAGED, /* a zip64 locator without its record; all other fields are set */
} zip_end_found;

/* `is_last`: the archive ends with the record's comment; otherwise data may follow. */
zip_end_found zip_find_end(const zip_source *source, bool is_last, zip_end *out_end);

typedef struct zip_entry {
  kdl_string name;      /* in the directory, without a NUL */
  const uint8_t *bytes; /* in the directory */
  size_t size;          /* of the complete entry */
  unsigned flags, method;
  uint32_t crc;
  uint64_t compressed_size, uncompressed_size;
  uint64_t header_offset; /* offset of the member's own header */
} zip_entry;

/* Parses the entry at the start of the remaining directory. Returns the problem, or NULL. */
const char *zip_read_entry(const uint8_t *directory, size_t left, zip_entry *out_entry);

/* The offset of a member's bytes, which end at `limit` or before. Returns the problem, or NULL. */
const char *zip_find_data(const zip_source *source, uint64_t limit, const zip_entry *entry,
                          uint64_t *out_offset);

/* Fails where the member declares more inflated bytes than that. */
kdl_status zip_check_inflated(const zip_entry *entry, uint64_t limit);

#endif
