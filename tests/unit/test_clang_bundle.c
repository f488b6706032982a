/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading Clang offload bundles, plain and compressed: IDs, layouts, and how damage is refused. */
#include "packers.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";

/* ------------------------------------------------------------------------------------------ */
/* Building                                                                                     */

typedef struct {
  const char *id;
  const char *image;
} entry_spec;

/* A plain bundle with its code objects aligned to `align`; malloc'ed. */
static uint8_t *make_bundle(const entry_spec *entries, size_t count, size_t align,
                            size_t *out_size) {
  size_t table = 32;
  size_t images = 0;
  for (size_t i = 0; i < count; ++i) {
    table += 24 + strlen(entries[i].id);
    images += strlen(entries[i].image) + align;
  }
  uint8_t *data = calloc(1, table + images + align);
  assert_non_null(data);
  memcpy(data, magic, 24);
  kdl_store_u64(data + 24, count);
  size_t at = 32;
  size_t end = table;
  for (size_t i = 0; i < count; ++i) {
    size_t id_length = strlen(entries[i].id);
    size_t size = strlen(entries[i].image);
    size_t offset = (end + align - 1) / align * align;
    kdl_store_u64(data + at, offset);
    kdl_store_u64(data + at + 8, size);
    kdl_store_u64(data + at + 16, id_length);
    memcpy(data + at + 24, entries[i].id, id_length);
    memcpy(data + offset, entries[i].image, size);
    at += 24 + id_length;
    if (size)
      end = offset + size;
  }
  *out_size = end;
  return data;
}

enum { method_zlib = 0, method_zstd = 1 };

/* The header of a compressed bundle before `packed`; malloc'ed. */
static uint8_t *make_compressed(unsigned version, unsigned method, const void *packed,
                                size_t packed_size, uint64_t inflated_size, size_t *out_size) {
  static const uint8_t header_sizes[] = {0, 20, 24, 32};
  size_t header_size = header_sizes[version];
  size_t total = header_size + packed_size;
  uint8_t *data = calloc(1, total);
  assert_non_null(data);
  memcpy(data, "CCOB", 4);
  kdl_store_u16(data + 4, (uint16_t)version);
  kdl_store_u16(data + 6, (uint16_t)method);
  if (version == 1) {
    kdl_store_u32(data + 8, (uint32_t)inflated_size);
  } else if (version == 2) {
    kdl_store_u32(data + 8, (uint32_t)total);
    kdl_store_u32(data + 12, (uint32_t)inflated_size);
  } else {
    kdl_store_u64(data + 8, total);
    kdl_store_u64(data + 16, inflated_size);
  }
  memcpy(data + header_size, packed, packed_size);
  *out_size = total;
  return data;
}

static uint8_t *compress(unsigned version, unsigned method, const uint8_t *bundle, size_t size,
                         size_t *out_size) {
  size_t packed_size;
  uint8_t *packed =
      pack(method == method_zstd ? KDL_CODEC_ZSTD : KDL_CODEC_ZLIB, bundle, size, &packed_size);
  uint8_t *data = make_compressed(version, method, packed, packed_size, size, out_size);
  free(packed);
  return data;
}

static void assert_image(const kdl_library *lib, size_t index, kdl_image_kind kind,
                         uint16_t offload_kind, const char *triple, const char *arch,
                         const char *id) {
  kdl_image_info info = image_at(lib, index);
  assert_string_equal(kdl_image_kind_name(info.kind), kdl_image_kind_name(kind));
  assert_int_equal(info.offload_kind, offload_kind);
  assert_int_equal(info.declared_kind, 0);
  assert_string_equal(info.triple.data, triple);
  assert_string_equal(info.arch.data, arch);
  const kdl_string *value = kdl_image_value(lib, index, "kdl.bundle_id");
  assert_non_null(value);
  assert_string_equal(value->data, id);
}

