/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A container of any format, as a flat list of images.
 *
 * Opening reads headers only. Each format has one parser, which takes a region of bytes and appends
 * images with kdl_container_add. If the first bytes of an image are those of a container, that is
 * parsed too, and its images follow with `parent` set. Metadata is copied, so that afterwards only
 * image bytes refer to the file.
 */
#ifndef KDL_LIB_CONTAINER_CONTAINER_H
#define KDL_LIB_CONTAINER_CONTAINER_H

#include "lib/container/source.h"
#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "support/base/arena.h"

#include <kdl/kdl.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KDL_PARENT_NONE UINT32_MAX
#define KDL_MODULE_NONE UINT32_MAX

/* Which groups of keys an image's metadata has, besides triple and arch. */
enum {
  KDL_METADATA_HAS_KERNELS = 1 << 0, /* a kernel index: kdl.kernel.NAME */
  KDL_METADATA_HAS_VERSION = 1 << 1, /* kdl.version, or the version_key of a kind */
  KDL_METADATA_HAS_DIGEST = 1 << 2,  /* kdl.digest */
  KDL_METADATA_HAS_RULES =
      1 << 3, /* keys without the prefix kdl.: those of lib/target/rules/metadata.h, or others */
  KDL_METADATA_HAS_UNKNOWN_KIND =
      1 << 4, /* kdl.kind or declared_kind has a value that libkdl does not know */
};

typedef struct kdl_image {
  kdl_source *source; /* has the stored bytes */
  uint64_t offset;
  uint64_t stored_size;
  uint64_t size;    /* inflated */
  uint32_t trailer; /* zero bytes after the inflated image that are not part of it: the NUL after
                       PTX in a fatbin */
  kdl_codec codec;
  kdl_image_kind kind;
  uint8_t metadata_flags; /* KDL_METADATA_HAS_ */
  bool is_link_input;     /* by its section: input of a device linker, never loaded */
  uint16_t declared_kind; /* LLVM's ImageKind number, or 0 */
  uint16_t offload_kind;
  uint32_t flags;
  uint32_t parent; /* index, or KDL_PARENT_NONE */
  uint32_t module; /* images of one module are variants of the same code */
  uint32_t pair_count;
  const kdl_pair *pair_list; /* for kdl_image_pairs */
  /* While the pairs are not read: the OffloadBinary, in the caller's memory. */
  _Atomic(const uint8_t *) lazy_pairs;
  kdl_string triple;
  kdl_string arch;
  uint64_t header_offset;
  const char *label;   /* format and location, for messages */
  const char *problem; /* why its nested images cannot be listed; NULL where they can */
  kdl_inflated_buffer
      *buffer; /* of the bytes inflated or copied for this image; NULL until needed */
  _Atomic(const void *) verified; /* the verified bytes, in memory of this process */
} kdl_image;

/* Memory of an evicted buffer, which the next image may be inflated into. */
typedef struct kdl_free_buffer {
  uint8_t *memory;
  uint64_t capacity;
} kdl_free_buffer;

enum { KDL_LIMIT_FREE_BUFFERS = 16 };

typedef struct kdl_container {
  kdl_arena arena; /* after opening, for objects of the library */
  /* After kdl_container_publish: the unused part of the arena's current block, for
   * kdl_container_alloc. */
  uint8_t *bump;
  size_t bump_size;
  atomic_size_t bump_used;
  kdl_source *sources; /* in reverse order of opening */
  kdl_image *images;
  uint32_t count;
  uint32_t capacity;
  uint32_t module_count;
  bool is_self; /* the calling program's file: sections are found by type and name, and not scanned
                 */
  bool is_installed; /* installed with libkdl, and as trusted */
  const char *name;
  uint64_t stored;      /* bytes of the files */
  uint64_t inflated;    /* declared inflated size of their compressed parts */
  pthread_mutex_t lock; /* guards the arena and the buffers after opening */
  struct kdl_nested_container
      *nested_containers;          /* opened from verified bytes: lib/container/verify.c */
  kdl_inflated_buffer *lru_oldest; /* of the evictable buffers */
  kdl_inflated_buffer *lru_newest;
  uint64_t evictable_size;    /* bytes of the evictable buffers */
  bool has_buffers;           /* an image has a buffer */
  kdl_free_buffer *free_list; /* KDL_LIMIT_FREE_BUFFERS + 1 elements; NULL until needed */
  size_t free_count;
} kdl_container;

kdl_status kdl_container_open_file(const char *path, const char *name,
                                   kdl_container **out_container);
/* The same for the calling program's file: the sections of its libraries are known, and its other
 * data is not scanned. */
kdl_status kdl_container_open_self(const char *path, const char *name,
                                   kdl_container **out_container);
/* Several files as one container, their images in the order of the files. `name` is copied. */
kdl_status kdl_container_open_files(const char *const *paths, size_t count, const char *name,
                                    kdl_container **out_container);
/* A part of a file, for example a member of an archive; offsets in messages count from the start of
 * the file. */
