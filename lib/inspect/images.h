/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Images, beyond <kdl/kdl.h>.
 *
 * The first part is about a single image: its kind from the first bytes, its target and kernels
 * from all of them. These are pure functions over memory: no allocation, no I/O, no trust in any
 * length or offset, no alignment needed. The second part is about the images of a library:
 * acquiring their bytes, their names in messages, and how their file stores them.
 */
#ifndef KDL_LIB_INSPECT_IMAGES_H
#define KDL_LIB_INSPECT_IMAGES_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kdl_source kdl_source;

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

/* Whether the image uses functions or variables that neither it nor the driver defines, so that it
 * must be linked first. Only for cubins and PTX; other kinds count as resolved. */
kdl_status kdl_image_read_unresolved(kdl_image_kind kind, const void *data, size_t size,
                                     bool *out_unresolved);

/* Calls `visit` for each kernel that the image defines; non-zero stops. KDL_UNSUPPORTED where names
 * of this kind cannot be read. Names have no final NUL. */
typedef int kdl_visit_name(void *user, const char *name, size_t length);
kdl_status kdl_image_read_kernels(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_name *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* The images of a library                                                                      */

/* Opens a part of a file as a library. */
kdl_status kdl_library_open_part(const char *path, const char *name, uint64_t offset, uint64_t size,
                                 kdl_library **out_lib);

/* Acquires an image's bytes: kdl_image_bytes for callers that read many images and keep none. Each
 * success needs one release. */
kdl_status kdl_library_acquire_bytes(kdl_library *lib, size_t index, const void **out_data,
                                     size_t *out_size);
void kdl_library_release_bytes(kdl_library *lib, size_t index);

/* "image 2 (cubin sm_90)" */
void kdl_image_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size);

/* An image as stored in its file, for programs that rewrite the file. Offsets are those in its
 * source. */
typedef struct kdl_stored_image {
  kdl_image_kind kind;
  uint16_t offload_kind;
  bool is_link_input; /* by its section: input of a device linker */
  bool is_packed;     /* its source is a compressed part of the file, maybe with other images */
  uint8_t codec;      /* kdl_codec, of the image alone */
  uint64_t header_offset;
  uint64_t offset;
  uint64_t stored_size;
  uint64_t size;       /* inflated */
  size_t parent;       /* index, or KDL_NO_PARENT */
  size_t module;       /* images of one module are variants of the same code */
  kdl_string arch;     /* "" where unknown */
  const char *label;   /* format and location, for messages */
  const char *problem; /* why its nested images cannot be listed; NULL where they can */
  const kdl_source *source;
} kdl_stored_image;

/* All images, for as long as the library is open; NULL when out of memory. */
const kdl_stored_image *kdl_stored_images(kdl_library *lib);

/* The source of images: a file, or a compressed part of another source. */
typedef struct kdl_source_info {
  uint64_t size;
  uint8_t codec;           /* kdl_codec; KDL_CODEC_NONE for a file, whose other members are 0 */
  const kdl_source *outer; /* the source of the compressed bytes */
  uint64_t packed_offset;  /* in `outer` */
  uint64_t packed_size;    /* in `outer` */
} kdl_source_info;

kdl_source_info kdl_source_read(const kdl_source *source);

#endif
