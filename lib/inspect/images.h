/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One image in memory: its kind from the first bytes; its target, its kernels and what they take,
 * use and do from all of them. Pure functions: no allocation, no I/O, no trust in any length or
 * offset, no alignment needed.
 */
#ifndef KDL_LIB_INSPECT_IMAGES_H
#define KDL_LIB_INSPECT_IMAGES_H

#include <kdl/kdl.h>
#include <kdl/resources.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of first bytes that kdl_image_sniff needs. The first 24 decide, except for PTX, which
 * may begin with a comment. The longest one of a compiler is nvcc's, of 154 bytes. */
enum { KDL_SNIFF_SIZE = 256 };

/* The kind of an image by its first bytes: magic, ELF machine, or PTX's `.version` directive after
 * blanks and comments; KDL_IMAGE_UNKNOWN for others. `size` may be less than the image's; more than
 * KDL_SNIFF_SIZE helps only for PTX with a longer comment. */
kdl_image_kind kdl_image_sniff(const void *head, size_t size);

/* The kind of a file by its first bytes. */
typedef enum kdl_file_kind {
  KDL_FILE_UNKNOWN,
  KDL_FILE_IMAGE,  /* an image or a container, but none of the next two */
  KDL_FILE_OBJECT, /* a relocatable ELF object of 64 bits in little-endian order */
  KDL_FILE_LINKED, /* a shared object or executable in ELF, not of a device */
  KDL_FILE_ARCHIVE,
  KDL_FILE_THIN_ARCHIVE, /* has only the names of its members */
  KDL_FILE_ZIP,
  KDL_FILE_DOS, /* "MZ": programs and libraries of Windows, among others */
} kdl_file_kind;

/* *out_kind is the result of kdl_image_sniff. */
kdl_file_kind kdl_file_sniff(const void *head, size_t size, kdl_image_kind *out_kind);

/* Sizes for a triple or processor name, and for one with a list of features. */
enum { KDL_TARGET_NAME = 64, KDL_TARGET_ARCH = 2048, KDL_TARGET_FEATURES = 128 };

/* The target of an image, as far as the image contains it. */
typedef struct kdl_image_target {
  char triple[KDL_TARGET_NAME]; /* "nvptx64-nvidia-cuda", ...; "" where unknown                  */
  char arch[KDL_TARGET_ARCH];   /* "sm_90a", "gfx90a:xnack-", "x86-64-v3+amx_tile", or "" */
  uint16_t offload_kind;  /* what a packer would use: CUDA for cubin and PTX, HIP for hsaco, ... */
  uint32_t version_major; /* PTX ISA, SPIR-V version, AMD code object version; 0 where none      */
  uint32_t version_minor;
  uint32_t generic_version; /* of an AMD generic target; 0 where the target is not generic       */
  /* SPIR-V: the tokens of requires_features for its capabilities, "fp64+int64". */
  char features[KDL_TARGET_FEATURES];
} kdl_image_target;

/* Reads the target from the image. KDL_BAD_FILE where the image contradicts its own format, with a
 * message that names offset, field, found and expected (the caller prefixes the file). */
kdl_status kdl_image_read_target(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_image_target *out_target);

/* Calls `visit` for each kernel that the image defines; non-zero stops. KDL_UNSUPPORTED where names
 * of this kind cannot be read. Names have no final NUL. */
