/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a library requires of the machine: the runtimes that it is linked against (DT_NEEDED) or has
 * linked in (CUDA's), whether a device's driver is new enough for them, and the CPU. */
#include "lib/inspect/targets.h"
#include "pack/check/check.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"
#include "support/base/magic.h"
#include "support/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t join_version(unsigned long major, unsigned long minor) {
  return (uint32_t)major << 16 | (uint32_t)minor;
}

/* "libcudart.so.12", or "libcudart-5a077122.so.12.0.107" as auditwheel renames copies. Since CUDA
 * 11, a runtime works with any driver of its major version or a later one (CUDA Compatibility,
 * "Minor Version Compatibility"). */
static const struct {
  const char *name;
  check_runtime runtime;
} runtimes[] = {
    {"libcudart", CHECK_CUDA}, {"libcublas", CHECK_CUDA},    {"libcublasLt", CHECK_CUDA},
    {"libnvrtc", CHECK_CUDA},  {"libnvJitLink", CHECK_CUDA}, {"libamdhip64", CHECK_HIP},
    {"libhiprtc", CHECK_HIP},  {"libsycl", CHECK_SYCL},
};

const char *check_runtime_name(check_runtime runtime) {
  static const char *const names[] = {"cuda", "hip", "sycl"};
  return names[runtime];
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

typedef struct {
  kdl_elf header;
  uint8_t *segments; /* program headers */
  uint8_t *dynamic;
  size_t dynamic_count;
} elf_reader;

/* The size of the file, or of the current member. */
static uint64_t readable_size(const check_file *file) {
  return file->part_size ? file->part_size : (uint64_t)file->info.st_size;
}

/* False where the file has no such bytes. */
static bool read_file_part(const check_file *file, uint64_t offset, void *out, size_t size) {
  uint64_t whole = readable_size(file);
  return offset <= whole && size <= whole - offset &&
         pread(file->fd, out, size, (off_t)(file->part_offset + offset)) == (ssize_t)size;
}

static uint8_t *read_into_new_memory(const check_file *file, uint64_t offset, uint64_t size) {
  enum { most = 1 << 20 };
  if (!size || size > most)
    return NULL;
  uint8_t *bytes = xmalloc((size_t)size);
  if (read_file_part(file, offset, bytes, (size_t)size))
    return bytes;
  free(bytes);
  return NULL;
}

static bool find_segment(const elf_reader *elf, uint32_t type, uint64_t address,
                         kdl_elf_segment *out) {
  for (size_t i = 0; i < elf->header.segment_count; ++i) {
    *out = kdl_elf_load_segment(&elf->header, elf->segments + i * sizeof(Elf64_Phdr));
    if (out->type == type && (type != PT_LOAD || address - out->address < out->file_size))
      return true;
  }
  return false;
}

/* Program headers and the dynamic section of a 64-bit little-endian file. */
static bool open_elf(const check_file *file, elf_reader *elf) {
  uint8_t head[sizeof(Elf64_Ehdr)];
  kdl_elf_segment dynamic;
  *elf = (elf_reader){.segments = NULL};
  if (!read_file_part(file, 0, head, sizeof head) || kdl_load_u32(head) != KDL_MAGIC_ELF ||
      head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB)
    return false;
  elf->header = kdl_elf_load_header(head);
  if (elf->header.segment_size != sizeof(Elf64_Phdr))
    return false;
  elf->segments = read_into_new_memory(file, elf->header.segment_table,
                                       elf->header.segment_count * sizeof(Elf64_Phdr));
  if (!elf->segments || !find_segment(elf, PT_DYNAMIC, 0, &dynamic))
    return false;
  elf->dynamic_count = (size_t)(dynamic.file_size / sizeof(Elf64_Dyn));
  elf->dynamic = read_into_new_memory(file, dynamic.offset, elf->dynamic_count * sizeof(Elf64_Dyn));
  return elf->dynamic != NULL;
}

static uint64_t dynamic_entry_at(const elf_reader *elf, size_t index, uint64_t *out_value) {
  const uint8_t *entry = elf->dynamic + index * sizeof(Elf64_Dyn);
  *out_value = kdl_load_u64(entry + 8);
  return kdl_load_u64(entry);
}

/* The offset of the dynamic strings in the file; false where there are none. */
static bool find_dynamic_strings(const elf_reader *elf, uint64_t *out_offset) {
  uint64_t address;
  for (size_t i = 0; i < elf->dynamic_count; ++i) {
    if (dynamic_entry_at(elf, i, &address) != DT_STRTAB)
      continue;
    kdl_elf_segment load;
    *out_offset = 0;
    if (!find_segment(elf, PT_LOAD, address, &load))
      return false;
    *out_offset = load.offset + (address - load.address);
    return true;
  }
  return false;
}

/* "13" or "11.0" after the library's name. */
static uint32_t parse_soname_version(const char *text, bool has_minor) {
  char *end;
  unsigned long major = strtoul(text, &end, 10);
  unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
  if (!has_minor || major >= 11)
    minor = 0;
  return major && major < 0x7fff && minor < 0x7fff ? join_version(major, minor) : 0;
}

/* The version in a library's file name; NULL for another library. */
static const char *soname_version(const char *file, const char *name, bool *out_is_renamed) {
  enum { hash_size = 8 };
  if (!kdl_starts_with(file, name))
    return NULL;
  file += strlen(name);
  *out_is_renamed = *file == '-' && strspn(file + 1, "0123456789abcdef") == hash_size;
  if (*out_is_renamed)
    file += 1 + hash_size;
  return kdl_starts_with(file, ".so.") ? file + strlen(".so.") : NULL;
}

static void add_dependency(check *c, check_library *library, const char *name) {
  for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; ++i) {
    bool is_renamed;
    const char *text = soname_version(name, runtimes[i].name, &is_renamed);
    if (!text || library->dependency_count == CHECK_LIMIT_DEPENDENCIES)
      continue;
    /* The file name of cuBLAS has a minor version of its own: CUDA 10.1 has
     * libcublas.so.10.2.1.243. */
    bool has_minor =
        runtimes[i].runtime == CHECK_CUDA && !(is_renamed && kdl_starts_with(name, "libcublas"));
    uint32_t version = parse_soname_version(text, has_minor);
    if (version)
      library->dependencies[library->dependency_count++] =
          (check_dependency){check_copy_string(c, name), runtimes[i].runtime, version};
  }
}

