/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/loader.h"

#include "support/system/environment.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* The program                                                                                */

/* dl_iterate_phdr calls it first for the program itself. */
static int find_interpreter(struct dl_phdr_info *object, size_t size, void *user) {
  bool *is_static = user;
  (void)size;
  *is_static = true;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type == PT_INTERP)
      *is_static = false;
  }
  return 1;
}

/* A dynamic program has an interpreter, which the kernel loaded; or that interpreter loaded the
 * program, as in `ld.so ./program`. */
bool kdl_program_is_static(void) {
  bool is_static = false;
  if (!getauxval(AT_BASE))
    dl_iterate_phdr(find_interpreter, &is_static);
  return is_static;
}

/* ------------------------------------------------------------------------------------------ */
/* Loaded objects                                                                             */

const char kdl_program_path[] = "/proc/self/exe";

/* The line of /proc/self/maps for an address: "START-END rwxp OFFSET DEVICE INODE   PATH". */
static bool parse_maps_line(char *line, uintptr_t address, char out_path[PATH_MAX]) {
  enum { hexadecimal = 16 };
  char *rest;
  uintmax_t start = strtoumax(line, &rest, hexadecimal);
  uintmax_t end = *rest == '-' ? strtoumax(rest + 1, &rest, hexadecimal) : 0;
  if (address < start || address >= end)
    return false;
  const char *path = strchr(line, '/');
  snprintf(out_path, PATH_MAX, "%.*s", path ? (int)strcspn(path, "\n") : 0, path ? path : "");
  return true;
}

static void mapped_path(uintptr_t address, char out_path[PATH_MAX]) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char *line = NULL;
  size_t room = 0;
  bool found = false;
  out_path[0] = '\0';
  while (maps && !found && getline(&line, &room, maps) > 0)
    found = parse_maps_line(line, address, out_path);
  free(line);
  if (maps)
    fclose(maps);
}

/* What the kernel appends to the name of a file that was removed or renamed over. */
static const char deleted[] = " (deleted)";

static char *find_deleted(char *path) {
  size_t length = strlen(path);
  size_t mark = sizeof deleted - 1;
  return length > mark && strcmp(path + length - mark, deleted) == 0 ? path + length - mark : NULL;
}

/* The path of the program itself comes from /proc: dladdr has the name by which it was started,
 * which may mean another file or none; the loader's name for it is empty. */
kdl_loaded_object kdl_loaded_object_at(const void *address) {
  Dl_info info;
  void *found = NULL;
  if (!dladdr1(address, &info, &found, RTLD_DL_LINKMAP) || !found)
    return (kdl_loaded_object){kdl_program_path, 0};
  const char *name = ((const struct link_map *)found)->l_name;
  return (kdl_loaded_object){name && name[0] ? name : kdl_program_path, (uintptr_t)info.dli_fbase};
}

bool kdl_loaded_object_folder(const void *address, char *out_folder, size_t size) {
  kdl_loaded_object at = kdl_loaded_object_at(address);
  char named[PATH_MAX], path[PATH_MAX];
  bool is_shared = at.name != kdl_program_path;
  if (at.name[0] != '/') {
    mapped_path(at.start, named);
    char *mark = find_deleted(named);
    if (mark)
      *mark = '\0';
    at.name = named;
  }
  /* The file may be removed while its folder is still there. */
  const char *whole = realpath(at.name, path) ? path : at.name;
  const char *slash = strrchr(whole, '/');
  snprintf(out_folder, size, "%.*s", slash ? (int)(slash - whole) : 0, whole);
  return is_shared;
}

bool kdl_loaded_object_file(const kdl_loaded_object *object, char out_path[PATH_MAX]) {
  mapped_path(object->start, out_path);
  return out_path[0] && !find_deleted(out_path);
}

/* ------------------------------------------------------------------------------------------ */
/* Finding kdl-ld                                                                             */

static bool is_program(const char *path) {
  struct stat info;
  return access(path, X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool try_linker_path(const char *root, const char *below, char out_path[PATH_MAX]) {
  int used = snprintf(out_path, PATH_MAX, "%s%s/kdl-ld", root, below);
  return used > 0 && used < PATH_MAX && is_program(out_path);
}

/* The folder of libkdl, or of the program that it is linked into. */
static pthread_once_t folder_once = PTHREAD_ONCE_INIT;
static char folder[PATH_MAX];

static void init_library_folder(void) {
  kdl_loaded_object_folder(folder, folder, sizeof folder);
}

bool kdl_linker_path(char out_path[PATH_MAX]) {
  const char *given = kdl_environment(KDL_VARIABLE_LD);
  if (kdl_is_privileged())
    return false;
  if (given)
    return snprintf(out_path, PATH_MAX, "%s", given) < PATH_MAX && is_program(out_path);
  pthread_once(&folder_once, init_library_folder);
  static const char *const below[] = {"", "/../bin",
                                      "/../../bin"}; /* the last from LIB/MULTIARCH */
  for (size_t i = 0; folder[0] && i < sizeof below / sizeof *below; ++i) {
    if (try_linker_path(folder, below[i], out_path))
      return true;
  }
  return try_linker_path(KDL_LD_FOLDER, "", out_path);
}
