/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The length of x86-64 instructions, and their RIP-relative operands. */
#include "pack/thin/elf/elf_code.h"

#include <string.h>

enum { longest = 15 };

/* What follows an opcode. */
typedef enum {
  NO, /* not defined in 64 bits, or a prefix */
  N,  /* nothing */
  B,  /* an immediate of 1 byte */
  W,  /* 2 bytes */
  E,  /* 3 bytes: enter */
  Z,  /* 4 bytes, or 2 with a 16-bit prefix */
  J,  /* a jump distance of 4 bytes */
  V,  /* as Z, or 8 bytes with REX.W */
  O,  /* an address of 8 bytes, or 4 with a prefix */
  M,  /* ModRM and the operand that it describes */
  MB, /* the same, with an immediate */
  MZ,
  GB, /* MB or M, and MZ or M: test, and others of the group without one */
  GZ,
  R, /* ModRM that names registers only */
} form;

static const uint8_t one_byte[256] = {
    M,  M,  M,  M,  B,  Z,  NO, NO, M,  M,  M,  M,  B,  Z,  NO, NO, /* 00 */
    M,  M,  M,  M,  B,  Z,  NO, NO, M,  M,  M,  M,  B,  Z,  NO, NO, /* 10 */
    M,  M,  M,  M,  B,  Z,  NO, NO, M,  M,  M,  M,  B,  Z,  NO, NO, /* 20 */
    M,  M,  M,  M,  B,  Z,  NO, NO, M,  M,  M,  M,  B,  Z,  NO, NO, /* 30 */
    NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, /* 40 */
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  /* 50 */
    NO, NO, NO, M,  NO, NO, NO, NO, Z,  MZ, B,  MB, N,  N,  N,  N,  /* 60 */
    B,  B,  B,  B,  B,  B,  B,  B,  B,  B,  B,  B,  B,  B,  B,  B,  /* 70 */
    MB, MZ, NO, MB, M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 80 */
    N,  N,  N,  N,  N,  N,  N,  N,  N,  N,  NO, N,  N,  N,  N,  N,  /* 90 */
    O,  O,  O,  O,  N,  N,  N,  N,  B,  Z,  N,  N,  N,  N,  N,  N,  /* a0 */
    B,  B,  B,  B,  B,  B,  B,  B,  V,  V,  V,  V,  V,  V,  V,  V,  /* b0 */
    MB, MB, W,  N,  NO, NO, MB, MZ, E,  N,  W,  N,  N,  B,  NO, N,  /* c0 */
    M,  M,  M,  M,  NO, NO, NO, N,  M,  M,  M,  M,  M,  M,  M,  M,  /* d0 */
    B,  B,  B,  B,  B,  B,  B,  B,  J,  J,  NO, B,  N,  N,  N,  N,  /* e0 */
    NO, N,  NO, NO, N,  N,  GB, GZ, N,  N,  N,  N,  N,  N,  M,  M,  /* f0 */
};

/* After 0f. Opcodes after 0f 38 are all M, those after 0f 3a all MB. */
static const uint8_t two_bytes[256] = {
    M,  M,  M,  M,  NO, N,  N,  N,  N,  N,  NO, N,  NO, M,  N,  MB, /* 00 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 10 */
    R,  R,  R,  R,  NO, NO, NO, NO, M,  M,  M,  M,  M,  M,  M,  M,  /* 20 */
    N,  N,  N,  N,  N,  N,  NO, N,  NO, NO, NO, NO, NO, NO, NO, NO, /* 30 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 40 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 50 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 60 */
    MB, MB, MB, MB, M,  M,  M,  N,  M,  M,  NO, NO, M,  M,  M,  M,  /* 70 */
    J,  J,  J,  J,  J,  J,  J,  J,  J,  J,  J,  J,  J,  J,  J,  J,  /* 80 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 90 */
    N,  N,  N,  M,  MB, M,  NO, NO, N,  N,  N,  M,  MB, M,  M,  M,  /* a0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  MB, M,  M,  M,  M,  M,  /* b0 */
    M,  M,  MB, M,  MB, MB, MB, M,  N,  N,  N,  N,  N,  N,  N,  N,  /* c0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* d0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* e0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* f0 */
};

