/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether a kernel of a cubin does anything. Its code is read from the start; the first instruction
 * that is not in the list below ends the search: then it does something. So no kernel that stores
 * is taken for an empty one, whatever is missing from the list.
 *
 * Instructions have 16 bytes from sm_70 on, and their operation is in the low 12 bits. The numbers
 * are those that nvdisasm 13.4 prints for code for sm_75 to sm_121; scripts/compare-hollow.py
 * compares the results with its text.
 */
#include "lib/image/nvidia/cubin_attributes.h"
#include "lib/image/readers.h"

#include <stdlib.h>
#include <string.h>

enum {
  instruction_size = 16,
  operation_mask = 0xfff,
  predicate_shift = 12,
  never = 0xf, /* the predicate that is always true, negated */
  first_sm = 70,
  newest_abi_with_low_sm = 7,
};

enum {
  operation_call = 0x343,
  operation_call_uniform = 0x943,
  operation_trap = 0x95c,
  operation_branch = 0x947,
  operation_branch_uniform = 0x547,
};

/* Arithmetic, in any form of its operands, which is in the upper three bits: the lower nine bits.
 */
static const uint16_t arithmetic[] = {
    0x002, /* MOV */
    0x007, /* SEL */
    0x00c, /* ISETP */
    0x010, /* IADD3 */
    0x011, /* LEA */
    0x012, /* LOP3 */
    0x016, /* PRMT */
    0x019, /* SHF */
    0x024, /* IMAD */
    0x025, /* IMAD.WIDE */
    0x031, /* HFMA2 */
    0x035, /* IADD, HFMA2.MMA */
    0x036, /* VIADD */
    0x082, /* UMOV */
    0x087, /* USEL */
    0x08c, /* UISETP */
    0x090, /* UIADD3 */
    0x092, /* ULOP3 */
    0x099, /* USHF */
};

/* Others that change registers only, or where the kernel goes on. */
static const uint16_t other_operations[] = {
    0x297, /* UIADD3.64 */
    0x2ca, /* R2UR */
    0x348, /* WARPSYNC */
    0x34e, /* LEPC */
    0x355, /* BMOV */
    0x356, /* BMOV */
    0x387, /* STL: the stack, for the arguments of a call */
    0x7ac, /* LDCU */
    0x803, /* P2R */
    0x805, /* CS2R */
    0x81c, /* PLOP3 */
    0x897, /* UIADD3.64 */
    0x918, /* NOP */
    0x919, /* S2R */
    0x91a, /* DEPBAR */
    0x941, /* BSYNC */
    0x942, /* BREAK */
    0x945, /* BSSY */
    0x946, /* YIELD */
    0x948, /* WARPSYNC */
    0x94d, /* EXIT */
    0x94e, /* LEPC */
    0x956, /* BMOV */
    0x983, /* LDL */
    0x9c3, /* S2UR */
    0xab9, /* ULDC */
    0xb82, /* LDC */
    0xf55, /* BMOV */
};

static bool contains(const uint16_t *list, size_t count, uint16_t operation) {
  for (size_t i = 0; i < count; ++i) {
    if (list[i] == operation)
      return true;
  }
  return false;
}

static bool is_effect_free(uint16_t operation) {
  return contains(arithmetic, sizeof arithmetic / sizeof *arithmetic, operation & 0x1ff) ||
         contains(other_operations, sizeof other_operations / sizeof *other_operations, operation);
}

/* What a function calls, by the section .nv.callgraph. */
enum { calls_message = 1, calls_other = 2 };

/* Whether a branch goes to itself, as at the end of every kernel, or forward. The distance counts
 * from the next instruction; from sm_90 on its lowest byte is elsewhere. A loop takes time, which
 * may be what it is for. */
static bool is_harmless_branch(const uint8_t *instruction) {
  uint64_t word = kdl_load_u64(instruction);
  bool is_back = word >> 63;
  uint32_t distance = (uint32_t)(word >> 32);
  return !is_back || distance == UINT32_C(0xfffffff0) ||
         (distance == UINT32_C(0xfffffffc) && (word >> 16 & 0xff) == 0xfc);
}

static kdl_kernel_effect effect_of_code(const uint8_t *code, uint64_t size, uint8_t calls) {
  kdl_kernel_effect effect = KDL_EFFECT_NOTHING;
  for (uint64_t at = 0; at + instruction_size <= size; at += instruction_size) {
    uint16_t word = kdl_load_u16(code + at), operation = word & operation_mask;
    if (word >> predicate_shift == never) /* @!PT, as of the SHFL that begins kernels for sm_70 */
      continue;
    bool is_call = operation == operation_call || operation == operation_call_uniform;
    if (is_call && calls != calls_message)
      return KDL_EFFECT_SOME;
    bool is_branch = operation == operation_branch || operation == operation_branch_uniform;
    if (is_call || operation == operation_trap)
      effect = KDL_EFFECT_STOPS;
    else if (is_branch ? !is_harmless_branch(code + at) : !is_effect_free(operation))
      return KDL_EFFECT_SOME;
  }
  return effect;
}

