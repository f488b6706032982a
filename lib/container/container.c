/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/container/container.h"

#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/targets.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/base/triple.h"
#include "support/system/lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest_comment = 64 * 1024 };

/* ------------------------------------------------------------------------------------------ */
/* Building the list                                                                            */

kdl_status(kdl_container_no_memory)(const kdl_container *container) {
  return kdl_fail(KDL_NO_MEMORY,
                  "%s: out of memory, or more than %zu MiB of metadata: found %zu bytes so far",
                  container->name, container->arena.limit >> 20, container->arena.used);
}

void kdl_container_adopt(kdl_container *container, kdl_source *source) {
  source->next = container->sources;
  container->sources = source;
}

static uint64_t inflated_limit(uint64_t packed) {
  return packed < KDL_LIMIT_INFLATED ? KDL_INFLATED_BASE + packed * KDL_INFLATED_RATIO : UINT64_MAX;
}

/* Checks, before anything is inflated, that the inflated size is within the limit for the packed
 * size. */
static kdl_status check_inflated_size(kdl_container *container, const kdl_region *packed,
                                      uint64_t inflated_size) {
  uint64_t limit = inflated_limit(packed->size);
  if (inflated_size > limit)
    return kdl_malformed(packed, 0, "compressed data",
                         "found %" PRIu64 " bytes that inflate to %" PRIu64
                         ", expected at most %" PRIu64,
                         packed->size, inflated_size, limit);
  limit = inflated_limit(container->stored);
  if (inflated_size > limit - container->inflated)
    return kdl_malformed(packed, 0, "compressed data",
                         "found %" PRIu64 " bytes inflated, %" PRIu64
                         " with what lies before, expected at most %" PRIu64 " from the %" PRIu64
                         " bytes of the file",
                         inflated_size, container->inflated + inflated_size, limit,
                         container->stored);
  container->inflated += inflated_size;
  return KDL_OK;
}

kdl_status kdl_container_inflate(kdl_container *container, const kdl_region *packed,
                                 kdl_codec codec, uint64_t inflated_size, kdl_region *out_region) {
  const char *name = kdl_arena_format(&container->arena, "%s (inflated from 0x%" PRIx64 ")",
                                      packed->source->name, packed->base);
  if (!name)
    return kdl_container_no_memory(container);
  kdl_source *stream;
  KDL_TRY(kdl_codec_check(codec));
  KDL_TRY(check_inflated_size(container, packed, inflated_size));
  KDL_TRY(kdl_source_open_stream(&container->arena, codec, packed, inflated_size, name, &stream));
  kdl_container_adopt(container, stream);
  *out_region = (kdl_region){stream, 0, stream->size};
  return KDL_OK;
}

const kdl_string *kdl_find_value(const kdl_pair *pairs, size_t count, const char *key) {
  kdl_string wanted = kdl_text_of(key);
  for (size_t i = count; i-- > 0;) {
    if (kdl_text_equal(pairs[i].key, wanted))
      return &pairs[i].value;
  }
  return NULL;
}

bool kdl_image_find_kernel(const kdl_image *image, kdl_string kernel, kdl_string *out_value) {
  const uint8_t *head = atomic_load_explicit(&image->lazy_pairs, memory_order_acquire);
  if (head)
    return kdl_offload_binary_find_kernel(image, head, kernel, out_value);
  for (size_t i = image->pair_count; i-- > 0;) {
    kdl_string name;
    if (!kdl_kernel_name(image->pair_list[i].key, &name) || !kdl_text_equal(name, kernel))
      continue;
    *out_value = image->pair_list[i].value;
    return true;
  }
  return false;
}

bool kdl_container_append_pair(kdl_container *container, kdl_pair *pairs, uint32_t *count,
                               const char *key, const void *value, size_t length) {
  if (length == 0)
    return true;
  kdl_string copy = kdl_arena_string(&container->arena, value, length);
  if (!copy.data)
    return false;
  pairs[(*count)++] = (kdl_pair){{key, strlen(key)}, copy};
  return true;
}