kdl_status kdl_container_open_part(const char *path, const char *name, uint64_t offset,
                                   uint64_t size, kdl_container **out_container);
kdl_status kdl_container_open_memory(const void *data, size_t size, const char *name,
                                     kdl_container **out_container);

void kdl_container_close(kdl_container *container);

/* As kdl_image_get; the index must be valid. */
kdl_image_info kdl_container_image(const kdl_container *container, size_t index);

/* Call it before other threads use an open container. From then on kdl_container_alloc is the only
 * source of memory that lives as long as the container. */
void kdl_container_publish(kdl_container *container);

/* Any thread. Takes no lock while the current block suffices. NULL when out of memory. */
void *kdl_container_alloc_slow(kdl_container *container, size_t size);
static inline void *kdl_container_alloc(kdl_container *container, size_t size) {
  size_t used = atomic_load_explicit(&container->bump_used, memory_order_relaxed);
  size = (size + 7) & ~(size_t)7;
  while (size <= container->bump_size - used) {
    if (atomic_compare_exchange_weak_explicit(&container->bump_used, &used, used + size,
                                              memory_order_relaxed, memory_order_relaxed))
      return container->bump + used;
  }
  return kdl_container_alloc_slow(container, size);
}

/* Closes the nested containers of kdl_container_verified_bytes. */
void kdl_container_close_nested(kdl_container *container);

/* The image's bytes, inflated if needed, until the container is closed; see kdl_image_bytes. */
kdl_status kdl_container_bytes(kdl_container *container, uint32_t index, const void **out_data,
                               size_t *out_size);

/* The same in memory that no other process can change or truncate: bytes of a file are copied. */
kdl_status kdl_container_private_bytes(kdl_container *container, uint32_t index,
                                       const void **out_data, size_t *out_size);

/* The same for bytes that will run: KDL_BAD_FILE where the image's signature is not trusted
 * (lib/inspect/trust.h), or its digest does not match its metadata. If either is checked, these are
 * the bytes that were checked. The first call for an image checks. */
kdl_status kdl_container_verified_bytes(kdl_container *container, uint32_t index,
                                        const void **out_data, size_t *out_size);

/* kdl_container_bytes for short use: the bytes are valid until kdl_container_release_bytes, which
 * must be called once for each success. Inflated bytes without a reference stay in a small cache
 * for the next reader, and are freed beyond that. */
kdl_status kdl_container_acquire_bytes(kdl_container *container, uint32_t index,
                                       const void **out_data, size_t *out_size);
void kdl_container_release_bytes(kdl_container *container, uint32_t index);

/* Frees the buffers of single images, even with references: for closing. */
void kdl_container_free_buffers(kdl_container *container);

/* Sets the image's members from one pair, or from all: triple, arch, the kind of source code, and
 * metadata_flags. Of equal keys the last counts. */
void kdl_image_read_key(kdl_image *image, kdl_string key, kdl_string value);
void kdl_image_read_keys(kdl_image *image);

/* The metadata, triple and arch included. For an OffloadBinary in the caller's memory it is read on
 * first use, by any thread: few images of a library need it. */
const kdl_pair *kdl_offload_binary_read_pairs(const kdl_image *shared);
static inline const kdl_pair *kdl_image_pairs(const kdl_image *image) {
  return atomic_load_explicit(&image->lazy_pairs, memory_order_acquire)
             ? kdl_offload_binary_read_pairs(image)
             : image->pair_list;
}

/* The value of the last `kdl.kernel.NAME` key of that name; false where there is none. Does not
 * cause pairs to be read. */
bool kdl_image_find_kernel(const kdl_image *image, kdl_string kernel, kdl_string *out_value);
bool kdl_offload_binary_find_kernel(const kdl_image *image, const uint8_t *head, kdl_string kernel,
                                    kdl_string *out_value);

/* ------------------------------------------------------------------------------------------ */
/* For parsers                                                                                  */

/* The context of a parser: the image that its images are nested in, and the location for
 * messages. */
typedef struct kdl_parse_context {
  uint32_t parent; /* image index, or KDL_PARENT_NONE */
  uint32_t depth;
  const char *location; /* " in a.o .llvm.offloading", or "" at the top of a file */
  uint32_t module;      /* the module of the images; KDL_MODULE_NONE: not begun */
  bool is_link_input;   /* the images are input of a device linker */
} kdl_parse_context;

/* A copy of the context `outer` for the images of a new module. docs/formats.md defines the modules
 * of each format. `is_first`: the caller has found no other module in `outer`, so that a module
 * nested in an image belongs to the image's. A module that stays empty gives its number to the next
 * one. */
kdl_parse_context kdl_container_begin_module(kdl_container *container,
                                             const kdl_parse_context *outer, bool is_first);

/* `size` bytes at an offset in the region; NULL where the region ends before them, which is
 * recorded as a malformed `field`, or where they cannot be read. */
const uint8_t *kdl_region_header(const kdl_region *region, uint64_t offset, const char *field,
                                 size_t size);

