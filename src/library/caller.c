/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "library/caller.h"

#include "base/bytes.h"
#include "base/error.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program[] = "/proc/self/exe";

/* ------------------------------------------------------------------------------------------ */
/* Its file                                                                                     */

/* The line of /proc/self/maps for an address: "START-END rwxp OFFSET DEVICE INODE   PATH". */
static bool path_of_line(char *line, uintptr_t address, char out_path[PATH_MAX]) {
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

/* The kernel's own word on which file is mapped at an address; "" where there is none. */
static void mapped_path(uintptr_t address, char out_path[PATH_MAX]) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char *line = NULL;
  size_t room = 0;
  bool found = false;
  out_path[0] = '\0';
  while (maps && !found && getline(&line, &room, maps) > 0)
    found = path_of_line(line, address, out_path);
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

typedef struct {
  const char *name; /* as it was loaded; `program` for the program */
  uintptr_t start;  /* where its file is mapped */
} object;

/* The program itself goes by /proc: what dladdr calls it is what it was started as, which may mean
 * another file here, or none; the loader knows it by an empty name. */
static object object_of(const void *address) {
  Dl_info info;
  void *found = NULL;
  if (!dladdr1(address, &info, &found, RTLD_DL_LINKMAP) || !found)
    return (object){program, 0};
  const char *name = ((const struct link_map *)found)->l_name;
  return (object){name && name[0] ? name : program, (uintptr_t)info.dli_fbase};
}

bool kdl_caller_folder(const void *address, char *out_folder, size_t size) {
  object at = object_of(address);
  char named[PATH_MAX], path[PATH_MAX];
  bool is_shared = at.name != program;
  if (at.name[0] != '/') {
    mapped_path(at.start, named);
    char *mark = find_deleted(named);
    if (mark)
      *mark = '\0';
    at.name = named;
  }
  /* Of a file that was removed, the folder may still be there. */
  const char *whole = realpath(at.name, path) ? path : at.name;
  const char *slash = strrchr(whole, '/');
  snprintf(out_folder, size, "%.*s", slash ? (int)(slash - whole) : 0, whole);
  return is_shared;
}

/* ------------------------------------------------------------------------------------------ */
/* Its memory                                                                                   */

typedef struct {
  uintptr_t address;
  const uint8_t *data; /* the libraries, back to back; NULL: none */
  size_t size;
} carried;

enum { offload_header = 32, offload_align = 8, limit_version = 3 };

/* The size of the OffloadBinary at the start of `room` bytes; 0 where there is none. */
static size_t offload_size(const uint8_t *at, size_t room) {
  static const uint8_t magic[] = {0x10, 0xff, 0x10, 0xad};
  if (room < offload_header || memcmp(at, magic, sizeof magic) != 0)
    return 0;
  uint32_t version = kdl_load_u32(at + 4);
  uint64_t size = kdl_load_u64(at + 8);
  bool fits = size >= offload_header && size <= room;
  return version >= 1 && version <= limit_version && fits ? (size_t)size : 0;
}

static size_t round_up(size_t size) {
  return (size + offload_align - 1) & ~(size_t)(offload_align - 1);
}

/* The first run of them: what several objects embed lies in one section. */
static void scan(const uint8_t *start, size_t size, carried *out) {
  for (size_t at = 0; at + offload_header <= size && !out->data; at += offload_align) {
    size_t end = at;
    for (size_t one; end <= size && (one = offload_size(start + end, size - end));)
      end = round_up(end + one);
    if (end == at)
      continue;
    out->data = start + at;
    out->size = (end < size ? end : size) - at;
  }
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *user) {
  carried *wanted = user;
  bool holds = false;
  (void)size;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    holds |= segment->p_type == PT_LOAD &&
             wanted->address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz;
  }
  for (size_t i = 0; holds && i < info->dlpi_phnum && !wanted->data; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && !(segment->p_flags & PF_W)) {
      uintptr_t start = info->dlpi_addr + segment->p_vaddr;
      size_t skipped = round_up(start) - start;
      if (skipped < segment->p_filesz)
        scan((const uint8_t *)start + skipped, segment->p_filesz - skipped, wanted);
    }
  }
  return holds;
}

kdl_status kdl_caller_open(const void *address, const char *name, kdl_container **out_container) {
  object at = object_of(address);
  if (at.name == program)
    return kdl_container_open_own(program, name, out_container);
  char path[PATH_MAX];
  mapped_path(at.start, path);
  const char *shown = name ? name : path[0] ? path : at.name;
  if (path[0] && !find_deleted(path))
    return kdl_container_open_own(path, shown, out_container);
  carried found = {.address = at.start};
  dl_iterate_phdr(visit_object, &found);
  if (!found.data)
    return kdl_fail(
        KDL_IO, "%s: its file is no longer there, and no OffloadBinary is mapped from it", shown);
  return kdl_container_open_memory(found.data, found.size, shown, out_container);
}
