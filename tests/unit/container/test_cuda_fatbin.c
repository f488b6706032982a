/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading CUDA fatbins: every kind and coding of entry, and how each damaged field is refused. */
#include "packers.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
  kind_ptx = 1,
  kind_cubin = 2,
  kind_ltoir = 8,
  kind_cubin_too = 16,
  flags_usual = 0x11,
  flag_unknown_codec = 1 << 12,
  flag_lz4 = 1 << 13,
  flag_zstd = 1 << 15,
};

/* ------------------------------------------------------------------------------------------ */
/* Building                                                                                     */

typedef struct {
  uint16_t kind;
  uint32_t flags;
  uint32_t packed_size;
  uint64_t inflated_size;
  const void *payload;
  size_t payload_size;
} entry_spec;

/* A fatbin of one entry for sm_90 and PTX 8.3; malloc'ed. */
static uint8_t *make_fatbin(const entry_spec *entry, size_t *out_size) {
  size_t padded = (entry->payload_size + 7) & ~(size_t)7;
  size_t size = 16 + 64 + padded;
  uint8_t *data = calloc(1, size);
  assert_non_null(data);
  kdl_store_u32(data, 0xba55ed50);
  kdl_store_u16(data + 4, 1);
  kdl_store_u16(data + 6, 16);
  kdl_store_u64(data + 8, size - 16);
  uint8_t *header = data + 16;
  kdl_store_u16(header, entry->kind);
  kdl_store_u16(header + 2, 0x101);
  kdl_store_u32(header + 4, 64);
  kdl_store_u64(header + 8, padded);
  kdl_store_u32(header + 16, entry->packed_size);
  kdl_store_u16(header + 24, 3);
  kdl_store_u16(header + 26, 8);
  kdl_store_u32(header + 28, 90);
  kdl_store_u64(header + 40, entry->flags);
  kdl_store_u64(header + 56, entry->inflated_size);
  memcpy(header + 64, entry->payload, entry->payload_size);
  *out_size = size;
  return data;
}

static uint8_t *make_packed_fatbin(uint16_t kind, kdl_codec codec, const void *image, size_t size,
                                   size_t *out_size) {
  size_t packed_size;
  uint8_t *packed = pack(codec, image, size, &packed_size);
  entry_spec entry = {kind,
                      flags_usual | (codec == KDL_CODEC_LZ4 ? flag_lz4 : flag_zstd),
                      (uint32_t)packed_size,
                      size,
                      packed,
                      packed_size};
  uint8_t *fatbin = make_fatbin(&entry, out_size);
  free(packed);
  return fatbin;
}

static kdl_library *open_bytes(const uint8_t *data, size_t size) {
  kdl_library *lib;
  assert_ok(try_open(data, size, &lib));
  return lib;
}

static void assert_value(const kdl_library *lib, size_t index, const char *key,
                         const char *expected) {
  const kdl_string *value = kdl_image_value(lib, index, key);
  if (!expected) {
    assert_null(value);
    return;
  }
  assert_non_null(value);
  assert_string_equal(value->data, expected);
  assert_int_equal(value->length, strlen(expected));
}

static void assert_image(const kdl_library *lib, size_t index, kdl_image_kind kind,
                         const char *arch, uint64_t size, uint64_t stored) {
  kdl_image_info info = image_at(lib, index);
  assert_string_equal(kdl_image_kind_name(info.kind), kdl_image_kind_name(kind));
  assert_string_equal(info.triple.data, "nvptx64-nvidia-cuda");
  assert_string_equal(info.arch.data, arch);
  assert_string_equal(info.container.data, "cuda-fatbin");
  assert_int_equal(info.offload_kind, KDL_OFFLOAD_CUDA);
  assert_int_equal(info.declared_kind, kind == KDL_IMAGE_PTX ? 5 : kind == KDL_IMAGE_CUBIN ? 3 : 0);
  assert_int_equal(info.byte_count, size);
  assert_int_equal(info.stored_count, stored);
}

/* ------------------------------------------------------------------------------------------ */
/* What nvcc writes                                                                             */

static void assert_ptx(kdl_library *lib, size_t index) {
  const void *data;
  size_t size;
  assert_ok(kdl_image_bytes(lib, index, &data, &size));
  const char *text = data;
  assert_non_null(memmem(text, size, ".version 9.0", 12));
  assert_memory_equal(text + size - 3, "}\n\n", 3);
  assert_null(memchr(text, 0, size));
  assert_int_equal(text[size], 0); /* a C string, as drivers want it */
}

