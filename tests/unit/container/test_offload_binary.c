/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading OffloadBinary 1, 2 and 3: what is accepted, and how each damaged field is refused. */
#include "support.h"

#include "lib/container/container.h"
#include "support/base/bytes.h"

#include <pthread.h>

static void expect_three(const char *name, const char *container) {
  kdl_library *lib = open_golden(name);
  assert_int_equal(kdl_image_count(lib), 3);

  kdl_image_info nvidia = image_at(lib, 0);
  assert_string_equal(nvidia.triple.data, "nvptx64-nvidia-cuda");
  assert_string_equal(nvidia.arch.data, "sm_90");
  assert_int_equal(nvidia.offload_kind, KDL_OFFLOAD_CUDA);
  assert_int_equal(nvidia.kind, KDL_IMAGE_CUBIN);
  assert_int_equal(nvidia.parent, KDL_NO_PARENT);
  assert_string_equal(nvidia.container.data, container);
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_int_equal(size, 18);
  assert_memory_equal(bytes, "NOT REALLY A CUBIN", 18);

  kdl_image_info amd = image_at(lib, 1);
  assert_string_equal(amd.arch.data, "gfx90a:sramecc+:xnack-");
  assert_int_equal(amd.kind, KDL_IMAGE_HSACO);
  assert_string_equal(kdl_image_value(lib, 1, "variant_tag")->data, "optimized");
  assert_null(kdl_image_value(lib, 1, "variant_priority"));
  assert_ok(kdl_image_bytes(lib, 1, &bytes, &size));
  assert_memory_equal(bytes, "HELLO", 5);

  /* LLVM 22 writes image kind 0 for SPIR-V: the first bytes decide. */
  kdl_image_info spirv = image_at(lib, 2);
  assert_int_equal(spirv.declared_kind, 0);
  assert_int_equal(spirv.kind, KDL_IMAGE_SPIRV);
  assert_int_equal(spirv.offload_kind, KDL_OFFLOAD_SYCL);
  kdl_close(lib);
}

static void reads_version_1(void **state) {
  (void)state;
  expect_three("offload/v1_three.offload", "offload-binary v1");
}

static void reads_version_2(void **state) {
  (void)state;
  expect_three("offload/v2_three.offload", "offload-binary v2");
}

static void reads_version_3(void **state) {
  (void)state;
  expect_three("offload/v3_plain.offload", "offload-binary v3");
}

static void skips_padding(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v1_padded.offload");
  assert_int_equal(kdl_image_count(lib), 4);
  assert_int_equal(image_at(lib, 1).header_offset, 168 + 24 + 32);
  kdl_close(lib);
}

static void keeps_what_it_does_not_know(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v1_odd.offload");
  kdl_image_info odd = image_at(lib, 0);
  assert_int_equal(odd.declared_kind, 99);
  assert_int_equal(odd.kind, KDL_IMAGE_UNKNOWN);
  assert_int_equal(odd.offload_kind, 512);
  assert_int_equal(odd.flags, 0xdeadbeef);
  assert_int_equal(odd.byte_count, 0);
  assert_int_equal(odd.pair_count, 5);
  assert_string_equal(odd.triple.data, "last"); /* of duplicates the last one counts */
  assert_string_equal(odd.pairs[0].value.data, "first");
  assert_string_equal(odd.pairs[4].key.data, "tail");
  assert_string_equal(odd.pairs[4].value.data, "e");
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_int_equal(size, 0);
  kdl_close(lib);
}

static void reads_values_with_nuls(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v2_metadata_only.offload");
  assert_int_equal(kdl_image_count(lib), 2);
  const kdl_string *symbols = kdl_image_value(lib, 0, "symbols");
  assert_int_equal(symbols->length, 12);
  assert_memory_equal(symbols->data, "k_one\0k_two\0", 13);
  assert_memory_equal(kdl_image_value(lib, 0, "bin")->data, "\0\xff\x80", 3);
  assert_int_equal(image_at(lib, 0).byte_count, 0);
  kdl_close(lib);
}

/* The flag "no image" does not hide an existing image: LLVM sets it too. */
static void an_image_is_there_whatever_its_flag(void **state) {
  (void)state;
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V2, &writer));
  kdl_writer_image image = {.size = sizeof image, .flags = 1, .data = "image", .data_size = 5};
  assert_ok(kdl_writer_add(writer, &image));
  void *data;
  size_t size;
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  assert_int_equal(image_at(lib, 0).flags, 1);
  const void *bytes;
  size_t count;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &count));
  assert_int_equal(count, 5);
  assert_memory_equal(bytes, "image", 5);
  kdl_close(lib);
  free(data);
}

static void accepts_an_empty_table(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v2_none.offload");
  assert_int_equal(kdl_image_count(lib), 0);
  kdl_close(lib);
}

