/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Digests of the kernels of an AMD code object: of the code at the kernel's symbol, and of the
 * parameters in its metadata.
 *
 * Code that refers to data or functions adds a constant to the program counter: s_getpc_b64, then
 * s_add_u32 and s_addc_u32 with a literal. The literals depend on where the other kernels are, and
 * count as zero.
 */
#include "lib/image/amd/amdgpu_functions.h"
#include "lib/image/amd/amdgpu_metadata.h"
#include "lib/image/code_hash.h"
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
  kdl_amdgpu_functions functions;
  kdl_visit_digest *visit;
  void *user;
} digest_reader;

static int visit_digest(const digest_reader *reader, kdl_string kernel, uint64_t params) {
  kdl_kernel_digest digest = {.params = params};
  uint64_t size;
  const uint8_t *code = kdl_amdgpu_function_code(&reader->functions, kernel, &size);
  if (code)
    hash_code(code, size, digest.code);
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
  digest_reader reader = {.visit = visit, .user = user};
  bool found = false;
  kdl_status status = kdl_amdgpu_functions_open(&elf, &reader.functions);
  if (status == KDL_OK)
    status = kdl_amdgpu_visit_metadata(&elf, visit_metadata, &reader, &found);
  if (status == KDL_OK && !found)
    status = kdl_amdgpu_visit_symbols(&elf, visit_symbol, &reader);
  kdl_amdgpu_functions_close(&reader.functions);
  return status;
}
