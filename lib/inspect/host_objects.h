/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host image as it is loaded: the segments, symbols and relocations of a 64-bit little-endian
 * shared object. kdl_host_object_open checks everything that loading uses, so that what it accepts
 * can be mapped and relocated without reading or writing outside the image; what the code does once
 * it runs is the code's. A pure function over memory: `kdl verify` and the host backend share it.
 *
 * KDL_BAD_FILE where the object contradicts itself, KDL_UNSUPPORTED where it is well-formed and
 * asks for something that host images do not have (<kdl/host_abi.h> lists it).
 */
#ifndef KDL_INSPECT_HOST_OBJECTS_H
#define KDL_INSPECT_HOST_OBJECTS_H

#include "support/base/elf_file.h"
#include "support/base/text.h"

#include <kdl/host_abi.h>
#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  KDL_HOST_LIMIT_SEGMENTS = 16,
  KDL_HOST_LIMIT_FUNCTIONS = 64, /* more than an image has of constructors, or of destructors */
  KDL_HOST_LIMIT_PARAMS = 4096,
  KDL_HOST_SYMBOL_SIZE = 24,
  KDL_HOST_RELOCATION_SIZE = 24,
};

/* Of address space that the object takes. */
#define KDL_HOST_LIMIT_SPAN ((uint64_t)1 << 31)

typedef struct kdl_host_extent {
  uint64_t address;
  uint64_t size;
} kdl_host_extent;

/* Addresses are the object's own; loading adds where it was put. */
typedef struct kdl_host_object {
  const uint8_t *data;
  size_t size;
  kdl_elf elf; /* what the header has: class, byte order, machine */
  kdl_elf_segment segments[KDL_HOST_LIMIT_SEGMENTS]; /* by address, no two on one page of 4 KiB */
  size_t segment_count;
  uint64_t end;              /* behind the last segment */
  uint64_t align;            /* the largest of a segment */
  kdl_host_extent read_only; /* once relocated */
  kdl_host_extent symbols;
  uint64_t symbol_count;
  kdl_host_extent strings;
  kdl_host_extent relocations[2];
  kdl_host_extent relative; /* DT_RELR */
  uint64_t init, fini;      /* 0 for none */
  kdl_host_extent init_array, fini_array;
} kdl_host_object;

typedef struct kdl_host_symbol {
  const char *name;
  uint8_t type;
  uint8_t binding;
  bool is_defined;
  bool is_absolute;
  bool is_visible; /* to those who look it up by its name */
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

kdl_status kdl_host_object_open(const void *data, size_t size, kdl_host_object *out_object);

/* The rest takes objects that were opened. */

/* Bytes that the file has for an address; NULL where not all of `size` are there. */
const uint8_t *kdl_host_object_at(const kdl_host_object *object, uint64_t address, uint64_t size);

/* Whether [address, address + size) lies in one segment, which is writable or executable where that
 * is asked for. */
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

/* What a word of the image holds once it is loaded, less where the object was put; false where that
 * is none of the object's addresses. */
bool kdl_host_object_pointer(const kdl_host_object *object, uint64_t address, uint64_t *out_target);

/* Checks the descriptions of kernels (kdl_host_kernel_NAME), as binding one does when it is asked
 * for. Where symbols times relocations and symbols are over 2^26, pointers are left to that. */
kdl_status kdl_host_object_check_kernels(const kdl_host_object *object);

/* The sizes of a kernel's parameters, of which there are at most KDL_HOST_LIMIT_PARAMS; false where
 * the object does not describe it. */
bool kdl_host_object_read_params(const kdl_host_object *object, const char *kernel,
                                 uint32_t *out_sizes, uint32_t *out_count);

/* Whether the bytes are of a shared object that describes kernels as <kdl/host_abi.h> has it, and
 * so was made for libkdl: by the section headers, so that it is known of objects that were refused.
 */
bool kdl_host_object_is_image(const void *data, size_t size);

/* Part of kdl_host_object_open, in a file of its own. */
kdl_status kdl_host_object_check_relocations(const kdl_host_object *object);

/* ------------------------------------------------------------------------------------------ */
/* The note of the CPU that an object needs                                                     */

/* Assembly that puts the note into an object, in lines. Linkers keep it: it is loaded along with
 * the code, and none drops a note's section for not being used. `features` are tokens that the code
 * needs beyond the arch, joined by '+'; "" for none. */
void kdl_out_host_note(kdl_out *out, const char *arch, const char *features);

/* The longest text that a reader takes, with the NUL, and room for the assembly of one. */
enum { KDL_HOST_NOTE_TEXT = 2048, KDL_HOST_NOTE_ROOM = KDL_HOST_NOTE_TEXT + 256 };

#endif