/* An image that is an entire region, not compressed. */
static inline kdl_image kdl_image_of_region(const kdl_region *region) {
  return (kdl_image){.source = region->source,
                     .offset = region->base,
                     .stored_size = region->size,
                     .size = region->size,
                     .header_offset = region->base};
}

/* Appends an image; without a module in the context, it is a module. `proto->pair_list` must be in
 * the container's arena; triple and arch come from it. Unless the metadata has a kernel index, the
 * image's first bytes are read: they decide its kind, and a nested container is parsed at once.
 * They are not read if the kind is known and bytes before them would have to be inflated. Copies
 * *proto. */
kdl_status kdl_container_add(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_image *proto);

/* The same in two steps, for a parser that fills in the image in its final memory, with
 * kdl_image_read_keys done. kdl_container_begin_image gives the memory, kdl_container_end_image
 * adds the image. An image that is not ended does not count. */
kdl_status kdl_container_grow(kdl_container *container);
static inline kdl_status kdl_container_begin_image(kdl_container *container,
                                                   kdl_image **out_image) {
  KDL_TRY(container->count < container->capacity ? KDL_OK : kdl_container_grow(container));
  *out_image = &container->images[container->count];
  return KDL_OK;
}
kdl_status kdl_container_end_image(kdl_container *container, const kdl_parse_context *scope);

/* Records that memory ran out, or that the metadata limit was reached. */
kdl_status kdl_container_no_memory(const kdl_container *container);
#define kdl_container_no_memory(container) kdl_not_ok(kdl_container_no_memory(container))

/* Appends a pair to an array that has room for it. Copies the value; omits an empty one. `key` must
 * be a literal. False when out of memory. */
bool kdl_container_append_pair(kdl_container *container, kdl_pair *pairs, uint32_t *count,
                               const char *key, const void *value, size_t length);

/* Takes ownership of a source opened by a parser. */
void kdl_container_adopt(kdl_container *container, kdl_source *source);

/* The compressed bytes of `packed` as a region that is inflated as far as it is read. */
kdl_status kdl_container_inflate(kdl_container *container, const kdl_region *packed,
                                 kdl_codec codec, uint64_t inflated_size, kdl_region *out_region);

/* Identifies a region and parses it. `on_unknown` decides for a region that is neither a container
 * nor a known image: an error with what was expected, or nothing. */
typedef enum kdl_on_unknown { KDL_UNKNOWN_IS_ERROR, KDL_UNKNOWN_IS_IGNORED } kdl_on_unknown;
kdl_status kdl_container_parse(kdl_container *container, const kdl_parse_context *scope,
                               const kdl_region *region, kdl_on_unknown on_unknown);

/* One parser per format. Each parses its whole region, also several containers back to back. */
kdl_status kdl_parse_offload_binary(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region);
/* Parses the OffloadBinaries from *offset on that have the usual layout of version 1, back to back,
 * and sets *offset to the end of the last one. */
kdl_status kdl_parse_offload_binaries_fast(kdl_container *container, const kdl_parse_context *scope,
                                           const kdl_region *region, const char *label,
                                           uint64_t *offset);
kdl_status kdl_parse_clang_bundle(kdl_container *container, const kdl_parse_context *scope,
                                  const kdl_region *region);
/* One section of an object of `clang-offload-bundler -type=o`. Its name is the magic and a bundle
 * ID, its content one device's object. `id` must be in the container's arena. */
kdl_status kdl_parse_bundle_section(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region, kdl_string id);
/* Adds the image of a bundle ID; `image` has its location, `id` is in the arena. */
kdl_status kdl_container_add_bundled(kdl_container *container, const kdl_parse_context *scope,
                                     kdl_string id, kdl_image *image);
kdl_status kdl_parse_cuda_fatbin(kdl_container *container, const kdl_parse_context *scope,
                                 const kdl_region *region);
/* The length of the fatbin at the start of `region`, or 0 where the bytes only resemble one. Each
 * entry costs a step of *budget; without budget the result is 0. */
kdl_status kdl_cuda_fatbin_measure(const kdl_region *region, uint64_t *budget, uint64_t *out_size);
/* The input of NVIDIA's device linker, which is never loaded. */
kdl_status kdl_parse_cuda_relfatbin(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region);
kdl_status kdl_parse_archive(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_region *region);
/* An ELF file's offload sections; *out_found: whether there were any. */
kdl_status kdl_parse_elf(kdl_container *container, const kdl_parse_context *scope,
                         const kdl_region *region, bool *out_found);
/* Whether a file may be a COFF object or a Windows program, by its first bytes; and its offload
 * sections. Other files may begin with the same bytes: if the headers are wrong and `on_unknown`
 * permits, nothing is found. */
bool kdl_coff_begins(const uint8_t *head, size_t size);
kdl_status kdl_parse_coff(kdl_container *container, const kdl_parse_context *scope,
                          const kdl_region *region, kdl_on_unknown on_unknown, bool *out_found);
/* A bitcode host module's embedded objects; *out_found: whether there were any. */
kdl_status kdl_parse_bitcode(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_region *region, bool *out_found);

#endif
