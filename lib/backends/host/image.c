/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Shared objects out of memory, mapped here and not by the C library's loader, which trusts what it
 * maps: docs/decisions/0008-host-loader.md. Everything that is used was checked before
 * (lib/inspect/host_objects.h).
 *
 * Segments that are not written are mapped from a memory file, so that no memory was ever both
 * writable and executable, and tools show where code comes from; the rest is copied. A reference to
 * a symbol that the image defines is bound to the image's own, and any other to libc or libm,
 * whatever the program or a library before it defines by that name.
 */
#include "lib/backends/host/host.h"
#include "lib/device/host_cpu.h"
#include "lib/image/host/host_object.h"
#include "lib/inspect/images.h"
#include "lib/target/features/feature.h"
#include "lib/target/target.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/system/file.h"
#include "support/system/loader.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { this_machine = EM_X86_64 };
#elif defined(__aarch64__)
enum { this_machine = EM_AARCH64 };
#elif defined(__riscv)
enum { this_machine = EM_RISCV };
#else
enum { this_machine = EM_NONE };
#endif

#define FAIL(status, ...) kdl_core_services.fail(status, 0, __VA_ARGS__)

/* ------------------------------------------------------------------------------------------ */
/* Functions of libc and libm                                                                   */

static pthread_once_t host_libraries_once = PTHREAD_ONCE_INIT;
static void *host_libraries[2]; /* RTLD_DEFAULT where there is no such file */

static void host_open_libraries(void) {
  static const char *const names[] = {"libc.so.6", "libm.so.6"};
  for (size_t i = 0; i < 2; ++i) {
    void *library = kdl_dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    host_libraries[i] = library ? library : RTLD_DEFAULT;
  }
}

static uint64_t host_import_address(const char *name) {
  kdl_host_import import =
      kdl_host_import_of((kdl_string){name, strnlen(name, KDL_HOST_LIMIT_IMPORT)});
  if (import == KDL_HOST_IMPORT_NONE)
    return 0;
  pthread_once(&host_libraries_once, host_open_libraries);
  kdl_fork_hold();
  void *found = dlsym(host_libraries[import == KDL_HOST_IMPORT_LIBM], name);
  if (!found)
    found = dlsym(RTLD_DEFAULT, name);
  kdl_fork_release();
  return (uint64_t)(uintptr_t)found;
}

/* ------------------------------------------------------------------------------------------ */
/* Mapping                                                                                      */

static kdl_status host_fill_memory_file(const kdl_backend_image *source, int *out_fd) {
  int fd =
      kdl_memory_file_create("kdl-image", KDL_MEMORY_FILE_CODE, source->data, source->data_size);
  if (fd < 0)
    return kdl_core_services.fail(
        errno == ENOMEM ? KDL_NO_MEMORY : KDL_IO, errno,
        "cannot make a file of %zu bytes in memory: %s%s", source->data_size, strerror(errno),
        errno == EACCES ? " (sysctl vm.memfd_noexec forbids executable memory files)" : "");
  *out_fd = fd;
  return KDL_OK;
}

static kdl_status host_fail_mmap(uint64_t size) {
  int code = errno;
  return kdl_core_services.fail(code == ENOMEM ? KDL_NO_MEMORY : KDL_IO, code,
                                "mmap: cannot map %" PRIu64 " bytes of the image: %s", size,
                                strerror(code));
}

