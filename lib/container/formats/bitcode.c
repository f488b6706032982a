/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OffloadBinaries embedded in a bitcode host module. `-fembed-offload-object` makes each a constant
 * array of bytes, @llvm.embedded.object, which named metadata refers to. This reader ignores the
 * metadata: all constants are in the module's CONSTANTS block, and one that begins with the magic
 * and is large enough for a header is an OffloadBinary. The bytes start at any bit of the
 * bitstream, so they are copied.
 */
#include "lib/container/container.h"
#include "lib/image/llvm/llvm_bitcode.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  constant_string = 8,
  constant_c_string = 9, /* without its NUL */
  constant_data = 22,
  smallest_object = 72, /* header and entry */
};

typedef struct {
  kdl_container *container;
  kdl_parse_context scope;
  const kdl_region *region;
  uint64_t found;
} object_search;

/* Prefixes the file name to the bitstream reader's message. */
static kdl_status prefix_file_name(const object_search *s, kdl_status status) {
  if (status != KDL_OK)
    kdl_error_prefix("%s: bitcode at 0x%" PRIx64, s->region->source->name, s->region->base);
  return status;
}

static kdl_status parse_object(object_search *s, uint8_t *bytes, uint64_t size) {
  char name[512];
  snprintf(name, sizeof name, "%s (embedded object %" PRIu64 ")", s->region->source->name,
           s->found);
  kdl_source *source;
  KDL_TRY(kdl_source_open_owned(&s->container->arena, bytes, (size_t)size, name, &source));
  kdl_container_adopt(s->container, source);
  ++s->found;
  kdl_region object = {source, 0, size};
  return kdl_parse_offload_binary(s->container, &s->scope, &object);
}

/* Adds the current constant if it is an OffloadBinary. */
static kdl_status read_object_constant(object_search *s, kdl_bitstream *stream, uint64_t code) {
  uint64_t count = kdl_bitstream_left(stream);
  uint8_t head[4];
  if (count < smallest_object || !kdl_bitstream_bytes(stream, head, sizeof head) ||
      kdl_load_u32(head) != KDL_MAGIC_OFFLOAD)
    return KDL_OK;
  uint64_t size = code == constant_c_string ? count + 1 : count;
  uint8_t *bytes = malloc((size_t)size);
  if (!bytes)
    return kdl_container_no_memory(s->container);
  memcpy(bytes, head, sizeof head);
  bytes[size - 1] = '\0';
  if (kdl_bitstream_bytes(stream, bytes + sizeof head, count - sizeof head))
    return parse_object(s, bytes, size);
  /* Not an array of bytes, or truncated, which the next read reports. */
  free(bytes);
  return KDL_OK;
}

static kdl_status search_constants(object_search *s, kdl_bitstream *stream,
                                   const kdl_bitentry *constants) {
  kdl_bitblock block;
  kdl_status status = prefix_file_name(s, kdl_bitstream_enter(stream, constants, &block));
  while (status == KDL_OK) {
    kdl_bitentry entry;
    status = prefix_file_name(s, kdl_bitstream_next(stream, &block, &entry));
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      break;
    if (entry.kind == KDL_BITS_RECORD &&
        (entry.id == constant_string || entry.id == constant_c_string || entry.id == constant_data))
      status = read_object_constant(s, stream, entry.id);
  }
  return status;
}

static kdl_status search_module(object_search *s, kdl_bitstream *stream, kdl_bitblock *module) {
  for (;;) {
    kdl_bitentry entry;
    kdl_status status = prefix_file_name(s, kdl_bitstream_next(stream, module, &entry));
    if (status == KDL_OK && entry.kind == KDL_BITS_BLOCK && entry.id == KDL_BITCODE_CONSTANTS_BLOCK)
      status = search_constants(s, stream, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      return status;
  }
}

kdl_status kdl_parse_bitcode(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_region *region, bool *out_found) {
  object_search s = {container, kdl_container_begin_module(container, scope, true), region, 0};
  *out_found = false;
  const void *data;
  KDL_TRY(kdl_source_view(region->source, region->base, region->size, &data));
  s.scope.location =
      kdl_arena_format(&container->arena, " in @llvm.embedded.object%s", scope->location);
  if (!s.scope.location)
    return kdl_container_no_memory(container);
  kdl_bitcode bitcode;
  kdl_status status = prefix_file_name(&s, kdl_bitcode_open(data, (size_t)region->size, &bitcode));
  for (bool more = true; status == KDL_OK && more;) {
    kdl_bitblock module;
    status = prefix_file_name(&s, kdl_bitcode_next_module(&bitcode, &module, &more));
    if (status == KDL_OK && more)
      status = search_module(&s, &bitcode.stream, &module);
  }
  *out_found = s.found != 0;
  return status;
}