static void reads_stored_entries(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/stored.fatbin");
  assert_int_equal(kdl_image_count(lib), 2);
  assert_image(lib, 0, KDL_IMAGE_CUBIN, "sm_90", 3568, 3568);
  assert_image(lib, 1, KDL_IMAGE_PTX, "sm_90", 335, 335);
  assert_int_equal(image_at(lib, 1).header_offset, 0xe40);
  assert_value(lib, 0, "kdl.ptx_isa", NULL);
  assert_value(lib, 1, "kdl.ptx_isa", "9.0");
  assert_value(lib, 1, "kdl.options", NULL);
  assert_value(lib, 1, "kdl.source_name", NULL);
  assert_ptx(lib, 1);
  kdl_close(lib);
}

static void inflates_to_what_is_stored(const char *golden, uint64_t cubin_packed,
                                       uint64_t ptx_packed) {
  kdl_library *stored = open_golden("fatbin/stored.fatbin");
  kdl_library *packed = open_golden(golden);
  assert_int_equal(kdl_image_count(packed), 2);
  assert_image(packed, 0, KDL_IMAGE_CUBIN, "sm_90", 3568, cubin_packed);
  assert_image(packed, 1, KDL_IMAGE_PTX, "sm_90", 335, ptx_packed);
  for (size_t i = 0; i < 2; ++i) {
    const void *expected;
    const void *data;
    size_t expected_size;
    size_t size;
    assert_ok(kdl_image_bytes(stored, i, &expected, &expected_size));
    assert_ok(kdl_image_bytes(packed, i, &data, &size));
    assert_int_equal(size, expected_size);
    assert_memory_equal(data, expected, size);
  }
  assert_ptx(packed, 1);
  kdl_close(packed);
  kdl_close(stored);
}

static void inflates_zstd_entries(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  inflates_to_what_is_stored("fatbin/zstd.fatbin", 871, 223);
}

static void inflates_lz4_entries(void **state) {
  (void)state;
  skip_without(KDL_CODEC_LZ4);
  inflates_to_what_is_stored("fatbin/lz4.fatbin", 1288, 283);
}

static void reads_names_and_options(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/debug.fatbin");
  assert_int_equal(kdl_image_count(lib), 2);
  assert_value(lib, 0, "kdl.source_name", "k.cu");
  assert_value(lib, 0, "kdl.options", NULL);
  assert_value(lib, 1, "kdl.source_name", "k.cu");
  assert_value(lib, 1, "kdl.options", " -g --dont-merge-basicblocks --return-at-end ");
  kdl_close(lib);
}

static void lists_link_time_ir(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/lto.fatbin");
  assert_int_equal(kdl_image_count(lib), 2);
  assert_value(lib, 0, "kdl.options", "--compile-only  ");
  assert_image(lib, 1, KDL_IMAGE_LTOIR, "sm_90", 2148, 1715);
  assert_value(lib, 1, "kdl.options", "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 ");
  const void *data;
  size_t size;
  assert_fails(kdl_image_bytes(lib, 1, &data, &size), KDL_UNSUPPORTED,
               "fatbin/lto.fatbin: offset 0x1d8: image 1: encoded in a way that only the vendor's "
               "own tools undo (scrambled, or packed by an unpublished method)");
  kdl_close(lib);
}

static void reads_specific_architectures(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/archs.fatbin");
  assert_int_equal(kdl_image_count(lib), 4);
  assert_image(lib, 0, KDL_IMAGE_CUBIN, "sm_90a", 3568, 871);
  assert_image(lib, 1, KDL_IMAGE_CUBIN, "sm_100f", 5144, 1193);
  assert_image(lib, 2, KDL_IMAGE_PTX, "sm_100f", 349, 234);
  assert_image(lib, 3, KDL_IMAGE_CUBIN, "sm_120a", 5144, 1194);
  /* From sm_100 on the cubin's options are a binary table, not text. */
  assert_value(lib, 1, "kdl.options", NULL);
  kdl_close(lib);
}