typedef int kdl_visit_name(void *user, const char *name, size_t length);
kdl_status kdl_image_read_kernels(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_name *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

/*
 * The parameters of one kernel, as far as the image contains them: to check a signature, and to
 * launch a kernel without one.
 *
 *     static int count_bytes(void *user, const kdl_image_param *param) {
 *       *(size_t *)user += param->size;
 *       return 0;
 *     }
 *     kdl_image_read_params(KDL_IMAGE_CUBIN, data, size, KDL_TEXT("saxpy"), count_bytes, &total);
 *
 * All formats below contain the number of parameters and their sizes. They differ in the rest:
 *
 *            offsets         kinds
 *     PTX    by C's layout   floats; integers and pointers, unless they have the same size
 *     cubin  yes             pointers, if the PTX declares them; nothing else
 *     AMD    yes             pointers and values
 *     SPIR-V no              all
 *     CL     no              all built-in types
 *     zebin  no              pointers and values; nothing for unused parameters
 *
 * Parameters of host code, LLVM bitcode and NVIDIA's link-time IR are not read.
 */

typedef enum kdl_image_param_kind {
  KDL_IMAGE_PARAM_BYTES,   /* only the size is known */
  KDL_IMAGE_PARAM_VALUE,   /* not a pointer: a number or a structure */
  KDL_IMAGE_PARAM_INTEGER, /* signed or unsigned: no format distinguishes them */
  KDL_IMAGE_PARAM_FLOAT,
  KDL_IMAGE_PARAM_POINTER,
  KDL_IMAGE_PARAM_OPAQUE, /* an image, a sampler, ..., or unknown */
  KDL_IMAGE_PARAM_GROUP,  /* group memory: a launch has a size for it, not an argument */
} kdl_image_param_kind;

#define KDL_NO_OFFSET UINT32_MAX

typedef struct kdl_image_param {
  uint32_t index; /* 0 for the first */
  kdl_image_param_kind kind;
  uint32_t size;   /* bytes; 0 for group memory, opaque ones, and structures in zebins */
  uint32_t offset; /* in the block of arguments; KDL_NO_OFFSET where the format has none */
  bool is_rounded; /* the size is rounded up to a multiple of 4 */
} kdl_image_param;

/* More parameters are refused. CUDA's 32,764 bytes of arguments are 4,095 pointers; the longest
 * lists in NVIDIA's own libraries are below 100. */
enum { KDL_IMAGE_PARAM_LIMIT = 1024 };

/* Calls `visit` for each parameter, in order; non-zero stops. Arguments that a launcher adds (AMD's
 * hidden ones) are no parameters. KDL_NO_MATCH where the image has no such kernel, KDL_UNSUPPORTED
 * where its kind has no parameters that can be read, KDL_BAD_FILE, with a message as from
 * kdl_image_read_target, where it contradicts its format, perhaps after some visits. */
typedef int kdl_visit_param(void *user, const kdl_image_param *param);
kdl_status kdl_image_read_params(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_string kernel, kdl_visit_param *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Geometry                                                                                     */

/* Zeros where the image declares none. */
typedef struct kdl_image_geometry {
  uint32_t block[3]; /* work-items in a group: the only size that works */
  uint32_t tile[3];  /* work-items of the problem that a group covers */
} kdl_image_geometry;

/* Zeros for a damaged image or an unknown kernel: loading reports these. */
kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel);

/* ------------------------------------------------------------------------------------------ */
/* AMD code objects                                                                             */

/* KDL_BAD_FILE for a stripped code object: HIP looks up `.symtab` and `.strtab` by name, and
 * crashes if they are missing. */
kdl_status kdl_amdgpu_check_symbols(const void *data, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* Names of OpenCL C                                                                            */

/* A prefix for kernels whose names collide with a driver's function: the kernel `dot` is
 * `kdl_cl_dot` in the text. */
#define KDL_OPENCL_C_PREFIX "kdl_cl_"

/* ------------------------------------------------------------------------------------------ */
/* Resources                                                                                    */

/* What each kernel of an image uses and does, of bytes in memory: <kdl/resources.h> has the
 * numbers, docs/resources.md their sources. */

/* Of a kernel for which nothing is declared. */
extern const kdl_kernel_resources kdl_no_resources;

/* ------------------------------------------------------------------------------------------ */
/* Digests                                                                                      */

/* To find kernels whose code changed. Equal digests are those of equal code, up to the addresses in
 * it that depend on the rest of the image; names, notes and debug information do not count. They
 * are hashes against accidents, not against attackers. docs/kernel-diff.md has what is hashed. */
typedef struct kdl_kernel_digest {
  uint64_t code[2]; /* zeros: not read */
  uint64_t params;  /* of the sizes and offsets of its parameters; 0: not read */
} kdl_kernel_digest;

/* Calls `visit` for each kernel, in the order of kdl_image_read_kernels, and fails as that does.
 * IR other than PTX, and source, is hashed as a whole: a change in it is one of every kernel. */
typedef int kdl_visit_digest(void *user, kdl_string kernel, const kdl_kernel_digest *digest);
kdl_status kdl_image_read_digests(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_digest *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Occupancy                                                                                    */

/* For groups of `block` work-items with `dynamic_shared` bytes in addition to the static ones, on a
 * device of that architecture ("sm_90", "gfx942"). False where the limits of the architecture are
 * not known, or the kernel does not declare its registers. */
bool kdl_occupancy_of(kdl_string arch, const kdl_kernel_resources *uses, uint32_t block,
                      uint32_t dynamic_shared, kdl_occupancy *out_occupancy);

/* ------------------------------------------------------------------------------------------ */
/* Imports of host code                                                                         */

typedef enum kdl_host_import {
  KDL_HOST_IMPORT_NONE, /* not permitted */
  KDL_HOST_IMPORT_LIBC,
  KDL_HOST_IMPORT_LIBM,
} kdl_host_import;

/* Longer than any of their names. */
enum { KDL_HOST_LIMIT_IMPORT = 64 };

kdl_host_import kdl_host_import_of(kdl_string name);

#endif
