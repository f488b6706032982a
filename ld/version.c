/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/report.h"

#include <llvm-c/Core.h>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void ld_version_llvm(char *buffer, size_t size) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  snprintf(buffer, size, "%u.%u.%u", major, minor, patch);
}

const char *ld_version_library(void) {
  void (*function)(unsigned *, unsigned *, unsigned *) = LLVMGetVersion;
  void *address;
  Dl_info info;
  memcpy(&address, &function, sizeof address);
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

typedef struct {
  char *buffer;
  size_t size;
} build_id;

static size_t align_to_4(size_t size) {
  return (size + 3) & ~(size_t)3;
}

static int read_notes(const char *at, const char *end, build_id *id) {
  while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof note);
    const char *owner = at + sizeof note;
    const uint8_t *data = (const uint8_t *)owner + align_to_4(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(owner, "GNU", 4) == 0) {
      for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < id->size; ++i)
        snprintf(id->buffer + 2 * i, 3, "%02x", data[i]);
      return 1;
    }
    at = (const char *)data + align_to_4(note.n_descsz);
  }
  return 0;
}

/* dl_iterate_phdr calls it first for the program itself. */
static int read_loaded_object(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    const char *start = (const char *)(info->dlpi_addr + header->p_vaddr);
    if (header->p_type == PT_NOTE && read_notes(start, start + header->p_memsz, user))
      break;
  }
  return 1;
}

void ld_version_build(char *buffer, size_t size) {
  build_id id = {buffer, size};
  snprintf(buffer, size, "none");
  dl_iterate_phdr(read_loaded_object, &id);
}
