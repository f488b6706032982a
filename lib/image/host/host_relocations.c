/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/image/host/host_object.h"
#include "lib/image/readers.h"
#include "support/base/bytes.h"

#include <inttypes.h>

/* <elf.h> of older C libraries lacks some. */
enum { riscv_tlsdesc = 12 };

typedef struct {
  uint16_t machine;
  uint32_t type;
  kdl_host_relocation_kind kind;
} relocation_row;

static const relocation_row relocation_rows[] = {
    {EM_X86_64, R_X86_64_NONE, KDL_HOST_RELOCATION_NONE},
    {EM_X86_64, R_X86_64_64, KDL_HOST_RELOCATION_SYMBOL},
    {EM_X86_64, R_X86_64_GLOB_DAT, KDL_HOST_RELOCATION_SLOT},
    {EM_X86_64, R_X86_64_JUMP_SLOT, KDL_HOST_RELOCATION_SLOT},
    {EM_X86_64, R_X86_64_RELATIVE, KDL_HOST_RELOCATION_RELATIVE},
    {EM_X86_64, R_X86_64_DTPMOD64, KDL_HOST_RELOCATION_THREAD},
    {EM_X86_64, R_X86_64_DTPOFF64, KDL_HOST_RELOCATION_THREAD},
    {EM_X86_64, R_X86_64_TPOFF64, KDL_HOST_RELOCATION_THREAD},
    {EM_X86_64, R_X86_64_TLSDESC, KDL_HOST_RELOCATION_THREAD},
    {EM_AARCH64, R_AARCH64_NONE, KDL_HOST_RELOCATION_NONE},
    {EM_AARCH64, R_AARCH64_ABS64, KDL_HOST_RELOCATION_SYMBOL},
    {EM_AARCH64, R_AARCH64_GLOB_DAT, KDL_HOST_RELOCATION_SYMBOL},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, KDL_HOST_RELOCATION_SYMBOL},
    {EM_AARCH64, R_AARCH64_RELATIVE, KDL_HOST_RELOCATION_RELATIVE},
    {EM_AARCH64, R_AARCH64_TLS_DTPMOD, KDL_HOST_RELOCATION_THREAD},
    {EM_AARCH64, R_AARCH64_TLS_DTPREL, KDL_HOST_RELOCATION_THREAD},
    {EM_AARCH64, R_AARCH64_TLS_TPREL, KDL_HOST_RELOCATION_THREAD},
    {EM_AARCH64, R_AARCH64_TLSDESC, KDL_HOST_RELOCATION_THREAD},
    {EM_RISCV, R_RISCV_NONE, KDL_HOST_RELOCATION_NONE},
    {EM_RISCV, R_RISCV_64, KDL_HOST_RELOCATION_SYMBOL},
    {EM_RISCV, R_RISCV_JUMP_SLOT, KDL_HOST_RELOCATION_SLOT},
    {EM_RISCV, R_RISCV_RELATIVE, KDL_HOST_RELOCATION_RELATIVE},
    {EM_RISCV, R_RISCV_TLS_DTPMOD64, KDL_HOST_RELOCATION_THREAD},
    {EM_RISCV, R_RISCV_TLS_DTPREL64, KDL_HOST_RELOCATION_THREAD},
    {EM_RISCV, R_RISCV_TLS_TPREL64, KDL_HOST_RELOCATION_THREAD},
    {EM_RISCV, riscv_tlsdesc, KDL_HOST_RELOCATION_THREAD},
};

static kdl_host_relocation_kind relocation_kind(uint16_t machine, uint32_t type) {
  for (size_t i = 0; i < sizeof relocation_rows / sizeof *relocation_rows; ++i) {
    if (relocation_rows[i].machine == machine && relocation_rows[i].type == type)
      return relocation_rows[i].kind;
  }
  return KDL_HOST_RELOCATION_OTHER;
}