static void reads_tile_ir(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/tile.fatbin");
  assert_int_equal(kdl_image_count(lib), 3);
  assert_image(lib, 0, KDL_IMAGE_PTX, "sm_90", 1045, 1045);
  assert_image(lib, 1, KDL_IMAGE_TILEIR, "sm_80", 976, 976);
  assert_value(lib, 1, "kdl.tile_ir", "13.1");
  assert_value(lib, 2, "kdl.tile_ir", "13.3");
  assert_value(lib, 2, "kdl.kind", NULL);
  assert_value(lib, 2, "kdl.source_name", "saxpy-13.3");
  assert_value(lib, 2, "kdl.options", "-O3");
  kdl_close(lib);
  lib = open_golden("fatbin/tile_zstd.fatbin");
  assert_image(lib, 1, KDL_IMAGE_TILEIR, "sm_80", 1011, 382);
  assert_value(lib, 1, "kdl.tile_ir", "13.4");
  size_t size, golden_size;
  const void *data;
  uint8_t *golden = read_golden("images/tile_13_4.tileir", &golden_size);
  assert_ok(kdl_image_bytes(lib, 1, &data, &size));
  assert_int_equal(size, golden_size);
  assert_memory_equal(data, golden, size);
  free(golden);
  kdl_close(lib);
}

static void reads_relocatable_code(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/rdc.fatbin");
  assert_int_equal(kdl_image_count(lib), 2);
  assert_image(lib, 0, KDL_IMAGE_CUBIN, "sm_90", 3480, 863);
  assert_value(lib, 1, "kdl.options", "--compile-only  ");
  kdl_close(lib);
}

/* ------------------------------------------------------------------------------------------ */
/* What else there is                                                                           */

static void reads_fatbins_back_to_back(void **state) {
  (void)state;
  size_t first_size;
  size_t second_size;
  uint8_t *first = read_golden("fatbin/zstd.fatbin", &first_size);
  uint8_t *second = read_golden("fatbin/lz4.fatbin", &second_size);
  enum { gap = 4096, tail = 24 };
  size_t size = 2 * first_size + gap + second_size + tail;
  uint8_t *all = calloc(1, size);
  memcpy(all, first, first_size);
  memcpy(all + first_size, first, first_size);
  memcpy(all + 2 * first_size + gap, second, second_size);
  kdl_library *lib = open_bytes(all, size);
  assert_int_equal(kdl_image_count(lib), 6);
  assert_int_equal(image_at(lib, 2).header_offset, first_size + 16);
  assert_int_equal(image_at(lib, 4).header_offset, 2 * first_size + gap + 16);
  assert_image(lib, 5, KDL_IMAGE_PTX, "sm_90", 335, 283);
  kdl_close(lib);
  free(all);
  free(second);
  free(first);
}

static void keeps_unknown_kinds(void **state) {
  (void)state;
  /* by their number; the bytes are not looked at */
  entry_spec entry = {
      .kind = 77, .flags = flags_usual, .payload = "\177ELF\2\1", .payload_size = 7};
  size_t size;
  uint8_t *data = make_fatbin(&entry, &size);
  kdl_library *lib = open_bytes(data, size);
  assert_int_equal(kdl_image_count(lib), 1);
  assert_image(lib, 0, KDL_IMAGE_UNKNOWN, "sm_90", 8, 8);
  assert_value(lib, 0, "kdl.kind", "0x4d");
  kdl_close(lib);
  free(data);
}

static void takes_kind_16_for_a_cubin(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *data = make_packed_fatbin(kind_cubin_too, KDL_CODEC_ZSTD,
                                     "\x7f"
                                     "ELF",
                                     4, &size);
  kdl_library *lib = open_bytes(data, size);
  assert_string_equal(kdl_image_kind_name(image_at(lib, 0).kind), "cubin");
  kdl_close(lib);
  free(data);
}

static void lists_unknown_codings(void **state) {
  (void)state;
  entry_spec entry = {kind_cubin, flags_usual | flag_unknown_codec, 5, 100, "abcde", 5};
  size_t size;
  uint8_t *data = make_fatbin(&entry, &size);
  kdl_library *lib = open_bytes(data, size);
  assert_image(lib, 0, KDL_IMAGE_CUBIN, "sm_90", 100, 5);
  const void *bytes;
  size_t count;
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_UNSUPPORTED,
               "t: offset 0x50: image 0: encoded in a way that only the vendor's own tools undo "
               "(scrambled, or packed by an unpublished method)");
  kdl_close(lib);
  free(data);
}