/* ------------------------------------------------------------------------------------------ */
/* A runtime that is linked into a library                                                      */

/* The message of every version of CUDA's runtime for a driver that is too old. */
static const char static_cudart_message[] =
    "CUDA driver version is insufficient for CUDA runtime version";

static bool has_static_cudart_message(const check_file *file, uint64_t offset, uint64_t size) {
  enum { step = 1 << 20, overlap = sizeof static_cudart_message - 1 };
  uint8_t *bytes = xmalloc(step + overlap);
  bool found = false;
  for (uint64_t at = 0; at < size && !found; at += step) {
    size_t length = size - at < step + overlap ? (size_t)(size - at) : step + overlap;
    if (!read_file_part(file, offset + at, bytes, length))
      break;
    found = memmem(bytes, length, static_cudart_message, overlap) != NULL;
  }
  free(bytes);
  return found;
}

/* Searches the constants in .rodata. */
static bool has_static_cudart(const check_file *file, const kdl_elf *elf) {
  char name[sizeof ".rodata"];
  uint64_t count = elf->section_count;
  if (elf->section_size != sizeof(Elf64_Shdr) || elf->section_names >= count)
    return false;
  uint8_t *headers = read_into_new_memory(file, elf->section_table, count * sizeof(Elf64_Shdr));
  bool found = false;
  for (uint64_t i = 0; headers && i < count && !found; ++i) {
    kdl_elf_section section = kdl_elf_load_section(elf, headers + i * sizeof(Elf64_Shdr));
    kdl_elf_section names =
        kdl_elf_load_section(elf, headers + elf->section_names * sizeof(Elf64_Shdr));
    found = section.type == SHT_PROGBITS &&
            read_file_part(file, names.offset + section.name, name, sizeof name) &&
            memcmp(name, ".rodata", sizeof name) == 0 &&
            has_static_cudart_message(file, section.offset, section.size);
  }
  free(headers);
  return found;
}