static uint64_t host_page_size(void) {
  return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t host_page_start(uint64_t address) {
  return address / host_page_size() * host_page_size();
}

static uint64_t host_page_end(uint64_t address) {
  return host_page_start(address + host_page_size() - 1);
}

/* Linkers align segments for the largest pages that they know of, which may be smaller ones. */
static kdl_status host_check_pages(const kdl_host_object *object) {
  for (size_t i = 0; i < object->segment_count; ++i) {
    const kdl_elf_segment *segment = &object->segments[i];
    if ((segment->offset - segment->address) % host_page_size() ||
        (i && host_page_start(segment->address) <
                  host_page_end(segment[-1].address + segment[-1].memory_size)))
      return FAIL(KDL_UNSUPPORTED,
                  "segment %zu: found one that shares a page with another, expected it aligned for "
                  "this machine's pages of %" PRIu64 " bytes: link with -z max-page-size",
                  i, host_page_size());
  }
  return KDL_OK;
}

/* Address space for all segments, aligned as the image wants it. */
static kdl_status host_reserve_space(kdl_host_image *image) {
  const kdl_host_object *object = &image->object;
  uint64_t slack = object->align > host_page_size() ? object->align : 0;
  image->reserved_size = host_page_end(object->end) + slack;
  void *memory = mmap(NULL, image->reserved_size, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return host_fail_mmap(image->reserved_size);
  image->reserved = memory;
  uint64_t at = (uint64_t)(uintptr_t)memory;
  image->base = image->reserved + (slack ? (slack - at % slack) % slack : 0);
  return KDL_OK;
}

static kdl_status host_map_segment(const kdl_host_image *image, const kdl_elf_segment *segment,
                                   int fd) {
  uint64_t begin = host_page_start(segment->address);
  uint64_t size = host_page_end(segment->address + segment->memory_size) - begin;
  bool is_copied = segment->flags & PF_W || segment->file_size < segment->memory_size;
  int protection =
      is_copied ? PROT_READ | PROT_WRITE : PROT_READ | (segment->flags & PF_X ? PROT_EXEC : 0);
  void *memory = mmap(image->base + begin, size, protection,
                      MAP_PRIVATE | MAP_FIXED | (is_copied ? MAP_ANONYMOUS : 0),
                      is_copied ? -1 : fd, is_copied ? 0 : (off_t)host_page_start(segment->offset));
  if (memory == MAP_FAILED)
    return host_fail_mmap(size);
  if (is_copied)
    memcpy(image->base + segment->address, image->object.data + segment->offset,
           segment->file_size);
  return KDL_OK;
}

static kdl_status host_map_segments(kdl_host_image *image, const kdl_backend_image *source) {
  int fd = -1;
  kdl_status status = host_check_pages(&image->object);
  if (status == KDL_OK)
    status = host_reserve_space(image);
  if (status == KDL_OK)
    status = host_fill_memory_file(source, &fd);
  for (size_t i = 0; status == KDL_OK && i < image->object.segment_count; ++i)
    status = host_map_segment(image, &image->object.segments[i], fd);
  if (fd >= 0)
    close(fd);
  return status;
}

static void host_protect_range(const kdl_host_image *image, uint64_t begin, uint64_t end) {
  if (begin < end) /* it works unprotected, too */
    (void)mprotect(image->base + begin, end - begin, PROT_READ);
}

static void host_protect_segments(const kdl_host_image *image) {
  const kdl_host_object *object = &image->object;
  for (size_t i = 0; i < object->segment_count; ++i) {
    const kdl_elf_segment *segment = &object->segments[i];
    if (!(segment->flags & PF_W) && segment->file_size < segment->memory_size)
      host_protect_range(image, host_page_start(segment->address),
                         host_page_end(segment->address + segment->memory_size));
  }
  host_protect_range(image, host_page_start(object->read_only.address),
                     host_page_start(object->read_only.address + object->read_only.size));
}

/* ------------------------------------------------------------------------------------------ */
/* Binding                                                                                      */

static void host_store_word(const kdl_host_image *image, uint64_t address, uint64_t value) {
  kdl_store_u64(image->base + address, value);
}

static kdl_status host_symbol_address(const kdl_host_image *image, uint32_t index,
                                      uint64_t *out_address) {
  kdl_host_symbol symbol = kdl_host_object_symbol(&image->object, index);
  uint64_t base = symbol.is_absolute ? 0 : (uint64_t)(uintptr_t)image->base;
  *out_address = symbol.is_defined ? base + symbol.address
                 : index           ? host_import_address(symbol.name)
                                   : 0;
  if (!*out_address && index && symbol.binding != STB_WEAK)
    return FAIL(KDL_DEVICE, "it needs '%.128s', which libc and libm of this machine lack",
                symbol.name);
  return KDL_OK;
}

static kdl_status host_apply_relocations(const kdl_host_image *image,
                                         const kdl_host_extent *table) {
  uint64_t base = (uint64_t)(uintptr_t)image->base, address = 0;
  uint32_t known = 0; /* whose address that is: references to one symbol are neighbours */
  for (uint64_t i = 0; i < table->size / KDL_HOST_RELOCATION_SIZE; ++i) {
    kdl_host_relocation relocation = kdl_host_object_relocation(&image->object, table, i);
    if (relocation.kind == KDL_HOST_RELOCATION_NONE)
      continue;
    if (relocation.kind == KDL_HOST_RELOCATION_RELATIVE) {
      host_store_word(image, relocation.address, base + relocation.addend);
      continue;
    }
    kdl_status status = relocation.symbol == known && known
                            ? KDL_OK
                            : host_symbol_address(image, relocation.symbol, &address);
    if (status != KDL_OK)
      return status;
    known = relocation.symbol;
    host_store_word(image, relocation.address,
                    address +
                        (relocation.kind == KDL_HOST_RELOCATION_SYMBOL ? relocation.addend : 0));
  }
  return KDL_OK;
}

static int host_relocate_word(void *user, uint64_t address) {
  const kdl_host_image *image = user;
  host_store_word(image, address,
                  kdl_load_u64(image->base + address) + (uint64_t)(uintptr_t)image->base);
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Constructors and destructors                                                                 */

typedef void plain_function(void);

static void host_call_address(const kdl_host_image *image, uint64_t address) {
  plain_function *function;
  void *at = image->base + address;
  memcpy(&function, &at, sizeof function);
  function();
}

static void host_call_array_entry(const kdl_host_image *image, const kdl_host_extent *array,
                                  uint64_t index) {
  plain_function *function;
  memcpy(&function, image->base + array->address + index * sizeof function, sizeof function);
  function();
}

static void host_run_constructors(const kdl_host_image *image) {
  const kdl_host_extent *array = &image->object.init_array;
  if (image->object.init)
    host_call_address(image, image->object.init);
  for (uint64_t i = 0; i < array->size / 8; ++i)
    host_call_array_entry(image, array, i);
}

static void host_run_destructors(const kdl_host_image *image) {
  const kdl_host_extent *array = &image->object.fini_array;
  for (uint64_t i = array->size / 8; i-- > 0;)
    host_call_array_entry(image, array, i);
  if (image->object.fini)
    host_call_address(image, image->object.fini);
}

/* ------------------------------------------------------------------------------------------ */
/* The whole                                                                                    */

static kdl_status host_open_object(const kdl_backend_image *source, kdl_host_object *out_object) {
  if (source->kind != KDL_IMAGE_OBJECT)
    return FAIL(KDL_UNSUPPORTED, "found %s, expected a shared object for the CPU",
                kdl_image_kind_name(source->kind));
  KDL_TRY(kdl_host_object_open(source->data, source->data_size, out_object));
  if (out_object->elf.machine != this_machine)
    return FAIL(KDL_BAD_FILE, "found machine %u, expected %d", out_object->elf.machine,
                this_machine);
  return kdl_host_check_cpu(source);
}

static void host_unmap_image(kdl_host_image *image) {
  kdl_host_symbols_free(&image->symbols);
  if (image->reserved)
    munmap(image->reserved, image->reserved_size);
}

/* From here on the object's tables are read where they were loaded: the file is the caller's. */
static void host_use_loaded_tables(kdl_host_image *image) {
  kdl_host_object *object = &image->object;
  object->data = image->base;
  object->size = object->end;
  for (size_t i = 0; i < object->segment_count; ++i)
    object->segments[i].offset = object->segments[i].address;
}

kdl_status kdl_host_image_load(const kdl_backend_image *source, kdl_host_image *out_image) {
  kdl_host_image image = {.reserved = NULL};
  kdl_status status = host_open_object(source, &image.object);
  if (status == KDL_OK)
    status = host_map_segments(&image, source);
  if (status == KDL_OK) {
    (void)kdl_host_object_each_relative(&image.object, host_relocate_word, &image);
    status = host_apply_relocations(&image, &image.object.relocations[0]);
  }
  if (status == KDL_OK)
    status = host_apply_relocations(&image, &image.object.relocations[1]);
  if (status == KDL_OK)
    status = kdl_host_symbols_create(&image.object, &image.symbols);
  if (status != KDL_OK) {
    host_unmap_image(&image);
    return status;
  }
  host_protect_segments(&image);
  host_use_loaded_tables(&image);
  host_run_constructors(&image);
  *out_image = image;
  return KDL_OK;
}

void *kdl_host_image_find(const kdl_host_image *image, const char *name, uint64_t *out_size) {
  kdl_host_symbol symbol;
  if (!kdl_host_symbols_find(&image->symbols, &image->object, name, &symbol) ||
      symbol.is_absolute ||
      !kdl_host_object_has(&image->object, symbol.address, symbol.size, false, false))
    return NULL;
  *out_size = symbol.size;
  return image->base + symbol.address;
}

bool kdl_host_image_holds(const kdl_host_image *image, const void *begin, uint64_t size,
                          bool is_code) {
  uint64_t address = (uint64_t)(uintptr_t)begin - (uint64_t)(uintptr_t)image->base;
  return kdl_host_object_has(&image->object, address, size, false, is_code);
}

void kdl_host_image_unload(kdl_host_image *image) {
  host_run_destructors(image);
  host_unmap_image(image);
}

/* ------------------------------------------------------------------------------------------ */
/* The CPU                                                                                      */

/* The object's own word on the CPU it needs, which counts where the metadata promises less: code
 * for another would end the process at an instruction that this one does not have. */

static pthread_once_t host_cpu_once = PTHREAD_ONCE_INIT;
static kdl_device_rule host_cpu;
static bool host_cpu_is_known;

static void host_describe_cpu(void) {
  kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
  host_cpu_is_known =
      kdl_cpu_describe(&spec) == KDL_OK && kdl_device_spec_compile(&spec, &host_cpu) == KDL_OK;
}

kdl_status kdl_host_check_cpu(const kdl_backend_image *source) {
  kdl_image_target target;
  if (kdl_image_read_target(KDL_IMAGE_OBJECT, source->data, source->data_size, &target) != KDL_OK ||
      !target.arch[0])
    return KDL_OK;
  pthread_once(&host_cpu_once, host_describe_cpu);
  kdl_image_desc desc = {.kind = KDL_IMAGE_OBJECT,
                         .triple = kdl_text_of(target.triple),
                         .arch = kdl_text_of(target.arch)};
  kdl_image_rule rule;
  kdl_image_compile(&desc, &rule);
  if (!host_cpu_is_known || kdl_match_admits(&rule, &host_cpu))
    return KDL_OK;
  kdl_feature_class which = kdl_families[host_cpu.family].features;
  kdl_feature_set missing =
      kdl_feature_tokens(which, kdl_feature_common(rule.needs, host_cpu.lacks));
  char tokens[256] = "";
  kdl_out_features(&(kdl_out){tokens, sizeof tokens, 0}, which, missing);
  return kdl_core_services.fail(
      KDL_NO_MATCH, 0,
      "the object was compiled for %.128s, which needs more than its metadata states: "
      "this CPU lacks %s",
      target.arch, *tokens ? tokens : "features that are not known");
}

/* ------------------------------------------------------------------------------------------ */
/* Symbols                                                                                      */

/* The visible symbols of an image by their names: numbers of symbols in a table with open
 * addressing. The image has hash tables of its own, which would have to be believed. */

/* Longer names are told apart by comparing them. */
enum { max_hashed = 512 };

static uint32_t host_hash_name(const char *name) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < max_hashed && name[i]; ++i)
    hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  return hash;
}

/* *out_slot is its place, or the one that it would get. */
static bool host_find_symbol_slot(const kdl_host_symbols *symbols, const kdl_host_object *object,
                                  const char *name, kdl_host_symbol *out_symbol,
                                  uint32_t *out_slot) {
  uint32_t at = host_hash_name(name) & symbols->mask;
  for (; symbols->slots[at]; at = (at + 1) & symbols->mask) {
    *out_symbol = kdl_host_object_symbol(object, symbols->slots[at]);
    if (strcmp(out_symbol->name, name) == 0)
      break;
  }
  *out_slot = at;
  return symbols->slots[at] != 0;
}

kdl_status kdl_host_symbols_create(const kdl_host_object *object, kdl_host_symbols *out_symbols) {
  uint32_t count = 16;
  while (count < object->symbol_count * 2)
    count *= 2;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (!slots)
    return kdl_core_services.fail(KDL_NO_MEMORY, 0, "out of memory for %u names", count);
  for (uint64_t i = 1; i < object->symbol_count; ++i) {
    kdl_host_symbol symbol = kdl_host_object_symbol(object, i), found;
    kdl_host_symbols symbols = {slots, count - 1};
    uint32_t at;
    if (symbol.is_visible && !host_find_symbol_slot(&symbols, object, symbol.name, &found, &at))
      slots[at] = (uint32_t)i; /* of several, the first */
  }
  *out_symbols = (kdl_host_symbols){slots, count - 1};
  return KDL_OK;
}

bool kdl_host_symbols_find(const kdl_host_symbols *symbols, const kdl_host_object *object,
                           const char *name, kdl_host_symbol *out_symbol) {
  uint32_t at;
  return host_find_symbol_slot(symbols, object, name, out_symbol, &at);
}

void kdl_host_symbols_free(kdl_host_symbols *symbols) {
  free(symbols->slots);
}
