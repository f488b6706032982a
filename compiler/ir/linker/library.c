/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/library.h"

#include "compiler/ir/linker/linker.h"
#include "lib/inspect/host_objects.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <inttypes.h>
#include <llvm-c/BitReader.h>
#include <stdlib.h>
#include <string.h>

static const char *const nvidia[] = {
#define IR_RUNTIME_NVIDIA(name) name,
#include "compiler/ir/linker/runtime.def"
};

ir_runtime ir_runtime_of(kdl_target_family family, kdl_string name) {
  if (family == KDL_FAMILY_NVPTX)
    return KDL_TEXT_AMONG(name, nvidia) ? IR_RUNTIME_PROVIDED : IR_RUNTIME_NONE;
  if (family == KDL_FAMILY_SPIRV) /* instructions, under mangled names */
    return kdl_text_starts(name, "_Z") && kdl_text_contains(name, "__spirv_") ? IR_RUNTIME_PROVIDED
                                                                              : IR_RUNTIME_NONE;
  if (family != KDL_FAMILY_X86_64 && family != KDL_FAMILY_AARCH64 && family != KDL_FAMILY_RISCV)
    return IR_RUNTIME_NONE;
  switch (kdl_host_import_of(name)) {
  case KDL_HOST_IMPORT_LIBC:
    return IR_RUNTIME_PROVIDED;
  case KDL_HOST_IMPORT_LIBM:
    return IR_RUNTIME_LIBM;
  case KDL_HOST_IMPORT_NONE:
    break;
  }
  return IR_RUNTIME_NONE;
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static kdl_status open_ukernel_library(const char *path, bool is_installed,
                                       const kdl_select_device *device, ir_library *library) {
  kdl_catalog *catalog;
  library->name = path;
  KDL_TRY(kdl_library_open_path(path, is_installed, &library->lib));
  KDL_TRY(kdl_library_catalog(library->lib, &catalog));
  size_t images = kdl_image_count(library->lib);
  library->symbols = xcalloc(images + 1, sizeof *library->symbols);
  kdl_query query = {.device = device, .policy = KDL_POLICY_BEST, .scope = KDL_RANK_ALL};
  KDL_TRY(kdl_rank(catalog, &query, &library->ranking));
  size_t eligible = 0; /* they are first */
  while (eligible < images && kdl_ranking_at(library->ranking, eligible)->eligible)
    ++eligible;
  kdl_debug(KDL_DEBUG_LINK, "%s: images: %zu, for this device: %zu", path, images, eligible);
  return KDL_OK;
}

kdl_status ir_libraries_open(const ir_request *request, const char *portable, const char *builtin,
                             ir_libraries *out_libraries) {
  const char *const own[] = {portable, builtin};
  size_t count = request->libraries.count, size = (count + 2) * sizeof *out_libraries->items;
  *out_libraries = (ir_libraries){.arena = request->arena,
                                  .items = memset(xarena_alloc(request->arena, size), 0, size)};
  for (size_t i = 0; i < count + 2; ++i) {
    const char *path = i < count ? request->libraries.items[i] : own[i - count];
    ir_library *library = &out_libraries->items[out_libraries->count];
    if (!path)
      continue;
    ++out_libraries->count;
    KDL_TRY(open_ukernel_library(path, i >= count, request->device, library));
  }
  return KDL_OK;
}

void ir_libraries_free(ir_libraries *libraries) {
  for (size_t i = 0; i < libraries->count; ++i) {
    ir_library *library = &libraries->items[i];
    free(library->symbols);
    free(library->ranking);
    kdl_close(library->lib);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Symbols                                                                                      */

#define UKERNEL_PREFIX "kdl.ukernel."

/* Lists microkernels from the metadata; an image that lists only kernels has none. False where it
 * lists neither. */
static bool list_indexed(ir_libraries *libraries, const kdl_image_info *image,
                         ir_symbols *symbols) {
  bool is_indexed = false;
  kdl_string *names = xarena_alloc(libraries->arena, image->pair_count * sizeof *names + 1);
  for (size_t i = 0; i < image->pair_count; ++i) {
    kdl_string kernel;
    kdl_string key = image->pairs[i].key;
    if (kdl_text_starts(key, UKERNEL_PREFIX))
      names[symbols->count++] = kdl_text_substr(key, sizeof UKERNEL_PREFIX - 1);
    is_indexed |= symbols->count > 0 || kdl_kernel_name(key, &kernel);
  }
  symbols->names = names;
  return is_indexed;
}

typedef struct {
  ir_libraries *libraries;
  kdl_string *names; /* NULL: only count */
  size_t count;
} symbol_list;

/* Functions are microkernels. Constants count too, since microkernels of the same library may refer
 * to them, as in AMD's device libraries. */
static void list_symbol(LLVMValueRef value, void *user) {
  symbol_list *list = user;
  LLVMValueKind kind = LLVMGetValueKind(value);
  bool is_constant = kind == LLVMGlobalVariableValueKind && LLVMIsGlobalConstant(value);
  if (!ir_value_is_exported(value) || (kind != LLVMFunctionValueKind && !is_constant))
    return;
  if (list->names) {
    kdl_string name = ir_value_name(value);
    list->names[list->count] = xarena_string(list->libraries->arena, name.data, name.length);
  }
  ++list->count;
}

static void list_defined(ir_libraries *libraries, LLVMModuleRef module, ir_symbols *symbols) {
  symbol_list list = {.libraries = libraries};
  ir_module_each_global(module, list_symbol, &list);
  list.names = xarena_alloc(libraries->arena, list.count * sizeof *list.names + 1);
  list.count = 0;
  ir_module_each_global(module, list_symbol, &list);
  symbols->names = list.names;
  symbols->count = list.count;
}

static kdl_status read_library_symbols(ir_libraries *libraries, ir_library *library, uint32_t index,
                                       ir_context *context) {
  ir_symbols *symbols = &library->symbols[index];
  kdl_image_info image = cli_image_at(library->lib, index);
  const void *data;
  size_t size;
  LLVMModuleRef module;
  if (image.kind != KDL_IMAGE_BITCODE || list_indexed(libraries, &image, symbols))
    return KDL_OK;
  KDL_TRY(kdl_library_bytes(library->lib, index, KDL_BYTES_VERIFIED, &data, &size));
  KDL_TRY(ir_module_read(context, data, size, library->name, &module));
  list_defined(libraries, module, symbols);
  LLVMDisposeModule(module);
  return KDL_OK;
}

bool ir_library_defines(ir_libraries *libraries, ir_library *library, uint32_t image,
                        kdl_string symbol, ir_context *context) {
  ir_symbols *symbols = &library->symbols[image];
  if (!symbols->is_read) {
    symbols->is_read = true;
    if (read_library_symbols(libraries, library, image, context) != KDL_OK) {
      symbols->count = 0;
      symbols->error = xarena_format(libraries->arena, "%s", kdl_error_message());
      kdl_debug(KDL_DEBUG_LINK, "image %" PRIu32 ": %s", image, symbols->error);
    }
  }
  for (size_t i = 0; i < symbols->count; ++i) {
    if (kdl_text_equal(symbols->names[i], symbol))
      return true;
  }
  return false;
}
