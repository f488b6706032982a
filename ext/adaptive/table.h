/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The table of measured times on disk: one file per kernel and device, in the folder `choices` of
 * the cache (docs/adaptive.md has the format).
 *
 * A file is lines of text with a checksum each. Processes append lines; nothing is changed in
 * place, and no lock is taken. What is known is the sum of all lines, in any order. A line that a
 * killed process or a full disk left incomplete has a wrong checksum and is skipped. A file that
 * has grown is rewritten with one line per class, into a new file that replaces it.
 */
#ifndef KDL_EXT_ADAPTIVE_TABLE_H
#define KDL_EXT_ADAPTIVE_TABLE_H

#include "ext/adaptive/problem_class.h"
#include "support/system/cache_settings.h"

#include <stddef.h>
#include <stdint.h>

enum {
  KDL_TABLE_LINE = 8192,       /* bytes of the longest line */
  KDL_TABLE_LIMIT = 1 << 20,   /* bytes of a file; none is added beyond */
  KDL_TABLE_REWRITE = 1 << 17, /* a file of so many bytes is rewritten when it is opened */
  KDL_TABLE_NAME = 64,
};

typedef enum kdl_table_kind {
  KDL_TABLE_TIMES = 'c',    /* what one process measured */
  KDL_TABLE_EXCLUDED = 'x', /* the variant is not used for the class */
  KDL_TABLE_HEADER = 'h',   /* what the table is for */
} kdl_table_kind;

typedef struct kdl_table_line {
  kdl_table_kind kind;
  kdl_problem_class class_key;
  uint64_t variant; /* excluded: its identity */
  kdl_string text;  /* excluded: the reason; header: identity */
  uint64_t unit;    /* times: identity of the variant whose time is the unit */
  double unit_ns;
  uint64_t launches, time_ns, explored_ns;
  kdl_string samples; /* times: "ID:1.0000/0.9931 ID:..." */
} kdl_table_line;

/* The next line of `text` whose checksum holds, from *at; false at the end. *out_damaged counts the
 * lines that were skipped. */
bool kdl_table_next(kdl_string text, size_t *at, kdl_table_line *out_line, size_t *out_damaged);

/* The next sample of a line's `samples`, from *at. */
bool kdl_table_next_sample(kdl_string samples, size_t *at, uint64_t *out_variant,
                           double *out_sample);

/* Prints the samples of a variant: " ID:1.0000/0.9931", small ones with more digits. */
void kdl_table_out_samples(kdl_out *out, uint64_t variant, const float *samples, size_t count);

/* Adds the checksum and the newlines. `out` has room for the content and 16 bytes. */
size_t kdl_table_seal(const char *content, char *out, size_t room);

/* The file name of an identity: "0123456789abcdef0123456789abcdef.kdlc" */
void kdl_table_name(kdl_string identity, char out_name[KDL_TABLE_NAME]);

/* The bytes of all files of that name: the user's own and those of the cache tiers. malloc'ed; NULL
 * where there is none. */
char *kdl_table_read(const char *name, size_t *out_size);

/* A table that a process appends to. */
typedef struct kdl_table_file {
  int fd;         /* of the user's own file; -1: not open */
  bool is_failed; /* it cannot be opened: nothing is stored there any more */
} kdl_table_file;

void kdl_table_close(kdl_table_file *file);

/* Appends sealed lines to the user's own file, and to that of this machine in shared tiers; creates
 * it with a header. False where they were not stored: the cache is off, the disk is full, ... */
bool kdl_table_append(kdl_table_file *file, const char *name, kdl_string identity,
                      const char *lines, size_t size);

/* The file of the table's marks (marks.h), in the user's own folder: `size` bytes, all 0 in a new
 * one. One of another size is replaced. -1: it cannot be opened. */
int kdl_table_open_marks(const char *name, size_t size, bool creates);

/* Writes or replaces the file of that name, whole or not at all. */
kdl_status kdl_table_save(const kdl_cache_settings *settings, const char *name, const char *lines,
                          size_t size);

/* ------------------------------------------------------------------------------------------ */
/* For commands                                                                                 */

/* Calls `visit` with each file of the folder; non-zero stops. */
typedef int kdl_table_visit(void *user, const char *name, kdl_string text);
kdl_status kdl_table_each(const kdl_cache_settings *settings, kdl_table_visit *visit, void *user);

/* The user's own folder; fails as kdl_cache_settings_read does, and where the cache is off. */
kdl_status kdl_table_settings(kdl_cache_settings *out_settings);

/* Whether lines of this process were not stored, and why: "/home/me/.cache/kdl/choices: No space
 * left on device". */
bool kdl_table_failed(char *out, size_t room);

/* Removes all tables. */
kdl_status kdl_table_clear(size_t *out_files, uint64_t *out_bytes);

#endif