kdl_parse_context kdl_container_begin_module(kdl_container *container,
                                             const kdl_parse_context *outer, bool is_first) {
  kdl_parse_context scope = *outer;
  if (!is_first || scope.module == KDL_MODULE_NONE)
    scope.module = container->module_count; /* incremented when its first image is added */
  return scope;
}

/* Pairs { triple, arch } in the arena, for formats that imply them; NULL when out of memory. Empty
 * strings are omitted. */
static const kdl_pair *target_pairs(kdl_container *container, const char *triple, const char *arch,
                                    uint32_t *out_count) {
  kdl_pair *pairs = kdl_arena_alloc(&container->arena, 2 * sizeof *pairs);
  if (!pairs)
    return NULL;
  *out_count = 0;
  bool fits =
      kdl_container_append_pair(container, pairs, out_count, "triple", triple, strlen(triple)) &&
      kdl_container_append_pair(container, pairs, out_count, "arch", arch, strlen(arch));
  return fits ? pairs : NULL;
}

static void read_kind_key(kdl_image *image, kdl_string value) {
  kdl_image_kind kind = kdl_image_kind_of_key(value);
  if (kind == KDL_IMAGE_UNKNOWN)
    image->metadata_flags |= KDL_METADATA_HAS_UNKNOWN_KIND;
  else
    image->kind = kind;
}

void kdl_image_read_key(kdl_image *image, kdl_string key, kdl_string value) {
  kdl_string kernel;
  if (kdl_text_is(key, "triple"))
    image->triple = value;
  else if (kdl_text_is(key, "arch"))
    image->arch = value;
  else if (!kdl_text_starts(key, "kdl.") || kdl_text_is(key, KDL_NEEDS_KEY))
    image->metadata_flags |= KDL_METADATA_HAS_RULES;
  else if (kdl_kernel_name(key, &kernel))
    image->metadata_flags |= KDL_METADATA_HAS_KERNELS;
  else if (kdl_text_is(key, KDL_DIGEST_KEY))
    image->metadata_flags |= KDL_METADATA_HAS_DIGEST;
  else if (kdl_text_is(key, "kdl.kind"))
    read_kind_key(image, value);
  else if (kdl_image_kind_is_version_key(key))
    image->metadata_flags |= KDL_METADATA_HAS_VERSION;
}

void kdl_image_read_keys(kdl_image *image) {
  for (uint32_t i = 0; i < image->pair_count; ++i)
    kdl_image_read_key(image, image->pair_list[i].key, image->pair_list[i].value);
}

/* The kind by header and triple, for images whose bytes are not read. */
static kdl_image_kind kind_from_header(const kdl_image *image) {
  kdl_image_kind kind = kdl_image_kind_of_llvm(image->declared_kind);
  if (kind == KDL_IMAGE_OBJECT && kdl_triple_is_amd(image->triple))
    return KDL_IMAGE_HSACO;
  if (kind == KDL_IMAGE_OBJECT && kdl_text_starts(image->triple, "nvptx"))
    return KDL_IMAGE_CUBIN;
  if (kind == KDL_IMAGE_OBJECT && kdl_text_starts(image->triple, "spir"))
    return KDL_IMAGE_ZEBIN;
  if (kind == KDL_IMAGE_UNKNOWN && kdl_text_starts(image->triple, "spirv"))
    return KDL_IMAGE_SPIRV;
  return kind;
}

static bool is_container(kdl_image_kind kind) {
  return kdl_image_kind_get(kind)->holds == KDL_HOLDS_IMAGES;
}

/* Up to so many images are stored in the arena. */
enum { few_images = 16 };

