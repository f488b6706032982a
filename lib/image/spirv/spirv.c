/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SPIR-V. Everything that is read here precedes the first function, so the code is never parsed. */
#include "lib/image/readers.h"
#include "lib/inspect/formats.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { model_gl_compute = 5, model_kernel = 6 };
enum { op_execution_mode = 16, mode_local_size = 17 };

kdl_status kdl_spirv_open(const uint8_t *data, size_t size, kdl_spirv *out_module) {
  if (size < (size_t)KDL_SPIRV_HEADER_WORDS * 4)
    return kdl_malformed_at(0, "SPIR-V header", "found %zu bytes, expected at least %d", size,
                            KDL_SPIRV_HEADER_WORDS * 4);
  kdl_spirv m = {.data = data, .word_count = size / 4, .at = KDL_SPIRV_HEADER_WORDS};
  m.is_big_endian = kdl_spirv_word(&m, 0) != KDL_MAGIC_SPIRV;
  if (kdl_spirv_word(&m, 0) != KDL_MAGIC_SPIRV)
    return kdl_malformed_at(0, "magic number",
                            "found %02x %02x %02x %02x, expected 03 02 23 07 or its reverse",
                            data[0], data[1], data[2], data[3]);
  *out_module = m;
  return KDL_OK;
}

bool kdl_spirv_next(kdl_spirv *m, kdl_status *status) {
  if (m->at >= m->word_count)
    return false;
  m->start = m->at;
  uint32_t first = kdl_spirv_word(m, m->at);
  m->opcode = first & 0xffff;
  m->length = first >> 16;
  if (m->length == 0 || m->length > m->word_count - m->at) {
    *status = kdl_malformed_at(m->at * 4, "word count",
                               "found %" PRIu32 " for instruction %" PRIu32
                               ", expected from 1 to %" PRIu64 ", the words that are left",
                               m->length, m->opcode, m->word_count - m->at);
    return false;
  }
  m->at += m->length;
  return true;
}

bool kdl_spirv_next_declaration(kdl_spirv *m, kdl_status *status) {
  return kdl_spirv_next(m, status) && m->opcode != KDL_SPIRV_OP_FUNCTION;
}

kdl_status kdl_spirv_expect(const kdl_spirv *m, const char *instruction, unsigned least) {
  if (m->length >= least)
    return KDL_OK;
  return kdl_malformed_at(m->start * 4, instruction,
                          "found %" PRIu32 " words, expected at least %u", m->length, least);
}

/* Tokens of requires_features, in their order there. */
enum { fp16, bf16, fp64, int8_dot, int64, int64_atomics, subgroups, generic_pointer, images };
static const char *const tokens[] = {"fp16",  "bf16",          "fp64",      "int8_dot",
                                     "int64", "int64_atomics", "subgroups", "generic_pointer",
                                     "images"};

/* "Capability" in the SPIR-V specification. */
static const struct {
  uint16_t first, last;
  uint8_t token;
} capabilities[] = {
    {9, 9, fp16},
    {10, 10, fp64},
    {11, 11, int64},
    {12, 12, int64_atomics},
    {13, 13, images},
    {38, 38, generic_pointer},
    {58, 58, subgroups},     /* SubgroupDispatch */
    {61, 68, subgroups},     /* GroupNonUniform and its kinds */
    {4423, 4423, subgroups}, /* SubgroupBallotKHR */
    {5116, 5118, bf16},      /* BFloat16TypeKHR, its dot products and matrices */
    {5568, 5570, subgroups}, /* SubgroupShuffleINTEL and the like */
    {6016, 6019, int8_dot},  /* DotProduct and its inputs */
};

static unsigned tokens_of(uint32_t capability) {
  for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; ++i) {
    if (capability >= capabilities[i].first && capability <= capabilities[i].last)
      return 1u << capabilities[i].token;
  }
  return 0;
}

static void write_tokens(unsigned needs, char *out) {
  size_t length = 0;
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; ++i) {
    if (needs >> i & 1)
      length += (size_t)snprintf(out + length, KDL_TARGET_FEATURES - length, "%s%s",
                                 length ? "+" : "", tokens[i]);
  }
}

