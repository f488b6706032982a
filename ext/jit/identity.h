/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What tells one state of a file from another, as text, at the price of a stat. */
#ifndef KDL_BITCODE_IDENTITY_H
#define KDL_BITCODE_IDENTITY_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* "INODE SIZE MTIME CTIME PATH", or "absent PATH". File systems tell times in steps, so that a file
 * which has just been written may change once more without showing it: such a one is followed by
 * the digest of its contents, and *out_is_young, which may be NULL, is set; otherwise it is left
 * alone. */
void kdl_identity_print(FILE *out, const char *path, bool *out_is_recently_modified);

/* For how many seconds a file counts as just written. */
enum { KDL_IDENTITY_RECENT_SECONDS = 2 };

/* Whether it was written, or put there, at that second or later. */
bool kdl_identity_is_newer(const char *path, time_t than);

/* A text on one line, whatever it holds: line feeds and backslashes as octal numbers. */
void kdl_identity_print_text(FILE *out, const char *text);

/* Whether the file that such a text is about is still as it says. */
bool kdl_identity_is_current(kdl_string text);

/* The same for a file that had just been written: its contents are what the text says, however old
 * it is by now. */
bool kdl_identity_contents_match(kdl_string text);

/* The first of the notes' `depends` lines that does not hold; false where all do. */
bool kdl_identity_find_changed(kdl_string notes, kdl_string *out_file);

/* The path that such a text is about, malloc'ed; NULL where memory is out. */
char *kdl_identity_path(kdl_string text);

/* What tells the file's contents, wherever it lies: a digest of all bytes. "absent", or "folder",
 * where it is no file. */
void kdl_identity_print_contents(FILE *out, const char *path);

/* The same of a program or its library, by its GNU build ID where it has one: that a linker made it
 * of the same. */
void kdl_identity_print_built(FILE *out, const char *path);

/* The program's GNU build ID in hexadecimal, read from the file; where it has none, its identity.
 */
void kdl_identity_print_program(FILE *out, const char *path);

#endif
