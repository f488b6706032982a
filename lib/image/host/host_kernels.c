/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The descriptors of kernels in a host image. */
#include "lib/image/host/host_object.h"
#include "lib/image/readers.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char descriptor_prefix[] = "kdl_host_kernel_";
enum { prefix_length = sizeof descriptor_prefix - 1, limit_align = 4096 };

static bool is_extent(const uint8_t *words) {
  bool has[3];
  for (size_t i = 0; i < 3; ++i)
    has[i] = kdl_load_u32(words + i * 4) != 0;
  return has[0] == has[1] && has[0] == has[2];
}

static bool are_params(const uint8_t *params, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t align = kdl_load_u32(params + i * sizeof(kdl_host_param) + 4);
    if (!align || (align & (align - 1)) || align > limit_align)
      return false;
  }
  return true;
}

/* Checks the pointers to the function and to the parameters. */
static bool has_pointers(const kdl_host_object *object, const kdl_host_symbol *symbol,
                         uint64_t params) {
  uint64_t run = 0, list = 0;
  kdl_host_symbol function;
  if (!kdl_host_object_find(object, symbol->name + prefix_length, &function) ||
      !kdl_host_object_pointer(object, symbol->address + offsetof(kdl_host_kernel, run), &run) ||
      !kdl_host_object_has(object, run, 1, false, true))
    return false;
  if (!params)
    return true;
  const uint8_t *at =
      kdl_host_object_pointer(object, symbol->address + offsetof(kdl_host_kernel, params), &list)
          ? kdl_host_object_at(object, list, params * sizeof(kdl_host_param))
          : NULL;
  return at && are_params(at, params);
}

static kdl_status check_descriptor(const kdl_host_object *object, const kdl_host_symbol *symbol,
                                   bool with_pointers) {
  const uint8_t *at = kdl_host_object_at(object, symbol->address, sizeof(kdl_host_kernel));
  if (!at || symbol->size < sizeof(kdl_host_kernel) || symbol->is_absolute)
    return kdl_fail(KDL_BAD_FILE, "%.200s: found %" PRIu64 " bytes, expected a description of %zu",
                    symbol->name, symbol->size, sizeof(kdl_host_kernel));
  uint32_t abi = kdl_load_u32(at), size = kdl_load_u32(at + 4);
  if (abi != KDL_HOST_ABI || size < sizeof(kdl_host_kernel))
    return kdl_fail(KDL_UNSUPPORTED, "%.200s: found host ABI %u of %u bytes, expected %u of %zu",
                    symbol->name, abi, size, (unsigned)KDL_HOST_ABI, sizeof(kdl_host_kernel));
  uint32_t params = kdl_load_u32(at + offsetof(kdl_host_kernel, param_count));
  if (params > KDL_HOST_LIMIT_PARAMS || !is_extent(at + offsetof(kdl_host_kernel, block)) ||
      !is_extent(at + offsetof(kdl_host_kernel, tile)) ||
      (with_pointers && !has_pointers(object, symbol, params)))
    return kdl_malformed_at((uint64_t)(at - object->data), "kernel",
                            "%.200s is not a description of a kernel", symbol->name);
  return KDL_OK;
}

