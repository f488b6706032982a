/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where a path leads that is going to be written to, walked as Linux walks it with
 * fs.protected_symlinks, which may be off: a link in a sticky folder that every user may write to
 * is followed only if it is the user's own or of the folder's owner.
 */
#ifndef KDL_SYSTEM_PATH_RESOLVE_H
#define KDL_SYSTEM_PATH_RESOLVE_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The end of a path, at which there may be nothing. The folder is held open, so that nothing that
 * is put in its place later is met. */
typedef struct kdl_resolved_path {
  int folder; /* O_PATH */
  char end[PATH_MAX];
  const char *name; /* the last part of `end`, in the folder; "." of a path that ends in a '/' */
  bool has_links;   /* the last part was one */
} kdl_resolved_path;

/* KDL_IO with a message that names `path`. Where it succeeds, kdl_resolved_path_close closes the
 * folder. */
kdl_status kdl_path_resolve(const char *path, kdl_resolved_path *out_resolved);

/* The same with what messages call the path, and what cannot be done where a folder is missing. */
kdl_status kdl_path_resolve_for(const char *path, const char *shown, const char *step,
                                kdl_resolved_path *out_resolved);
void kdl_resolved_path_close(kdl_resolved_path *resolved);

/* Whether what was found in the folder is the user's own or of the folder's owner, or in a folder
 * where no other could have put it. */
bool kdl_path_owner_is_trusted(int folder, const struct stat *found);

#endif
