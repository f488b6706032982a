/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The program or shared object that holds some code, and its file. The loader keeps the name that
 * an object was loaded by, which means another file, or none, once the current folder has changed
 * or the file was replaced. What is mapped does not change. */
#ifndef KDL_SYSTEM_LOADED_OBJECT_H
#define KDL_SYSTEM_LOADED_OBJECT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
