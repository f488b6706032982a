/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs llvm-spirv, the translator of the Khronos Group, as ld.lld and ptxas are run: over memory
 * files, confined as kdl-ld is. */
#include "compiler/ir/emit/program.h"
#include "compiler/ir/spirv/spirv.h"
#include "lib/inspect/formats.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/system/loader.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

bool ir_spirv_is(const void *data, size_t size) {
  uint32_t first;
  if (size < sizeof first)
    return false;
  memcpy(&first, data, sizeof first);
  return first == KDL_MAGIC_SPIRV;
}

/* ------------------------------------------------------------------------------------------ */
/* Zeros                                                                                        */

enum {
  OP_TYPE_BOOL = 20,
  OP_TYPE_INT,
  OP_TYPE_FLOAT,
  OP_CONSTANT_FALSE = 42,
  OP_CONSTANT,
  OP_CONSTANT_NULL = 46,
  MAX_IDS = 1 << 22,
};

/* Widths of types by their ID: 1 for bool, 0 for others. */
typedef struct {
  uint8_t *widths;
  uint32_t count;
} number_types;

static void note_type(const kdl_spirv *m, number_types *types) {
  uint32_t id = m->length > 1 ? kdl_spirv_operand(m, 1) : 0;
  if (id >= types->count)
    return;
  if (m->opcode == OP_TYPE_BOOL)
    types->widths[id] = 1;
  else if ((m->opcode == OP_TYPE_INT || m->opcode == OP_TYPE_FLOAT) && m->length > 2)
    types->widths[id] = (uint8_t)kdl_spirv_operand(m, 2);
}

/* Appends an instruction. LLVM writes zeros of numbers as OpConstantNull, over which translators up
 * to version 15 abort: they become OpConstant and OpConstantFalse. */
static void copy_instruction(const kdl_spirv *m, const number_types *types, uint32_t *to,
                             size_t *at) {
  uint32_t type = m->length == 3 ? kdl_spirv_operand(m, 1) : 0;
  uint8_t width = type < types->count ? types->widths[type] : 0;
  if (m->opcode != OP_CONSTANT_NULL || !width) {
    for (uint32_t i = 0; i < m->length; ++i)
      to[(*at)++] = kdl_spirv_operand(m, i);
    return;
  }
  uint32_t words = width == 1 ? 0 : width > 32 ? 2 : 1;
  to[(*at)++] = (3 + words) << 16 | (words ? OP_CONSTANT : OP_CONSTANT_FALSE);
  to[(*at)++] = type;
  to[(*at)++] = kdl_spirv_operand(m, 2);
  for (uint32_t i = 0; i < words; ++i)
    to[(*at)++] = 0;
}

/* The module with zeros as translators read them, in the arena. */
static kdl_status rewrite_zeros(const ir_linker *linker, const void *data, size_t size,
                                uint32_t **out_words, size_t *out_size) {
  kdl_spirv m;
  kdl_status status = kdl_spirv_open(data, size, &m);
  if (status != KDL_OK) {
    kdl_error_prefix("%s", linker->request->caller);
    return status;
  }
  number_types types = {.count = kdl_spirv_word(&m, 3)};
  if (types.count > MAX_IDS)
    return kdl_fail(KDL_BAD_FILE, "%s: found %u IDs in a SPIR-V module, expected at most %d",
                    linker->request->caller, types.count, MAX_IDS);
  types.widths = xarena_alloc(linker->request->arena, types.count + 1);
  memset(types.widths, 0, types.count + 1);
  size_t at = 0; /* an instruction becomes at most two words longer */
  uint32_t *words = xarena_alloc(linker->request->arena, size / 4 * sizeof *words * 5 / 3 + 64);
  for (; at < KDL_SPIRV_HEADER_WORDS; ++at)
    words[at] = kdl_spirv_word(&m, at);
  while (kdl_spirv_next(&m, &status)) {
    note_type(&m, &types);
    copy_instruction(&m, &types, words, &at);
  }
  *out_words = words;
  *out_size = at * sizeof *words;
  if (status != KDL_OK)
    kdl_error_prefix("%s", linker->request->caller);
  return status;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status run_translator(const ir_linker *linker, const ir_program *program,
                                 const void *data, size_t size, void **out_data, size_t *out_size) {
  ir_file module = {.fd = -1}, ir = {.fd = -1};
  kdl_status status = ir_file_create(data, size, &module);
  if (status == KDL_OK)
    status = ir_file_create("", 0, &ir);
  /* SPV-IR: instructions are calls of functions with their names. */
  const char *arguments[] = {program->path, "-r", "--spirv-target-env=SPV-IR", module.path, "-o",
                             "-",           NULL};
  if (status == KDL_OK)
    status = ir_program_run(program, arguments, &ir);
  if (status == KDL_OK)
    status = ir_file_read(&ir, out_data, out_size);
  else
    kdl_error_prefix("%s", linker->request->caller);
  ir_file_close(&ir);
  ir_file_close(&module);
  return status;
}

kdl_status ir_spirv_translate(ir_linker *linker, const void *data, size_t size,
                              LLVMModuleRef *out_module) {
  ir_program program;
  uint32_t *words = NULL;
  void *ir = NULL;
  size_t ir_size, word_size = 0;
  if (!ir_program_find(linker, KDL_TOOL_LLVM_SPIRV, &program)) {
    char why[512];
    return kdl_fail(
        KDL_UNSUPPORTED, "%s: %s, to translate SPIR-V for %s", linker->request->caller,
        kdl_tool_format_missing(kdl_toolchain_search(KDL_TOOL_LLVM_SPIRV), why, sizeof why),
        linker->request->device_label);
  }
  KDL_TRY(rewrite_zeros(linker, data, size, &words, &word_size));
  KDL_TRY(run_translator(linker, &program, words, word_size, &ir, &ir_size));
  kdl_status status =
      ir_module_read(linker->context, ir, ir_size, linker->request->caller, out_module);
  free(ir);
  return status;
}
