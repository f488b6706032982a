/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Clang offload bundles that are damaged, or inflate to excessive sizes. */
#include "bundle_builder.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------------------------------------------------------------------------------------------ */
/* Bombs                                                                                        */

enum { gigabyte = 1 << 30, most = 64 << 20, table_size = 4096 };

/* A table with one image of `image_size` zeros, as zstd that inflates to `real` bytes and declares
 * `declared`. */
static uint8_t *make_bomb(uint64_t image_size, uint64_t real, uint64_t declared, size_t *out_size) {
  entry_spec entry = {"hip-amdgcn-amd-amdhsa--gfx906", "\x7f"
                                                       "ELF"};
  size_t bundle_size;
  uint8_t *bundle = make_bundle(&entry, 1, table_size, &bundle_size);
  kdl_store_u64(bundle + 32 + 8, image_size);
  size_t packed_size;
  uint8_t *packed = zstd_bomb(bundle, bundle_size, real, &packed_size);
  uint8_t *data = make_compressed(3, method_zstd, packed, packed_size, declared, out_size);
  free(packed);
  free(bundle);
  return data;
}

static kdl_library *open_small(const uint8_t *data, size_t size) {
  size_t before = resident_bytes();
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  assert_in_range(resident_bytes(), 0, before + (1 << 20));
  return lib;
}

static void opens_much_in_little_memory(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *data = make_bomb(most - table_size, most, most, &size);
  assert_in_range(size, 0, 64 * 1024);
  kdl_library *lib = open_small(data, size);
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).byte_count, most - table_size);
  kdl_close(lib);
  free(data);
}

static void refuses_a_bomb_declared_smaller(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  kdl_library *lib;
  uint8_t *data = make_bomb(table_size, gigabyte, 2 * table_size, &size);
  assert_fails(try_open(data, size, &lib), KDL_BAD_FILE,
               "t (inflated from 0x20): zstd stream: found more than 8192 inflated bytes, expected "
               "that");
  free(data);
  /* Here the end is not seen at open. */
  enum { declared = 256 * 1024 };
  data = make_bomb(declared - table_size, gigabyte, declared, &size);
  lib = open_small(data, size);
  const void *bytes;
  size_t count;
  size_t before = resident_bytes();
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_BAD_FILE,
               "t (inflated from 0x20): zstd stream: found more than 262144 inflated bytes, "
               "expected that");
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_BAD_FILE,
               "t (inflated from 0x20): the compressed data could not be inflated before");
  assert_in_range(resident_bytes(), 0, before + (1 << 20));
  kdl_close(lib);
  free(data);
}

static void refuses_a_bomb_declared_larger(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *data = make_bomb(most - table_size, 2 * table_size, most, &size);
  kdl_library *lib = open_small(data, size);
  const void *bytes;
  size_t count;
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_BAD_FILE,
               "t (inflated from 0x20): zstd stream: found its end after 8192 inflated bytes, "
               "expected at least 67108864");
  kdl_close(lib);
  free(data);
}

/* Many bundles that each ask for the largest window: none may keep it. */
static void keeps_nothing_of_many_bundles(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *one = make_bomb(64, 1 << 20, 1 << 20, &size);
  one[32 + 5] = (27 - 10) << 3;
  enum { copies = 60 };
  uint8_t *all = malloc(copies * size);
  for (size_t i = 0; i < copies; ++i)
    memcpy(all + i * size, one, size);
  size_t before = resident_bytes();
  kdl_library *lib;
  assert_ok(try_open(all, copies * size, &lib));
  assert_in_range(resident_bytes(), 0, before + (8 << 20));
  assert_int_equal(kdl_image_count(lib), copies);
  kdl_close(lib);
  free(all);
  free(one);
}

/* ------------------------------------------------------------------------------------------ */
/* Damage                                                                                       */

static const damage damages[] = {
    {"bundle/plain.hipfb", 24, 8, UINT64_MAX,
     "t: offset 0x18: number of bundle entries: found 18446744073709551615, expected at most 318"},
    {"bundle/plain.hipfb", 24, 8, 4,
     "t: offset 0xdc: bundle entry ID length: found 4309647363, expected at most 4096"},
    {"bundle/plain.hipfb", 0x30, 8, 6565,
     "t: offset 0x30: bundle entry ID length: found 6565, expected at most 4096"},
    {"bundle/plain.hipfb", 0x56, 8, 0,
     "t: offset 0x56: code object offset: found 0x0, expected from 0xcc, the end of what lies "
     "before it, to 0x1df4"},
    {"bundle/plain.hipfb", 0x56, 8, UINT64_MAX,
     "t: offset 0x56: code object offset: found 0xffffffffffffffff, expected from 0xcc, the end of "
     "what lies before it, to 0x1df4"},
    {"bundle/plain.hipfb", 0x5e, 8, UINT64_MAX,
     "t: offset 0x5e: code object size: found 18446744073709551615, expected at most 7464, the "
     "bytes from its offset to the end"},
    {"bundle/plain.hipfb", 0x94, 8, 0x100,
     "t: offset 0x94: code object offset: found 0x100, expected from 0x10bc, the end of what lies "
     "before it, to 0x1df4"},
    {"bundle/plain.hipfb", 0x9c, 8, 3385,
     "t: offset 0x9c: code object size: found 3385, expected at most 3384, the bytes from its "
     "offset to the end"},
    {"bundle/v3.ccob", 4, 2, 4,
     "t: offset 0x4: compressed bundle version: found 4, expected 1 to 3"},
    {"bundle/v3.ccob", 6, 2, 2,
     "t: offset 0x6: compression method: found 2, expected 0 (zlib) or 1 (zstd)"},
    {"bundle/v3.ccob", 8, 8, 31,
     "t: offset 0x8: total size: found 31, expected from 32 to 1464, the bytes that are there"},
    {"bundle/v3.ccob", 8, 8, UINT64_MAX,
     "t: offset 0x8: total size: found 18446744073709551615, expected from 32 to 1464, the bytes "
     "that are there"},
    {"bundle/v3.ccob", 16, 8, 31,
     "t: offset 0x10: uncompressed size: found 31, expected from 32 to 68719476736"},
    {"bundle/v3.ccob", 16, 8, UINT64_MAX,
     "t: offset 0x10: uncompressed size: found 18446744073709551615, expected from 32 to "
     "68719476736"},
    {"bundle/v2.ccob", 8, 4, 1457,
     "t: offset 0x8: total size: found 1457, expected from 24 to 1456, the bytes that are there"},
};

