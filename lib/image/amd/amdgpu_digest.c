/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Digests of the kernels of an AMD code object: of the code at the kernel's symbol, and of the
 * parameters in its metadata.
 *
 * Code that refers to data or functions adds a constant to the program counter: s_getpc_b64, then
 * s_add_u32 and s_addc_u32 with a literal. The literals depend on where the other kernels are, and
 * count as zero.
 */
#include "lib/image/amd/amdgpu_metadata.h"
#include "lib/image/code_hash.h"
#include "lib/image/name_table.h"
#include "lib/image/readers.h"
#include "support/base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum {
  encoding_sop1 = 0x17d, /* bits 23 to 31 */
  encoding_sop2 = 0x2,   /* bits 30 and 31 */
  operation_add = 0,     /* s_add_u32 of all generations */
  operation_addc = 4,
  source_literal = 255,
  reach = 8, /* words after s_getpc_b64 */
};

/* s_getpc_b64 of gfx9, gfx10, and gfx11 and gfx12. */
static bool is_getpc(uint32_t word) {
  unsigned operation = word >> 8 & 0xff;
  return word >> 23 == encoding_sop1 && (operation == 28 || operation == 31 || operation == 71);
}

static bool adds_literal(uint32_t word) {
  unsigned operation = word >> 23 & 0x7f;
  return word >> 30 == encoding_sop2 &&
         (operation == operation_add || operation == operation_addc) &&
         ((word & 0xff) == source_literal || (word >> 8 & 0xff) == source_literal);
}

static void hash_code(const uint8_t *code, uint64_t size, uint64_t out[2]) {
  kdl_code_hash hash = kdl_code_hash_begin();
  unsigned left = 0; /* words in which an address may be made */
  bool is_address = false;
  uint64_t at = 0;
  for (; size - at >= 4; at += 4) {
    uint32_t word = kdl_load_u32(code + at);
    if (is_address) {
      kdl_code_hash_add(&hash, 0, at);
      is_address = false;
      continue;
    }
    kdl_code_hash_add(&hash, word, word);
    is_address = left && adds_literal(word);
    left = is_getpc(word) ? reach : left - (left != 0);
  }
  kdl_code_hash_bytes(&hash, code + at, (size_t)(size - at));
  kdl_code_hash_end(&hash, out);
}

/* ------------------------------------------------------------------------------------------ */
/* The reader                                                                                   */

typedef struct {
  const kdl_elf *elf;
  kdl_name_table code; /* numbers of symbols by name */
  kdl_elf_symbols symbols;
  kdl_visit_digest *visit;
  void *user;
} digest_reader;

static kdl_status add_functions(digest_reader *reader) {
  for (uint64_t i = 1; i < reader->symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(reader->elf, &reader->symbols, i);
    const char *name;
    size_t length;
    if (symbol.type != STT_FUNC || !symbol.is_defined)
      continue;
    KDL_TRY(kdl_elf_symbol_name(reader->elf, &reader->symbols, &symbol, &name, &length));
    if (!kdl_name_table_add(&reader->code, (kdl_string){name, length}, i))
      return kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of a code object");
  }
  kdl_name_table_sort(&reader->code);
  return KDL_OK;
}

static int visit_digest(const digest_reader *reader, kdl_string kernel, uint64_t params) {
  kdl_kernel_digest digest = {.params = params};
  uint64_t number;
  if (kdl_name_table_find(&reader->code, kernel, &number)) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(reader->elf, &reader->symbols, number);
    const uint8_t *code =
        symbol.size ? kdl_elf_at_address(reader->elf, symbol.address, symbol.size) : NULL;
    if (code)
      hash_code(code, symbol.size, digest.code);
  }
  return reader->visit(reader->user, kernel, &digest);
}

static int hash_param(void *user, const kdl_image_param *param) {
  uint64_t *hash = user;
  *hash = kdl_code_hash_param(*hash, param->size, param->offset);
  return 0;
}

static kdl_status visit_metadata(kdl_msgpack reader, void *user, bool *out_stop) {
  kdl_msgpack_item name;
  kdl_msgpack args;
  bool has_args;
  uint64_t params = KDL_NO_PARAMS_HASH;
  KDL_TRY(kdl_amdgpu_read_name(reader, &name));
  if (!name.text)
    return KDL_OK;
  KDL_TRY(kdl_amdgpu_find_value(reader, ".args", &args, &has_args));
  if (has_args)
    KDL_TRY(kdl_amdgpu_visit_args(args, hash_param, &params));
  *out_stop = visit_digest(user, (kdl_string){name.text, (size_t)name.count}, params);
  return KDL_OK;
}

static int visit_symbol(void *user, const char *name, size_t length) {
  return visit_digest(user, (kdl_string){name, length}, 0);
}

kdl_status kdl_amdgpu_read_digests(const uint8_t *data, size_t size, kdl_visit_digest *visit,
                                   void *user) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  digest_reader reader = {.elf = &elf, .visit = visit, .user = user};
  KDL_TRY(kdl_elf_open_symbols(&elf, SHT_SYMTAB, &reader.symbols));
  if (reader.symbols.count == 0)
    KDL_TRY(kdl_elf_open_symbols(&elf, SHT_DYNSYM, &reader.symbols));
  bool found = false;
  kdl_status status = add_functions(&reader);
  if (status == KDL_OK)
    status = kdl_amdgpu_visit_metadata(&elf, visit_metadata, &reader, &found);
  if (status == KDL_OK && !found)
    status = kdl_amdgpu_visit_symbols(&elf, visit_symbol, &reader);
  kdl_name_table_free(&reader.code);
  return status;
}