static bool depends_on_cuda(const check_library *library) {
  for (size_t i = 0; i < library->dependency_count; ++i) {
    if (library->dependencies[i].runtime == CHECK_CUDA)
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */

/* ELF files, and programs and DLLs of Windows. */
static bool is_x86_64(const check_file *file) {
  enum { dos_header_size = 64, at_pe_header = 60, pe_x86_64 = 0x8664 };
  uint8_t head[dos_header_size];
  if (!read_file_part(file, 0, head, sizeof head))
    return false;
  if (kdl_load_u32(head) == KDL_MAGIC_ELF)
    return kdl_load_u16(head + offsetof(Elf64_Ehdr, e_machine)) == EM_X86_64;
  return head[0] == 'M' && head[1] == 'Z' &&
         read_file_part(file, kdl_load_u32(head + at_pe_header), head, 6) &&
         memcmp(head, "PE\0", 4) == 0 && kdl_load_u16(head + 4) == pe_x86_64;
}

void check_find_dependencies(check *c, const check_file *file, check_library *library) {
  elf_reader elf;
  uint64_t strings, value;
  library->is_x86_64 = is_x86_64(file);
  if (open_elf(file, &elf) && find_dynamic_strings(&elf, &strings)) {
    for (size_t i = 0; i < elf.dynamic_count; ++i) {
      char name[64] = "";
      if (dynamic_entry_at(&elf, i, &value) != DT_NEEDED || value > UINT32_MAX)
        continue;
      /* The relevant names are short. */
      uint64_t at = strings + value, whole = readable_size(file);
      size_t look = at < whole && whole - at < sizeof name ? (size_t)(whole - at) : sizeof name;
      if (read_file_part(file, at, name, look - 1))
        add_dependency(c, library, name);
    }
    if (!depends_on_cuda(library) && library->dependency_count < CHECK_LIMIT_DEPENDENCIES &&
        has_static_cudart(file, &elf.header))
      library->dependencies[library->dependency_count++] =
          (check_dependency){"libcudart_static.a", CHECK_CUDA, 0};
  }
  free(elf.segments);
  free(elf.dynamic);
}

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

check_runtime_compat check_runtime_compatibility(const check_library *library, kdl_device *device,
                                                 const check_dependency **out_need,
                                                 uint32_t *out_driver) {
  kdl_device_info info = {.size = sizeof info};
  check_runtime_compat fit = CHECK_COMPAT_NO_RUNTIME;
  if (kdl_device_get(device, &info) != KDL_OK || strcmp(info.backend, "cuda") != 0)
    return fit;
  char *end;
  unsigned long major = strtoul(info.driver, &end, 10);
  unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
  *out_driver = join_version(major, minor);
  for (size_t i = 0; i < library->dependency_count; ++i) {
    const check_dependency *need = &library->dependencies[i];
    if (need->runtime != CHECK_CUDA)
      continue;
    if (!info.driver[0] || !need->version) {
      fit = CHECK_COMPAT_UNKNOWN;
    } else if (need->version > *out_driver) {
      *out_need = need;
      return CHECK_COMPAT_RUNTIME_TOO_NEW;
    } else {
      fit = CHECK_COMPATIBLE;
    }
  }
  return fit;
}

const char *check_runtime_compat_name(check_runtime_compat fit) {
  static const char *const names[] = {"none", "unknown", "fits", "too_new"};
  return names[fit];
}

bool check_is_for_other_host(const check_library *library, kdl_device *device) {
  /* Of which the GPU alone is also sold for other hosts. */
  static const char *const boards[] = {"GH200", "GB200", "GB300"};
  kdl_device_info info = {.size = sizeof info};
  kdl_nvptx_arch arch;
  if (!library->is_x86_64 || kdl_device_get(device, &info) != KDL_OK)
    return false;
  bool found =
      kdl_nvptx_parse(kdl_text_of(info.arch), &arch, NULL) && arch.part != KDL_NVPTX_DESKTOP;
  for (size_t i = 0; i < sizeof boards / sizeof *boards; ++i)
    found |= strstr(info.name, boards[i]) != NULL;
  return found;
}