static void assert_same_bytes(kdl_library *left, size_t left_index, kdl_library *right,
                              size_t right_index) {
  const void *expected;
  const void *found;
  size_t expected_size;
  size_t found_size;
  assert_ok(kdl_image_bytes(left, left_index, &expected, &expected_size));
  assert_ok(kdl_image_bytes(right, right_index, &found, &found_size));
  assert_int_equal(found_size, expected_size);
  assert_memory_equal(found, expected, found_size);
}

/* ------------------------------------------------------------------------------------------ */
/* What clang-offload-bundler writes                                                            */

static void assert_golden_images(const kdl_library *lib, const char *container) {
  assert_int_equal(kdl_image_count(lib), 2);
  assert_image(lib, 0, KDL_IMAGE_HSACO, KDL_OFFLOAD_HIP, "amdgcn-amd-amdhsa", "gfx90a:xnack-",
               "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-");
  assert_image(lib, 1, KDL_IMAGE_HSACO, KDL_OFFLOAD_HIP, "amdgcn-amd-amdhsa", "gfx1100",
               "hipv4-amdgcn-amd-amdhsa--gfx1100");
  assert_int_equal(image_at(lib, 0).byte_count, 3496);
  assert_int_equal(image_at(lib, 1).byte_count, 2920);
  assert_int_equal(image_at(lib, 1).header_offset, 0x94);
  assert_string_equal(image_at(lib, 0).container.data, container);
}

static void reads_plain_bundles(void **state) {
  (void)state;
  kdl_library *lib = open_golden("bundle/plain.hipfb");
  assert_golden_images(lib, "clang-bundle");
  const void *data;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &data, &size));
  assert_memory_equal(data,
                      "\x7f"
                      "ELF",
                      4);
  kdl_close(lib);
}

static void reads_aligned_bundles(void **state) {
  (void)state;
  kdl_library *plain = open_golden("bundle/plain.hipfb");
  kdl_library *aligned = open_golden("bundle/aligned.hipfb");
  assert_int_equal(kdl_image_count(aligned), 1);
  assert_image(aligned, 0, KDL_IMAGE_HSACO, KDL_OFFLOAD_HIP, "amdgcn-amd-amdhsa", "gfx1100",
               "hip-amdgcn-amd-amdhsa--gfx1100");
  assert_same_bytes(plain, 1, aligned, 0);
  kdl_close(aligned);
  kdl_close(plain);
}

static void lists_a_host_that_has_bytes(void **state) {
  (void)state;
  kdl_library *lib = open_golden("bundle/openmp.bc");
  assert_int_equal(kdl_image_count(lib), 2);
  assert_image(lib, 0, KDL_IMAGE_BITCODE, KDL_OFFLOAD_NONE, "x86_64-unknown-linux-gnu", "",
               "host-x86_64-unknown-linux-gnu-");
  assert_image(lib, 1, KDL_IMAGE_BITCODE, KDL_OFFLOAD_OPENMP, "amdgcn-amd-amdhsa", "gfx90a",
               "openmp-amdgcn-amd-amdhsa--gfx90a");
  kdl_close(lib);
}

static void inflates_golden(const char *golden, const char *container) {
  skip_without(KDL_CODEC_ZSTD);
  kdl_library *plain = open_golden("bundle/plain.hipfb");
  kdl_library *lib = open_golden(golden);
  assert_golden_images(lib, container);
  /* The last one first: what lies before it is inflated on the way. */
  assert_same_bytes(plain, 1, lib, 1);
  assert_same_bytes(plain, 0, lib, 0);
  kdl_close(lib);
  kdl_close(plain);
}

static void inflates_version_2(void **state) {
  (void)state;
  inflates_golden("bundle/v2.ccob", "clang-bundle (compressed v2, zstd)");
}

static void inflates_version_3(void **state) {
  (void)state;
  inflates_golden("bundle/v3.ccob", "clang-bundle (compressed v3, zstd)");
}

