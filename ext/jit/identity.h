/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The identity of a file as text: it tells one state of the file from another for the price of a
 * stat. */
#ifndef KDL_EXT_JIT_IDENTITY_H
#define KDL_EXT_JIT_IDENTITY_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* Prints "INODE SIZE MTIME CTIME PATH", or "absent PATH". File times have a coarse resolution, so
 * that a recently modified file may change again and keep its times. For such a file the digest of
 * its contents follows, and *out_is_recently_modified is set; it may be NULL, and is unchanged
 * otherwise. */
void kdl_identity_print(FILE *out, const char *path, bool *out_is_recently_modified);

/* For how many seconds a file counts as recently modified. */
enum { KDL_IDENTITY_RECENT_SECONDS = 2 };

/* Whether the file was written, or moved there, at that second or later. */
bool kdl_identity_is_newer(const char *path, time_t than);

/* Text on one line: line feeds and backslashes become octal escapes. */
void kdl_identity_print_text(FILE *out, const char *text);

/* Whether the file still has the identity. */
bool kdl_identity_is_current(kdl_string text);

/* The same for a recently modified file: compares its contents, whatever its age is now. */
bool kdl_identity_contents_match(kdl_string text);

/* The first `depends` line of the notes that no longer holds; false where all hold. */
bool kdl_identity_find_changed(kdl_string notes, kdl_string *out_file);

/* The path in an identity, malloc'ed; NULL when out of memory. */
char *kdl_identity_path(kdl_string text);

/* Prints the identity of a file's contents, whatever its path: a digest of all bytes. "absent" or
 * "folder" where it is not a file. */
void kdl_identity_print_contents(FILE *out, const char *path);

/* The same for a program or shared library: its GNU build ID where it has one. */
void kdl_identity_print_built(FILE *out, const char *path);

/* The program's GNU build ID in hexadecimal, read from the file; where it has none, its identity.
 */
void kdl_identity_print_program(FILE *out, const char *path);

/* ------------------------------------------------------------------------------------------ */
/* Portable keys and notes                                                                      */

/*
 * Link keys and notes that mean the same on every machine. Local lines identify files by inode,
 * times and path, which costs one stat; portable lines identify them by contents. On a machine
 * where a file is missing or differs, the key differs, or a note does not hold.
 */

/* The portable form of a link key, malloc'ed, with a NUL. Its first line, "portable", marks it. */
kdl_status kdl_portable_key(kdl_string link_key, char **out_text, size_t *out_length);
bool kdl_is_portable_key(kdl_string link_key);

/* The portable form of notes, malloc'ed, with a NUL. */
kdl_status kdl_portable_notes(kdl_string notes, char **out_text, size_t *out_length);

/* Whether all files that portable notes name exist with these contents. */
bool kdl_portable_notes_are_current(kdl_string notes);

/* The local form of notes that hold. *out_is_recently_modified is set where a file was recently
 * modified, so that its identity may not show its next change. */
kdl_status kdl_portable_notes_to_local(kdl_string notes, char **out_text, size_t *out_length,
                                       bool *out_is_recently_modified);

#endif