static kdl_status spirv_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  static const struct {
    uint32_t addressing;
    const char *triple;
  } triples[] = {
      {0, "spirv-unknown-unknown"},    /* Logical */
      {1, "spirv32-unknown-unknown"},  /* Physical32 */
      {2, "spirv64-unknown-unknown"},  /* Physical64 */
      {5348, "spirv-unknown-unknown"}, /* PhysicalStorageBuffer64: Vulkan */
  };
  kdl_spirv m;
  kdl_status status = kdl_spirv_open(data, size, &m);
  if (status != KDL_OK)
    return status;
  uint32_t version = kdl_spirv_word(&m, 1);
  if (version & 0xff0000ff)
    return kdl_malformed_at(4, "version", "found 0x%08" PRIx32 ", expected 0x00XXYY00", version);
  target->version_major = version >> 16;
  target->version_minor = version >> 8 & 0xff;
  unsigned needs = 0;
  while (kdl_spirv_next_declaration(&m, &status)) {
    if (m.opcode == KDL_SPIRV_OP_CAPABILITY && m.length >= 2)
      needs |= tokens_of(kdl_spirv_operand(&m, 1));
    if (m.opcode != KDL_SPIRV_OP_MEMORY_MODEL)
      continue;
    write_tokens(needs, target->features); /* capabilities precede it */
    status = kdl_spirv_expect(&m, "OpMemoryModel", 3);
    if (status != KDL_OK)
      return status;
    uint32_t addressing = kdl_spirv_operand(&m, 1);
    for (size_t i = 0; i < sizeof triples / sizeof *triples; ++i) {
      if (addressing == triples[i].addressing) {
        snprintf(target->triple, sizeof target->triple, "%s", triples[i].triple);
        return KDL_OK;
      }
    }
    return kdl_malformed_at((m.start + 1) * 4, "OpMemoryModel",
                            "found addressing model %" PRIu32 ", expected 0, 1, 2 or 5348",
                            addressing);
  }
  if (status != KDL_OK)
    return status;
  return kdl_malformed_at(m.at * 4, "OpMemoryModel", "found none, expected one before here");
}

kdl_status kdl_spirv_next_kernel(kdl_spirv *m, kdl_string *out_name) {
  kdl_status status = KDL_OK;
  *out_name = (kdl_string){NULL, 0};
  while (kdl_spirv_next_declaration(m, &status)) {
    if (m->opcode != KDL_SPIRV_OP_ENTRY_POINT)
      continue;
    status = kdl_spirv_expect(m, "OpEntryPoint", 4);
    if (status != KDL_OK)
      return status;
    uint32_t model = kdl_spirv_operand(m, 1);
    if (model != model_kernel && model != model_gl_compute)
      continue;
    const char *name = (const char *)m->data + (m->start + 3) * 4;
    size_t room = (size_t)(m->length - 3) * 4;
    const char *end = memchr(name, 0, room);
    if (!end)
      return kdl_malformed_at((m->start + 3) * 4, "OpEntryPoint",
                              "found no NUL in %zu bytes of name, expected one", room);
    *out_name = (kdl_string){name, (size_t)(end - name)};
    return KDL_OK;
  }
  return status;
}

static kdl_status spirv_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                     void *user) {
  kdl_spirv m;
  kdl_status status = kdl_spirv_open(data, size, &m);
  if (status != KDL_OK)
    return status;
  /* Names are packed from the low end of each word, so they are reversed in a big-endian file. */
  if (m.is_big_endian)
    return kdl_fail(KDL_UNSUPPORTED, "kernel names of big-endian SPIR-V cannot be read: expected "
                                     "a little-endian module, as every producer writes");
  kdl_string name;
  while ((status = kdl_spirv_next_kernel(&m, &name)) == KDL_OK && name.data) {
    if (visit(user, name.data, name.length))
      break;
  }
  return status;
}

static void spirv_read_geometry(const uint8_t *data, size_t size, kdl_string kernel,
                                kdl_image_geometry *geometry) {
  kdl_spirv m;
  kdl_string name = {NULL, 0};
  if (kdl_spirv_open(data, size, &m) != KDL_OK || m.is_big_endian)
    return;
  do {
    if (kdl_spirv_next_kernel(&m, &name) != KDL_OK || !name.data)
      return;
  } while (!kdl_text_equal(name, kernel));
  uint32_t function = kdl_spirv_operand(&m, 2);
  kdl_status status = KDL_OK;
  while (kdl_spirv_next_declaration(&m, &status)) {
    if (m.opcode != op_execution_mode || m.length < 6 || kdl_spirv_operand(&m, 1) != function ||
        kdl_spirv_operand(&m, 2) != mode_local_size)
      continue;
    for (uint32_t i = 0; i < 3; ++i)
      geometry->block[i] = kdl_spirv_operand(&m, 3 + i);
    return;
  }
}

const kdl_image_readers kdl_spirv_readers = {
    .target = spirv_read_target,
    .kernels = spirv_read_kernels,
    .params = kdl_spirv_read_params,
    .geometry = spirv_read_geometry,
};