static void lists_nested_images(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v1_nested.offload");
  assert_int_equal(kdl_image_count(lib), 5);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_OFFLOAD);
  assert_int_equal(image_at(lib, 0).parent, KDL_NO_PARENT);
  for (size_t i = 1; i < 4; ++i) {
    assert_int_equal(image_at(lib, i).parent, 0);
    assert_string_equal(image_at(lib, i).container.data, "offload-binary v2 in image 0");
  }
  assert_string_equal(image_at(lib, 1).arch.data, "sm_90");
  assert_int_equal(image_at(lib, 4).parent, KDL_NO_PARENT);
  kdl_close(lib);
}

/* ------------------------------------------------------------------------------------------ */
/* Damage                                                                                       */

static const damage damages[] = {
    {"offload/v1_one.offload", 4, 4, 4, "t: offset 0x4: Version: found 4, expected 1 to 3"},
    {"offload/v1_one.offload", 4, 4, 0, "t: offset 0x4: Version: found 0, expected 1 to 3"},
    {"offload/v1_one.offload", 8, 8, 0,
     "t: offset 0x8: Size: found 0, expected from 32 to 168, the bytes that are there"},
    {"offload/v1_one.offload", 8, 8, UINT64_MAX,
     "t: offset 0x8: Size: found 18446744073709551615, expected from 32 to 168, the bytes that are "
     "there"},
    {"offload/v1_one.offload", 16, 8, 31,
     "t: offset 0x10: EntryOffset: found 0x1f, expected from 0x20 to Size 0xa8"},
    {"offload/v1_one.offload", 16, 8, UINT64_MAX - 8,
     "t: offset 0x10: EntryOffset: found 0xfffffffffffffff7, expected from 0x20 to Size 0xa8"},
    {"offload/v1_one.offload", 16, 8, 140,
     "t: offset 0x10: EntryOffset: found 1 entries of 40 bytes at 0x8c, expected at most 0: Size "
     "is "
     "0xa8"},
    {"offload/v1_one.offload", 24, 8, 7,
     "t: offset 0x18: EntrySize: found 7, expected from 40 to 136"},
    {"offload/v1_one.offload", 40, 8, UINT64_MAX - 7,
     "t: offset 0x28: StringOffset: found 0xfffffffffffffff8, expected at most Size 0xa8"},
    {"offload/v1_one.offload", 48, 8, 0x1000000000000001,
     "t: offset 0x30: NumStrings: found 1152921504606846977, expected at most 6: that many pairs "
     "fit "
     "between StringOffset and the end"},
    {"offload/v1_one.offload", 56, 8, 169,
     "t: offset 0x38: ImageOffset: found 0xa9, expected at most Size 0xa8"},
    {"offload/v1_one.offload", 56, 8, 0,
     "t: offset 0x38: ImageOffset: found 0x0, expected at least 0x48: the entries end there"},
    {"offload/v1_one.offload", 56, 8, 80,
     "t: offset 0x38: ImageOffset: found 0x50, whose image overlaps the string map at 0x48"},
    {"offload/v1_one.offload", 64, 8, 1000000,
     "t: offset 0x40: ImageSize: found 1000000, expected at most 24, the bytes from ImageOffset to "
     "the end"},
    {"offload/v1_one.offload", 72, 8, 168,
     "t: offset 0x48: KeyOffset: found 0xa8, expected less than Size 0xa8"},
    {"offload/v1_one.offload", 80, 8, UINT64_MAX,
     "t: offset 0x50: ValueOffset: found 0xffffffffffffffff, expected less than Size 0xa8"},
    {"offload/v2_three.offload", 24, 8, UINT64_MAX / 40 + 2,
     "t: offset 0x18: EntriesCount: found 461168601842738792 entries of 40 bytes at 0x20, expected "
     "at most 12: Size is 0x218"},
    {"offload/v2_three.offload", 168, 8, UINT64_MAX,
     "t: offset 0xa8: ValueSize: found 18446744073709551615, expected at most the 99 bytes from "
     "ValueOffset to the end"},
    {"offload/v2_three.offload", 32 + 40 + 24, 8, 0x1f8,
     "t: offset 0x1f8: ImageOffset: found an image that starts inside the one at 0x1f0, expected "
     "images apart"},
    {"offload/v3_zlib.offload", 32, 8, UINT64_MAX,
     "t: offset 0x20: InflatedSize: found 18446744073709551615, expected between 40 and "
     "68719476736"},
    {"offload/v3_zlib.offload", 16, 8, 48,
     "t: offset 0x10: EntriesOffset: found 48, expected 40 in a compressed binary"},
};

static void names_each_damaged_field(void **state) {
  (void)state;
  expect_each_refused(damages, sizeof damages / sizeof *damages);
}

