/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Link keys and notes that mean the same on every machine. Local lines identify files by inode,
 * times and path, which costs one stat; portable lines identify them by contents. On a machine
 * where a file is missing or differs, the key differs, or a note does not hold.
 */
#ifndef KDL_EXT_JIT_PORTABLE_H
#define KDL_EXT_JIT_PORTABLE_H

#include <kdl/kdl.h>

#include <stdbool.h>

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
