/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A container, whatever its format, as a flat list of images.
 *
 * Opening walks headers only. Each format is one parser that takes a region of bytes and appends
 * images with kdl_container_add; an image whose own first bytes are those of a container is walked
 * in turn, and its images follow it with `parent` set. Metadata is copied, so that nothing but
 * image bytes refers to the file afterwards.
 */
#ifndef KDL_CONTAINER_CONTAINER_H
#define KDL_CONTAINER_CONTAINER_H

#include "lib/container/source.h"
#include "lib/inspect/codec.h"
#include "lib/inspect/containers.h"
#include "support/base/arena.h"

#include <kdl/kdl.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KDL_PARENT_NONE UINT32_MAX
#define KDL_MODULE_NONE UINT32_MAX

/* What the keys of an image's metadata are about, besides its triple and arch. */
enum {
  KDL_METADATA_HAS_KERNELS = 1 << 0, /* an index: kdl.kernel.NAME */
  KDL_METADATA_HAS_VERSION = 1 << 1, /* kdl.version, kdl.ptx_isa */
  KDL_METADATA_HAS_DIGEST = 1 << 2,  /* kdl.digest */
  KDL_METADATA_HAS_RULES =
      1 << 3, /* what is not libkdl's own: the keys of lib/target/rules/metadata.h, or others */
  KDL_METADATA_HAS_UNKNOWN_KIND =
      1 << 4, /* kdl.kind or declared_kind, of one that is not known here */
};

typedef struct kdl_image {
  kdl_source *source; /* the stored bytes lie here ... */
  uint64_t offset;
  uint64_t stored_size;
  uint64_t size;    /* ... and are this long once inflated */
  uint32_t trailer; /* zeros after the inflated image that are not part of it: a fatbin's PTX has a
                       NUL */
  kdl_codec codec;
  kdl_image_kind kind;
  uint8_t metadata_flags; /* KDL_METADATA_HAS_ */
  bool is_link_input;     /* by the section it lies in: relocatable code that nothing loads */
  uint16_t declared_kind; /* LLVM's ImageKind number, or 0 */
  uint16_t offload_kind;
  uint32_t flags;
  uint32_t parent; /* index, or KDL_PARENT_NONE */
  uint32_t module; /* images of one module are variants of the same code */
  uint32_t pair_count;
  const kdl_pair *pair_list; /* for kdl_image_pairs */
  /* Where the pairs are still to be read: the OffloadBinary, in memory that stays. */
  _Atomic(const uint8_t *) lazy_pairs;
  kdl_string triple;
  kdl_string arch;
  uint64_t header_offset;
  const char *label;   /* format and place, for people */
  const char *problem; /* why what lies in it cannot be listed; NULL where it can */
  kdl_inflated_buffer
      *buffer; /* of the bytes inflated or copied for this image alone, once asked for */
  _Atomic(const void *) verified; /* its bytes as they were checked, in memory of this process */
} kdl_image;

/* Memory that bytes were inflated into and that the next image may use. */
typedef struct kdl_free_buffer {
  uint8_t *memory;
  uint64_t capacity;
} kdl_free_buffer;

enum { KDL_LIMIT_FREE_BUFFERS = 16 };

typedef struct kdl_container {
  kdl_arena arena; /* once it is open, for what is made of it */
  /* Once threads share it, the rest of the arena's current piece, for kdl_container_alloc. */
  uint8_t *bump;
  size_t bump_size;
  atomic_size_t bump_used;
  kdl_source *sources; /* the first one opened is last */
  kdl_image *images;
  uint32_t count;
  uint32_t capacity;
  uint32_t module_count;
  bool is_self; /* the calling program's file: sections are read by type and name, none is searched
                 */
  bool is_installed; /* it came with libkdl, and is trusted as that is */
  const char *name;
  uint64_t stored;      /* bytes of the files */
  uint64_t inflated;    /* what their compressed parts inflate to, by their own word */
  pthread_mutex_t lock; /* guards the arena and the loans once the container is open */
  struct kdl_nested_container
      *nested_containers; /* what lies in images that were checked: lib/container/verify.c */
  kdl_inflated_buffer *lru_oldest; /* of the loans that rest */
  kdl_inflated_buffer *lru_newest;
  uint64_t evictable_size;    /* their bytes */
  bool has_buffers;           /* of single images */
  kdl_free_buffer *free_list; /* KDL_LIMIT_FREE_BUFFERS and one; NULL before the first */
  size_t free_count;
} kdl_container;

kdl_status kdl_container_open_file(const char *path, const char *name,
                                   kdl_container **out_container);
