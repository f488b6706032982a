/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Resolves a path that will be written to, as Linux does with fs.protected_symlinks, which may be
 * off: a link in a sticky folder that every user may write to is followed only if it belongs to the
 * user or to the folder's owner.
 */
#ifndef KDL_SUPPORT_SYSTEM_PATH_RESOLVE_H
#define KDL_SUPPORT_SYSTEM_PATH_RESOLVE_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The end of a path; a file need not exist there. The folder is held open, so that a folder put in
 * its place later is not used. */
typedef struct kdl_resolved_path {
  int folder; /* O_PATH */
  char end[PATH_MAX];
  const char *name; /* the last component, in the folder; "." for a path that ends in '/' */
  bool has_links;   /* the last component was a link */
} kdl_resolved_path;

/* KDL_IO with a message that names `path`. After success, call kdl_resolved_path_close. */
kdl_status kdl_path_resolve(const char *path, kdl_resolved_path *out_resolved);

/* The same; messages call the path `shown`, and name `step` as what failed. */
kdl_status kdl_path_resolve_for(const char *path, const char *shown, const char *step,
                                kdl_resolved_path *out_resolved);
void kdl_resolved_path_close(kdl_resolved_path *resolved);

/* Whether the file belongs to the user or to the folder's owner, or no other user could have put it
 * in the folder. */
bool kdl_path_owner_is_trusted(int folder, const struct stat *found);

#endif
