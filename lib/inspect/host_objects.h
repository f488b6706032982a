/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host images: 64-bit little-endian shared objects. An accepted one can be mapped and relocated
 * without access outside of the image; the code itself is not checked. Pure functions over memory.
 *
 * KDL_BAD_FILE where the object contradicts itself, KDL_UNSUPPORTED where it is well-formed and
 * needs something that host images may not have (<kdl/host_abi.h> lists it).
 */
#ifndef KDL_LIB_INSPECT_HOST_OBJECTS_H
#define KDL_LIB_INSPECT_HOST_OBJECTS_H

#include "support/base/text.h"

#include <kdl/host_abi.h>
#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KDL_HOST_LIMIT_PARAMS = 4096 };

/* Checks everything that loading uses. */
kdl_status kdl_host_image_check(const void *data, size_t size);

/* The same, and the descriptors of kernels (kdl_host_kernel_NAME), as binding does for one, but not
 * their pointers if symbols times relocations and symbols exceed 2^26. KDL_OK for an object without
 * descriptors that needs what host images may not have. */
kdl_status kdl_host_image_check_kernels(const void *data, size_t size);

/* The sizes of a kernel's parameters, at most KDL_HOST_LIMIT_PARAMS; false where the image cannot
 * be loaded or has no descriptor of it. */
bool kdl_host_image_read_params(const void *data, size_t size, const char *kernel,
                                uint32_t *out_sizes, uint32_t *out_count);

/* ------------------------------------------------------------------------------------------ */
/* The note of the CPU that an object needs                                                     */

/* Prints assembly that adds the note to an object. Linkers keep it: the note is loaded, and garbage
 * collection keeps note sections. `features` are tokens that the code needs beyond the arch, joined
 * by '+'; "" for none. */
void kdl_out_host_note(kdl_out *out, const char *arch, const char *features);

/* The longest text of a note with its NUL, and the size of its assembly. */
enum { KDL_HOST_NOTE_TEXT = 2048, KDL_HOST_NOTE_ROOM = KDL_HOST_NOTE_TEXT + 256 };

#endif