kdl_status kdl_container_grow(kdl_container *container) {
  if (container->count == KDL_LIMIT_IMAGES)
    return kdl_fail(KDL_NO_MEMORY, "%s: found more than %d images, expected at most that many",
                    container->name, KDL_LIMIT_IMAGES);
  bool is_first = container->capacity == 0;
  bool is_moved = container->capacity == few_images;
  uint32_t capacity = is_first ? few_images : container->capacity * 2;
  size_t size = capacity * sizeof(kdl_image);
  kdl_image *images = is_first ? kdl_arena_alloc(&container->arena, size)
                               : realloc(is_moved ? NULL : container->images, size);
  if (!images)
    return kdl_container_no_memory(container);
  if (is_moved)
    memcpy(images, container->images, few_images * sizeof *images);
  container->images = images;
  container->capacity = capacity;
  return KDL_OK;
}

static kdl_status parse_nested(kdl_container *container, const kdl_parse_context *outer,
                               uint32_t index) {
  const kdl_image *image = &container->images[index];
  kdl_parse_context inner = {index, outer->depth + 1,
                             kdl_arena_format(&container->arena, " in image %" PRIu32, index),
                             image->module, image->is_link_input};
  if (!inner.location)
    return kdl_container_no_memory(container);
  kdl_region region = {image->source, image->offset, image->size};
  kdl_status status = kdl_container_parse(container, &inner, &region, KDL_UNKNOWN_IS_IGNORED);
  if (status != KDL_BAD_FILE)
    return status;
  /* Keeps the images before the damage, and records the problem in the outer image. */
  container->images[index].problem = kdl_arena_format(&container->arena, "%s", kdl_error_message());
  return container->images[index].problem ? KDL_OK : kdl_container_no_memory(container);
}

/* Whether the image's first bytes can be read without inflating what precedes them. */
static bool is_head_available(const kdl_image *image, size_t head_size) {
  return image->source->codec == KDL_CODEC_NONE ||
         image->offset + head_size <= image->source->ready_size;
}

/* Determines the kind by the image's first bytes, unless that is known. */
static kdl_status sniff_image(kdl_image *image) {
  size_t head_size = image->size < KDL_SNIFF_SIZE ? (size_t)image->size : KDL_SNIFF_SIZE;
  bool is_plain = image->kind != KDL_IMAGE_UNKNOWN && !is_container(image->kind);
  if (!head_size || image->problem || image->codec != KDL_CODEC_NONE ||
      (is_plain && !is_head_available(image, head_size)))
    return KDL_OK;
  const uint8_t *head = kdl_source_peek(image->source, image->offset, head_size);
  if (!head)
    return kdl_error_status();
  kdl_image_kind seen = kdl_image_sniff(head, head_size);
  if (seen != KDL_IMAGE_UNKNOWN)
    image->kind = seen;
  else if (is_container(image->kind))
    image->kind = KDL_IMAGE_UNKNOWN;
  return KDL_OK;
}

/* An AMD triple may name the processor instead of an arch. */
static __attribute__((noinline)) bool arch_from_triple(kdl_container *container, kdl_image *image) {
  char processor[KDL_TRIPLE_PROCESSOR];
  kdl_triple_processor(image->triple, processor);
  image->arch = kdl_arena_string(&container->arena, processor, strlen(processor));
  return image->arch.data;
}

/* An object that was packed without an arch may contain it. */
static kdl_status arch_from_image(kdl_container *container, kdl_image *image) {
  const void *data;
  kdl_image_target target;
  if (image->kind != KDL_IMAGE_OBJECT || image->arch.length || !image->size || image->problem ||
      image->codec != KDL_CODEC_NONE || image->source->codec != KDL_CODEC_NONE)
    return KDL_OK;
  kdl_status status = kdl_source_view(image->source, image->offset, image->size, &data);
  if (status != KDL_OK ||
      kdl_image_read_target(image->kind, data, (size_t)image->size, &target) != KDL_OK)
    return status;
  image->arch = kdl_arena_string(&container->arena, target.arch, strlen(target.arch));
  return image->arch.data ? KDL_OK : kdl_container_no_memory(container);
}