static void inflates_plain_link_time_ir(void **state) {
  (void)state;
  skip_without(KDL_CODEC_LZ4);
  size_t size;
  uint8_t *data = make_packed_fatbin(kind_ltoir, KDL_CODEC_LZ4, "link-time IR", 12, &size);
  kdl_library *lib = open_bytes(data, size);
  const void *bytes;
  size_t count;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &count));
  assert_int_equal(count, 12);
  assert_memory_equal(bytes, "link-time IR", 12);
  kdl_close(lib);
  free(data);
}

static void trims_stored_ptx(void **state) {
  (void)state;
  static const struct {
    const char *payload;
    size_t size;
    size_t expected;
  } cases[] = {
      {".version", 8, 8},
      {".version", 9, 8},
      {".version 8.3", 13, 12},
      {"\0\0\0", 3, 0},
  };
  for (size_t i = 0; i < COUNT(cases); ++i) {
    entry_spec entry = {.kind = kind_ptx,
                        .flags = flags_usual,
                        .payload = cases[i].payload,
                        .payload_size = cases[i].size};
    size_t size;
    uint8_t *data = make_fatbin(&entry, &size);
    kdl_library *lib = open_bytes(data, size);
    assert_image(lib, 0, KDL_IMAGE_PTX, "sm_90", cases[i].expected, cases[i].expected);
    assert_value(lib, 0, "kdl.ptx_isa", "8.3");
    kdl_close(lib);
    free(data);
  }
}

static void refuses_packed_ptx_without_nul(void **state) {
  (void)state;
  skip_without(KDL_CODEC_LZ4);
  size_t size;
  uint8_t *data = make_packed_fatbin(kind_ptx, KDL_CODEC_LZ4, ".version 8.3\n", 13, &size);
  kdl_library *lib = open_bytes(data, size);
  const void *bytes;
  size_t count;
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_BAD_FILE,
               "t: offset 0x50: image 0: found 0x0a as inflated byte 12, expected a NUL after 12 "
               "bytes");
  kdl_close(lib);
  free(data);
}

/* ------------------------------------------------------------------------------------------ */
/* Machines that cannot inflate                                                                 */

static void report_zstd_fatbin(FILE *out) {
  kdl_library *lib = open_golden("fatbin/zstd.fatbin");
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    const void *bytes;
    size_t count;
    kdl_status status = kdl_image_bytes(lib, i, &bytes, &count);
    fprintf(out, "%s %d %s\n", kdl_image_kind_name(image_at(lib, i).kind), status,
            kdl_error_message());
  }
  kdl_close(lib);
}

static void lists_without_the_codec(void **state) {
  (void)state;
  char report[2048];
  without_libraries(report_zstd_fatbin, report, sizeof report);
  if (strstr(report, "built without"))
    assert_string_equal(report,
                        "cubin 7 fatbin/zstd.fatbin: offset 0x50: image 0: built without zstd "
                        "(KDL_WITH_ZSTD=OFF)\n"
                        "ptx 7 fatbin/zstd.fatbin: offset 0x408: image 1: built without zstd "
                        "(KDL_WITH_ZSTD=OFF)\n");
  else
    assert_string_equal(
        report,
        "cubin 7 fatbin/zstd.fatbin: offset 0x50: image 0: needs libzstd.so.1, which is not "
        "installed (dlopen: libhidden-from-the-test.so.1: cannot open shared object file: No such "
        "file or directory)\n"
        "ptx 7 fatbin/zstd.fatbin: offset 0x408: image 1: needs libzstd.so.1, which is not "
        "installed (dlopen: libhidden-from-the-test.so.1: cannot open shared object file: No such "
        "file or directory)\n");
}

/* ------------------------------------------------------------------------------------------ */
/* Bombs                                                                                        */

enum { gigabyte = 1 << 30, most = 64 << 20 };

