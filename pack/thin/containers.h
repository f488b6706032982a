/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The containers in a file that can be written again with fewer images: CUDA's fatbins, Clang's
 * bundles. Each is one module.
 */
#ifndef KDL_TOOL_THIN_CONTAINERS_H
#define KDL_TOOL_THIN_CONTAINERS_H

#include "pack/thin/output.h"
#include "pack/thin/selection.h"

typedef enum thin_container_kind {
  THIN_FATBIN,
  THIN_RELOCATABLE_FATBIN, /* the device linker's input */
  THIN_BUNDLE,
  THIN_COMPRESSED_BUNDLE, /* compressed by Clang */
  THIN_OFFLOAD,           /* an OffloadBinary in a linked file */
  THIN_SYCL,              /* an image that SYCL's runtime is given, in a linked file */
} thin_container_kind;

typedef struct thin_container {
  thin_container_kind kind;
  uint64_t offset; /* in the file */
  uint64_t size;
  size_t first; /* its images, by index */
  size_t count;
  size_t kept;
  bool is_compressed; /* what stays of it is stored compressed */
  bool must_keep_one; /* an image stays also where none was chosen */
  bool is_fixed;      /* stays as it is */
} thin_container;

typedef struct thin_container_list {
  thin_container *items; /* in the order of their offsets */
  size_t count;
  size_t capacity;
} thin_container_list;

/* The file as it lies in memory, and opened. */
typedef struct thin_input {
  const uint8_t *data;
  uint64_t size;
  const char *name; /* for messages */
  int fd;           /* of the file, or -1 */
  kdl_library *lib;
} thin_input;

/* Finds them. Images that lie elsewhere (in OffloadBinaries, SYCL's sections, bare) are in none. */
kdl_status thin_containers_find(const thin_input *input, const thin_selection *selection,
                                thin_container_list *out_list);
void thin_containers_free(thin_container_list *list);
void thin_containers_add(thin_container_list *list, const thin_container *found);
void thin_containers_sort(thin_container_list *list);

/* Whether it is written again. */
bool thin_container_changes(const thin_container *container);

/* Which of its images stay: those that were chosen; of a bundle for which none was, the smallest,
 * since AMD's runtime must find one, and of a container that keeps one. CUDA's takes an empty
 * fatbin for one without the device. `out_kept` has room for its images. */
void thin_container_kept_images(const thin_input *input, const thin_selection *selection,
                                const thin_container *container, bool *out_kept);

/* Adds the container with the images that stay. Their bytes, headers and order are as
 * they were. */
kdl_status thin_container_rewrite(const thin_input *input, const thin_selection *selection,
                                  const thin_container *container, thin_output *out);

/* Bundles: plain ones, and compressed ones as a kind of container of their own. */
struct kdl_stored_image;
void thin_bundle_rewrite(const thin_input *input, const bool *kept,
                         const struct kdl_stored_image *images, size_t count,
                         const thin_container *container, thin_output *out);
/* Adds a bundle that was compressed, with a header of the version that `header` has, and its codec.
 */
void thin_compressed_bundle_add(thin_output *out, const uint8_t *header, const uint8_t *bundle,
                                size_t size, const void *packed, size_t packed_size);
/* Compresses a bundle into the room that one had, behind its header. */
kdl_status thin_compressed_bundle_replace(const thin_input *input, uint8_t *file, uint64_t at,
                                          uint64_t room, const uint8_t *bundle, size_t size);
bool thin_compressed_bundle_match(const thin_input *input, const struct kdl_stored_image *images,
                                  size_t count, thin_container *out);
kdl_status thin_compressed_bundle_rewrite(const thin_input *input, const bool *kept,
                                          const struct kdl_stored_image *images, size_t count,
                                          const thin_container *container, thin_output *out);

/* ------------------------------------------------------------------------------------------ */
/* compress.c: storing what stays compressed                                                    */

/* By what the devices' drivers read. */
thin_compression thin_compression_for_devices(const cli_devices *devices);

/* Whether a container becomes smaller by it, as far as its headers tell. KDL_UNSUPPORTED where the
 * runtime is not known to read it. */
kdl_status thin_container_compresses(const thin_input *input, const thin_selection *selection,
                                     const thin_container *container, bool *out_packs);

/* Whether an entry of a fatbin does; adds it compressed, or as it is where that is smaller. */
bool thin_entry_compresses(const thin_selection *selection, const thin_container *container,
                           const uint8_t *entry);
kdl_status thin_entry_compress(const thin_input *input, const thin_selection *selection,
                               const uint8_t *entry, thin_output *out);

/* The same for a bundle that was written again. */
kdl_status thin_bundle_compress(const thin_input *input, const thin_selection *selection,
                                const thin_container *container, const thin_output *plain,
                                thin_output *out);

/* ------------------------------------------------------------------------------------------ */
/* sycl_image.c: an image that SYCL's runtime is given: SPIR-V or machine code, or an archive of
 * machine code for several devices, as Intel's compiler writes it; plain, or as a zstd frame    */

/* Whether four first bytes are those of a compressed one. */
bool thin_sycl_is_compressed(const uint8_t *bytes);

/* Whether the bytes of `container` are an image that is understood, whose size in SYCL's table is
 * `listed_size`; and whether one of its listed images must stay, since others that are not listed
 * are with them. */
bool thin_sycl_match(const thin_input *input, uint64_t listed_size, const thin_container *container,
                     bool *out_keeps_one);

/* Adds the image with what stays of it, and tells the size that the table is to say. Where it would
 * not become smaller, it is added as it is. */
kdl_status thin_sycl_rewrite(const thin_input *input, const thin_selection *selection,
                             const thin_container *container, thin_output *out,
                             uint64_t *out_listed_size);

#endif
