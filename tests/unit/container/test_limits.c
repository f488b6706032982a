/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cost of a file: its size bounds memory and work (docs/formats.md). */
#include "bundle_builder.h"

#include <time.h>

enum { mib = 1024 * 1024 };

/* Seconds of this thread's own time. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Far more than any of these takes, far less than what they took before there were bounds. */
static void assert_quick(double start) {
  if (now() - start > 2)
    fail_msg("took %.1f s, expected less than 2", now() - start);
}

/* ------------------------------------------------------------------------------------------ */
/* Inflating                                                                                    */

static uint8_t *make_bomb(uint64_t inflated, size_t *out_size) {
  entry_spec entry = {"hip-amdgcn-amd-amdhsa--gfx906", "\x7f"
                                                       "ELF"};
  size_t bundle_size;
  uint8_t *bundle = make_bundle(&entry, 1, 64, &bundle_size);
  kdl_store_u64(bundle + 32 + 8, inflated - 128);
  size_t packed_size;
  uint8_t *packed = zstd_bomb(bundle, bundle_size, inflated, &packed_size);
  uint8_t *data = make_compressed(3, method_zstd, packed, packed_size, inflated, out_size);
  free(packed);
  free(bundle);
  return data;
}

static void refuses_a_small_stream_that_inflates_to_much(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  kdl_library *lib;
  uint8_t *data = make_bomb((uint64_t)2 << 30, &size);
  assert_fails(try_open(data, size, &lib), KDL_BAD_FILE,
               "t: offset 0x20: compressed data: found 65677 bytes that inflate to 2147483648, "
               "expected at most 134362112");
  free(data);
}

/* Each alone would be let through. */
static void counts_all_streams_of_a_file(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  kdl_library *lib;
  uint8_t *one = make_bomb(60 * mib, &size);
  uint8_t *two = malloc(2 * size);
  memcpy(two, one, size);
  memcpy(two + size, one, size);
  assert_ok(try_open(one, size, &lib));
  kdl_close(lib);
  assert_fails(try_open(two, 2 * size, &lib), KDL_BAD_FILE,
               "t: offset 0x84d: compressed data: found 62914560 bytes inflated, 125829120 with "
               "what lies before, expected at most 71395328 from the 4186 bytes of the file");
  free(two);
  free(one);
}

/* A stream in a stream counts for what the file has, not for what the outer one makes of it. */
static void counts_streams_in_streams(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t inner_size, packed_size, size;
  uint8_t *inner = make_bomb(60 * mib, &inner_size);
  size_t bundle_size = 128 + inner_size + 20 * mib;
  uint8_t *bundle = calloc(1, bundle_size);
  static const char id[] = "hip-amdgcn-amd-amdhsa--gfx906";
  memcpy(bundle, "__CLANG_OFFLOAD_BUNDLE__", 24);
  kdl_store_u64(bundle + 24, 1);
  kdl_store_u64(bundle + 32, 128);
  kdl_store_u64(bundle + 40, inner_size);
  kdl_store_u64(bundle + 48, sizeof id - 1);
  memcpy(bundle + 56, id, sizeof id - 1);
  memcpy(bundle + 128, inner, inner_size);
  uint8_t *packed = zstd_bomb(bundle, 128 + inner_size, bundle_size, &packed_size);
  uint8_t *data = make_compressed(3, method_zstd, packed, packed_size, bundle_size, &size);
  kdl_library *lib;
  kdl_status status = try_open(data, size, &lib);
  if (status == KDL_OK) { /* listed with its problem */
    assert_int_equal(kdl_image_count(lib), 1);
    kdl_close(lib);
  } else {
    assert_int_equal(status, KDL_BAD_FILE);
    assert_non_null(strstr(kdl_error_message(), "with what lies before, expected at most"));
  }
  free(data);
  free(packed);
  free(bundle);
  free(inner);
}

/* ------------------------------------------------------------------------------------------ */
/* Tables                                                                                       */

