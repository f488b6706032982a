/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Link keys and notes that mean the same on every machine. The lines of a machine's own tell files
 * by inode, times and path, which cost one stat; in portable lines a file is its contents. What a
 * machine has not, or has in another state, makes another key, or a note that does not hold.
 */
#ifndef KDL_BITCODE_PORTABLE_H
#define KDL_BITCODE_PORTABLE_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* The portable form of a link key, malloc'ed and ended by a NUL. Its first line, "portable", tells
 * it from those of machines. */
kdl_status kdl_portable_key(kdl_string link_key, char **out_text, size_t *out_length);
bool kdl_is_portable_key(kdl_string link_key);

/* The portable form of notes, likewise. */
kdl_status kdl_portable_notes(kdl_string notes, char **out_text, size_t *out_length);

/* Whether the files that portable notes name are here as they say. */
bool kdl_portable_notes_are_current(kdl_string notes);

/* This machine's own form of notes that hold. *out_is_young where a file has just been written, so
 * that the notes would not tell its next state. */
kdl_status kdl_portable_notes_to_local(kdl_string notes, char **out_text, size_t *out_length,
                                       bool *out_is_recently_modified);

#endif