kdl_host_relocation kdl_host_object_relocation(const kdl_host_object *object,
                                               const kdl_host_extent *table, uint64_t index) {
  const uint8_t *at = kdl_host_object_at(object, table->address + index * KDL_HOST_RELOCATION_SIZE,
                                         KDL_HOST_RELOCATION_SIZE);
  uint64_t info = kdl_load_u64(at + offsetof(Elf64_Rela, r_info));
  return (kdl_host_relocation){
      .address = kdl_load_u64(at),
      .addend = kdl_load_u64(at + offsetof(Elf64_Rela, r_addend)),
      .symbol = (uint32_t)(info >> 32),
      .type = (uint32_t)info,
      .kind = relocation_kind(object->elf.machine, (uint32_t)info),
  };
}

/* DT_RELR: an even word is an address; odd words after it are bitmaps: bit n of the k-th one
 * relocates the word 63 * k + n after the address. */
int kdl_host_object_each_relative(const kdl_host_object *object, kdl_host_visit_word *visit,
                                  void *user) {
  const uint8_t *words =
      kdl_host_object_at(object, object->relative.address, object->relative.size);
  uint64_t base = 0;
  for (uint64_t i = 0; i < object->relative.size / 8; ++i) {
    uint64_t word = kdl_load_u64(words + i * 8);
    int outcome = 0;
    if (!(word & 1)) {
      outcome = visit(user, word);
      base = word + 8;
    } else {
      for (unsigned bit = 1; bit < 64 && !outcome; ++bit) {
        if (word >> bit & 1)
          outcome = visit(user, base + (uint64_t)(bit - 1) * 8);
      }
      base += (uint64_t)63 * 8;
    }
    if (outcome)
      return outcome;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

static kdl_status check_relocation(const kdl_host_object *object, const kdl_host_extent *table,
                                   uint64_t index) {
  kdl_host_relocation relocation = kdl_host_object_relocation(object, table, index);
  uint64_t place = (uint64_t)(kdl_host_object_at(object, table->address, 1) - object->data) +
                   index * KDL_HOST_RELOCATION_SIZE;
  if (relocation.kind == KDL_HOST_RELOCATION_NONE)
    return KDL_OK;
  if (relocation.kind == KDL_HOST_RELOCATION_THREAD)
    return kdl_fail(KDL_UNSUPPORTED,
                    "found thread-local variables (a relocation of type %u), which a host image "
                    "cannot have: compile the kernels again with this version of kdl cc",
                    relocation.type);
  if (relocation.kind == KDL_HOST_RELOCATION_OTHER)
    return kdl_fail(KDL_UNSUPPORTED,
                    "found a relocation of type %u at offset 0x%" PRIx64
                    ", expected one of addresses alone",
                    relocation.type, place);
  if (!kdl_host_object_has(object, relocation.address, 8, true, false))
    return kdl_malformed_at(place, "relocation",
                            "found the address 0x%" PRIx64
                            ", expected one in a segment that is written",
                            relocation.address);
  if (relocation.symbol >= object->symbol_count)
    return kdl_malformed_at(place, "relocation",
                            "found symbol %" PRIu32 ", expected less than %" PRIu64,
                            relocation.symbol, object->symbol_count);
  return KDL_OK;
}

static int is_relr_word_outside(void *user, uint64_t address) {
  return !kdl_host_object_has(user, address, 8, true, false);
}

/* Constructors or destructors: a list of pointers, all of which relocation must set to code. */
typedef struct {
  const kdl_host_object *object;
  const kdl_host_extent *array;
  uint64_t is_set; /* bit i: the last relocation of element i points to code */
  uint64_t seen;   /* bit i: DT_RELR, which adds to the word, covers element i */
} function_list;

static const uint64_t no_address = UINT64_MAX;

/* The elements that overlap a word at the address. */
static uint64_t functions_at(const function_list *list, uint64_t address) {
  const kdl_host_extent *array = list->array;
  uint64_t bits = 0;
  if (address + 8 <= array->address || address >= array->address + array->size)
    return 0;
  for (uint64_t i = 0; i < array->size / 8; ++i) {
    uint64_t begin = array->address + i * 8;
    if (address < begin + 8 && begin < address + 8)
      bits |= (uint64_t)1 << i;
  }
  return bits;
}

static void note_function(function_list *list, uint64_t bits, uint64_t address, uint64_t target) {
  bool is_one = (address - list->array->address) % 8 == 0;
  list->is_set &= ~bits;
  if (is_one && kdl_host_object_has(list->object, target, 1, false, true))
    list->is_set |= bits;
}

static bool relocation_target(const kdl_host_object *object, const kdl_host_relocation *relocation,
                              uint64_t *out_target) {
  kdl_host_symbol symbol = kdl_host_object_symbol(object, relocation->symbol);
  bool is_relative = relocation->kind == KDL_HOST_RELOCATION_RELATIVE;
  *out_target = (is_relative ? 0 : symbol.address) +
                (relocation->kind == KDL_HOST_RELOCATION_SLOT ? 0 : relocation->addend);
  return is_relative || (symbol.is_defined && !symbol.is_absolute);
}

static int note_relative(void *user, uint64_t address) {
  function_list *list = user;
  uint64_t bits = functions_at(list, address);
  const uint8_t *word = bits ? kdl_host_object_at(list->object, address, 8) : NULL;
  if (bits)
    note_function(list, bits, address,
                  word && !(list->seen & bits) ? kdl_load_u64(word) : no_address);
  list->seen |= bits;
  return 0;
}

static kdl_status check_function_array(const kdl_host_object *object, const char *what,
                                       const kdl_host_extent *array) {
  function_list list = {object, array, 0, 0};
  uint64_t count = array->size / 8;
  if (count == 0)
    return KDL_OK;
  if (count >= KDL_HOST_LIMIT_FUNCTIONS)
    return kdl_malformed_at(0, what, "found %" PRIu64 " functions, expected less than %d", count,
                            KDL_HOST_LIMIT_FUNCTIONS);
  (void)kdl_host_object_each_relative(object, note_relative, &list);
  for (size_t t = 0; t < 2; ++t) {
    const kdl_host_extent *table = &object->relocations[t];
    for (uint64_t i = 0; i < table->size / KDL_HOST_RELOCATION_SIZE; ++i) {
      kdl_host_relocation relocation = kdl_host_object_relocation(object, table, i);
      uint64_t bits =
          relocation.kind == KDL_HOST_RELOCATION_NONE ? 0 : functions_at(&list, relocation.address);
      uint64_t target = 0;
      if (bits)
        note_function(&list, bits, relocation.address,
                      relocation_target(object, &relocation, &target) ? target : no_address);
    }
  }
  if (list.is_set == ((uint64_t)1 << count) - 1)
    return KDL_OK;
  return kdl_malformed_at(0, what, "found a function that is not in a segment of code");
}

kdl_status kdl_host_object_check_relocations(const kdl_host_object *object) {
  kdl_host_object copy = *object; /* a copy, because visitors take a mutable pointer */
  kdl_status status = KDL_OK;
  for (size_t t = 0; t < 2; ++t) {
    const kdl_host_extent *table = &object->relocations[t];
    for (uint64_t i = 0; status == KDL_OK && i < table->size / KDL_HOST_RELOCATION_SIZE; ++i)
      status = check_relocation(object, table, i);
  }
  if (status == KDL_OK && kdl_host_object_each_relative(object, is_relr_word_outside, &copy))
    status =
        kdl_malformed_at(0, "DT_RELR", "found a word outside of the segments that are written");
  if (status == KDL_OK)
    status = check_function_array(object, "DT_INIT_ARRAY", &object->init_array);
  return status == KDL_OK ? check_function_array(object, "DT_FINI_ARRAY", &object->fini_array)
                          : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Words                                                                                        */

static int check_relative_word(void *user, uint64_t address) {
  return address == *(const uint64_t *)user;
}

bool kdl_host_object_pointer(const kdl_host_object *object, uint64_t address,
                             uint64_t *out_target) {
  for (size_t t = 0; t < 2; ++t) {
    const kdl_host_extent *table = &object->relocations[t];
    for (uint64_t i = 0; i < table->size / KDL_HOST_RELOCATION_SIZE; ++i) {
      kdl_host_relocation relocation = kdl_host_object_relocation(object, table, i);
      if (relocation.address != address || relocation.kind == KDL_HOST_RELOCATION_NONE)
        continue;
      return relocation_target(object, &relocation, out_target);
    }
  }
  const uint8_t *word = kdl_host_object_at(object, address, 8);
  uint64_t wanted = address;
  if (!word || !kdl_host_object_each_relative(object, check_relative_word, &wanted))
    return false;
  *out_target = kdl_load_u64(word);
  return true;
}
