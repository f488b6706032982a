/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Modules and functions of the fake libamdhip64: code objects for the device that is current, and
 * Clang's bundles with SPIR-V in them. */
#include "fake_hip_state.h"

#include "lib/image/amd/amdgpu_metadata.h"
#include "lib/inspect/images.h"
#include "lib/target/families/gpu.h"
#include "support/base/bytes.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  machine_amdgpu = 224,
  os_abi_hsa = 64,
  abi_version_4 = 2, /* code object version 4, and so on */
#ifdef FAKE_OLD
  newest_abi_version = 3,
#else
  newest_abi_version = 4,
#endif
};

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";

/* ------------------------------------------------------------------------------------------ */
/* Code objects                                                                                 */

static bool is_code_object(const void *data) {
  Elf64_Ehdr header;
  memcpy(&header, data, sizeof header);
  return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_ident[EI_OSABI] == os_abi_hsa &&
         header.e_ident[EI_ABIVERSION] >= abi_version_4 &&
         header.e_ident[EI_ABIVERSION] <= newest_abi_version &&
         header.e_machine == machine_amdgpu && header.e_type == ET_DYN;
}

/* A setting that the image does not name works with either. */
static bool agree(kdl_amdgcn_setting image, kdl_amdgcn_setting device) {
  return image == KDL_AMDGCN_ANY || image == device;
}

static bool is_for_device(const void *data, size_t size, const kdl_device_spec *spec) {
  kdl_image_target target;
  kdl_amdgcn_id image, device;
  char arch[64];
  fake_hip_arch(spec, arch);
  if (kdl_image_read_target(KDL_IMAGE_HSACO, data, size, &target) != KDL_OK ||
      !kdl_amdgcn_parse(kdl_text_of(target.arch), &image, NULL) ||
      !kdl_amdgcn_parse(kdl_text_of(arch), &device, NULL))
    return false;
  bool same = kdl_amdgcn_is_generic(image.processor)
                  ? image.processor == kdl_amdgcn_generic(device.processor->generic)
                  : image.processor == device.processor;
  return same && agree(image.xnack, device.xnack) && agree(image.sramecc, device.sramecc);
}

/* ------------------------------------------------------------------------------------------ */
/* Symbols                                                                                      */

typedef struct {
  Elf64_Sym symbol;
  const uint8_t *bytes; /* where its value lies in the file; NULL where it has none */
} found_symbol;

static Elf64_Shdr section_at(const uint8_t *data, unsigned index) {
  Elf64_Ehdr header;
  Elf64_Shdr section;
  memcpy(&header, data, sizeof header);
  memcpy(&section, data + header.e_shoff + index * sizeof section, sizeof section);
  return section;
}

static bool find_symbol(const uint8_t *data, const char *name, found_symbol *out_found) {
  Elf64_Ehdr header;
  memcpy(&header, data, sizeof header);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table = section_at(data, i);
    if (table.sh_type != SHT_DYNSYM)
      continue;
    const char *strings = (const char *)data + section_at(data, table.sh_link).sh_offset;
    for (uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, data + table.sh_offset + at, sizeof symbol);
      if (strcmp(strings + symbol.st_name, name) != 0 || symbol.st_shndx == SHN_UNDEF)
        continue;
      Elf64_Shdr home = section_at(data, symbol.st_shndx);
      out_found->symbol = symbol;
      out_found->bytes = home.sh_type == SHT_NOBITS
                             ? NULL
                             : data + home.sh_offset + (symbol.st_value - home.sh_addr);
      return true;
    }
  }
  return false;
}

