/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/formats.h"

#include "lib/image/llvm/bitstream.h"
#include "lib/image/readers.h"
#include "support/base/bytes.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <string.h>

enum {
  wrapper_size = 20,
  top_width = 2,
  widest = 64,

  id_end_block = 0,
  id_enter_block = 1,
  id_define_abbrev = 2,
  id_unabbreviated = 3,
  id_first_abbrev = 4,

  block_blockinfo = 0,
  blockinfo_set_block = 1,
};

#define NO_BLOCK UINT64_MAX

#define malformed(stream, ...)                                                                     \
  kdl_malformed_at((stream)->base + (stream)->at / 8, "bitstream", __VA_ARGS__)

/* ------------------------------------------------------------------------------------------ */
/* Bits                                                                                         */

/* Up to 64 bits at *at, low bits first; 0 and `overrun` beyond the end. */
static uint64_t read_fixed(kdl_bitstream *stream, uint64_t *at, uint64_t width) {
  if (width == 0)
    return 0;
  if (width > widest || *at > stream->end || width > stream->end - *at) {
    stream->overrun = true;
    *at = stream->end;
    return 0;
  }
  const uint8_t *bytes = stream->data + *at / 8;
  unsigned shift = *at % 8;
  uint64_t value = 0;
  if (stream->end / 8 - *at / 8 >= 9) {
    value = kdl_load_u64(bytes) >> shift;
    if (shift)
      value |= (uint64_t)bytes[8] << (64 - shift);
  } else {
    for (unsigned have = 0, i = 0; have < shift + width; have += 8, ++i) {
      uint64_t byte = bytes[i];
      value |= have < shift ? byte >> shift : byte << (have - shift);
    }
  }
  *at += width;
  return width == widest ? value : value & (((uint64_t)1 << width) - 1);
}

/* Chunks of `width` bits; the top bit means that more follow. */
static uint64_t read_vbr(kdl_bitstream *stream, uint64_t *at, uint64_t width) {
  if (width == 0)
    return 0;
  uint64_t more = (uint64_t)1 << (width - 1);
  uint64_t value = 0;
  for (uint64_t shift = 0;; shift += width - 1) {
    uint64_t chunk = read_fixed(stream, at, width);
    uint64_t bits = chunk & (more - 1);
    if (shift >= 64 ? bits != 0 : (bits << shift) >> shift != bits)
      stream->overrun = true;
    else if (shift < 64)
      value |= bits << shift;
    if (!(chunk & more) || stream->overrun)
      return value;
  }
}

static void align_to_word(kdl_bitstream *stream) {
  uint64_t aligned = (stream->at + 31) & ~(uint64_t)31;
  if (aligned > stream->end)
    stream->overrun = true;
  stream->at = aligned > stream->end ? stream->end : aligned;
}

/* ------------------------------------------------------------------------------------------ */
/* Abbreviations                                                                                */

static kdl_bitoperand read_operand(kdl_bitstream *stream, uint64_t *at) {
  kdl_bitoperand operand = {KDL_BITS_LITERAL, 0};
  if (read_fixed(stream, at, 1)) {
    operand.value = read_vbr(stream, at, 8);
    return operand;
  }
  operand.encoding = (kdl_bitencoding)read_fixed(stream, at, 3);
  if (operand.encoding == KDL_BITS_FIXED || operand.encoding == KDL_BITS_VBR)
    operand.value = read_vbr(stream, at, 5);
  else if (operand.encoding == KDL_BITS_CHAR6)
    operand.value = 6;
  return operand;
}

static bool is_scalar(kdl_bitoperand operand) {
  return operand.encoding == KDL_BITS_LITERAL || operand.encoding == KDL_BITS_CHAR6 ||
         ((operand.encoding == KDL_BITS_FIXED || operand.encoding == KDL_BITS_VBR) &&
          operand.value <= widest);
}

/* Skips a definition and checks it, so that records can rely on it: scalars, the first being the
 * code, then at most one array with its element, or one blob. */
static kdl_status define_abbrev(kdl_bitstream *stream, uint64_t *out_abbrev) {
  *out_abbrev = stream->at;
  uint64_t count = read_vbr(stream, &stream->at, 5);
  bool is_valid = count > 0;
  for (uint64_t i = 0; i < count && is_valid && !stream->overrun; ++i) {
    kdl_bitoperand operand = read_operand(stream, &stream->at);
    if (is_scalar(operand))
      continue;
    if (i == 0)
      is_valid = false;
    else if (operand.encoding == KDL_BITS_BLOB)
      is_valid = i + 1 == count;
    else if (operand.encoding == KDL_BITS_ARRAY && i + 2 == count) {
      /* An element without bits would let a record claim any length for free. */
      operand = read_operand(stream, &stream->at);
      is_valid = is_scalar(operand) && operand.encoding != KDL_BITS_LITERAL && operand.value > 0;
      break;
    } else
      is_valid = false;
  }
  if (stream->overrun || !is_valid)
    return kdl_malformed_at(
        stream->base + *out_abbrev / 8, "bitstream",
        "found an abbreviation of %" PRIu64 " operands, not defined as the format allows", count);
  return KDL_OK;
}

