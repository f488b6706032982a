/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading Clang offload bundles, plain and compressed: IDs, layouts, files, missing codecs. */
#include "bundle_builder.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

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
  assert_int_equal(image_at(lib, 0).byte_count, 4080);
  assert_int_equal(image_at(lib, 1).byte_count, 3384);
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
  /* Version 0 stands for plain. The parts are padded to pages or not at all. */
  static const unsigned versions[parts] = {0, 2, 0, 3, 1, 2, 1};
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

/* Opening inflates no more than the table and what comes with it: an image further on is taken for
 * what the one before it is, as long as the triple is the same. */
static void does_not_inflate_to_look_at_far_images(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  enum { far = 200 * 1024 };
  char *large = malloc(far + 1);
  memset(large, 'x', far);
  memcpy(large, "BC\xc0\xde", 4);
  large[far] = '\0';
  const entry_spec entries[] = {{"hip-amdgcn-amd-amdhsa--gfx90a", large},
                                {"hip-amdgcn-amd-amdhsa--gfx906", ".version 8.0 not bitcode"},
                                {"hip-nvptx64-nvidia-cuda--sm_90", ".version 8.0 and so on"}};
  size_t bundle_size;
  uint8_t *bundle = make_bundle(entries, 2, 8, &bundle_size);
  size_t size;
  uint8_t *data = compress(3, method_zstd, bundle, bundle_size, &size);
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  assert_string_equal(kdl_image_kind_name(image_at(lib, 0).kind), "bitcode");
  assert_string_equal(kdl_image_kind_name(image_at(lib, 1).kind), "bitcode");
  kdl_close(lib);
  free(data);
  free(bundle);
  bundle = make_bundle(entries, 3, 8, &bundle_size);
  data = compress(3, method_zstd, bundle, bundle_size, &size);
  assert_ok(try_open(data, size, &lib));
  assert_string_equal(kdl_image_kind_name(image_at(lib, 2).kind), "ptx");
  kdl_close(lib);
  free(data);
  free(bundle);
  free(large);
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

/* The packed bytes are mapped when the file is opened and read when an image is asked for; in
 * between the file may shrink. */
static void refuses_a_file_truncated_while_open(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  enum { image_size = 1 << 20 };
  char *image = malloc(image_size + 1);
  uint32_t noise = 1;
  for (size_t i = 0; i < image_size; ++i) {
    noise = noise * 1664525 + 1013904223;
    image[i] = (char)(noise >> 24 | 1); /* make_bundle takes strings */
  }
  image[image_size] = '\0';
  entry_spec entry = {"hip-amdgcn-amd-amdhsa--gfx906", image};
  size_t bundle_size;
  uint8_t *bundle = make_bundle(&entry, 1, 4096, &bundle_size);
  size_t size;
  uint8_t *data = compress(3, method_zstd, bundle, bundle_size, &size);
  assert_in_range(size, image_size / 2, 2 * image_size);
  char path[] = "/tmp/kdl-test-bundle-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, data, size), size);
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open(path, &opts, &lib));
  assert_int_equal(ftruncate(file, 8192), 0);
  char expected[256];
  snprintf(expected, sizeof expected,
           "t: the file now has 8192 bytes, expected %zu: it was truncated while open", size);
  const void *bytes;
  size_t count;
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_IO, expected);
  kdl_close(lib);
  close(file);
  unlink(path);
  free(data);
  free(bundle);
  free(image);
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
               ? "built without zstd (KDL_WITH_ZSTD=OFF)"
               : "needs libzstd.so.1, which is not installed (dlopen: "
                 "libhidden-from-the-test.so.1: cannot open shared object file: No such file or "
                 "directory)");
  assert_string_equal(report, expected);
}

static void lists_without_the_codec(void **state) {
  (void)state;
  char report[2048];
  without_libraries(report_bundle, report, sizeof report);
  assert_unread(report, "bundle, clang-bundle (compressed v3, zstd), 1432 of 7668 bytes: 7 "
                        "bundle/v3.ccob: offset 0x20: image 0: ");
}

static void lists_an_offload_binary_without_the_codec(void **state) {
  (void)state;
  char report[2048];
  without_libraries(report_offload_binary, report, sizeof report);
  strchr(report, '\n')[1] = '\0'; /* a plain one follows */
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
      cmocka_unit_test(does_not_inflate_to_look_at_far_images),
      cmocka_unit_test(refuses_a_file_truncated_while_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