/* Opcodes after VEX, EVEX and AMD's XOP, which all have ModRM except one. EVEX has one-byte opcodes
 * as map 4 (APX), including shld and shrd. */
static form form_of_map(unsigned map, uint8_t opcode, bool is_evex) {
  switch (map) {
  case 1:
    if (opcode == 0x77)
      return is_evex ? NO : N;
    return two_bytes[opcode] == MB ? MB : M;
  case 4:
    if (opcode == 0x24 || opcode == 0x2c)
      return MB;
    return !is_evex ? NO : one_byte[opcode] < M ? M : (form)one_byte[opcode];
  case 2:
  case 5:
  case 6:
  case 9:
    return M;
  case 3:
  case 8:
    return MB;
  case 7:
  case 10:
    return MZ;
  default:
    return NO;
  }
}

static bool is_prefix(uint8_t byte) {
  static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                     0x66, 0x67, 0xf0, 0xf2, 0xf3};
  return memchr(prefixes, byte, sizeof prefixes) != NULL;
}

size_t x86_instruction_length(const uint8_t *code, size_t size, size_t *out_displacement) {
  uint8_t bytes[longest + 8] = {0}; /* never reads past the end of the code */
  size_t at = 0, most = size < longest ? size : (size_t)longest;
  bool is_short = false, is_narrow = false, is_wide = false;
  form found;
  for (size_t i = 0; i < most; ++i)
    bytes[i] = code[i];
  *out_displacement = 0;
  for (; at < most && is_prefix(bytes[at]); ++at) {
    is_short |= bytes[at] == 0x66;
    is_narrow |= bytes[at] == 0x67;
  }
  if ((bytes[at] & 0xf0) == 0x40)
    is_wide = bytes[at++] & 8;
  uint8_t opcode = bytes[at++];
  if (opcode == 0xd5) { /* REX2 */
    uint8_t bits = bytes[at++];
    is_wide = bits & 8;
    opcode = bytes[at++];
    found = bits & 0x80 ? two_bytes[opcode] : one_byte[opcode];
  } else if (opcode == 0xc5) {
    at += 1;
    found = form_of_map(1, bytes[at++], false);
  } else if (opcode == 0xc4 || opcode == 0x62 || (opcode == 0x8f && bytes[at] & 0x18)) {
    bool is_evex = opcode == 0x62;
    unsigned map = bytes[at] & (is_evex ? 7 : 0x1f);
    is_short = is_evex && (bytes[at + 1] & 3) == 1;
    is_wide = bytes[at + 1] & 0x80;
    at += is_evex ? 3 : 2;
    found = form_of_map(map, bytes[at++], is_evex);
  } else if (opcode == 0x0f) {
    bool is_plain = at == 1;
    opcode = bytes[at++];
    found = two_bytes[opcode];
    if (opcode == 0x38 || opcode == 0x3a) {
      found = opcode == 0x38 ? M : MB;
      ++at;
    }
    if (opcode == 0x78 && !is_plain) /* extrq and insertq, of registers alone */
      found = NO;
  } else {
    found = one_byte[opcode];
  }
  if (found == NO || at > longest)
    return 0;
  if (found >= M) {
    uint8_t modrm = bytes[at++], mod = modrm >> 6, base = modrm & 7;
    if ((found == GB || found == GZ) && (modrm & 0x30))
      found = M;
    if (mod != 3 && found != R) {
      if (base == 5 && mod == 0)
        *out_displacement = at;
      if (base == 4)
        base = bytes[at++] & 7;
      at += mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
    }
  }
  switch (found) {
  case B:
  case MB:
  case GB:
    at += 1;
    break;
  case W:
    at += 2;
    break;
  case E:
    at += 3;
    break;
  case V:
    at += is_wide ? 8 : is_short ? 2 : 4;
    break;
  case Z:
  case MZ:
  case GZ:
    at += is_short && !is_wide ? 2 : 4;
    break;
  case J:
    at += 4;
    break;
  case O:
    at += is_narrow ? 4 : 8;
    break;
  default:
    break;
  }
  return at <= most ? at : 0;
}
