/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What one device image says of itself: its kind from the first bytes, its target and its kernels
 * from the whole. Pure functions over memory: no allocation, no I/O, no trust in any length or
 * offset. Image bytes need no alignment.
 */
#ifndef KDL_IMAGE_IMAGE_H
#define KDL_IMAGE_IMAGE_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many first bytes kdl_image_sniff needs: what decides is in the first 24, but for PTX, which
 * may begin with a comment. The longest that a compiler writes is nvcc's, of 154 bytes. */
enum { KDL_SNIFF_SIZE = 256 };

/* The kind of an image by its first bytes: magic, ELF machine, or the `.version` directive that
 * PTX must begin with, after blanks and comments; KDL_IMAGE_UNKNOWN where they say nothing. `size`
 * may be less than the image has; a larger one than KDL_SNIFF_SIZE helps only where a PTX file
 * opens with a longer comment. */
kdl_image_kind kdl_image_sniff(const void *head, size_t size);

/* What a file is by its first bytes, images among others. */
typedef enum kdl_file_kind {
  KDL_FILE_UNKNOWN,
  KDL_FILE_IMAGE,  /* or a container; none of the next two */
  KDL_FILE_OBJECT, /* a relocatable ELF object of 64 bits in little-endian order */
  KDL_FILE_LINKED, /* a shared object or executable in ELF, not of a device */
  KDL_FILE_ARCHIVE,
  KDL_FILE_THIN_ARCHIVE, /* which names its members and does not hold them */
  KDL_FILE_ZIP,
  KDL_FILE_DOS, /* "MZ": programs and libraries of Windows, among others */
} kdl_file_kind;

/* *out_kind is what kdl_image_sniff says. */
kdl_file_kind kdl_file_sniff(const void *head, size_t size, kdl_image_kind *out_kind);

/* Room for a triple or the name of a processor, and for one with a list of features. */
enum { KDL_TARGET_NAME = 64, KDL_TARGET_ARCH = 2048, KDL_TARGET_FEATURES = 128 };

/* The target an image was built for, as far as the image itself tells. */
typedef struct kdl_image_target {
  char triple[KDL_TARGET_NAME]; /* "nvptx64-nvidia-cuda", ...; "" where unknown                  */
  char arch[KDL_TARGET_ARCH];   /* "sm_90a", "gfx90a:xnack-", "x86-64-v3+amx_tile"; "" likewise  */
  uint16_t offload_kind;  /* what a packer would use: CUDA for cubin and PTX, HIP for hsaco, ... */
  uint32_t version_major; /* PTX ISA, SPIR-V version, AMD code object version; 0 where none      */
  uint32_t version_minor;
  uint32_t generic_version; /* of an AMD generic target; 0 where the target is not generic       */
  /* SPIR-V: the tokens of requires_features that its capabilities stand for, "fp64+int64". */
  char features[KDL_TARGET_FEATURES];
} kdl_image_target;

/* Reads the target from the image. KDL_BAD_FILE where the image contradicts its own format, with a
 * message that names offset, field, found and expected (the caller prefixes the file). */
kdl_status kdl_image_read_target(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_image_target *out_target);

/* Whether the image uses functions or variables that neither it nor the driver defines, so that a
 * linker must go over it first. Cubins and PTX tell; other kinds are taken for whole. */
kdl_status kdl_image_read_unresolved(kdl_image_kind kind, const void *data, size_t size,
                                     bool *out_unresolved);

/* Calls `visit` for each kernel the image defines; non-zero stops. KDL_UNSUPPORTED where this kind
 * of image does not tell. Names are not NUL-terminated in the image: `length` counts. */
typedef int kdl_visit_name(void *user, const char *name, size_t length);
kdl_status kdl_image_read_kernels(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_name *visit, void *user);

#endif