static void inflates_every_version_and_method(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  skip_without(KDL_CODEC_ZLIB);
  size_t plain_size;
  uint8_t *plain = read_golden("bundle/plain.hipfb", &plain_size);
  kdl_library *expected;
  assert_ok(try_open(plain, plain_size, &expected));
  for (unsigned version = 1; version <= 3; ++version) {
    for (unsigned method = method_zlib; method <= method_zstd; ++method) {
      size_t size;
      uint8_t *data = compress(version, method, plain, plain_size, &size);
      kdl_library *lib;
      assert_ok(try_open(data, size, &lib));
      char container[64];
      snprintf(container, sizeof container, "clang-bundle (compressed v%u, %s)", version,
               method == method_zstd ? "zstd" : "zlib");
      assert_golden_images(lib, container);
      assert_same_bytes(expected, 0, lib, 0);
      assert_same_bytes(expected, 1, lib, 1);
      kdl_close(lib);
      free(data);
    }
  }
  kdl_close(expected);
  free(plain);
}

/* ------------------------------------------------------------------------------------------ */
/* IDs                                                                                          */

static void splits_ids(void **state) {
  (void)state;
  static const struct {
    const char *id;
    uint16_t offload_kind;
    const char *triple;
    const char *arch;
  } cases[] = {
      {"hip-amdgcn-amd-amdhsa--gfx906", KDL_OFFLOAD_HIP, "amdgcn-amd-amdhsa", "gfx906"},
      {"hip-amdgcn-amd-amdhsa-gfx906", KDL_OFFLOAD_HIP, "amdgcn-amd-amdhsa", "gfx906"},
      {"hip-amdgcn-amd-amdhsa-gfx90a:sramecc+:xnack-", KDL_OFFLOAD_HIP, "amdgcn-amd-amdhsa",
       "gfx90a:sramecc+:xnack-"},
      {"hipv4-amdgcn-amd-amdhsa-unknown-gfx90a:sramecc-:xnack-", KDL_OFFLOAD_HIP,
       "amdgcn-amd-amdhsa-unknown", "gfx90a:sramecc-:xnack-"},
      {"hip-spirv64-amd-amdhsa--amdgcnspirv", KDL_OFFLOAD_HIP, "spirv64-amd-amdhsa", "amdgcnspirv"},
      {"hip-spirv64----generic", KDL_OFFLOAD_HIP, "spirv64", "generic"},
      {"openmp-nvptx64-nvidia-cuda--sm_80", KDL_OFFLOAD_OPENMP, "nvptx64-nvidia-cuda", "sm_80"},
      {"host-x86_64-unknown-linux", KDL_OFFLOAD_NONE, "x86_64-unknown-linux", ""},
      {"host-x86_64-unknown-linux--", KDL_OFFLOAD_NONE, "x86_64-unknown-linux", ""},
      {"host-x86_64-unknown-linux-gnu", KDL_OFFLOAD_NONE, "x86_64-unknown-linux-gnu", ""},
      {"sycl-spir64-unknown-unknown", KDL_OFFLOAD_SYCL, "spir64-unknown-unknown", ""},
      {"other-x-y-z--w", KDL_OFFLOAD_NONE, "x-y-z", "w"},
      {"hip", KDL_OFFLOAD_HIP, "", ""},
      {"hip-", KDL_OFFLOAD_HIP, "", ""},
  };
  for (size_t i = 0; i < COUNT(cases); ++i) {
    entry_spec entry = {cases[i].id, "BC\xc0\xde"};
    size_t size;
    uint8_t *data = make_bundle(&entry, 1, 8, &size);
    kdl_library *lib;
    assert_ok(try_open(data, size, &lib));
    assert_int_equal(kdl_image_count(lib), 1);
    assert_image(lib, 0, KDL_IMAGE_BITCODE, cases[i].offload_kind, cases[i].triple, cases[i].arch,
                 cases[i].id);
    kdl_close(lib);
    free(data);
  }
}

