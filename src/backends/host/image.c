/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Shared objects out of memory. The bytes go into a memory file (memfd), which the dynamic loader
 * opens by its path below /proc/self/fd: nothing touches a disk, and no temporary file can be
 * swapped by somebody else.
 *
 * glibc takes an object for loaded already where its path is that of one that is. So a descriptor
 * stays open, and its number taken, for as long as the object is loaded.
 */
#include "backends/host/host.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/loader.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Since Linux 6.3 a system can make memory files non-executable unless they ask. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

#if defined(__x86_64__)
enum { own_machine = EM_X86_64 };
#elif defined(__aarch64__)
enum { own_machine = EM_AARCH64 };
#elif defined(__riscv)
enum { own_machine = EM_RISCV };
#else
enum { own_machine = EM_NONE };
#endif

#define FAIL(status, ...) kdl_host_services->fail(status, 0, __VA_ARGS__)

/* ------------------------------------------------------------------------------------------ */
/* Looking before loading                                                                       */

/* The loader trusts what it maps: a segment beyond the end of the file is a SIGBUS in this process.
 * Checked is what a cut or overwritten file breaks, not what a forger can do: an image is code. */
static kdl_status check_segments(const uint8_t *data, size_t size, const ElfW(Ehdr) * header) {
  bool has_load = false, has_dynamic = false;
  if (header->e_phentsize != sizeof(ElfW(Phdr)) ||
      !kdl_in_range(header->e_phoff, (uint64_t)header->e_phnum * sizeof(ElfW(Phdr)), size))
    return FAIL(KDL_BAD_FILE,
                "e_phoff: found %u segments of %u bytes at 0x%" PRIx64
                ", expected them inside the image's %zu bytes",
                (unsigned)header->e_phnum, (unsigned)header->e_phentsize, (uint64_t)header->e_phoff,
                size);
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    ElfW(Phdr) segment;
    memcpy(&segment, data + header->e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC)
      continue;
    has_load |= segment.p_type == PT_LOAD;
    has_dynamic |= segment.p_type == PT_DYNAMIC;
    if (!kdl_in_range(segment.p_offset, segment.p_filesz, size))
      return FAIL(KDL_BAD_FILE,
                  "segment %u: found 0x%" PRIx64 " bytes at 0x%" PRIx64
                  ", expected them inside the image's %zu bytes",
                  i, (uint64_t)segment.p_filesz, (uint64_t)segment.p_offset, size);
  }
  if (!has_load || !has_dynamic)
    return FAIL(KDL_BAD_FILE, "found no %s segment, expected a shared object",
                has_load ? "dynamic" : "loadable");
  return KDL_OK;
}

static kdl_status check_elf(const uint8_t *data, size_t size) {
  const unsigned char own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
  ElfW(Ehdr) header;
  if (size < sizeof header || memcmp(data, ELFMAG, SELFMAG) != 0)
    return FAIL(KDL_BAD_FILE, "found no ELF header, expected a shared object");
  memcpy(&header, data, sizeof header);
  if (header.e_ident[EI_CLASS] != own_class || header.e_machine != own_machine)
    return FAIL(KDL_BAD_FILE, "found machine %u in %s bits, expected %d in %zu",
                (unsigned)header.e_machine, header.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32",
                own_machine, sizeof(void *) * 8);
  if (header.e_type != ET_DYN)
    return FAIL(KDL_UNSUPPORTED,
                "found %s (e_type %u), expected a shared object: link it with -shared",
                header.e_type == ET_REL ? "a relocatable object" : "no shared object",
                (unsigned)header.e_type);
  return check_segments(data, size, &header);
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static int make_memory_file(void) {
  int fd = memfd_create("kdl-image", MFD_CLOEXEC | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) /* a kernel that does not know MFD_EXEC */
    fd = memfd_create("kdl-image", MFD_CLOEXEC);
  return fd;
}

static void print_path(int fd, char path[32]) {
  snprintf(path, 32, "/proc/self/fd/%d", fd);
}

static kdl_status fill_memory_file(const kdl_backend_image *source, int *out_fd) {
  int fd = make_memory_file();
  if (fd < 0)
    return kdl_host_services->fail(
        KDL_IO, errno, "memfd_create: %s%s", strerror(errno),
        errno == EACCES ? " (sysctl vm.memfd_noexec forbids executable memory files)" : "");
  if (!kdl_fd_write(fd, source->data, source->data_size)) {
    int code = errno;
    close(fd);
    return kdl_host_services->fail(KDL_IO, code, "memfd: cannot write %zu bytes: %s",
                                   source->data_size, strerror(code));
  }
  *out_fd = fd;
  return KDL_OK;
}

kdl_status kdl_host_image_load(const kdl_backend_image *source, kdl_host_image *out_image) {
  if (source->kind != KDL_IMAGE_OBJECT)
    return FAIL(KDL_UNSUPPORTED, "found %s, expected a shared object for the CPU",
                kdl_image_kind_name(source->kind));
  kdl_host_image image = {.fd = -1};
  kdl_status status = check_elf(source->data, source->data_size);
  if (status == KDL_OK)
    status = fill_memory_file(source, &image.fd);
  if (status != KDL_OK)
    return status;
  char path[32];
  print_path(image.fd, path);
  image.library = kdl_dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!image.library) {
    const char *why = dlerror();
    status = FAIL(KDL_DEVICE, "dlopen: %s", why ? why : "no reason given");
    close(image.fd);
    return status;
  }
  *out_image = image;
  return KDL_OK;
}

void kdl_host_image_unload(kdl_host_image *image) {
  char path[32];
  print_path(image->fd, path);
  kdl_dlclose(image->library);
  /* An object with thread-local or unique symbols may stay; then its path stays taken. */
  void *stays = kdl_dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (stays)
    kdl_dlclose(stays);
  else
    close(image->fd);
}
