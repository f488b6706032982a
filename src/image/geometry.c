/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image/geometry.h"
#include "base/text.h"

#include "image/elf_file.h"
#include "image/limits.h"
#include "image/readers.h"
#include "image/spirv_module.h"

#include <kdl/host_abi.h>

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Host code                                                                                    */

/* The bytes of a variable that a dynamic loader would find by this name; NULL where there is none
 * of that size. */
static const uint8_t *find_variable(const kdl_elf *elf, kdl_string name, size_t size) {
  kdl_elf_symbols symbols;
  if (kdl_elf_open_symbols(elf, KDL_ELF_SECTION_DYNSYM, &symbols) != KDL_OK)
    return NULL;
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, &symbols, i);
    const char *found;
    size_t length;
    if (!symbol.is_defined || symbol.type != KDL_ELF_SYMBOL_OBJECT)
      continue;
    if (kdl_elf_symbol_name(elf, &symbols, &symbol, &found, &length) != KDL_OK)
      return NULL;
    if (length == name.length && memcmp(found, name.data, length) == 0)
      return kdl_elf_at_address(elf, symbol.address, size);
  }
  return NULL;
}

/* The numbers of a kdl_host_kernel are constants, which relocation leaves alone. */
static void read_host(const uint8_t *data, size_t size, kdl_string kernel,
                      kdl_image_geometry *geometry) {
  char name[1024];
  int length = snprintf(name, sizeof name, "kdl_host_kernel_%.*s", (int)kernel.length, kernel.data);
  kdl_elf elf;
  if (length < 0 || (size_t)length >= sizeof name || kdl_elf_open(data, size, &elf) != KDL_OK ||
      !elf.is_64 || elf.is_big_endian)
    return;
  const uint8_t *at = find_variable(&elf, (kdl_string){name, (size_t)length},
                                    offsetof(kdl_host_kernel, tile) + sizeof geometry->tile);
  kdl_host_kernel declared = {0};
  if (at)
    memcpy(&declared, at, offsetof(kdl_host_kernel, tile) + sizeof declared.tile);
  if (declared.abi != KDL_HOST_ABI)
    return;
  memcpy(geometry->block, declared.block, sizeof geometry->block);
  memcpy(geometry->tile, declared.tile, sizeof geometry->tile);
}

/* ------------------------------------------------------------------------------------------ */
/* Code for GPUs                                                                                */

static void read_amd(const uint8_t *data, size_t size, kdl_string kernel,
                     kdl_image_geometry *geometry) {
  kdl_image_limits limits = {{0}, 0, 0};
  if (kdl_amdgpu_read_limits(data, size, kernel, &limits) == KDL_OK)
    memcpy(geometry->block, limits.block, sizeof geometry->block);
}

enum { op_execution_mode = 16, mode_local_size = 17 };

static void read_spirv(const uint8_t *data, size_t size, kdl_string kernel,
                       kdl_image_geometry *geometry) {
  kdl_spirv m;
  kdl_string name = {NULL, 0};
  if (kdl_spirv_open(data, size, &m) != KDL_OK || m.is_big_endian)
    return;
  do {
    if (kdl_spirv_next_kernel(&m, &name) != KDL_OK || !name.data)
      return;
  } while (!kdl_text_equal(name, kernel));
  uint32_t function = kdl_spirv_operand(&m, 2);
  kdl_status status = KDL_OK;
  while (kdl_spirv_next_declaration(&m, &status)) {
    if (m.opcode != op_execution_mode || m.length < 6 || kdl_spirv_operand(&m, 1) != function ||
        kdl_spirv_operand(&m, 2) != mode_local_size)
      continue;
    for (uint32_t i = 0; i < 3; ++i)
      geometry->block[i] = kdl_spirv_operand(&m, 3 + i);
    return;
  }
}

/* ------------------------------------------------------------------------------------------ */

typedef void geometry_reader(const uint8_t *data, size_t size, kdl_string kernel,
                             kdl_image_geometry *geometry);

static geometry_reader *reader_of(kdl_image_kind kind) {
  switch (kind) {
  case KDL_IMAGE_OBJECT:
    return read_host;
  case KDL_IMAGE_HSACO:
    return read_amd;
  case KDL_IMAGE_SPIRV:
    return read_spirv;
  case KDL_IMAGE_ZEBIN:
    return kdl_zebin_read_geometry;
  default:
    return NULL;
  }
}

bool kdl_image_has_geometry(kdl_image_kind kind) {
  return reader_of(kind) != NULL;
}

kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel) {
  kdl_image_geometry geometry = {{0}, {0}};
  geometry_reader *reader = reader_of(kind);
  if (reader)
    reader(data, size, kernel, &geometry);
  return geometry;
}
