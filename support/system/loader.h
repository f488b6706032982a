/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The dynamic loader: dlopen, loaded objects, and where kdl-ld is. */
#ifndef KDL_SUPPORT_SYSTEM_LOADER_H
#define KDL_SUPPORT_SYSTEM_LOADER_H

#include "support/system/lock.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds forks back: if the process forks while the loader works, glibc's copy in the child refuses
 * every later call ("Inconsistency detected by ld.so"). */
static inline void *kdl_dlopen(const char *path, int flags) {
  kdl_fork_hold();
  void *library = dlopen(path, flags);
  kdl_fork_release();
  return library;
}

/* Whether the program was linked with -static or -static-pie. There, glibc can open plain
 * libraries, but not drivers: a driver starts threads and brings a second C library, in which the
 * process dies. */
bool kdl_program_is_static(void);

/* The message where a driver or backend cannot be opened for that reason. */
#define KDL_STATIC_PROGRAM                                                                         \
  "this program is linked statically, and cannot open drivers: link it without -static"

/* ------------------------------------------------------------------------------------------ */
/* Loaded objects                                                                               */

/* The program or shared object that contains an address, and its file. The loader keeps the name by
 * which it was loaded. After a chdir, or when the file was replaced, that name means another file
 * or none. The mapping does not change. */

typedef struct kdl_loaded_object {
  const char *name; /* as it was loaded; kdl_program_path for the program itself */
  uintptr_t start;  /* where its file is mapped */
} kdl_loaded_object;

extern const char kdl_program_path[];

kdl_loaded_object kdl_loaded_object_at(const void *address);

/* The mapped file, as the kernel names it; "" where there is none. False where it was removed or
 * replaced. */
bool kdl_loaded_object_file(const kdl_loaded_object *object, char out_path[PATH_MAX]);

/* The folder of the object that contains an address; "" where unknown. True for a shared object. */
bool kdl_loaded_object_folder(const void *address, char *out_folder, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* Finding kdl-ld                                                                               */

/* The path of kdl-ld: KDL_LD; else next to libkdl or the program it is linked into, in the matching
 * folder `bin`, or where it would be installed. False where there is none, and in programs that run
 * with more rights than their user, which start no others. */
bool kdl_linker_path(char out_path[PATH_MAX]);

/* The end of a message that kdl-ld is missing: where to get it. */
#define KDL_LINKER_HOW                                                                             \
  "libkdl builds it where LLVM 22 is (Debian: llvm-22-dev), and a Python wheel has it where it "   \
  "was made with KDL_WITH_LD=1"

#endif
