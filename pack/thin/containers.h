/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Containers that can be rewritten with fewer images: CUDA's fatbins, Clang's bundles. Each is one
 * module.
 */
#ifndef KDL_PACK_THIN_CONTAINERS_H
#define KDL_PACK_THIN_CONTAINERS_H

#include "pack/thin/output.h"
#include "pack/thin/selection.h"

typedef enum thin_container_kind {
  THIN_FATBIN,
  THIN_RELOCATABLE_FATBIN, /* input of the device linker */
  THIN_BUNDLE,
  THIN_COMPRESSED_BUNDLE, /* compressed by Clang */
  THIN_OFFLOAD,           /* an OffloadBinary in a linked file */
  THIN_SYCL,              /* an image in SYCL's descriptors, in a linked file */
} thin_container_kind;

typedef struct thin_container {
  thin_container_kind kind;
  uint64_t offset; /* in the file */
  uint64_t size;
  size_t first; /* index of its first image */
  size_t count;
  size_t kept;
  bool is_compressed; /* the remaining images are stored compressed */
  bool must_keep_one; /* keeps an image even if none was selected */
  bool is_fixed;      /* must not change */
} thin_container;

typedef struct thin_container_list {
  thin_container *items; /* by offset */
  size_t count;
  size_t capacity;
} thin_container_list;

/* The file in memory, and its library. */
typedef struct thin_input {
  const uint8_t *data;
  uint64_t size;
  const char *name; /* for messages */
  int fd;           /* of the file, or -1 */
  kdl_library *lib;
} thin_input;

/* Finds the containers. Images elsewhere (in OffloadBinaries, SYCL's sections, bare) are in
 * none. */
kdl_status thin_containers_find(const thin_input *input, const thin_selection *selection,
                                thin_container_list *out_list);
void thin_containers_free(thin_container_list *list);
void thin_containers_add(thin_container_list *list, const thin_container *found);
void thin_containers_sort(thin_container_list *list);

/* Whether it is rewritten. */
bool thin_container_changes(const thin_container *container);

/* Which of its images stay: the selected ones. Where none was selected: of a bundle, and of a
 * container that must keep one, the smallest, since AMD's runtime must find an image; of a fatbin
 * none, which CUDA treats as one without code for the device. `out_kept` has a flag per image. */
void thin_container_kept_images(const thin_input *input, const thin_selection *selection,
                                const thin_container *container, bool *out_kept);

/* Adds the container with the remaining images. Their bytes, headers and order do not change. */
kdl_status thin_container_rewrite(const thin_input *input, const thin_selection *selection,
                                  const thin_container *container, thin_output *out);

/* Bundles. Compressed ones are a separate kind of container. */
struct kdl_stored_image;
void thin_bundle_rewrite(const thin_input *input, const bool *kept,
                         const struct kdl_stored_image *images, size_t count,
                         const thin_container *container, thin_output *out);
/* Adds a compressed bundle, with the codec and the version of `header`. */
void thin_compressed_bundle_add(thin_output *out, const uint8_t *header, const uint8_t *bundle,
                                size_t size, const void *packed, size_t packed_size);
/* Compresses a bundle into the room of the old one, after its header. */
kdl_status thin_compressed_bundle_replace(const thin_input *input, uint8_t *file, uint64_t at,
                                          uint64_t room, const uint8_t *bundle, size_t size);
bool thin_compressed_bundle_match(const thin_input *input, const struct kdl_stored_image *images,
                                  size_t count, thin_container *out);
kdl_status thin_compressed_bundle_rewrite(const thin_input *input, const bool *kept,
                                          const struct kdl_stored_image *images, size_t count,
                                          const thin_container *container, thin_output *out);

/* ------------------------------------------------------------------------------------------ */
/* compress.c: compressed storage                                                               */

/* Chosen by what the devices' drivers can read. */
thin_compression thin_compression_for_devices(const cli_devices *devices);

/* Whether compression makes a container smaller, judging by its headers. KDL_UNSUPPORTED where the
 * runtime is not known to read it. */
kdl_status thin_container_compresses(const thin_input *input, const thin_selection *selection,
                                     const thin_container *container, bool *out_packs);

/* The same for an entry of a fatbin; and adds one compressed, or as it is where that is smaller. */
bool thin_entry_compresses(const thin_selection *selection, const thin_container *container,
                           const uint8_t *entry);
kdl_status thin_entry_compress(const thin_input *input, const thin_selection *selection,
                               const uint8_t *entry, thin_output *out);

/* The same for a rewritten bundle. */
kdl_status thin_bundle_compress(const thin_input *input, const thin_selection *selection,
                                const thin_container *container, const thin_output *plain,
                                thin_output *out);

/* ------------------------------------------------------------------------------------------ */
/* sycl_image.c: an image in SYCL's descriptors: SPIR-V or machine code, or an archive of machine
 * code for several devices, as Intel's compiler writes it; plain, or as a zstd frame */

/* Whether the first four bytes are those of a compressed one. */
bool thin_sycl_is_compressed(const uint8_t *bytes);

/* Whether the bytes of `container` are a known form of image, whose size in SYCL's table is
 * `listed_size`. *out_keeps_one is set where the container has
 * further images that libkdl does not list: one listed image must then stay. */
bool thin_sycl_match(const thin_input *input, uint64_t listed_size, const thin_container *container,
                     bool *out_keeps_one);

/* Adds the image with what remains of it, and returns the new size for the table. Adds it unchanged
 * where it would not become smaller. */
kdl_status thin_sycl_rewrite(const thin_input *input, const thin_selection *selection,
                             const thin_container *container, thin_output *out,
                             uint64_t *out_listed_size);

#endif