static void lists_empty_entries_except_the_host(void **state) {
  (void)state;
  static const entry_spec entries[] = {{"host-x86_64-unknown-linux-gnu-", ""},
                                       {"hip-amdgcn-amd-amdhsa--gfx906", ""}};
  size_t size;
  uint8_t *data = make_bundle(entries, 2, 4096, &size); /* their offsets lie beyond the end */
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_string_equal(image_at(lib, 0).arch.data, "gfx906");
  assert_int_equal(image_at(lib, 0).byte_count, 0);
  const void *bytes;
  size_t count;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &count));
  assert_int_equal(count, 0);
  kdl_close(lib);
  free(data);
}

/* ------------------------------------------------------------------------------------------ */
/* One after the other                                                                          */

static void reads_bundles_back_to_back(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  skip_without(KDL_CODEC_ZLIB);
  size_t plain_size;
  uint8_t *plain = read_golden("bundle/plain.hipfb", &plain_size);
  enum { page = 4096, parts = 7 };
  uint8_t *all = calloc(1, (parts + 1) * 4 * page);
  size_t size = 0;
  /* Versions 0, 2, 1, 3, 1, 0, 1, where 0 is plain; padded to pages or not at all. */
  static const unsigned versions[parts] = {0, 2, 1, 3, 1, 0, 1};
  for (size_t i = 0; i < parts; ++i) {
    size_t part_size = plain_size;
    uint8_t *part = versions[i] ? compress(versions[i], i % 2 ? method_zstd : method_zlib, plain,
                                           plain_size, &part_size)
                                : NULL;
    memcpy(all + size, part ? part : plain, part_size);
    size += part_size;
    if (i % 2 == 0)
      size = (size + page - 1) / page * page;
    free(part);
  }
  kdl_library *lib;
  assert_ok(try_open(all, size, &lib));
  assert_int_equal(kdl_image_count(lib), 2 * parts);
  for (size_t i = 0; i < parts; ++i) {
    assert_string_equal(image_at(lib, 2 * i).arch.data, "gfx90a:xnack-");
    assert_string_equal(image_at(lib, 2 * i + 1).arch.data, "gfx1100");
    assert_same_bytes(lib, 0, lib, 2 * i);
    assert_same_bytes(lib, 1, lib, 2 * i + 1);
  }
  kdl_close(lib);
  free(all);
  free(plain);
}

/* Version 1 has no total size; a magic among its packed bytes is not the next bundle. */
static void is_not_misled_by_a_magic_in_the_data(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  entry_spec entry = {"hip-amdgcn-amd-amdhsa--gfx906", "BC\xc0\xde"
                                                       "CCOB\x07\x07\x07\x07 and so on"};
  size_t bundle_size;
  uint8_t *bundle = make_bundle(&entry, 1, 1, &bundle_size);
  size_t frame_size;
  uint8_t *frame = zstd_bomb(bundle, bundle_size, bundle_size, &frame_size); /* one raw block */
  assert_non_null(memmem(frame, frame_size, "CCOB", 4));
  size_t size;
  uint8_t *data = make_compressed(1, method_zstd, frame, frame_size, bundle_size, &size);
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  const void *bytes;
  size_t count;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &count));
  assert_int_equal(count, strlen(entry.image));
  assert_memory_equal(bytes, entry.image, count);
  kdl_close(lib);
  free(data);
  free(frame);
  free(bundle);
}

/* ------------------------------------------------------------------------------------------ */
/* Machines that cannot inflate                                                                 */

static void report_listing(FILE *out, const char *golden) {
  kdl_library *lib = open_golden(golden);
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info info = image_at(lib, i);
    const void *bytes;
    size_t count;
    kdl_status status = kdl_image_bytes(lib, i, &bytes, &count);
    fprintf(out, "%s, %s, %zu of %zu bytes: %d %s\n", kdl_image_kind_name(info.kind),
            info.container.data, (size_t)info.stored_count, (size_t)info.byte_count, status,
            kdl_error_message());
  }
  kdl_close(lib);
}

