/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The members of a host image that was opened: segments, symbols, relocations. */
#ifndef KDL_LIB_IMAGE_HOST_HOST_OBJECT_H
#define KDL_LIB_IMAGE_HOST_HOST_OBJECT_H

#include "lib/inspect/host_objects.h"

typedef struct kdl_host_symbol {
  const char *name;
  uint8_t type;
  uint8_t binding;
  bool is_defined;
  bool is_absolute;
  bool is_visible; /* can be looked up by name */
  uint64_t address;
  uint64_t size;
} kdl_host_symbol;

typedef enum kdl_host_relocation_kind {
  KDL_HOST_RELOCATION_NONE,
  KDL_HOST_RELOCATION_RELATIVE, /* the address of the object plus the addend */
  KDL_HOST_RELOCATION_SYMBOL,   /* the address of a symbol plus the addend */
  KDL_HOST_RELOCATION_SLOT,     /* the address of a symbol */
  KDL_HOST_RELOCATION_THREAD,
  KDL_HOST_RELOCATION_OTHER,
} kdl_host_relocation_kind;

typedef struct kdl_host_relocation {
  uint64_t address;
  uint64_t addend;
  uint32_t symbol;
  uint32_t type;
  kdl_host_relocation_kind kind;
} kdl_host_relocation;

/* The file's bytes for an address; NULL where it does not have all `size`. */
const uint8_t *kdl_host_object_at(const kdl_host_object *object, uint64_t address, uint64_t size);

/* Whether [address, address + size) is in one segment with the required permissions. */
bool kdl_host_object_has(const kdl_host_object *object, uint64_t address, uint64_t size,
                         bool writes, bool executes);

kdl_host_symbol kdl_host_object_symbol(const kdl_host_object *object, uint64_t index);

/* The visible symbol of that name; false where there is none. */
bool kdl_host_object_find(const kdl_host_object *object, const char *name,
                          kdl_host_symbol *out_symbol);

kdl_host_relocation kdl_host_object_relocation(const kdl_host_object *object,
                                               const kdl_host_extent *table, uint64_t index);

/* Calls `visit` with each word that DT_RELR names; non-zero stops, and is returned. */
typedef int kdl_host_visit_word(void *user, uint64_t address);
int kdl_host_object_each_relative(const kdl_host_object *object, kdl_host_visit_word *visit,
                                  void *user);

/* The value of a word after relocation, relative to the load address; false where it is not an
 * address of the object. */
bool kdl_host_object_pointer(const kdl_host_object *object, uint64_t address, uint64_t *out_target);

/* Part of kdl_host_object_open. */
kdl_status kdl_host_object_check_relocations(const kdl_host_object *object);

#endif