/* The hardware starts a kernel by its descriptor: 64 bytes, named NAME.kd. */
static bool has_descriptors(const fake_object *module, const void *data) {
  enum { descriptor_size = 64 };
  for (fake_object *f = fake_next(NULL, FAKE_FUNCTION); f; f = fake_next(f, FAKE_FUNCTION)) {
    char name[fake_name_size + 3];
    found_symbol found;
    snprintf(name, sizeof name, "%s.kd", f->name);
    if (f->owner == module &&
        (!find_symbol(data, name, &found) || found.symbol.st_size != descriptor_size ||
         ELF64_ST_TYPE(found.symbol.st_info) != STT_OBJECT || !found.bytes))
      return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static void read_limits(const fake_object *module, const void *data, size_t size) {
  for (fake_object *f = fake_next(NULL, FAKE_FUNCTION); f; f = fake_next(f, FAKE_FUNCTION)) {
    kdl_image_limits limits = {.max_block = 0};
    if (f->owner == module)
      (void)kdl_amdgpu_read_limits(data, size, kdl_text_of(f->name), &limits);
    f->max_block = limits.max_block ? limits.max_block : f->max_block;
  }
}

/* Keeps the code object, whose symbols are asked for later. */
static int load_code_object(fake_object *module, const void *data) {
  size_t size = fake_elf_size(data);
  if (kdl_amdgpu_check_symbols(data, size) != KDL_OK)
    fake_hip_abort("hipModuleLoadData", "reads .symtab and .strtab, and the code is stripped");
  const kdl_device_spec *spec = fake_device((size_t)module->context->device);
  /* The runtime keeps the difference for itself from 6 on. */
#ifdef FAKE_OLD
  if (!is_for_device(data, size, spec))
    return no_binary_for_gpu;
#else
  if (!is_for_device(data, size, spec))
    return invalid_image;
#endif
  if (!fake_add_kernels(module, FAKE_FUNCTION, KDL_IMAGE_HSACO, data, size) ||
      !has_descriptors(module, data))
    return invalid_image;
  read_limits(module, data, size);
  module->text = malloc(size);
  if (!module->text)
    abort();
  memcpy(module->text, data, size);
  return KDL_HIP_SUCCESS;
}

/* Compiles SPIR-V that a bundle holds for devices that it has no code for. */
static int load_bundle(fake_object *module, const uint8_t *data) {
#ifdef FAKE_OLD
  (void)module, (void)data;
  return no_binary_for_gpu;
#else
  static const char wanted[] = "hipv4-spirv64-amd-amdhsa--amdgcnspirv";
  const uint8_t *at = data + sizeof bundle_magic - 1;
  uint64_t count = kdl_load_u64(at);
  at += 8;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t offset = kdl_load_u64(at), size = kdl_load_u64(at + 8), length = kdl_load_u64(at + 16);
    bool is_wanted = length == sizeof wanted - 1 && memcmp(at + 24, wanted, length) == 0;
    if (is_wanted && offset % 4096 == 0 && kdl_image_sniff(data + offset, size) == KDL_IMAGE_SPIRV)
      return fake_add_kernels(module, FAKE_FUNCTION, KDL_IMAGE_SPIRV, data + offset, size)
                 ? KDL_HIP_SUCCESS
                 : invalid_image;
    at += 24 + length;
  }
  return invalid_image;
#endif
}

int hipModuleLoadData(void **module, const void *image) {
  HIP_ENTER();
  fake_object *device = fake_hip_current();
  int error = fake_hip_lost(device) ? fake_hip_lost(device) : fake_unsafe();
  if (!error && (uintptr_t)image % 8 != 0)
    fake_hip_abort(__func__, "reads structures, and the image is not aligned for them");
  if (error)
    return hip_leave(error);
  bool is_bundle = memcmp(image, bundle_magic, sizeof bundle_magic - 1) == 0;
  if (!is_bundle && !is_code_object(image))
    return hip_leave(invalid_image);
  fake_object *made = fake_new(FAKE_MODULE, device);
  made->per_item = 1;
  error = is_bundle ? load_bundle(made, image) : load_code_object(made, image);
  if (error)
    fake_delete_code(made);
  else
    *module = made;
  return hip_leave(error);
}

int hipModuleUnload(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (!module)
    return hip_leave(invalid_handle);
  fake_delete_code(module);
  return hip_leave(fault);
}

/* ------------------------------------------------------------------------------------------ */
/* Looking up                                                                                   */

/* The module, which must be one of the device that is current. */
static fake_object *find_module(const char *function, void *handle) {
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (module && module->context != fake_hip_current())
    fake_hip_abort(function, "device mismatch from where this module is loaded");
  return module;
}

int hipModuleGetFunction(void **function, void *handle, const char *name) {
  HIP_ENTER();
  fake_object *module = find_module(__func__, handle);
  if (!module)
    return hip_leave(invalid_handle);
  *function = fake_find_kernel(FAKE_FUNCTION, module, name);
  return hip_leave(*function ? KDL_HIP_SUCCESS : KDL_HIP_ERROR_NOT_FOUND);
}

fake_object *fake_variable(fake_object *code, fake_object *context, const char *name) {
  found_symbol found;
  fake_object *variable = fake_find_variable(code, context, name);
  if (variable || !code->text || !find_symbol((const uint8_t *)code->text, name, &found) ||
      ELF64_ST_TYPE(found.symbol.st_info) != STT_OBJECT || !found.symbol.st_size)
    return variable;
  return fake_add_variable(code, context, name, found.symbol.st_size,
                           found.bytes ? found.bytes : (const uint8_t *)"",
                           found.bytes ? found.symbol.st_size : 0);
}

int hipModuleGetGlobal(void **address, size_t *size, void *handle, const char *name) {
  HIP_ENTER();
  fake_object *module = find_module(__func__, handle);
  fake_object *variable = module ? fake_variable(module, module->context, name) : NULL;
  if (!variable)
    return hip_leave(module ? KDL_HIP_ERROR_NOT_FOUND : invalid_handle);
  *address = (void *)(uintptr_t)variable->address;
  *size = variable->size;
  return hip_leave(KDL_HIP_SUCCESS);
}

int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *handle, size_t shared,
                                            int block_limit) {
  (void)shared, (void)block_limit;
  HIP_ENTER();
  if (!fake_live(handle, FAKE_FUNCTION))
    return hip_leave(invalid_value);
  *grid = 1;
  *block = 512;
  return hip_leave(KDL_HIP_SUCCESS);
}