static void open_bomb(uint32_t flag, const uint8_t *packed, size_t packed_size, uint64_t declared,
                      const char *message) {
  entry_spec entry = {kind_cubin, flags_usual | flag, (uint32_t)packed_size, declared,
                      packed,     packed_size};
  size_t size;
  uint8_t *data = make_fatbin(&entry, &size);
  size_t before = resident_bytes();
  kdl_library *lib = open_bytes(data, size);
  assert_in_range(resident_bytes(), 0, before + (1 << 20));
  assert_int_equal(image_at(lib, 0).byte_count, declared);
  const void *bytes;
  size_t count;
  if (message)
    assert_fails(kdl_image_bytes(lib, 0, &bytes, &count), KDL_BAD_FILE, message);
  kdl_close(lib);
  free(data);
}

static void holds_a_zstd_bomb(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *bomb = zstd_bomb("\x7f"
                            "ELF",
                            4, gigabyte, &size);
  open_bomb(flag_zstd, bomb, size, most, NULL);
  open_bomb(flag_zstd, bomb, size, 4096,
            "t: offset 0x50: image 0: zstd stream: found more than 4096 inflated bytes, expected "
            "that");
  free(bomb);
  bomb = zstd_bomb("\x7f"
                   "ELF",
                   4, 4096, &size);
  open_bomb(flag_zstd, bomb, size, most,
            "t: offset 0x50: image 0: zstd stream: found its end after 4096 inflated bytes, "
            "expected at least 67108864");
  free(bomb);
}

static void holds_an_lz4_bomb(void **state) {
  (void)state;
  skip_without(KDL_CODEC_LZ4);
  size_t size;
  uint8_t *bomb = lz4_bomb(gigabyte, &size);
  open_bomb(flag_lz4, bomb, size, most, NULL);
  open_bomb(flag_lz4, bomb, size, 4096,
            "t: offset 0x50: image 0: lz4 block: damaged, or it inflates to more than the 4096 "
            "bytes expected");
  free(bomb);
  bomb = lz4_bomb(4096, &size);
  open_bomb(flag_lz4, bomb, size, most,
            "t: offset 0x50: image 0: lz4 block: found 4096 inflated bytes, expected 67108864");
  free(bomb);
}

/* ------------------------------------------------------------------------------------------ */
/* Damage                                                                                       */

static const damage damages[] = {
    {"fatbin/stored.fatbin", 4, 2, 2, "t: offset 0x4: version: found 2, expected 1"},
    {"fatbin/stored.fatbin", 6, 2, 8,
     "t: offset 0x6: headerSize: found 8, expected from 16 to the 4064 bytes that are there"},
    {"fatbin/stored.fatbin", 6, 2, 4080,
     "t: offset 0x6: headerSize: found 4080, expected from 16 to the 4064 bytes that are there"},
    {"fatbin/stored.fatbin", 8, 8, 4049,
     "t: offset 0x8: fatSize: found 4049, expected at most 4048, the bytes after the header"},
    {"fatbin/stored.fatbin", 8, 8, UINT64_MAX,
     "t: offset 0x8: fatSize: found 18446744073709551615, expected at most 4048, the bytes after "
     "the header"},
    {"fatbin/stored.fatbin", 8, 8, 4040,
     "t: offset 0xe48: entry payloadSize: found 336, expected at most the 328 bytes left in the "
     "fatbin"},
    {"fatbin/stored.fatbin", 8, 8, 3640,
     "t: offset 0xe40: entry: found 8 bytes left in the fatbin, expected at least 64"},
    {"fatbin/stored.fatbin", 0x14, 4, 63,
     "t: offset 0x14: entry headerSize: found 63, expected from 64 to the 4048 bytes left in the "
     "fatbin"},
    {"fatbin/stored.fatbin", 0x14, 4, UINT32_MAX,
     "t: offset 0x14: entry headerSize: found 4294967295, expected from 64 to the 4048 bytes left "
     "in the fatbin"},
    {"fatbin/stored.fatbin", 0x18, 8, UINT64_MAX - 63,
     "t: offset 0x18: entry payloadSize: found 18446744073709551552, expected at most the 3984 "
     "bytes left in the fatbin"},
    {"fatbin/zstd.fatbin", 0x20, 4, 0,
     "t: offset 0x20: entry compressedSize: found 0, expected from 1 to payloadSize 872"},
    {"fatbin/zstd.fatbin", 0x20, 4, 873,
     "t: offset 0x20: entry compressedSize: found 873, expected from 1 to payloadSize 872"},
    {"fatbin/zstd.fatbin", 0x48, 8, 0,
     "t: offset 0x48: entry uncompressedSize: found 0, expected from 1 to 68719476736"},
    {"fatbin/zstd.fatbin", 0x48, 8, UINT64_MAX,
     "t: offset 0x48: entry uncompressedSize: found 18446744073709551615, expected from 1 to "
     "68719476736"},
    {"fatbin/debug.fatbin", 0x30, 4, UINT32_MAX,
     "t: offset 0x30: entry name: found 4 bytes at 0xffffffff, expected them within headerSize "
     "0x48"},
    {"fatbin/debug.fatbin", 0x34, 4, 9,
     "t: offset 0x30: entry name: found 9 bytes at 0x40, expected them within headerSize 0x48"},
    {"fatbin/debug.fatbin", 0x24, 4, 65,
     "t: offset 0x24: entry options: found 0x41, expected 8 bytes there within headerSize 0x48"},
    {"fatbin/lto.fatbin", 0x50, 4, 0x60,
     "t: offset 0x50: entry options string: found 16 bytes at 0x60, expected them within "
     "headerSize 0x60"},
};

