/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compressed inputs for the tests: packed by the codec's own library if one is needed, built by
 * hand if size matters; and a way to test without such a library. */
#ifndef KDL_TESTS_UNIT_PACKERS_H
#define KDL_TESTS_UNIT_PACKERS_H

#include "support.h"

#include "lib/inspect/formats.h"
#include "support/base/bytes.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void skip_without(kdl_codec codec) {
  if (kdl_codec_check(codec) != KDL_OK) {
    print_message("%s\n", kdl_error_message());
    skip();
  }
}

static inline void skip_without_any(const kdl_codec *codecs, size_t count) {
  for (size_t i = 0; i < count; ++i)
    skip_without(codecs[i]);
}

/* Packs with the real library; the result is malloc'ed. The caller has checked that it is there. */
static inline uint8_t *pack(kdl_codec codec, const void *data, size_t size, size_t *out_size) {
  static const char *const libraries[] = {
      [KDL_CODEC_ZSTD] = "libzstd.so.1",
      [KDL_CODEC_ZLIB] = "libz.so.1",
      [KDL_CODEC_LZ4] = "liblz4.so.1",
  };
  static const char *const functions[] = {
      [KDL_CODEC_ZSTD] = "ZSTD_compress",
      [KDL_CODEC_ZLIB] = "compress",
      [KDL_CODEC_LZ4] = "LZ4_compress_default",
  };
  void *library = dlopen(libraries[codec], RTLD_NOW);
  assert_non_null(library);
  void *address = dlsym(library, functions[codec]);
  assert_non_null(address);
  size_t capacity = size + size / 8 + 1024; /* more than any of the three can need */
  uint8_t *packed = malloc(capacity);
  assert_non_null(packed);
  if (codec == KDL_CODEC_ZSTD) {
    size_t (*compress)(void *, size_t, const void *, size_t, int);
    memcpy(&compress, &address, sizeof address);
    *out_size = compress(packed, capacity, data, size, 3);
  } else if (codec == KDL_CODEC_ZLIB) {
    int (*compress)(void *, unsigned long *, const void *, unsigned long);
    memcpy(&compress, &address, sizeof address);
    unsigned long packed_size = capacity;
    assert_int_equal(compress(packed, &packed_size, data, size), 0);
    *out_size = packed_size;
  } else {
    int (*compress)(const void *, void *, int, int);
    memcpy(&compress, &address, sizeof address);
    *out_size = (size_t)compress(data, packed, (int)size, (int)capacity);
  }
  assert_in_range(*out_size, 1, capacity);
  return packed;
}

/* A zstd frame of `head` and then zeros up to `total` bytes, without a content size, so that it has
 * to be inflated step by step: one raw block, then blocks that repeat one byte 128 KiB at most. */
static inline uint8_t *zstd_bomb(const void *head, size_t head_size, uint64_t total,
                                 size_t *out_size) {
  enum { largest_block = 128 * 1024, block_raw = 0, block_repeat = 1 };
  assert_in_range(head_size, 1, largest_block);
  uint64_t zeros = total - head_size;
  size_t blocks = (size_t)((zeros + largest_block - 1) / largest_block);
  uint8_t *frame = malloc(6 + 3 + head_size + 4 * blocks);
  assert_non_null(frame);
  kdl_store_u32(frame, 0xfd2fb528);
  frame[4] = 0;    /* no content size, no checksum, not a single segment */
  frame[5] = 0x40; /* window of 256 KiB */
  uint8_t *at = frame + 6;
  uint32_t block = (uint32_t)(head_size << 3 | block_raw << 1 | (zeros == 0));
  kdl_store_u16(at, (uint16_t)block);
  at[2] = (uint8_t)(block >> 16);
  memcpy(at + 3, head, head_size);
  at += 3 + head_size;
  while (zeros) {
    uint64_t now = zeros < largest_block ? zeros : largest_block;
    zeros -= now;
    block = (uint32_t)(now << 3 | block_repeat << 1 | (zeros == 0));
    kdl_store_u16(at, (uint16_t)block);
    at[2] = (uint8_t)(block >> 16);
    at[3] = 0;
    at += 4;
  }
  *out_size = (size_t)(at - frame);
  return frame;
}

/* An LZ4 block of `total` zeros: one literal, one match that repeats it, five literals to end. */
static inline uint8_t *lz4_bomb(size_t total, size_t *out_size) {
  enum { literals_at_the_end = 5, shortest_match = 4, token_limit = 15 };
  size_t match = total - 1 - literals_at_the_end - shortest_match - token_limit;
  uint8_t *block = calloc(1, 16 + match / 255);
  assert_non_null(block);
  uint8_t *at = block;
  *at++ = 1 << 4 | token_limit;
  *at++ = 0;
  kdl_store_u16(at, 1);
  at += 2;
  for (; match >= 255; match -= 255)
    *at++ = 255;
  *at++ = (uint8_t)match;
  *at++ = literals_at_the_end << 4;
  at += literals_at_the_end;
  *out_size = (size_t)(at - block);
  return block;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#endif

/* Bytes of memory this process holds; 0 under AddressSanitizer, which holds on to what is freed. */
static inline size_t resident_bytes(void) {
#if HAS_ADDRESS_SANITIZER
  return 0;
#else
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  unsigned long pages = 0;
  assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
#endif
}

/* ------------------------------------------------------------------------------------------ */
/* A machine without the libraries                                                              */

static bool libraries_are_hidden;

/* Stands in front of libc's, for libkdl is linked statically here. */
void *dlopen(const char *file, int flags);
void *dlopen(const char *file, int flags) {
  if (libraries_are_hidden && file && strncmp(file, "lib", 3) == 0)
    file = "libhidden-from-the-test.so.1";
  void *(*real)(const char *, int);
  void *address = dlsym(RTLD_NEXT, "dlopen");
  memcpy(&real, &address, sizeof address);
  return real(file, flags);
}

/* Runs `body` in a process that finds no codec library, and returns what it wrote. The codecs must
 * not have been used in this process before. */
static inline void without_libraries(void (*body)(FILE *out), char *report, size_t report_size) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    libraries_are_hidden = true;
    FILE *out = fdopen(ends[1], "w");
    body(out);
    fclose(out);
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while ((got = read(ends[0], report + length, report_size - 1 - length)) > 0)
    length += (size_t)got;
  report[length] = '\0';
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

#endif