static void refuses_a_string_without_end(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("offload/v1_one.offload", &size);
  memset(data + 150, 'x', size - 150);
  kdl_store_u64(data + 80, 160);
  kdl_library *lib;
  assert_fails(try_open(data, size, &lib), KDL_BAD_FILE,
               "t: offset 0xa0: value: found no terminating NUL before the binary ends at 0xa8");
  free(data);
}

static void refuses_trailing_garbage(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("offload/v1_one.offload", &size);
  uint8_t longer[256] = {0};
  memcpy(longer, data, size);
  memset(longer + size, 0x5a, 40);
  kdl_library *lib;
  assert_fails(try_open(longer, size + 40, &lib), KDL_BAD_FILE,
               "t: offset 0xa8: Magic: found 5a 5a 5a 5a, expected 10 ff 10 ad");
  free(data);
}

static const char *const goldens[] = {
    "offload/v1_one.offload",           "offload/v1_three.offload", "offload/v1_odd.offload",
    "offload/v1_nested.offload",        "offload/v2_three.offload", "offload/v2_odd.offload",
    "offload/v2_metadata_only.offload", "offload/v3_plain.offload", "offload/v3_zlib.offload",
    "offload/v3_zstd.offload",
};

/* A file cut short is refused wherever it is cut, except where one binary ends and the next one
 * begins. */
static void refuses_every_truncation(void **state) {
  (void)state;
  for (size_t g = 0; g < sizeof goldens / sizeof *goldens; ++g) {
    size_t size;
    uint8_t *data = read_golden(goldens[g], &size);
    if (kdl_load_u32(data + 4) == 3 && kdl_load_u64(data + 8) < size)
      size = (size_t)kdl_load_u64(data + 8); /* what follows a compressed binary is padding */
    for (size_t cut = 0; cut < size; ++cut) {
      bool at_end_of_binary = false;
      for (size_t at = 0; at + 16 <= cut; at += (size_t)kdl_load_u64(data + at + 8))
        at_end_of_binary = at + kdl_load_u64(data + at + 8) == cut || at_end_of_binary;
      kdl_status status = open_and_read_all(data, cut);
      if (status == KDL_OK && !at_end_of_binary)
        fail_msg("%s cut to %zu of %zu bytes was accepted", goldens[g], cut, size);
    }
    free(data);
  }
}

/* Extreme values in every 8-byte word: refused or read, never a step out of bounds. */
static void survives_extreme_words(void **state) {
  (void)state;
  static const uint64_t extremes[] = {
      0, 1, 7, 8, 0x7fffffff, 0xffffffff, UINT64_MAX, UINT64_MAX - 7, INT64_MAX, (uint64_t)1 << 63};
  size_t refused = 0;
  for (size_t g = 0; g < sizeof goldens / sizeof *goldens; ++g) {
    size_t size;
    uint8_t *data = read_golden(goldens[g], &size);
    for (size_t at = 0; at + 8 <= size; at += 4) {
      uint64_t kept = kdl_load_u64(data + at);
      for (size_t e = 0; e < sizeof extremes / sizeof *extremes; ++e) {
        kdl_store_u64(data + at, extremes[e]);
        refused += open_and_read_all(data, size) != KDL_OK;
      }
      kdl_store_u64(data + at, kept);
    }
    assert_ok(open_and_read_all(data, size));
    free(data);
  }
  assert_true(refused > 1000);
}

/* From a file metadata is read at once, from memory when it is asked for: any number of threads. */
static void *count_pairs(void *user) {
  kdl_library *lib = user;
  uintptr_t sum = 0;
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info info = image_at(lib, i);
    for (size_t k = 0; k < info.pair_count; ++k)
      sum += info.pairs[k].key.length * 31 + info.pairs[k].value.length;
  }
  return (void *)sum;
}

static void memory_says_what_the_file_does(void **state) {
  (void)state;
  enum { threads = 4 };
  size_t size;
  uint8_t *data = read_golden("offload/v1_three.offload", &size);
  kdl_library *file = open_golden("offload/v1_three.offload"), *memory;
  assert_ok(kdl_open_memory(data, size, NULL, &memory));
  pthread_t ids[threads];
  for (size_t i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&ids[i], NULL, count_pairs, memory), 0);
  void *expected = count_pairs(file);
  for (size_t i = 0; i < threads; ++i) {
    void *found;
    assert_int_equal(pthread_join(ids[i], &found), 0);
    assert_ptr_equal(found, expected);
  }
  for (size_t i = 0; i < kdl_image_count(file); ++i) {
    kdl_image_info a = image_at(file, i), b = image_at(memory, i);
    assert_int_equal(a.pair_count, b.pair_count);
    for (size_t k = 0; k < a.pair_count; ++k) {
      assert_string_equal(a.pairs[k].key.data, b.pairs[k].key.data);
      assert_string_equal(a.pairs[k].value.data, b.pairs[k].value.data);
    }
  }
  kdl_close(memory);
  kdl_close(file);
  free(data);
}

