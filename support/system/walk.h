/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where a path leads that is going to be written to, walked as Linux walks it with
 * fs.protected_symlinks, which may be off: a link in a sticky folder that every user may write to
 * is followed only if it is the user's own or of the folder's owner.
 */
#ifndef KDL_SYSTEM_WALK_H
#define KDL_SYSTEM_WALK_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The end of a path, at which there may be nothing. The folder is held open, so that nothing that
 * is put in its place later is met. */
typedef struct kdl_walked {
  int folder; /* O_PATH */
  char end[PATH_MAX];
  const char *name; /* the last part of `end`, in the folder; "." of a path that ends in a '/' */
  bool has_links;   /* the last part was one */
} kdl_walked;

/* KDL_IO with a message that names `path`. Where it succeeds, kdl_walked_end closes the folder. */
kdl_status kdl_walk(const char *path, kdl_walked *out_walked);

/* The same with what messages call the path, and what cannot be done where a folder is missing. */
kdl_status kdl_walk_to(const char *path, const char *shown, const char *step,
                       kdl_walked *out_walked);
void kdl_walked_end(kdl_walked *walked);

/* Whether what was found in the folder is the user's own or of the folder's owner, or in a folder
 * where no other could have put it. */
bool kdl_walked_is_own(int folder, const struct stat *found);

#endif