kdl_status kdl_host_object_check_kernels(const kdl_host_object *object) {
  uint64_t relocations =
      (object->relocations[0].size + object->relocations[1].size) / KDL_HOST_RELOCATION_SIZE +
      object->relative.size * 8;
  uint64_t steps = relocations + object->symbol_count;
  bool with_pointers = object->symbol_count * steps <= (uint64_t)1 << 26;
  for (uint64_t i = 1; i < object->symbol_count; ++i) {
    kdl_host_symbol symbol = kdl_host_object_symbol(object, i);
    if (!symbol.is_visible || strncmp(symbol.name, descriptor_prefix, prefix_length) != 0)
      continue;
    kdl_status status = check_descriptor(object, &symbol, with_pointers);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

bool kdl_host_object_read_params(const kdl_host_object *object, const char *kernel,
                                 uint32_t *out_sizes, uint32_t *out_count) {
  char name[1024];
  kdl_host_symbol symbol;
  uint64_t list = 0;
  int length = snprintf(name, sizeof name, "%s%s", descriptor_prefix, kernel);
  if (length < 0 || (size_t)length >= sizeof name || !kdl_host_object_find(object, name, &symbol) ||
      check_descriptor(object, &symbol, true) != KDL_OK)
    return false;
  const uint8_t *at = kdl_host_object_at(object, symbol.address, sizeof(kdl_host_kernel));
  uint32_t count = kdl_load_u32(at + offsetof(kdl_host_kernel, param_count));
  if (count)
    (void)kdl_host_object_pointer(object, symbol.address + offsetof(kdl_host_kernel, params),
                                  &list);
  const uint8_t *params = kdl_host_object_at(object, list, count * sizeof(kdl_host_param));
  if (count && !params)
    return false;
  for (uint32_t i = 0; i < count; ++i)
    out_sizes[i] = kdl_load_u32(params + i * sizeof(kdl_host_param));
  *out_count = count;
  return true;
}

bool kdl_host_object_is_image(const void *data, size_t size) {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  if (kdl_elf_open(data, size, &elf) != KDL_OK ||
      kdl_elf_open_symbols(&elf, SHT_DYNSYM, &symbols) != KDL_OK)
    return false;
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&elf, &symbols, i);
    const char *name;
    size_t length;
    if (kdl_elf_symbol_name(&elf, &symbols, &symbol, &name, &length) == KDL_OK &&
        length >= prefix_length && memcmp(name, descriptor_prefix, prefix_length) == 0)
      return true;
  }
  return false;
}

kdl_status kdl_host_image_check(const void *data, size_t size) {
  kdl_host_object object;
  return kdl_host_object_open(data, size, &object);
}

kdl_status kdl_host_image_check_kernels(const void *data, size_t size) {
  kdl_host_object object;
  kdl_status status = kdl_host_object_open(data, size, &object);
  if (status == KDL_OK)
    status = kdl_host_object_check_kernels(&object);
  return status == KDL_UNSUPPORTED && !kdl_host_object_is_image(data, size) ? KDL_OK : status;
}

bool kdl_host_image_read_params(const void *data, size_t size, const char *kernel,
                                uint32_t *out_sizes, uint32_t *out_count) {
  kdl_host_object object;
  return kdl_host_object_open(data, size, &object) == KDL_OK &&
         kdl_host_object_read_params(&object, kernel, out_sizes, out_count);
}

/* The bytes of a variable that a dynamic loader would find by this name; NULL where there is none
 * of that size. */
static const uint8_t *find_descriptor(const kdl_elf *elf, kdl_string name, size_t size) {
  kdl_elf_symbols symbols;
  if (kdl_elf_open_symbols(elf, SHT_DYNSYM, &symbols) != KDL_OK)
    return NULL;
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, &symbols, i);
    const char *found;
    size_t length;
    if (!symbol.is_defined || symbol.type != STT_OBJECT)
      continue;
    if (kdl_elf_symbol_name(elf, &symbols, &symbol, &found, &length) != KDL_OK)
      return NULL;
    if (length == name.length && memcmp(found, name.data, length) == 0)
      return kdl_elf_at_address(elf, symbol.address, size);
  }
  return NULL;
}

/* The numbers of a kdl_host_kernel are constants, which need no relocation. */
void kdl_host_elf_read_geometry(const uint8_t *data, size_t size, kdl_string kernel,
                                kdl_image_geometry *geometry) {
  char name[1024];
  int length =
      snprintf(name, sizeof name, "%s%.*s", descriptor_prefix, (int)kernel.length, kernel.data);
  kdl_elf elf;
  if (length < 0 || (size_t)length >= sizeof name || kdl_elf_open(data, size, &elf) != KDL_OK ||
      !elf.is_64 || elf.is_big_endian)
    return;
  const uint8_t *at = find_descriptor(&elf, (kdl_string){name, (size_t)length},
                                      offsetof(kdl_host_kernel, tile) + sizeof geometry->tile);
  kdl_host_kernel declared = {0};
  if (at)
    memcpy(&declared, at, offsetof(kdl_host_kernel, tile) + sizeof declared.tile);
  if (declared.abi != KDL_HOST_ABI)
    return;
  memcpy(geometry->block, declared.block, sizeof geometry->block);
  memcpy(geometry->tile, declared.tile, sizeof geometry->tile);
}