/* Marks an ImageKind number of a later LLVM, if the bytes do not identify the image. */
static void mark_unknown_kind(kdl_image *image) {
  if (image->kind == KDL_IMAGE_UNKNOWN && image->declared_kind &&
      kdl_image_kind_of_llvm(image->declared_kind) == KDL_IMAGE_UNKNOWN)
    image->metadata_flags |= KDL_METADATA_HAS_UNKNOWN_KIND;
}

/* Completes an image without a kernel index: its kind by its bytes, and its nested images. */
static __attribute__((noinline)) kdl_status identify_image(kdl_container *container,
                                                           const kdl_parse_context *scope) {
  kdl_image *image = &container->images[container->count];
  bool is_declared = kdl_image_kind_get(image->kind)->kind_key == KDL_KIND_KEY_ALWAYS ||
                     image->metadata_flags & KDL_METADATA_HAS_UNKNOWN_KIND;
  KDL_TRY(is_declared ? KDL_OK : sniff_image(image));
  KDL_TRY(arch_from_image(container, image));
  mark_unknown_kind(image);
  ++container->count;
  if (!image->problem && image->codec == KDL_CODEC_NONE && is_container(image->kind))
    KDL_TRY(parse_nested(container, scope, container->count - 1));
  return KDL_OK;
}

kdl_status kdl_container_end_image(kdl_container *container, const kdl_parse_context *scope) {
  kdl_image *image = &container->images[container->count];
  image->parent = scope->parent;
  image->module = scope->module == KDL_MODULE_NONE ? container->module_count : scope->module;
  image->is_link_input = scope->is_link_input;
  if (image->module == container->module_count)
    ++container->module_count;
  if (image->metadata_flags & KDL_METADATA_HAS_UNKNOWN_KIND)
    image->kind = KDL_IMAGE_UNKNOWN;
  else if (image->kind == KDL_IMAGE_UNKNOWN)
    image->kind = kind_from_header(image);
  if (!image->arch.length && kdl_text_starts(image->triple, "amdgpu") &&
      !arch_from_triple(container, image))
    return kdl_container_no_memory(container);
  if (!(image->metadata_flags & KDL_METADATA_HAS_KERNELS))
    return identify_image(container, scope);
  mark_unknown_kind(image);
  ++container->count;
  return KDL_OK;
}

kdl_status kdl_container_add(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_image *proto) {
  kdl_image *image;
  if (proto->codec != KDL_CODEC_NONE && proto->codec != KDL_CODEC_VENDOR) {
    kdl_region packed = {proto->source, proto->offset, proto->stored_size};
    KDL_TRY(check_inflated_size(container, &packed, proto->size + proto->trailer));
  }
  KDL_TRY(kdl_container_begin_image(container, &image));
  *image = *proto;
  image->triple = image->arch = (kdl_string){"", 0};
  kdl_image_read_keys(image);
  return kdl_container_end_image(container, scope);
}

/* ------------------------------------------------------------------------------------------ */
/* Identifying a region                                                                         */

static kdl_status add_bare_image(kdl_container *container, const kdl_parse_context *scope,
                                 const kdl_region *region, kdl_image_kind kind) {
  const void *data;
  KDL_TRY(kdl_source_view(region->source, region->base, region->size, &data));
  kdl_image_target target;
  kdl_status status = kdl_image_read_target(kind, data, (size_t)region->size, &target);
  if (status != KDL_OK) {
    kdl_error_prefix("%s", region->source->name);
    return status;
  }
  kdl_image image = kdl_image_of_region(region);
  image.kind = kind;
  image.declared_kind = kdl_llvm_image_kind(kind);
  image.offload_kind = target.offload_kind;
  image.label = kdl_arena_format(&container->arena, "bare image%s", scope->location);
  image.pair_list = target_pairs(container, target.triple, target.arch, &image.pair_count);
  if (!image.label || !image.pair_list)
    return kdl_container_no_memory(container);
  kdl_parse_context module = kdl_container_begin_module(container, scope, true);
  return kdl_container_add(container, &module, &image);
}