static kdl_status add_abbrev(kdl_bitstream *stream, kdl_bitblock *block) {
  uint64_t abbrev;
  KDL_TRY(define_abbrev(stream, &abbrev));
  if (block->id == block_blockinfo) {
    if (stream->info_count == KDL_BITS_LIMIT_BLOCKINFO)
      return malformed(stream, "found more than %d abbreviations in BLOCKINFO, expected fewer",
                       KDL_BITS_LIMIT_BLOCKINFO);
    stream->info[stream->info_count].block = block->subject;
    stream->info[stream->info_count++].abbrev = abbrev;
    return KDL_OK;
  }
  if (block->abbrev_count == KDL_BITS_LIMIT_ABBREVS)
    return malformed(stream,
                     "found more than %d abbreviations in block %" PRIu64 ", expected fewer",
                     KDL_BITS_LIMIT_ABBREVS, block->id);
  block->abbrevs[block->abbrev_count++] = abbrev;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Records                                                                                      */

static void drop_record(kdl_bitstream *stream) {
  stream->operands_left = stream->elements_left = 0;
  stream->pads_after = false;
}

/* Starts the abbreviation's next operand. */
static void start_operand(kdl_bitstream *stream) {
  --stream->operands_left;
  stream->element = read_operand(stream, &stream->operands_at);
  stream->elements_left = 1;
  if (stream->element.encoding == KDL_BITS_ARRAY) {
    --stream->operands_left;
    stream->element = read_operand(stream, &stream->operands_at);
    stream->elements_left = read_vbr(stream, &stream->at, 6);
  } else if (stream->element.encoding == KDL_BITS_BLOB) {
    stream->element = (kdl_bitoperand){KDL_BITS_FIXED, 8};
    stream->elements_left = read_vbr(stream, &stream->at, 6);
    align_to_word(stream);
    stream->pads_after = true;
  } else {
    return;
  }
  /* The definition was checked, but a mapped file may change. */
  if (stream->element.value == 0 ||
      stream->elements_left > (stream->end - stream->at) / stream->element.value)
    stream->overrun = true;
}

static void finish_operand(kdl_bitstream *stream) {
  if (stream->elements_left == 0 && stream->pads_after) {
    align_to_word(stream);
    stream->pads_after = false;
  }
}

/* Whether an operand is started or can be. */
static bool has_operand(kdl_bitstream *stream) {
  while (!stream->overrun && stream->elements_left == 0) {
    finish_operand(stream);
    if (stream->operands_left == 0)
      return false;
    start_operand(stream);
  }
  return !stream->overrun;
}

static uint64_t read_element(kdl_bitstream *stream) {
  static const char char6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
  switch (stream->element.encoding) {
  case KDL_BITS_LITERAL:
    return stream->element.value;
  case KDL_BITS_VBR:
    return read_vbr(stream, &stream->at, stream->element.value);
  case KDL_BITS_CHAR6:
    return (uint8_t)char6[read_fixed(stream, &stream->at, 6)];
  default:
    return read_fixed(stream, &stream->at, stream->element.value);
  }
}

bool kdl_bitstream_value(kdl_bitstream *stream, uint64_t *out_value) {
  if (!has_operand(stream))
    return false;
  --stream->elements_left;
  *out_value = read_element(stream);
  finish_operand(stream);
  return !stream->overrun;
}

uint64_t kdl_bitstream_left(kdl_bitstream *stream) {
  return has_operand(stream) ? stream->elements_left : 0;
}

static void copy_bits(const kdl_bitstream *stream, uint8_t *out, uint64_t count) {
  const uint8_t *bytes = stream->data + stream->at / 8;
  unsigned shift = stream->at % 8;
  if (shift == 0) {
    memcpy(out, bytes, (size_t)count);
    return;
  }
  for (uint64_t i = 0; i < count; ++i)
    out[i] = (uint8_t)(bytes[i] >> shift | bytes[i + 1] << (8 - shift));
}

bool kdl_bitstream_bytes(kdl_bitstream *stream, uint8_t *out, uint64_t count) {
  while (count > 0) {
    uint64_t ready = kdl_bitstream_left(stream);
    if (ready > 0 && stream->element.encoding == KDL_BITS_FIXED && stream->element.value == 8) {
      uint64_t take = ready < count ? ready : count;
      copy_bits(stream, out, take);
      stream->at += take * 8;
      stream->elements_left -= take;
      finish_operand(stream);
      out += take;
      count -= take;
      continue;
    }
    uint64_t value;
    if (!kdl_bitstream_value(stream, &value) || value > UINT8_MAX)
      return false;
    *out++ = (uint8_t)value;
    --count;
  }
  return !stream->overrun;
}

const uint8_t *kdl_bitstream_blob(kdl_bitstream *stream, uint64_t *out_size) {
  if (!has_operand(stream) || !stream->pads_after)
    return NULL;
  *out_size = stream->elements_left;
  return stream->data + stream->at / 8;
}

static void skip_record(kdl_bitstream *stream) {
  while (has_operand(stream)) {
    if (stream->element.encoding == KDL_BITS_VBR || stream->element.encoding == KDL_BITS_LITERAL) {
      --stream->elements_left;
      read_element(stream);
    } else {
      /* start_operand checked that an array fits; a scalar is checked here. */
      uint64_t bits = stream->elements_left * stream->element.value;
      stream->overrun = bits > stream->end - stream->at;
      stream->at += stream->overrun ? 0 : bits;
      stream->elements_left = 0;
    }
  }
  drop_record(stream);
}

static kdl_status start_record(kdl_bitstream *stream, const kdl_bitblock *block, uint64_t id,
                               kdl_bitentry *entry) {
  if (id == id_unabbreviated) {
    entry->id = read_vbr(stream, &stream->at, 6);
    stream->elements_left = read_vbr(stream, &stream->at, 6);
    stream->element = (kdl_bitoperand){KDL_BITS_VBR, 6};
    if (stream->elements_left > (stream->end - stream->at) / 6)
      stream->overrun = true;
  } else {
    if (id - id_first_abbrev >= block->abbrev_count)
      return malformed(stream,
                       "found abbreviation %" PRIu64 " in block %" PRIu64
                       ", expected less than %" PRIu32,
                       id, block->id, block->abbrev_count + id_first_abbrev);
    stream->operands_at = block->abbrevs[id - id_first_abbrev];
    stream->operands_left = read_vbr(stream, &stream->operands_at, 5);
    kdl_bitstream_value(stream, &entry->id);
  }
  entry->kind = KDL_BITS_RECORD;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Blocks                                                                                       */

static kdl_status read_block_header(kdl_bitstream *stream, const kdl_bitblock *block,
                                    kdl_bitentry *entry) {
  entry->kind = KDL_BITS_BLOCK;
  entry->id = read_vbr(stream, &stream->at, 8);
  uint64_t width = read_vbr(stream, &stream->at, 4);
  align_to_word(stream);
  uint64_t words = read_fixed(stream, &stream->at, 32);
  if (stream->overrun)
    return KDL_OK;
  if (width < top_width || width > 32)
    return malformed(stream,
                     "found abbreviation numbers of %" PRIu64 " bits in block %" PRIu64
                     ", expected from 2 to 32",
                     width, entry->id);
  if (stream->at > block->end || words > (block->end - stream->at) / 32)
    return malformed(stream,
                     "found block %" PRIu64 " of %" PRIu64 " words, expected at most the %" PRIu64
                     " that are left",
                     entry->id, words,
                     stream->at > block->end ? 0 : (block->end - stream->at) / 32);
  entry->width = (uint32_t)width;
  entry->start = stream->at;
  entry->end = stream->at += words * 32;
  return KDL_OK;
}

/* Reads the abbreviations that BLOCKINFO defines for other blocks. */
static kdl_status read_blockinfo(kdl_bitstream *stream, const kdl_bitentry *info) {
  kdl_bitblock block = {
      .id = block_blockinfo, .width = info->width, .end = info->end, .subject = NO_BLOCK};
  stream->at = info->start;
  for (;;) {
    kdl_bitentry entry;
    kdl_status status = kdl_bitstream_next(stream, &block, &entry);
    if (status != KDL_OK || entry.kind == KDL_BITS_END)
      return status;
    if (entry.kind == KDL_BITS_RECORD && entry.id == blockinfo_set_block)
      kdl_bitstream_value(stream, &block.subject);
  }
}

kdl_status kdl_bitstream_next(kdl_bitstream *stream, kdl_bitblock *block, kdl_bitentry *out_entry) {
  const bool is_top = block->id == NO_BLOCK;
  skip_record(stream);
  kdl_status status = KDL_OK;
  while (status == KDL_OK && !stream->overrun && stream->at <= block->end) {
    *out_entry = (kdl_bitentry){.kind = KDL_BITS_END};
    /* As in LLVM, less than two words after the last block are padding. */
    if (is_top && block->end - stream->at < 64)
      return KDL_OK;
    uint64_t id = read_fixed(stream, &stream->at, block->width);
    if (id == id_end_block && !is_top) {
      stream->at = block->end;
      return KDL_OK;
    }
    if (id == id_enter_block) {
      status = read_block_header(stream, block, out_entry);
      /* Only outside BLOCKINFO, which ends the recursion. */
      if (status != KDL_OK || stream->overrun || out_entry->id != block_blockinfo ||
          block->id == block_blockinfo)
        break;
      status = read_blockinfo(stream, out_entry);
    } else if (id == id_define_abbrev) {
      status = add_abbrev(stream, block);
    } else if (id == id_end_block) {
      return malformed(stream, "found the end of a block, expected one to begin");
    } else {
      status = start_record(stream, block, id, out_entry);
      break;
    }
  }
  if (status == KDL_OK && (stream->overrun || stream->at > block->end))
    return malformed(stream, "found no end of block %" PRIu64 " where its length says it ends",
                     is_top ? 0 : block->id);
  return status;
}

kdl_status kdl_bitstream_enter(kdl_bitstream *stream, const kdl_bitentry *entry,
                               kdl_bitblock *out_block) {
  drop_record(stream);
  stream->at = entry->start;
  *out_block = (kdl_bitblock){.id = entry->id, .width = entry->width, .end = entry->end};
  for (uint32_t i = 0; i < stream->info_count; ++i) {
    if (stream->info[i].block != entry->id)
      continue;
    if (out_block->abbrev_count == KDL_BITS_LIMIT_ABBREVS)
      return malformed(stream,
                       "found more than %d abbreviations for block %" PRIu64 ", expected fewer",
                       KDL_BITS_LIMIT_ABBREVS, entry->id);
    out_block->abbrevs[out_block->abbrev_count++] = stream->info[i].abbrev;
  }
  return KDL_OK;
}

void kdl_bitstream_leave(kdl_bitstream *stream, const kdl_bitblock *block) {
  drop_record(stream);
  stream->at = block->end;
}

kdl_status kdl_bitstream_open(const uint8_t *data, size_t size, kdl_bitstream *out_stream,
                              kdl_bitblock *out_top) {
  uint64_t base = 0;
  uint64_t length = size;
  if (size >= wrapper_size && kdl_load_u32(data) == KDL_MAGIC_WRAPPED_BITCODE) {
    base = kdl_load_u32(data + 8);
    length = kdl_load_u32(data + 12);
    if (!kdl_in_range(base, length, size))
      return kdl_malformed_at(8, "bitcode wrapper",
                              "found %" PRIu64 " bytes at 0x%" PRIx64
                              ", expected them inside the image's 0x%zx bytes",
                              length, base, size);
  }
  if (length < 4 || kdl_load_u32(data + base) != KDL_MAGIC_BITCODE)
    return kdl_malformed_at(base, "bitcode magic", "found other bytes, expected 42 43 c0 de");
  *out_stream = (kdl_bitstream){.data = data + base, .base = base, .end = length * 8, .at = 32};
  *out_top = (kdl_bitblock){.id = NO_BLOCK, .width = top_width, .end = length * 8};
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Bitcode                                                                                      */

void kdl_bitcode_producer(const void *data, size_t size, char *out_producer, size_t capacity) {
  enum { block_identification = 13, record_string = 1 };
  kdl_bitstream stream;
  kdl_bitblock top, block;
  kdl_bitentry entry;
  out_producer[0] = '\0';
  kdl_status status = kdl_bitstream_open(data, size, &stream, &top);
  if (status == KDL_OK)
    status = kdl_bitstream_next(&stream, &top, &entry);
  if (status != KDL_OK || entry.kind != KDL_BITS_BLOCK || entry.id != block_identification ||
      kdl_bitstream_enter(&stream, &entry, &block) != KDL_OK)
    return;
  while (kdl_bitstream_next(&stream, &block, &entry) == KDL_OK && entry.kind != KDL_BITS_END) {
    if (entry.kind != KDL_BITS_RECORD || entry.id != record_string)
      continue;
    uint64_t letter;
    size_t length = 0;
    while (length + 1 < capacity && kdl_bitstream_value(&stream, &letter) && letter >= ' ' &&
           letter < 127)
      out_producer[length++] = (char)letter;
    out_producer[length] = '\0';
    return;
  }
}