static kdl_string text(const char *words) {
  return (kdl_string){words, strlen(words)};
}

/* A kernel's key is found in the bytes as they stand, and later in the pairs that were read, with
 * the same answer: the last of that name, and no other that begins or ends like it. */
static void finds_kernels_before_and_behind_the_pairs(void **state) {
  (void)state;
  const char *absent[] = {"add2", "ad", "dd", "triple", "kdl.kernel.add", "arch"};
  kdl_pair pairs[] = {{text("kdl.kernel."), text("of no name")},
                      {text("kdl.kernel.add"), text("block=1")},
                      {text("arch"), text("sm_90")},
                      {text("kdl.kernel.add"), text("block=2")},
                      {text("kdl.kernel.addition"), text("block=3")},
                      {text("kdl.kerne"), text("block=4")},
                      {text("triple"), text("nvptx64-nvidia-cuda")}};
  kdl_writer_image row = {.size = sizeof row,
                          .pairs = pairs,
                          .pair_count = sizeof pairs / sizeof *pairs,
                          .data = "i",
                          .data_size = 1};
  kdl_writer *writer;
  kdl_container *container;
  void *data;
  size_t size;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &row));
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  assert_ok(kdl_container_open_memory(data, size, NULL, &container));
  const kdl_image *image = &container->images[0];
  assert_string_equal(image->arch.data, "sm_90");
  assert_string_equal(image->triple.data, "nvptx64-nvidia-cuda");
  for (int round = 0; round < 2; ++round) {
    kdl_string value;
    assert_int_equal(atomic_load(&image->lazy_pairs) != NULL, round == 0);
    assert_true(kdl_image_find_kernel(image, text("add"), &value));
    assert_string_equal(value.data, "block=2");
    assert_int_equal(value.length, 7);
    assert_true(kdl_image_find_kernel(image, text("addition"), &value));
    assert_string_equal(value.data, "block=3");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; ++i)
      assert_false(kdl_image_find_kernel(image, text(absent[i]), &value));
    assert_string_equal(kdl_image_pairs(image)[1].value.data, "block=1");
  }
  kdl_container_close(container);
  free(data);
}

/* Memory that was changed since it was opened, against the rules, gives no text beyond its end. */
static void memory_that_changed_is_read_within_its_bounds(void **state) {
  (void)state;
  for (uint64_t word = 0; word < 3; ++word) {
    size_t size;
    uint8_t *data = read_golden("offload/v1_three.offload", &size);
    kdl_container *container;
    kdl_string value;
    assert_ok(kdl_container_open_memory(data, size, NULL, &container));
    for (size_t at = 72; word && at + 8 <= size; at += 8) /* of the first binary, and the others */
      kdl_store_u64(data + at, word == 1 ? 4096 + at : 72 + at % 256);
    if (!word)
      memset(data, 'k', size);
    for (uint32_t i = 0; i < container->count; ++i) {
      const kdl_image *image = &container->images[i];
      assert_non_null(atomic_load(&image->lazy_pairs));
      assert_false(kdl_image_find_kernel(image, text("absent"), &value));
      const kdl_pair *pairs = kdl_image_pairs(image);
      for (uint32_t k = 0; k < image->pair_count; ++k) {
        const kdl_string texts[] = {pairs[k].key, pairs[k].value};
        for (int t = 0; t < 2; ++t)
          assert_true(texts[t].length == 0 ||
                      ((const uint8_t *)texts[t].data >= data &&
                       (const uint8_t *)texts[t].data + texts[t].length <= data + size));
      }
    }
    kdl_container_close(container);
    free(data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_version_1),
      cmocka_unit_test(reads_version_2),
      cmocka_unit_test(reads_version_3),
      cmocka_unit_test(skips_padding),
      cmocka_unit_test(keeps_what_it_does_not_know),
      cmocka_unit_test(reads_values_with_nuls),
      cmocka_unit_test(an_image_is_there_whatever_its_flag),
      cmocka_unit_test(accepts_an_empty_table),
      cmocka_unit_test(lists_nested_images),
      cmocka_unit_test(names_each_damaged_field),
      cmocka_unit_test(refuses_a_string_without_end),
      cmocka_unit_test(refuses_trailing_garbage),
      cmocka_unit_test(refuses_every_truncation),
      cmocka_unit_test(survives_extreme_words),
      cmocka_unit_test(memory_says_what_the_file_does),
      cmocka_unit_test(finds_kernels_before_and_behind_the_pairs),
      cmocka_unit_test(memory_that_changed_is_read_within_its_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