const uint8_t *kdl_region_header(const kdl_region *region, uint64_t offset, const char *field,
                                 size_t size) {
  uint64_t left = region->size - offset;
  if (left >= size)
    return kdl_region_peek(region, offset, size);
  (void)kdl_malformed(region, offset, field, "found %" PRIu64 " bytes, expected at least %zu", left,
                      size);
  return NULL;
}

kdl_status kdl_container_parse(kdl_container *container, const kdl_parse_context *scope,
                               const kdl_region *region, kdl_on_unknown on_unknown) {
  if (scope->depth >= KDL_LIMIT_DEPTH)
    return kdl_malformed(region, 0, "nesting",
                         "found containers more than %d deep, expected at most that",
                         KDL_LIMIT_DEPTH);
  size_t head_size = region->size < KDL_SNIFF_SIZE ? (size_t)region->size : KDL_SNIFF_SIZE;
  const uint8_t *head = kdl_region_peek(region, 0, head_size);
  if (!head)
    return kdl_error_status();
  kdl_image_kind kind;
  kdl_file_kind file = kdl_file_sniff(head, head_size, &kind);
  if (file == KDL_FILE_ARCHIVE || file == KDL_FILE_THIN_ARCHIVE)
    return kdl_parse_archive(container, scope, region);
  if (kind == KDL_IMAGE_UNKNOWN && on_unknown == KDL_UNKNOWN_IS_ERROR) {
    /* Before refusing a user's file, read more of it: PTX may begin with a licence. */
    head_size = region->size < longest_comment ? (size_t)region->size : (size_t)longest_comment;
    head = kdl_region_peek(region, 0, head_size);
    if (!head)
      return kdl_error_status();
    kind = kdl_image_sniff(head, head_size);
  }
  bool found = false;
  kdl_status status = KDL_OK;
  const char *known = head_size ? "unknown first bytes" : "an empty file";
  if (head_size >= 4 && memcmp(head, "HIPK", 4) == 0)
    known = "unknown first bytes (a marker of rocm-kpack: the code is in a .kpack file)";
  if (file == KDL_FILE_ZIP)
    known = "a zip archive (kdl check and kdl thin read its members, others take them unpacked)";
  const bool is_coff = kind == KDL_IMAGE_UNKNOWN && kdl_coff_begins(head, head_size);
  if (is_coff) {
    status = kdl_parse_coff(container, scope, region, on_unknown, &found);
    if (status != KDL_OK || found)
      return status;
    known = "a COFF file without device code";
  }
  switch (kind) {
  case KDL_IMAGE_OFFLOAD:
    return kdl_parse_offload_binary(container, scope, region);
  case KDL_IMAGE_BUNDLE:
    return kdl_parse_clang_bundle(container, scope, region);
  case KDL_IMAGE_FATBIN:
    return kdl_parse_cuda_fatbin(container, scope, region);
  case KDL_IMAGE_OBJECT:
    status = kdl_parse_elf(container, scope, region, &found);
    break;
  case KDL_IMAGE_BITCODE:
    status = kdl_parse_bitcode(container, scope, region, &found);
    break;
  case KDL_IMAGE_UNKNOWN:
    if (on_unknown == KDL_UNKNOWN_IS_IGNORED)
      return KDL_OK;
    status = kdl_malformed(region, 0, "format",
                           "found %s, expected an OffloadBinary, a Clang offload bundle, a CUDA "
                           "fatbin, an ELF file, an archive, bitcode, PTX or SPIR-V",
                           known);
    if (is_coff)
      kdl_error_set_code(ENODATA);
    return status;
  default:
    break;
  }
  if (status != KDL_OK || found)
    return status;
  return add_bare_image(container, scope, region, kind);
}

/* ------------------------------------------------------------------------------------------ */
/* Opening and closing                                                                          */

/* The container and its first allocations share one block of memory. */
enum { container_block_size = 16 * 1024 };
_Static_assert(sizeof(kdl_container) < container_block_size / 2, "the arena has room");

