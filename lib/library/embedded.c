/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/library/library.h"

#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/system/loader.h"

#include <link.h>
#include <string.h>

typedef struct {
  uintptr_t address;
  const uint8_t *data; /* the libraries, back to back; NULL: none */
  size_t size;
} embedded_range;

enum { offload_header = 32, offload_align = 8, limit_version = 3 };

/* The size of the OffloadBinary at the start of `room` bytes; 0 where there is none. */
static size_t offload_size(const uint8_t *at, size_t room) {
  if (room < offload_header || kdl_load_u32(at) != KDL_MAGIC_OFFLOAD)
    return 0;
  uint32_t version = kdl_load_u32(at + 4);
  uint64_t size = kdl_load_u64(at + 8);
  bool fits = size >= offload_header && size <= room;
  return version >= 1 && version <= limit_version && fits ? (size_t)size : 0;
}

static size_t align_to_offload(size_t size) {
  return (size + offload_align - 1) & ~(size_t)(offload_align - 1);
}

/* The first run of OffloadBinaries. Several objects may contribute to the one section. */
static void find_embedded(const uint8_t *start, size_t size, embedded_range *out) {
  for (size_t at = 0; at + offload_header <= size && !out->data; at += offload_align) {
    size_t end = at;
    for (size_t one; end <= size && (one = offload_size(start + end, size - end));)
      end = align_to_offload(end + one);
    if (end == at)
      continue;
    out->data = start + at;
    out->size = (end < size ? end : size) - at;
  }
}

static int find_in_object(struct dl_phdr_info *info, size_t size, void *user) {
  embedded_range *wanted = user;
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
      size_t skipped = align_to_offload(start) - start;
      if (skipped < segment->p_filesz)
        find_embedded((const uint8_t *)start + skipped, segment->p_filesz - skipped, wanted);
    }
  }
  return holds;
}

kdl_status kdl_embedded_open(const void *address, const char *name, kdl_container **out_container) {
  kdl_loaded_object at = kdl_loaded_object_at(address);
  if (at.name == kdl_program_path)
    return kdl_container_open_self(kdl_program_path, name, out_container);
  char path[PATH_MAX];
  bool is_there = kdl_loaded_object_file(&at, path);
  const char *shown = name ? name : path[0] ? path : at.name;
  if (is_there)
    return kdl_container_open_self(path, shown, out_container);
  embedded_range found = {.address = at.start};
  dl_iterate_phdr(find_in_object, &found);
  if (!found.data)
    return kdl_fail(
        KDL_IO, "%s: its file is no longer there, and no OffloadBinary is mapped from it", shown);
  return kdl_container_open_memory(found.data, found.size, shown, out_container);
}
