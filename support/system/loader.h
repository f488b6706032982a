/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The dynamic loader: opening, what is loaded, and what lies beside it. */
#ifndef KDL_SYSTEM_LOADER_H
#define KDL_SYSTEM_LOADER_H

#include "support/system/lock.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The loader must not be half way through when the process forks: glibc's copy in the child would
 * refuse everything from then on ("Inconsistency detected by ld.so"). */
static inline void *kdl_dlopen(const char *path, int flags) {
  kdl_fork_hold();
  void *library = dlopen(path, flags);
  kdl_fork_release();
  return library;
}

/* Whether the program was linked with -static or -static-pie. glibc opens plain libraries from
 * there, but not drivers: these start threads and have libraries of their own, and the process dies
 * in the second C library that comes with them. */
bool kdl_program_is_static(void);

/* The message where a driver or backend would be opened. */
#define KDL_STATIC_PROGRAM                                                                         \
  "this program is linked statically, and cannot open drivers: link it without -static"

/* ------------------------------------------------------------------------------------------ */
/* What is loaded                                                                               */

/* The program or shared object that holds some code, and its file. The loader keeps the name that
 * an object was loaded by, which means another file, or none, once the current folder has changed
 * or the file was replaced. What is mapped does not change. */

typedef struct kdl_loaded_object {
  const char *name; /* as it was loaded; kdl_program_path for the program itself */
  uintptr_t start;  /* where its file is mapped */
} kdl_loaded_object;

extern const char kdl_program_path[];

kdl_loaded_object kdl_loaded_object_at(const void *address);

/* The file that is mapped, by the kernel's own word; "" where there is none. False where it was
 * removed or replaced since. */
bool kdl_loaded_object_file(const kdl_loaded_object *object, char out_path[PATH_MAX]);

/* The folder of the object that holds an address; "" where that is unknown. Whether it is a shared
 * object. */
bool kdl_loaded_object_folder(const void *address, char *out_folder, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* Where kdl-ld is                                                                              */

/* The program that links bitcode: what KDL_LD names; else beside libkdl or the program it is linked
 * into, in the folder `bin` that goes with that one, or where it was to be installed. False where
 * there is none, and in programs that run with more rights than their user, which start no others.
 */
bool kdl_linker_path(char out_path[PATH_MAX]);

/* Where it is from, for the end of a message that there is none. */
#define KDL_LINKER_HOW                                                                             \
  "libkdl builds it where LLVM 22 is (Debian: llvm-22-dev), and a Python wheel has it where it "   \
  "was made with KDL_WITH_LD=1"

#endif
