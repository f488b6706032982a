/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Unaligned little-endian loads and stores, and range checks that do not overflow. Every format
 * that libkdl reads is little-endian; its fields may have any alignment. */
#ifndef KDL_SUPPORT_BASE_BYTES_H
#define KDL_SUPPORT_BASE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t kdl_load_u16(const void *at) {
  const uint8_t *b = at;
  return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t kdl_load_u32(const void *at) {
  const uint8_t *b = at;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t kdl_load_u64(const void *at) {
  const uint8_t *b = at;
  return (uint64_t)kdl_load_u32(b) | (uint64_t)kdl_load_u32(b + 4) << 32;
}

static inline void kdl_store_u16(void *at, uint16_t value) {
  uint8_t *b = at;
  b[0] = (uint8_t)value;
  b[1] = (uint8_t)(value >> 8);
}

static inline void kdl_store_u32(void *at, uint32_t value) {
  kdl_store_u16(at, (uint16_t)value);
  kdl_store_u16((uint8_t *)at + 2, (uint16_t)(value >> 16));
}

static inline void kdl_store_u64(void *at, uint64_t value) {
  kdl_store_u32(at, (uint32_t)value);
  kdl_store_u32((uint8_t *)at + 4, (uint32_t)(value >> 32));
}

/* Whether [offset, offset + length) is within [0, size), without computing the sum. */
static inline bool kdl_in_range(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

/* The next multiple of 8, or UINT64_MAX where there is none. */
static inline uint64_t kdl_align8(uint64_t value) {
  return value > UINT64_MAX - 7 ? UINT64_MAX : (value + 7) & ~(uint64_t)7;
}

#endif