static void report_bundle(FILE *out) {
  report_listing(out, "bundle/v3.ccob");
}

static void report_offload_binary(FILE *out) {
  report_listing(out, "offload/v3_zstd.offload");
}

static void assert_unread(const char *report, const char *listing) {
  char expected[512];
  snprintf(expected, sizeof expected, "%s%s\n", listing,
           strstr(report, "built without")
               ? "built without zstd (libzstd-dev)"
               : "needs libzstd.so.1, which is not installed (dlopen: "
                 "libhidden-from-the-test.so.1: cannot open shared object file: No such file or "
                 "directory)");
  assert_string_equal(report, expected);
}

static void lists_without_the_codec(void **state) {
  (void)state;
  char report[2048];
  without_libraries(report_bundle, report, sizeof report);
  assert_unread(report, "bundle, clang-bundle (compressed v3, zstd), 1227 of 6620 bytes: 7 "
                        "bundle/v3.ccob: offset 0x20: image 0: ");
}

static void lists_an_offload_binary_without_the_codec(void **state) {
  (void)state;
  char report[2048];
  without_libraries(report_offload_binary, report, sizeof report);
  size_t size;
  uint8_t *data = read_golden("offload/v3_zstd.offload", &size);
  char listing[256];
  snprintf(listing, sizeof listing,
           "offload, offload-binary v3 (compressed), %zu of %zu bytes: 7 offload/v3_zstd.offload: "
           "offset 0x28: image 0: ",
           (size_t)kdl_load_u64(data + 8) - 40, (size_t)kdl_load_u64(data + 32) - 40);
  assert_unread(report, listing);
  free(data);
}

/* ------------------------------------------------------------------------------------------ */
/* Bombs                                                                                        */

enum { gigabyte = 1 << 30, table_size = 4096 };