/* The same for the file of the program that calls: it knows in which sections its libraries are,
 * and its own data is not searched for more. */
kdl_status kdl_container_open_self(const char *path, const char *name,
                                   kdl_container **out_container);
/* Several files as one container, their images in the order of the files. `name` is copied. */
kdl_status kdl_container_open_files(const char *const *paths, size_t count, const char *name,
                                    kdl_container **out_container);
/* A part of a file by itself, as a member of an archive is; offsets are those in the file. */
kdl_status kdl_container_open_part(const char *path, const char *name, uint64_t offset,
                                   uint64_t size, kdl_container **out_container);
kdl_status kdl_container_open_memory(const void *data, size_t size, const char *name,
                                     kdl_container **out_container);

/* For a container that is open and that other threads are about to have: from here on memory that
 * lives as long as it does is handed out by the next function alone. */
void kdl_container_publish(kdl_container *container);

/* For any thread, and no lock is taken where what opening left is enough. NULL when out of memory.
 */
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

/* For closing: what kdl_container_verified_bytes keeps. */
void kdl_container_close_nested(kdl_container *container);

/* kdl_container_bytes for readers that are done soon: the bytes are valid until
 * kdl_container_release_bytes, which is called once for each hold that succeeded. Of what was
 * inflated and is held no more, a little is kept for the next reader; the rest is given back. */
kdl_status kdl_container_acquire_bytes(kdl_container *container, uint32_t index,
                                       const void **out_data, size_t *out_size);
void kdl_container_release_bytes(kdl_container *container, uint32_t index);

/* Gives back what was inflated for single images, even while held: for closing. */
void kdl_container_free_buffers(kdl_container *container);

/* Fills in what one of the image's pairs says, or all of them: the triple, the arch, the kind of
 * source code, and `says`. Of equal keys the last counts. */
void kdl_image_read_key(kdl_image *image, kdl_string key, kdl_string value);
void kdl_image_read_keys(kdl_image *image);

/* Metadata, triple and arch included. An OffloadBinary's in memory that stays is read when first
 * asked for, by any thread: few images of a library are. */
const kdl_pair *kdl_offload_binary_read_pairs(const kdl_image *shared);
static inline const kdl_pair *kdl_image_pairs(const kdl_image *image) {
  return atomic_load_explicit(&image->lazy_pairs, memory_order_acquire)
             ? kdl_offload_binary_read_pairs(image)
             : image->pair_list;
}

/* The value of the last `kdl.kernel.NAME` of that name; false where there is none. Reads no pairs
 * that were not read before. */
bool kdl_image_find_kernel(const kdl_image *image, kdl_string kernel, kdl_string *out_value);
bool kdl_offload_binary_find_kernel(const kdl_image *image, const uint8_t *head, kdl_string kernel,
                                    kdl_string *out_value);

/* ------------------------------------------------------------------------------------------ */
/* For parsers                                                                                  */

/* Where a parser stands: what the images it finds are nested in, and how to describe the place. */
typedef struct kdl_parse_context {
  uint32_t parent; /* image index, or KDL_PARENT_NONE */
  uint32_t depth;
  const char *location; /* " in a.o .llvm.offloading", or "" at the top of a file */
  uint32_t module;      /* what the images found are variants of; KDL_MODULE_NONE: not begun */
  bool is_link_input;   /* of the images found, likewise */
} kdl_parse_context;

/* A scope like `outer` whose images are the next module's. `is_first` says that the caller has
 * found no other module in `outer`: one that is nested in an image is then the image's own. What a
 * module is in each format: docs/formats.md. A module without images is none: the number goes to
 * the next one. */
kdl_parse_context kdl_container_begin_module(kdl_container *container,
                                             const kdl_parse_context *outer, bool is_first);

/* `size` bytes at an offset that is in the region; NULL where that ends before them, which is
 * recorded as a malformed `field`, or where they cannot be read. */
const uint8_t *kdl_region_header(const kdl_region *region, uint64_t offset, const char *field,
                                 size_t size);

/* An image that is all of a region, stored as it is. */
static inline kdl_image kdl_image_of_region(const kdl_region *region) {
  return (kdl_image){.source = region->source,
                     .offset = region->base,
                     .stored_size = region->size,
                     .size = region->size,
                     .header_offset = region->base};
}

/* Appends an image, which is a module by itself where the scope has none. `proto->pair_list` must
 * already be in the container's arena; triple and arch are taken from them. Unless the metadata
 * carries a kernel index, the image's first bytes are looked at: they decide its kind, and a nested
 * container is walked at once. Where a look would inflate what lies before it, a kind that is known
 * already stands. The callee copies *proto. */