enum { header_size = 32, entry_size = 40, pair_size = 24 };

/* An OffloadBinary 2 of `entries` that all point to the same `pairs`. */
static uint8_t *make_shared(size_t entries, size_t pairs, size_t image_offset, size_t image_size,
                            size_t tail, size_t *out_size) {
  static const uint8_t magic[4] = {0x10, 0xff, 0x10, 0xad};
  size_t map = header_size + entries * entry_size;
  size_t strings = map + pairs * pair_size;
  size_t size = strings + 8 + tail;
  uint8_t *data = calloc(1, size);
  assert_non_null(data);
  memcpy(data, magic, sizeof magic);
  kdl_store_u32(data + 4, 2);
  kdl_store_u64(data + 8, size);
  kdl_store_u64(data + 16, header_size);
  kdl_store_u64(data + 24, entries);
  for (size_t i = 0; i < entries; ++i) {
    uint8_t *entry = data + header_size + i * entry_size;
    kdl_store_u64(entry + 8, map);
    kdl_store_u64(entry + 16, pairs);
    kdl_store_u64(entry + 24, image_offset ? image_offset : size);
    kdl_store_u64(entry + 32, image_size);
  }
  for (size_t i = 0; i < pairs; ++i) {
    kdl_store_u64(data + map + i * pair_size, strings);
    kdl_store_u64(data + map + i * pair_size + 8, strings);
    kdl_store_u64(data + map + i * pair_size + 16, 1);
  }
  memcpy(data + strings, "k", 2);
  *out_size = size;
  return data;
}

static void refuses_maps_that_entries_share(void **state) {
  (void)state;
  size_t size;
  kdl_library *lib;
  uint8_t *data = make_shared(4000, 7000, 0, 0, 0, &size);
  double start = now();
  assert_fails(try_open(data, size, &lib), KDL_BAD_FILE,
               "t: offset 0x58: NumStrings: found 7000, expected at most 6668: the maps of all "
               "entries lie apart within the binary");
  assert_quick(start);
  free(data);
}

/* Overlap is seen before what overlaps is walked. */
static void looks_into_no_image_before_all_lie_apart(void **state) {
  (void)state;
  enum { entries = 2000, inner_entries = 20000 };
  size_t inner_size, size;
  uint8_t *inner = make_shared(inner_entries, 0, 0, 0, 0, &inner_size);
  size_t at = header_size + entries * entry_size + 8;
  uint8_t *data = make_shared(entries, 0, at, inner_size, inner_size, &size);
  memcpy(data + at, inner, inner_size);
  free(inner);
  kdl_library *lib;
  double start = now();
  assert_fails(try_open(data, size, &lib), KDL_BAD_FILE,
               "t: offset 0x138a8: ImageOffset: found an image that starts inside the one at "
               "0x138a8, expected images apart");
  assert_quick(start);
  free(data);
}

/* Strings may be shared, yet each is copied: the copies are bounded by the file's size. */
static void bounds_metadata_by_the_file(void **state) {
  (void)state;
  enum { pairs = 4000, longest = 300 * 1000 };
  size_t size;
  uint8_t *data = make_shared(1, pairs, 0, 0, longest, &size);
  size_t map = header_size + entry_size;
  for (size_t i = 0; i < pairs; ++i)
    kdl_store_u64(data + map + i * pair_size + 16, longest);
  kdl_library *lib;
  double start = now();
  assert_int_equal(try_open(data, size, &lib), KDL_NO_MEMORY);
  assert_non_null(strstr(kdl_error_message(), "more than 40 MiB of metadata"));
  assert_quick(start);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_a_small_stream_that_inflates_to_much),
      cmocka_unit_test(counts_all_streams_of_a_file),
      cmocka_unit_test(counts_streams_in_streams),
      cmocka_unit_test(refuses_maps_that_entries_share),
      cmocka_unit_test(looks_into_no_image_before_all_lie_apart),
      cmocka_unit_test(bounds_metadata_by_the_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