static void names_each_damaged_field(void **state) {
  (void)state;
  expect_each_refused(damages, sizeof damages / sizeof *damages);
}

static void refuses_what_follows(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("fatbin/zstd.fatbin", &size);
  data = realloc(data, size + 40);
  memset(data + size, 0, 40);
  memset(data + size + 24, 0x5a, 16);
  kdl_library *lib;
  assert_fails(try_open(data, size + 40, &lib), KDL_BAD_FILE,
               "t: offset 0x500: magic: found 0x5a5a5a5a, expected 0xba55ed50");
  assert_fails(try_open(data, size + 28, &lib), KDL_BAD_FILE,
               "t: offset 0x500: header: found 4 bytes, expected at least 16");
  free(data);
}

static const char *const goldens[] = {
    "fatbin/stored.fatbin", "fatbin/zstd.fatbin", "fatbin/lz4.fatbin",  "fatbin/debug.fatbin",
    "fatbin/lto.fatbin",    "fatbin/rdc.fatbin",  "fatbin/archs.fatbin"};

static void refuses_every_truncation(void **state) {
  (void)state;
  for (size_t g = 0; g < COUNT(goldens); ++g) {
    size_t size;
    uint8_t *data = read_golden(goldens[g], &size);
    for (size_t cut = 0; cut < size; ++cut)
      assert_int_equal(open_and_read_all(data, cut), KDL_BAD_FILE);
    assert_ok(open_and_read_all(data, size));
    free(data);
  }
}

/* Extreme values in every field of the headers: refused or read, never a step out of bounds. */
static void survives_extreme_fields(void **state) {
  (void)state;
  static const uint64_t extremes[] = {0,          1,         7,          63,
                                      64,         0xffff,    0x7fffffff, 0x80000000,
                                      0xffffffff, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
  size_t refused = 0;
  for (size_t g = 0; g < COUNT(goldens); ++g) {
    size_t size;
    uint8_t *data = read_golden(goldens[g], &size);
    for (size_t at = 0; at < 16 + 128; at += 2) {
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
      cmocka_unit_test(lists_without_the_codec), /* before any codec is used */
      cmocka_unit_test(reads_stored_entries),
      cmocka_unit_test(inflates_zstd_entries),
      cmocka_unit_test(inflates_lz4_entries),
      cmocka_unit_test(reads_names_and_options),
      cmocka_unit_test(lists_link_time_ir),
      cmocka_unit_test(reads_specific_architectures),
      cmocka_unit_test(reads_tile_ir),
      cmocka_unit_test(reads_relocatable_code),
      cmocka_unit_test(reads_fatbins_back_to_back),
      cmocka_unit_test(keeps_unknown_kinds),
      cmocka_unit_test(takes_kind_16_for_a_cubin),
      cmocka_unit_test(lists_unknown_codings),
      cmocka_unit_test(inflates_plain_link_time_ir),
      cmocka_unit_test(trims_stored_ptx),
      cmocka_unit_test(refuses_packed_ptx_without_nul),
      cmocka_unit_test(holds_a_zstd_bomb),
      cmocka_unit_test(holds_an_lz4_bomb),
      cmocka_unit_test(names_each_damaged_field),
      cmocka_unit_test(refuses_what_follows),
      cmocka_unit_test(refuses_every_truncation),
      cmocka_unit_test(survives_extreme_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