static void names_each_damaged_field(void **state) {
  (void)state;
  expect_each_refused(damages, sizeof damages / sizeof *damages);
}

static void refuses_a_stream_that_holds_no_bundle(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZLIB);
  static const uint8_t other[64] = "something else";
  size_t size;
  uint8_t *data = compress(3, method_zlib, other, sizeof other, &size);
  kdl_library *lib;
  assert_fails(try_open(data, size, &lib), KDL_BAD_FILE,
               "t (inflated from 0x20): offset 0x0: bundle magic: found 73 6f 6d 65 ..., expected "
               "\"__CLANG_OFFLOAD_BUNDLE__\"");
  free(data);
}

static void refuses_what_follows(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("bundle/plain.hipfb", &size);
  data = realloc(data, size + 64);
  memset(data + size, 0, 64);
  memset(data + size + 16, 0x5a, 48);
  kdl_library *lib;
  assert_fails(try_open(data, size + 64, &lib), KDL_BAD_FILE,
               "t: offset 0x1e04: bundle magic: found 5a 5a 5a 5a ..., expected "
               "\"__CLANG_OFFLOAD_BUNDLE__\"");
  assert_fails(try_open(data, size + 17, &lib), KDL_BAD_FILE,
               "t: offset 0x1e04: bundle header: found 1 bytes, expected at least 32");
  free(data);
}

static const char *const goldens[] = {"bundle/plain.hipfb", "bundle/openmp.bc", "bundle/v2.ccob",
                                      "bundle/v3.ccob"};

static void refuses_every_truncation(void **state) {
  (void)state;
  for (size_t g = 0; g < COUNT(goldens); ++g) {
    size_t size;
    uint8_t *data = read_golden(goldens[g], &size);
    for (size_t cut = 0; cut < size; ++cut)
      assert_int_equal(open_and_read_all(data, cut), KDL_BAD_FILE);
    free(data);
  }
}

/* Version 1 has no total size, so a cut shows only where the stream is read. */
static void survives_every_truncation_of_version_1(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t plain_size;
  uint8_t *plain = read_golden("bundle/plain.hipfb", &plain_size);
  size_t size;
  uint8_t *data = compress(1, method_zstd, plain, plain_size, &size);
  for (size_t cut = 0; cut < size; ++cut) {
    kdl_library *lib;
    uint8_t *exact = malloc(cut ? cut : 1);
    memcpy(exact, data, cut);
    if (try_open(exact, cut, &lib) == KDL_OK) {
      const void *bytes;
      size_t count;
      assert_int_equal(kdl_image_bytes(lib, 1, &bytes, &count), KDL_BAD_FILE);
      kdl_close(lib);
    }
    free(exact);
  }
  free(data);
  free(plain);
}

/* Extreme values in every field of the headers: refused or read, never a step out of bounds. */
static void survives_extreme_fields(void **state) {
  (void)state;
  static const uint64_t extremes[] = {0,          1,         7,          24,
                                      32,         0xffff,    0x7fffffff, 0x80000000,
                                      0xffffffff, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
  size_t refused = 0;
  for (size_t g = 0; g < COUNT(goldens); ++g) {
    size_t size;
    uint8_t *data = read_golden(goldens[g], &size);
    for (size_t at = 0; at < 0xcc; ++at) {
      for (unsigned width = 2; width <= 8; width *= 2) {
        uint64_t kept = kdl_load_u64(data + at);
        for (size_t e = 0; e < COUNT(extremes); ++e) {
          memcpy(data + at, &extremes[e], width);
          refused += open_and_read_all(data, size) != KDL_OK;
        }
        kdl_store_u64(data + at, kept);
      }
    }
    assert_ok(open_and_read_all(data, size));
    free(data);
  }
  assert_in_range(refused, 1000, SIZE_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_much_in_little_memory),
      cmocka_unit_test(refuses_a_bomb_declared_smaller),
      cmocka_unit_test(refuses_a_bomb_declared_larger),
      cmocka_unit_test(keeps_nothing_of_many_bundles),
      cmocka_unit_test(names_each_damaged_field),
      cmocka_unit_test(refuses_a_stream_that_holds_no_bundle),
      cmocka_unit_test(refuses_what_follows),
      cmocka_unit_test(refuses_every_truncation),
      cmocka_unit_test(survives_every_truncation_of_version_1),
      cmocka_unit_test(survives_extreme_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