/* The block of the last closed container is reused: it is still in the CPU's cache, and malloc has
 * no fast path for this size. Sanitizer builds allocate each time, so that use after close is
 * found. */
#if defined(__SANITIZE_ADDRESS__)
#define KDL_NO_BLOCK_REUSE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define KDL_NO_BLOCK_REUSE 1
#endif
#endif
static _Atomic(void *) cached_block;

static void *alloc_container_block(void) {
  void *block = NULL;
  if (atomic_load_explicit(&cached_block, memory_order_relaxed))
    block = atomic_exchange_explicit(&cached_block, NULL, memory_order_acquire);
  return block ? block : malloc(container_block_size);
}

static void free_container_block(void *block) {
#ifndef KDL_NO_BLOCK_REUSE
  block = atomic_exchange_explicit(&cached_block, block, memory_order_acq_rel);
#endif
  free(block);
}

static kdl_status new_container(const char *name, kdl_container **out_container) {
  kdl_container *container = alloc_container_block();
  if (!container)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", name);
  *container = (kdl_container){.name = name, .lock = PTHREAD_MUTEX_INITIALIZER};
  kdl_arena_init(&container->arena, container + 1, container_block_size - sizeof *container);
  *out_container = container;
  return KDL_OK;
}

/* Adopts the region's source, which no container has yet. */
static kdl_status parse_part(kdl_container *container, const kdl_region *part) {
  kdl_container_adopt(container, part->source);
  container->stored += part->size;
  container->arena.limit = KDL_LIMIT_METADATA;
  if (container->stored < (KDL_LIMIT_METADATA - KDL_METADATA_BASE) / KDL_METADATA_RATIO)
    container->arena.limit = KDL_METADATA_BASE + container->stored * KDL_METADATA_RATIO;
  kdl_parse_context top = {KDL_PARENT_NONE, 0, "", KDL_MODULE_NONE, false};
  return kdl_container_parse(container, &top, part, KDL_UNKNOWN_IS_ERROR);
}

static kdl_status parse_source(kdl_container *container, kdl_source *source) {
  return parse_part(container, &(kdl_region){source, 0, source->size});
}

/* Returns a container that opened successfully, and closes it otherwise. Lifts the limit on
 * metadata: from now on the arena is the library's. */
static kdl_status finish_open(kdl_container *container, kdl_status status,
                              kdl_container **out_container) {
  container->arena.limit = 0;
  if (status == KDL_OK)
    *out_container = container;
  else
    kdl_container_close(container);
  return status;
}

kdl_status kdl_container_open_files(const char *const *paths, size_t count, const char *name,
                                    kdl_container **out_container) {
  kdl_container *container;
  kdl_status status = new_container(name, &container);
  if (status != KDL_OK)
    return status;
  container->name = kdl_arena_string(&container->arena, name, strlen(name)).data;
  if (!container->name)
    status = kdl_fail(KDL_NO_MEMORY, "%s: out of memory", name);
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    kdl_source *source;
    status = kdl_source_open_file(&container->arena, paths[i], paths[i], &source);
    if (status == KDL_OK)
      status = parse_source(container, source);
  }
  return finish_open(container, status, out_container);
}

static kdl_status open_single_source(kdl_container *container, kdl_source *source) {
  container->name = source->name;
  return parse_source(container, source);
}

static kdl_status open_container_file(const char *path, const char *name, bool is_self,
                                      kdl_container **out_container) {
  kdl_container *container;
  kdl_source *source;
  KDL_TRY(new_container(name ? name : path, &container));
  container->is_self = is_self;
  kdl_status status = kdl_source_open_file(&container->arena, path, name ? name : path, &source);
  if (status == KDL_OK)
    status = open_single_source(container, source);
  return finish_open(container, status, out_container);
}

kdl_status kdl_container_open_file(const char *path, const char *name,
                                   kdl_container **out_container) {
  return open_container_file(path, name, false, out_container);
}