/* ------------------------------------------------------------------------------------------ */
/* The calls of each function                                                                   */

static bool is_message(kdl_string name) {
  static const char *const functions[] = {"vprintf", "__assertfail"};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (name.length == strlen(functions[i]) && memcmp(name.data, functions[i], name.length) == 0)
      return true;
  }
  return false;
}

/* u32 caller, u32 callee: numbers of symbols. Callees above are marks that end lists. */
static kdl_status read_calls(const kdl_elf *elf, const kdl_elf_symbols *symbols, uint8_t *calls) {
  enum { pair_size = 8 };
  const uint32_t first_mark = UINT32_MAX - 15;
  kdl_elf_section graph;
  bool found;
  KDL_TRY(kdl_elf_find_section(elf, ".nv.callgraph", &graph, &found));
  if (!found)
    return KDL_OK;
  for (uint64_t at = 0; at + pair_size <= graph.size; at += pair_size) {
    uint32_t caller = kdl_load_u32(elf->data + graph.offset + at);
    uint32_t callee = kdl_load_u32(elf->data + graph.offset + at + 4);
    if (callee >= first_mark)
      continue;
    if (caller >= symbols->count || callee >= symbols->count)
      return kdl_malformed_at(graph.offset + at, ".nv.callgraph",
                              "found symbol %" PRIu32 ", expected less than %" PRIu64,
                              caller > callee ? caller : callee, symbols->count);
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, symbols, callee);
    const char *name;
    size_t length;
    KDL_TRY(kdl_elf_symbol_name(elf, symbols, &symbol, &name, &length));
    calls[caller] |=
        !symbol.is_defined && is_message((kdl_string){name, length}) ? calls_message : calls_other;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The reader                                                                                   */

static kdl_status read_kernel_code(const kdl_elf *elf, const kdl_elf_symbol *symbol,
                                   const uint8_t **out_code, uint64_t *out_size) {
  kdl_elf_section text;
  KDL_TRY(kdl_elf_read_section(elf, symbol->section, &text));
  if (text.type != SHT_PROGBITS || !kdl_in_range(text.offset, text.size, elf->size) ||
      !kdl_in_range(symbol->address, symbol->size, text.size))
    return kdl_malformed_at(text.header, "code of a kernel",
                            "found %" PRIu64 " bytes at 0x%" PRIx64
                            " of a section, expected them in it and in the image",
                            symbol->size, symbol->address);
  *out_code = elf->data + text.offset + symbol->address;
  *out_size = symbol->size;
  return KDL_OK;
}

static kdl_status visit_effects(const kdl_elf *elf, const kdl_elf_symbols *symbols,
                                const uint8_t *calls, kdl_visit_effect *visit, void *user) {
  unsigned sm =
      elf->abi_version <= newest_abi_with_low_sm ? elf->flags & 0xff : elf->flags >> 8 & 0xff;
  for (uint64_t i = 1; i < symbols->count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, symbols, i);
    const char *name;
    size_t length;
    if (symbol.type != STT_FUNC || !(symbol.other & KDL_CUBIN_SYMBOL_ENTRY) || !symbol.is_defined)
      continue;
    KDL_TRY(kdl_elf_symbol_name(elf, symbols, &symbol, &name, &length));
    kdl_kernel_effect effect = KDL_EFFECT_UNKNOWN;
    if (sm >= first_sm && symbol.size) {
      const uint8_t *code;
      uint64_t size;
      KDL_TRY(read_kernel_code(elf, &symbol, &code, &size));
      effect = effect_of_code(code, size, calls[i]);
    }
    if (visit(user, (kdl_string){name, length}, effect))
      break;
  }
  return KDL_OK;
}

kdl_status kdl_cubin_read_effects(const uint8_t *data, size_t size, kdl_visit_effect *visit,
                                  void *user) {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  KDL_TRY(kdl_elf_open_symbols(&elf, SHT_SYMTAB, &symbols));
  uint8_t *calls = calloc(symbols.count + 1, 1);
  if (!calls)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the calls of a cubin");
  kdl_status status = read_calls(&elf, &symbols, calls);
  if (status == KDL_OK)
    status = visit_effects(&elf, &symbols, calls, visit, user);
  free(calls);
  return status;
}
