/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SPIR-V: a stream of 32-bit words in the byte order that the magic number shows. What is read here
 * stands before the first function (SPIR-V specification, "Logical Layout of a Module"), so that
 * the code is never walked.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "image/readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  header_words = 5,
  op_memory_model = 14,
  op_entry_point = 15,
  op_function = 54,
  model_gl_compute = 5,
  model_kernel = 6,
};

static const uint32_t magic = 0x07230203;

typedef struct {
  const uint8_t *data;
  uint64_t word_count;
  bool is_big_endian;
  uint64_t at; /* the word after the current instruction */
  uint64_t start;
  uint32_t opcode;
  uint32_t length; /* words, the first one included */
} module;

static uint32_t word(const module *m, uint64_t index) {
  const uint8_t *b = m->data + index * 4;
  if (!m->is_big_endian)
    return kdl_load_u32(b);
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static kdl_status open_module(const uint8_t *data, size_t size, module *m) {
  if (size < (size_t)header_words * 4)
    return kdl_image_malformed(0, "SPIR-V header", "found %zu bytes, expected at least %d", size,
                               header_words * 4);
  *m = (module){.data = data, .word_count = size / 4, .at = header_words};
  m->is_big_endian = word(m, 0) != magic;
  if (word(m, 0) != magic)
    return kdl_image_malformed(0, "magic number",
                               "found %02x %02x %02x %02x, expected 03 02 23 07 or its reverse",
                               data[0], data[1], data[2], data[3]);
  return KDL_OK;
}

/* Steps to the next instruction; false at the end of the part that declares, or on failure. */
static bool next(module *m, kdl_status *status) {
  if (m->at >= m->word_count)
    return false;
  m->start = m->at;
  uint32_t first = word(m, m->at);
  m->opcode = first & 0xffff;
  m->length = first >> 16;
  if (m->length == 0 || m->length > m->word_count - m->at) {
    *status = kdl_image_malformed(m->at * 4, "word count",
                                  "found %" PRIu32 " for instruction %" PRIu32
                                  ", expected from 1 to %" PRIu64 ", the words that are left",
                                  m->length, m->opcode, m->word_count - m->at);
    return false;
  }
  m->at += m->length;
  return m->opcode != op_function;
}

static kdl_status too_short(const module *m, const char *instruction, unsigned least) {
  return kdl_image_malformed(m->start * 4, instruction,
                             "found %" PRIu32 " words, expected at least %u", m->length, least);
}

kdl_status kdl_spirv_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  static const struct {
    uint32_t addressing;
    const char *triple;
  } triples[] = {
      {0, "spirv-unknown-unknown"},    /* Logical */
      {1, "spirv32-unknown-unknown"},  /* Physical32 */
      {2, "spirv64-unknown-unknown"},  /* Physical64 */
      {5348, "spirv-unknown-unknown"}, /* PhysicalStorageBuffer64: Vulkan */
  };
  module m;
  kdl_status status = open_module(data, size, &m);
  if (status != KDL_OK)
    return status;
  uint32_t version = word(&m, 1);
  if (version & 0xff0000ff)
    return kdl_image_malformed(4, "version", "found 0x%08" PRIx32 ", expected 0x00XXYY00", version);
  target->version_major = version >> 16;
  target->version_minor = version >> 8 & 0xff;
  while (next(&m, &status)) {
    if (m.opcode != op_memory_model)
      continue;
    if (m.length < 3)
      return too_short(&m, "OpMemoryModel", 3);
    uint32_t addressing = word(&m, m.start + 1);
    for (size_t i = 0; i < sizeof triples / sizeof *triples; ++i) {
      if (addressing == triples[i].addressing) {
        snprintf(target->triple, sizeof target->triple, "%s", triples[i].triple);
        return KDL_OK;
      }
    }
    return kdl_image_malformed((m.start + 1) * 4, "OpMemoryModel",
                               "found addressing model %" PRIu32 ", expected 0, 1, 2 or 5348",
                               addressing);
  }
  if (status != KDL_OK)
    return status;
  return kdl_image_malformed(m.at * 4, "OpMemoryModel", "found none, expected one before here");
}

kdl_status kdl_spirv_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                  void *user) {
  module m;
  kdl_status status = open_module(data, size, &m);
  if (status != KDL_OK)
    return status;
  /* Names are packed from the low end of each word, so in a big-endian file they lie reversed. */
  if (m.is_big_endian)
    return kdl_fail(KDL_UNSUPPORTED, "kernel names of big-endian SPIR-V cannot be read: expected "
                                     "a little-endian module, as every producer writes");
  while (next(&m, &status)) {
    if (m.opcode != op_entry_point)
      continue;
    if (m.length < 4)
      return too_short(&m, "OpEntryPoint", 4);
    uint32_t model = word(&m, m.start + 1);
    if (model != model_kernel && model != model_gl_compute)
      continue;
    const char *name = (const char *)data + (m.start + 3) * 4;
    size_t room = (size_t)(m.length - 3) * 4;
    const char *end = memchr(name, 0, room);
    if (!end)
      return kdl_image_malformed((m.start + 3) * 4, "OpEntryPoint",
                                 "found no NUL in %zu bytes of name, expected one", room);
    if (visit(user, name, (size_t)(end - name)))
      break;
  }
  return status;
}