kdl_status kdl_container_open_self(const char *path, const char *name,
                                   kdl_container **out_container) {
  return open_container_file(path, name, true, out_container);
}

kdl_status kdl_container_open_part(const char *path, const char *name, uint64_t offset,
                                   uint64_t size, kdl_container **out_container) {
  kdl_container *container;
  kdl_source *source;
  KDL_TRY(new_container(name, &container));
  kdl_status status = kdl_source_open_file(&container->arena, path, name, &source);
  if (status == KDL_OK && !kdl_in_range(offset, size, source->size)) {
    status =
        kdl_fail(KDL_BAD_FILE,
                 "%s: found a file of %" PRIu64 " bytes, expected %" PRIu64 " at offset 0x%" PRIx64,
                 name, source->size, size, offset);
    kdl_source_close(source);
  } else if (status == KDL_OK) {
    container->name = source->name;
    status = parse_part(container, &(kdl_region){source, offset, size});
  }
  return finish_open(container, status, out_container);
}

kdl_status kdl_container_open_memory(const void *data, size_t size, const char *name,
                                     kdl_container **out_container) {
  kdl_container *container;
  kdl_source *source;
  const char *shown = name ? name : "<memory>";
  KDL_TRY(new_container(shown, &container));
  kdl_status status = kdl_source_open_memory(&container->arena, data, size, shown, &source);
  if (status == KDL_OK)
    status = open_single_source(container, source);
  return finish_open(container, status, out_container);
}

void kdl_container_publish(kdl_container *container) {
  kdl_arena *arena = &container->arena;
  container->bump = arena->next;
  container->bump_size = arena->left;
  arena->left = 0;
}

void *kdl_container_alloc_slow(kdl_container *container, size_t size) {
  kdl_lock(&container->lock);
  void *memory = kdl_arena_alloc(&container->arena, size);
  kdl_unlock(&container->lock);
  return memory;
}

void kdl_container_close(kdl_container *container) {
  if (!container)
    return;
  if (container->nested_containers)
    kdl_container_close_nested(container);
  if (container->has_buffers)
    kdl_container_free_buffers(container);
  while (container->sources) {
    kdl_source *source = container->sources;
    container->sources = source->next;
    kdl_source_close(source);
  }
  pthread_mutex_destroy(&container->lock);
  if (container->capacity > few_images) /* else in the arena */
    free(container->images);
  kdl_arena_free(&container->arena);
  free_container_block(container);
}

/* ------------------------------------------------------------------------------------------ */
/* What is told of an image                                                                     */

/* Accessors of containers, images and sources for other components. */

kdl_image_info kdl_container_image(const kdl_container *container, size_t index) {
  const kdl_image *image = &container->images[index];
  return (kdl_image_info){
      .size = sizeof(kdl_image_info),
      .index = index,
      .parent = image->parent == KDL_PARENT_NONE ? KDL_NO_PARENT : image->parent,
      .kind = image->kind,
      .offload_kind = image->offload_kind,
      .declared_kind = image->declared_kind,
      .flags = image->flags,
      .triple = image->triple,
      .arch = image->arch,
      .container = {image->label, strlen(image->label)},
      .header_offset = image->header_offset,
      .byte_count = image->size,
      .stored_count = image->stored_size,
      .pairs = kdl_image_pairs(image),
      .pair_count = image->pair_count,
      .module = image->module,
      .problem = image->problem ? (kdl_string){image->problem, strlen(image->problem)}
                                : (kdl_string){"", 0},
  };
}

kdl_source_info kdl_source_read(const kdl_source *source) {
  bool is_packed = source->codec != KDL_CODEC_NONE;
  return (kdl_source_info){.size = source->size,
                           .codec = (uint8_t)source->codec,
                           .outer = is_packed ? source->packed.source : NULL,
                           .packed_offset = is_packed ? source->packed.base : 0,
                           .packed_size = is_packed ? source->packed.size : 0};
}
