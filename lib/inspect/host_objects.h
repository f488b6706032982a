/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host image for loading: the segments, symbols and relocations of a 64-bit little-endian shared
 * object. kdl_host_object_open checks everything that loading uses, so that an accepted object can
 * be mapped and relocated without access outside of the image. The code itself is not checked. A
 * pure function over memory, used by `kdl verify` and the host backend.
 *
 * KDL_BAD_FILE where the object contradicts itself, KDL_UNSUPPORTED where it is well-formed and
 * needs something that host images may not have (<kdl/host_abi.h> lists it).
 */
#ifndef KDL_LIB_INSPECT_HOST_OBJECTS_H
#define KDL_LIB_INSPECT_HOST_OBJECTS_H

#include "support/base/elf_file.h"
#include "support/base/text.h"

#include <kdl/host_abi.h>
#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  KDL_HOST_LIMIT_SEGMENTS = 16,
  KDL_HOST_LIMIT_FUNCTIONS = 64, /* the limit of constructors, and of destructors */
  KDL_HOST_LIMIT_PARAMS = 4096,
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

/* ------------------------------------------------------------------------------------------ */
/* The note of the CPU that an object needs                                                     */

/* Prints assembly that adds the note to an object. Linkers keep it: the note is loaded, and garbage
 * collection keeps note sections. `features` are tokens that the code needs beyond the arch, joined
 * by '+'; "" for none. */
void kdl_out_host_note(kdl_out *out, const char *arch, const char *features);

/* The longest text of a note with its NUL, and the size of its assembly. */
enum { KDL_HOST_NOTE_TEXT = 2048, KDL_HOST_NOTE_ROOM = KDL_HOST_NOTE_TEXT + 256 };

#endif
