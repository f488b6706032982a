/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The members of a host image that was opened: segments, symbols, relocations. */
#ifndef KDL_LIB_IMAGE_HOST_HOST_OBJECT_H
#define KDL_LIB_IMAGE_HOST_HOST_OBJECT_H

#include "lib/inspect/host_objects.h"
#include "support/base/elf_file.h"

enum {
  KDL_HOST_LIMIT_SEGMENTS = 16,
  KDL_HOST_LIMIT_FUNCTIONS = 64, /* the limit of constructors, and of destructors */
  KDL_HOST_SYMBOL_SIZE = 24,
  KDL_HOST_RELOCATION_SIZE = 24,
};

/* The limit of the object's address space. */
#define KDL_HOST_LIMIT_SPAN ((uint64_t)1 << 31)

typedef struct kdl_host_extent {
  uint64_t address;
  uint64_t size;
} kdl_host_extent;

/* Addresses are relative to the load address. */
typedef struct kdl_host_object {
  const uint8_t *data;
  size_t size;
  kdl_elf elf; /* the header: class, byte order, machine */
  kdl_elf_segment
      segments[KDL_HOST_LIMIT_SEGMENTS]; /* sorted by address, no two on one 4 KiB page */
  size_t segment_count;
  uint64_t end;              /* the end of the last segment */
  uint64_t align;            /* the largest alignment of a segment */
  kdl_host_extent read_only; /* after relocation */
  kdl_host_extent symbols;
  uint64_t symbol_count;
  kdl_host_extent strings;
  kdl_host_extent relocations[2];
  kdl_host_extent relative; /* DT_RELR */
  uint64_t init, fini;      /* 0 for none */
  kdl_host_extent init_array, fini_array;
} kdl_host_object;

kdl_status kdl_host_object_open(const void *data, size_t size, kdl_host_object *out_object);

/* The functions below take an object that was opened. */

/* Checks the descriptors of kernels (kdl_host_kernel_NAME), as binding does for one. Skips pointers
 * if symbols times relocations and symbols exceed 2^26. */
kdl_status kdl_host_object_check_kernels(const kdl_host_object *object);

/* The sizes of a kernel's parameters, at most KDL_HOST_LIMIT_PARAMS; false where the object has no
 * descriptor of it. */
bool kdl_host_object_read_params(const kdl_host_object *object, const char *kernel,
                                 uint32_t *out_sizes, uint32_t *out_count);

/* Whether the bytes are a shared object with kernel descriptors of <kdl/host_abi.h>. Uses the
 * section headers, so that it also works for objects that are refused. */
bool kdl_host_object_is_image(const void *data, size_t size);

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