kdl_status kdl_container_add(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_image *proto);

/* The same in two steps, for a parser that fills in the image where it will stay, with what its
 * keys say. The first gives its place, the second adds it; one that is begun and not added is as if
 * it had not been. */
kdl_status kdl_container_grow(kdl_container *container);
static inline kdl_status kdl_container_begin_image(kdl_container *container,
                                                   kdl_image **out_image) {
  KDL_TRY(container->count < container->capacity ? KDL_OK : kdl_container_grow(container));
  *out_image = &container->images[container->count];
  return KDL_OK;
}
kdl_status kdl_container_end_image(kdl_container *container, const kdl_parse_context *scope);

/* Records the reason why memory ran out or the metadata limit was reached. */
kdl_status kdl_container_no_memory(const kdl_container *container);
#define kdl_container_no_memory(container) kdl_not_ok(kdl_container_no_memory(container))

/* Appends a pair to an array that has room for it. The value is copied; an empty one is left out.
 * `key` must be a literal. False when out of memory. */
bool kdl_container_append_pair(kdl_container *container, kdl_pair *pairs, uint32_t *count,
                               const char *key, const void *value, size_t length);

/* Takes ownership of a source opened by a parser. */
void kdl_container_adopt(kdl_container *container, kdl_source *source);

/* The compressed bytes of `packed` as a region that is inflated as far as it is read. */
kdl_status kdl_container_inflate(kdl_container *container, const kdl_region *packed,
                                 kdl_codec codec, uint64_t inflated_size, kdl_region *out_region);

/* Finds out what a region is and walks it. `what_if_unknown` decides for a region that is neither a
 * container nor a known image: an error naming what was expected, or silence. */
typedef enum kdl_on_unknown { KDL_UNKNOWN_IS_ERROR, KDL_UNKNOWN_IS_IGNORED } kdl_on_unknown;
kdl_status kdl_container_parse(kdl_container *container, const kdl_parse_context *scope,
                               const kdl_region *region, kdl_on_unknown on_unknown);

/* One parser per format. Each walks its whole region: members that follow one another are taken
 * one by one to its end. */
kdl_status kdl_parse_offload_binary(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region);
/* The OffloadBinaries from *offset on that are laid out as every writer lays out version 1, and
 * follow one another; *offset then stands behind the last of them. */
kdl_status kdl_parse_offload_binaries_fast(kdl_container *container, const kdl_parse_context *scope,
                                           const kdl_region *region, const char *label,
                                           uint64_t *offset);
kdl_status kdl_parse_clang_bundle(kdl_container *container, const kdl_parse_context *scope,
                                  const kdl_region *region);
/* One section of an object that was bundled as -type=o: named by the magic and a bundle ID, it
 * holds one device's object. `id` must be in the container's arena. */
kdl_status kdl_parse_bundle_section(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region, kdl_string id);
/* Adds the image that a bundle ID names; `image` says where it lies, `id` is in the arena. */
kdl_status kdl_container_add_bundled(kdl_container *container, const kdl_parse_context *scope,
                                     kdl_string id, kdl_image *image);
kdl_status kdl_parse_cuda_fatbin(kdl_container *container, const kdl_parse_context *scope,
                                 const kdl_region *region);
/* The length of the fatbin at the start of `region`, or 0 where what is there only looks like one.
 * Each entry costs a step of *budget; where none is left the answer is 0. */
kdl_status kdl_cuda_fatbin_measure(const kdl_region *region, uint64_t *budget, uint64_t *out_size);
/* The input of the device linker, which nothing loads. */
kdl_status kdl_parse_cuda_relfatbin(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region);
kdl_status kdl_parse_archive(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_region *region);
/* An ELF file's offload sections; *out_found says whether there were any. */
kdl_status kdl_parse_elf(kdl_container *container, const kdl_parse_context *scope,
                         const kdl_region *region, bool *out_found);
/* Whether a file begins as a COFF object or a Windows program may; and its offload sections. Other
 * files may begin so too: where the headers do not fit and `what_if_unknown` lets it, nothing is
 * found. */
bool kdl_coff_begins(const uint8_t *head, size_t size);
kdl_status kdl_parse_coff(kdl_container *container, const kdl_parse_context *scope,
                          const kdl_region *region, kdl_on_unknown on_unknown, bool *out_found);
/* A bitcode host module's embedded objects; *out_found likewise. */
kdl_status kdl_parse_bitcode(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_region *region, bool *out_found);

#endif