/* A table with one image of `image_size` zeros, as zstd that inflates to `real` bytes and says
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

static void opens_a_gigabyte_in_little_memory(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *data = make_bomb(gigabyte - table_size, gigabyte, gigabyte, &size);
  assert_in_range(size, 0, 64 * 1024);
  kdl_library *lib = open_small(data, size);
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).byte_count, gigabyte - table_size);
  kdl_close(lib);
  free(data);
}

static void refuses_a_bomb_declared_smaller(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *data = make_bomb(4096, gigabyte, 2 * table_size, &size);
  kdl_library *lib = open_small(data, size);
  const void *bytes;
  size_t count;
  size_t before = resident_bytes();
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_BAD_FILE,
               "t (inflated from 0x20): zstd stream: found more than 8192 inflated bytes, expected "
               "that");
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
  uint8_t *data = make_bomb(gigabyte - table_size, 2 * table_size, gigabyte, &size);
  kdl_library *lib = open_small(data, size);
  const void *bytes;
  size_t count;
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_BAD_FILE,
               "t (inflated from 0x20): zstd stream: found its end after 8192 inflated bytes, "
               "expected at least 1073741824");
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
  enum { copies = 500 };
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

static const struct {
  const char *golden;
  size_t offset;
  unsigned width;
  uint64_t value;
  const char *message;
} damages[] = {
    {"bundle/plain.hipfb", 24, 8, UINT64_MAX,
     "t: offset 0x18: number of bundle entries: found 18446744073709551615, expected at most 274"},
    {"bundle/plain.hipfb", 24, 8, 4,
     "t: offset 0xe3: bundle entry ID length: found 1152921504606846976, expected at most 4096"},
    {"bundle/plain.hipfb", 0x30, 8, 6565,
     "t: offset 0x30: bundle entry ID length: found 6565, expected at most 4096"},
    {"bundle/plain.hipfb", 0x56, 8, 0,
     "t: offset 0x56: code object offset: found 0x0, expected from 0xcc, the end of what lies "
     "before it, to 0x19dc"},
    {"bundle/plain.hipfb", 0x56, 8, UINT64_MAX,
     "t: offset 0x56: code object offset: found 0xffffffffffffffff, expected from 0xcc, the end of "
     "what lies before it, to 0x19dc"},
    {"bundle/plain.hipfb", 0x5e, 8, UINT64_MAX,
     "t: offset 0x5e: code object size: found 18446744073709551615, expected at most 6416, the "
     "bytes from its offset to the end"},
    {"bundle/plain.hipfb", 0x94, 8, 0x100,
     "t: offset 0x94: code object offset: found 0x100, expected from 0xe74, the end of what lies "
     "before it, to 0x19dc"},
    {"bundle/plain.hipfb", 0x9c, 8, 2921,
     "t: offset 0x9c: code object size: found 2921, expected at most 2920, the bytes from its "
     "offset to the end"},
    {"bundle/v3.ccob", 4, 2, 4,
     "t: offset 0x4: compressed bundle version: found 4, expected 1 to 3"},
    {"bundle/v3.ccob", 6, 2, 2,
     "t: offset 0x6: compression method: found 2, expected 0 (zlib) or 1 (zstd)"},
    {"bundle/v3.ccob", 8, 8, 31,
     "t: offset 0x8: total size: found 31, expected from 32 to 1259, the bytes that are there"},
    {"bundle/v3.ccob", 8, 8, UINT64_MAX,
     "t: offset 0x8: total size: found 18446744073709551615, expected from 32 to 1259, the bytes "
     "that are there"},
    {"bundle/v3.ccob", 16, 8, 31,
     "t: offset 0x10: uncompressed size: found 31, expected from 32 to 68719476736"},
    {"bundle/v3.ccob", 16, 8, UINT64_MAX,
     "t: offset 0x10: uncompressed size: found 18446744073709551615, expected from 32 to "
     "68719476736"},
    {"bundle/v2.ccob", 8, 4, 1252,
     "t: offset 0x8: total size: found 1252, expected from 24 to 1251, the bytes that are there"},
};

static void names_each_damaged_field(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(damages); ++i) {
    size_t size;
    uint8_t *data = read_golden(damages[i].golden, &size);
    if (damages[i].width == 2)
      kdl_store_u16(data + damages[i].offset, (uint16_t)damages[i].value);
    else if (damages[i].width == 4)
      kdl_store_u32(data + damages[i].offset, (uint32_t)damages[i].value);
    else
      kdl_store_u64(data + damages[i].offset, damages[i].value);
    kdl_library *lib;
    assert_fails(try_open(data, size, &lib), KDL_BAD_FILE, damages[i].message);
    free(data);
  }
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
               "t: offset 0x19ec: bundle magic: found 5a 5a 5a 5a ..., expected "
               "\"__CLANG_OFFLOAD_BUNDLE__\"");
  assert_fails(try_open(data, size + 17, &lib), KDL_BAD_FILE,
               "t: offset 0x19ec: bundle header: found 1 bytes, expected at least 32");
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
      cmocka_unit_test(lists_without_the_codec), /* these two before any codec is used */
      cmocka_unit_test(lists_an_offload_binary_without_the_codec),
      cmocka_unit_test(reads_plain_bundles),
      cmocka_unit_test(reads_aligned_bundles),
      cmocka_unit_test(lists_a_host_that_has_bytes),
      cmocka_unit_test(inflates_version_2),
      cmocka_unit_test(inflates_version_3),
      cmocka_unit_test(inflates_every_version_and_method),
      cmocka_unit_test(splits_ids),
      cmocka_unit_test(lists_empty_entries_except_the_host),
      cmocka_unit_test(reads_bundles_back_to_back),
      cmocka_unit_test(is_not_misled_by_a_magic_in_the_data),
      cmocka_unit_test(opens_a_gigabyte_in_little_memory),
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
