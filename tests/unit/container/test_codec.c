/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inflating: the output, where it stops, and the message on failure. */
#include "packers.h"

#include <pthread.h>

static const kdl_codec codecs[] = {KDL_CODEC_ZSTD, KDL_CODEC_ZLIB, KDL_CODEC_LZ4};
static const kdl_codec stream_codecs[] = {KDL_CODEC_ZSTD, KDL_CODEC_ZLIB};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Text that packs, but not into nothing. */
static uint8_t *make_text(size_t size) {
  uint8_t *text = malloc(size + 1);
  assert_non_null(text);
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    text[i] = i % 7 < 4 ? (uint8_t)('a' + (state >> 28)) : (uint8_t)' ';
  }
  return text;
}

/* ------------------------------------------------------------------------------------------ */

static void report_checks(FILE *out) {
  for (size_t i = 0; i < COUNT(codecs); ++i) {
    kdl_status status = kdl_codec_check(codecs[i]);
    fprintf(out, "%d %s\n", status, kdl_error_message());
    uint8_t byte;
    if (kdl_inflate(codecs[i], "x", 1, &byte, 1) != status)
      fprintf(out, "kdl_inflate disagrees\n");
  }
}

static void names_what_is_missing(void **state) {
  (void)state;
  static const char *const libraries[] = {"libzstd.so.1", "libz.so.1", "liblz4.so.1"};
  static const char *const options[] = {"KDL_WITH_ZSTD", "KDL_WITH_ZLIB", "KDL_WITH_LZ4"};
  char report[2048];
  without_libraries(report_checks, report, sizeof report);
  char *rest = report;
  for (size_t i = 0; i < COUNT(codecs); ++i) {
    char *line = strsep(&rest, "\n");
    assert_non_null(line);
    char expected[512];
    if (strstr(line, "built without"))
      snprintf(expected, sizeof expected, "%d built without %s (%s=OFF)", KDL_UNSUPPORTED,
               kdl_codec_name(codecs[i]), options[i]);
    else
      snprintf(expected, sizeof expected,
               "%d needs %s, which is not installed (dlopen: libhidden-from-the-test.so.1: cannot "
               "open shared object file: No such file or directory)",
               KDL_UNSUPPORTED, libraries[i]);
    assert_string_equal(line, expected);
  }
  assert_string_equal(rest, "");
}

static void *check_all(void *unused) {
  (void)unused;
  size_t failures = 0;
  for (size_t i = 0; i < COUNT(codecs); ++i)
    failures += kdl_codec_check(codecs[i]) != KDL_OK;
  return (void *)failures;
}

static void loads_once_for_all_threads(void **state) {
  (void)state;
  pthread_t threads[8];
  for (size_t i = 0; i < COUNT(threads); ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, check_all, NULL), 0);
  size_t expected = (size_t)check_all(NULL);
  for (size_t i = 0; i < COUNT(threads); ++i) {
    void *failures;
    assert_int_equal(pthread_join(threads[i], &failures), 0);
    assert_int_equal((size_t)failures, expected);
  }
}

static void refuses_what_only_the_vendor_reads(void **state) {
  (void)state;
  uint8_t byte;
  assert_fails(kdl_inflate(KDL_CODEC_VENDOR, "x", 1, &byte, 1), KDL_UNSUPPORTED,
               "encoded in a way that only the vendor's own tools undo (scrambled, or packed by an "
               "unpublished method)");
  assert_string_equal(kdl_codec_name(KDL_CODEC_VENDOR), "vendor");
  assert_string_equal(kdl_codec_name(KDL_CODEC_NONE), "none");
}

/* ------------------------------------------------------------------------------------------ */

static void gives_back_what_was_packed(kdl_codec codec) {
  skip_without(codec);
  static const size_t sizes[] = {1, 100, 65536, 70001, 1 << 20};
  for (size_t i = 0; i < COUNT(sizes); ++i) {
    uint8_t *text = make_text(sizes[i]);
    size_t packed_size;
    uint8_t *packed = pack(codec, text, sizes[i], &packed_size);
    uint8_t *out = malloc(sizes[i]);
    assert_ok(kdl_inflate(codec, packed, packed_size, out, sizes[i]));
    assert_memory_equal(out, text, sizes[i]);
    free(out);
    free(packed);
    free(text);
  }
}

static void inflates_zstd(void **state) {
  (void)state;
  gives_back_what_was_packed(KDL_CODEC_ZSTD);
}

static void inflates_zlib(void **state) {
  (void)state;
  gives_back_what_was_packed(KDL_CODEC_ZLIB);
}

static void inflates_lz4(void **state) {
  (void)state;
  gives_back_what_was_packed(KDL_CODEC_LZ4);
}

static void inflates_step_by_step(void **state) {
  (void)state;
  skip_without_any(stream_codecs, COUNT(stream_codecs));
  enum { size = 500000 };
  uint8_t *text = make_text(size);
  for (size_t c = 0; c < COUNT(stream_codecs); ++c) {
    size_t packed_size;
    uint8_t *packed = pack(stream_codecs[c], text, size, &packed_size);
    uint8_t *out = malloc(size);
    kdl_inflater *inflater;
    assert_ok(kdl_inflater_create(stream_codecs[c], packed, packed_size, &inflater));
    size_t have = 0;
    for (size_t want = 1; have < size; want = want * 3 + 1) {
      size_t count;
      if (want > size - have)
        want = size - have;
      assert_ok(kdl_inflater_read(inflater, out + have, want, size - have, &count));
      assert_in_range(count, want, size - have);
      if (have == 0)
        assert_in_range(count, 1, 64 * 1024);
      have += count;
    }
    assert_ok(kdl_inflater_finish(inflater));
    assert_memory_equal(out, text, size);
    kdl_inflater_destroy(inflater);
    free(out);
    free(packed);
  }
  free(text);
}

static void has_no_steps_for_lz4(void **state) {
  (void)state;
  skip_without(KDL_CODEC_LZ4);
  kdl_inflater *inflater;
  assert_fails(kdl_inflater_create(KDL_CODEC_LZ4, "x", 1, &inflater), KDL_BAD_CALL,
               "found codec lz4, expected one that inflates step by step");
}

static void accepts_zeros_after_the_end(void **state) {
  (void)state;
  skip_without_any(stream_codecs, COUNT(stream_codecs));
  uint8_t *text = make_text(1000);
  for (size_t c = 0; c < COUNT(stream_codecs); ++c) {
    size_t packed_size;
    uint8_t *packed = pack(stream_codecs[c], text, 1000, &packed_size);
    packed = realloc(packed, packed_size + 7);
    memset(packed + packed_size, 0, 7);
    uint8_t out[1000];
    assert_ok(kdl_inflate(stream_codecs[c], packed, packed_size + 7, out, sizeof out));
    assert_memory_equal(out, text, sizeof out);
    free(packed);
  }
  free(text);
}

/* Frames follow one another, one of them of no data and one of another's (skippable), and zeros. */
static void goes_on_to_the_next_frame(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  static const uint8_t skippable[] = {0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'};
  uint8_t *text = make_text(1000);
  uint8_t packed[4096] = {0};
  size_t used = 0;
  static const size_t parts[] = {400, 0, 600};
  for (size_t i = 0, from = 0; i < COUNT(parts); from += parts[i++]) {
    size_t size;
    uint8_t *frame = pack(KDL_CODEC_ZSTD, text + from, parts[i], &size);
    memcpy(packed + used, frame, size);
    used += size;
    free(frame);
    memcpy(packed + used, skippable, sizeof skippable);
    used += sizeof skippable;
  }
  uint8_t out[1000];
  assert_ok(kdl_inflate(KDL_CODEC_ZSTD, packed, used + 7, out, sizeof out));
  assert_memory_equal(out, text, sizeof out);
  assert_fails(kdl_inflate(KDL_CODEC_ZSTD, packed, used, out, 400), KDL_BAD_FILE,
               "zstd stream: found more than 400 inflated bytes, expected that");
  packed[used] = 1;
  assert_int_equal(kdl_inflate(KDL_CODEC_ZSTD, packed, used + 7, out, sizeof out), KDL_BAD_FILE);
  free(text);
}

/* ------------------------------------------------------------------------------------------ */
/* Refusals                                                                                     */

/* Packs 1000 bytes, cuts `cut` packed bytes off, adds `tail`, and declares `declared`. */
static kdl_status inflate_altered(kdl_codec codec, size_t cut, const char *tail, size_t declared) {
  uint8_t *text = make_text(1000);
  size_t packed_size;
  uint8_t *packed = pack(codec, text, 1000, &packed_size);
  assert_true(cut < packed_size);
  size_t size = packed_size - cut + strlen(tail);
  uint8_t *altered = malloc(size);
  memcpy(altered, packed, packed_size - cut);
  memcpy(altered + packed_size - cut, tail, strlen(tail));
  uint8_t *out = malloc(declared);
  kdl_status status = kdl_inflate(codec, altered, size, out, declared);
  free(out);
  free(altered);
  free(packed);
  free(text);
  return status;
}

static void refuses_a_stream_that_ends_early(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  assert_fails(inflate_altered(KDL_CODEC_ZSTD, 0, "", 1001), KDL_BAD_FILE,
               "zstd stream: found its end after 1000 inflated bytes, expected at least 1001");
  skip_without(KDL_CODEC_ZLIB);
  assert_fails(inflate_altered(KDL_CODEC_ZLIB, 0, "", 1001), KDL_BAD_FILE,
               "zlib stream: found its end after 1000 inflated bytes, expected at least 1001");
  skip_without(KDL_CODEC_LZ4);
  assert_fails(inflate_altered(KDL_CODEC_LZ4, 0, "", 1001), KDL_BAD_FILE,
               "lz4 block: found 1000 inflated bytes, expected 1001");
}

static void refuses_a_stream_that_goes_on(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  assert_fails(inflate_altered(KDL_CODEC_ZSTD, 0, "", 999), KDL_BAD_FILE,
               "zstd stream: found more than 999 inflated bytes, expected that");
  skip_without(KDL_CODEC_ZLIB);
  assert_fails(inflate_altered(KDL_CODEC_ZLIB, 0, "", 999), KDL_BAD_FILE,
               "zlib stream: found more than 999 inflated bytes, expected that");
  skip_without(KDL_CODEC_LZ4);
  assert_fails(inflate_altered(KDL_CODEC_LZ4, 0, "", 999), KDL_BAD_FILE,
               "lz4 block: damaged, or it inflates to more than the 999 bytes expected");
}

static void refuses_a_stream_cut_short(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  assert_fails(inflate_altered(KDL_CODEC_ZSTD, 1, "", 1000), KDL_BAD_FILE,
               "zstd stream: found no more packed bytes and no end after 0 inflated bytes, "
               "expected at least 1000");
  skip_without(KDL_CODEC_ZLIB);
  /* All the bytes are there; half of the checksum is not. */
  assert_int_equal(inflate_altered(KDL_CODEC_ZLIB, 2, "", 1000), KDL_BAD_FILE);
  assert_non_null(strstr(kdl_error_message(), "zlib stream: found no end in "));
}

static void refuses_garbage_after_the_end(void **state) {
  (void)state;
  for (size_t c = 0; c < COUNT(stream_codecs); ++c) {
    skip_without(stream_codecs[c]);
    uint8_t *text = make_text(1000);
    size_t packed_size;
    free(pack(stream_codecs[c], text, 1000, &packed_size));
    free(text);
    char expected[256];
    snprintf(expected, sizeof expected,
             "%s stream: found 0x6a at byte 0x%zx, after its end at 0x%zx, expected zero padding",
             kdl_codec_name(stream_codecs[c]), packed_size, packed_size);
    assert_fails(inflate_altered(stream_codecs[c], 0, "junk", 1000), KDL_BAD_FILE, expected);
  }
  skip_without(KDL_CODEC_LZ4);
  assert_int_equal(inflate_altered(KDL_CODEC_LZ4, 0, "junk", 1000), KDL_BAD_FILE);
}

static void refuses_what_is_not_packed(void **state) {
  (void)state;
  uint8_t out[64];
  skip_without(KDL_CODEC_ZSTD);
  assert_fails(kdl_inflate(KDL_CODEC_ZSTD, "not a frame", 11, out, sizeof out), KDL_BAD_FILE,
               "zstd stream: cannot be inflated beyond byte 0: Unknown frame descriptor");
  assert_fails(kdl_inflate(KDL_CODEC_ZSTD, "", 0, out, sizeof out), KDL_BAD_FILE,
               "zstd stream: found no more packed bytes and no end after 0 inflated bytes, "
               "expected at least 64");
  skip_without(KDL_CODEC_ZLIB);
  assert_fails(kdl_inflate(KDL_CODEC_ZLIB, "not a stream", 12, out, sizeof out), KDL_BAD_FILE,
               "zlib stream: cannot be inflated beyond byte 0: incorrect header check");
  skip_without(KDL_CODEC_LZ4);
  assert_fails(kdl_inflate(KDL_CODEC_LZ4, "\xff\xff\xff", 3, out, sizeof out), KDL_BAD_FILE,
               "lz4 block: damaged, or it inflates to more than the 64 bytes expected");
}

static void refuses_a_wide_zstd_window(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  uint8_t zero = 0;
  size_t size;
  uint8_t *frame = zstd_bomb(&zero, 1, 1 << 20, &size);
  frame[5] = (28 - 10) << 3;
  uint8_t *out = malloc(1 << 20);
  assert_fails(
      kdl_inflate(KDL_CODEC_ZSTD, frame, size, out, 1 << 20), KDL_BAD_FILE,
      "zstd stream: cannot be inflated beyond byte 0: Frame requires too much memory for decoding");
  frame[5] = (27 - 10) << 3;
  assert_ok(kdl_inflate(KDL_CODEC_ZSTD, frame, size, out, 1 << 20));
  free(out);
  free(frame);
}

/* ------------------------------------------------------------------------------------------ */
/* Bombs                                                                                        */

enum { gigabyte = 1 << 30 };

static void stops_a_bomb_at_the_declared_size(void **state) {
  (void)state;
  uint8_t out[4096];
  uint8_t zero = 0;
  size_t size;
  skip_without(KDL_CODEC_ZSTD);
  size_t before = resident_bytes();
  uint8_t *bomb = zstd_bomb(&zero, 1, gigabyte, &size);
  assert_fails(kdl_inflate(KDL_CODEC_ZSTD, bomb, size, out, sizeof out), KDL_BAD_FILE,
               "zstd stream: found more than 4096 inflated bytes, expected that");
  free(bomb);
  skip_without(KDL_CODEC_LZ4);
  bomb = lz4_bomb(gigabyte, &size);
  assert_fails(kdl_inflate(KDL_CODEC_LZ4, bomb, size, out, sizeof out), KDL_BAD_FILE,
               "lz4 block: damaged, or it inflates to more than the 4096 bytes expected");
  free(bomb);
  assert_fails(kdl_inflate(KDL_CODEC_LZ4, "x", 1, out, (size_t)1 << 36), KDL_BAD_FILE,
               "lz4 block: found 1 bytes that inflate to 68719476736, expected at most 2113929216");
  assert_in_range(resident_bytes(), 0, before + 16 * 1024 * 1024); /* the bombs alone have 4 MiB */
}

static void stops_a_zlib_bomb_at_the_declared_size(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZLIB);
  enum { inflated = 16 << 20 };
  void *zeros = calloc(1, inflated);
  size_t size;
  uint8_t *bomb = pack(KDL_CODEC_ZLIB, zeros, inflated, &size);
  free(zeros);
  uint8_t out[4096];
  assert_fails(kdl_inflate(KDL_CODEC_ZLIB, bomb, size, out, sizeof out), KDL_BAD_FILE,
               "zlib stream: found more than 4096 inflated bytes, expected that");
  free(bomb);
}

static void builds_true_bombs(void **state) {
  (void)state;
  skip_without_any(codecs, COUNT(codecs));
  enum { total = 300001 };
  uint8_t *out = malloc(total);
  size_t size;
  uint8_t *bomb = zstd_bomb("head", 4, total, &size);
  assert_ok(kdl_inflate(KDL_CODEC_ZSTD, bomb, size, out, total));
  assert_memory_equal(out, "head\0", 6);
  assert_int_equal(out[total - 1], 0);
  free(bomb);
  bomb = lz4_bomb(total, &size);
  memset(out, 1, total);
  assert_ok(kdl_inflate(KDL_CODEC_LZ4, bomb, size, out, total));
  for (size_t i = 0; i < total; ++i)
    assert_int_equal(out[i], 0);
  free(bomb);
  free(out);
}

/* ------------------------------------------------------------------------------------------ */

/* Every cut is refused, whatever it cuts; every flipped bit is refused or changes nothing else than
 * the output. */
static void survives_damage(void **state) {
  (void)state;
  skip_without_any(codecs, COUNT(codecs));
  uint8_t *text = make_text(300);
  for (size_t c = 0; c < COUNT(codecs); ++c) {
    size_t packed_size;
    uint8_t *packed = pack(codecs[c], text, 300, &packed_size);
    uint8_t *out = malloc(300);
    for (size_t cut = 0; cut < packed_size; ++cut) {
      uint8_t *exact = malloc(cut ? cut : 1);
      memcpy(exact, packed, cut);
      assert_int_equal(kdl_inflate(codecs[c], exact, cut, out, 300), KDL_BAD_FILE);
      free(exact);
    }
    for (size_t bit = 0; bit < packed_size * 8; ++bit) {
      packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
      kdl_inflate(codecs[c], packed, packed_size, out, 300);
      packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_ok(kdl_inflate(codecs[c], packed, packed_size, out, 300));
    free(out);
    free(packed);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_what_is_missing), /* before any codec is used */
      cmocka_unit_test(loads_once_for_all_threads),
      cmocka_unit_test(refuses_what_only_the_vendor_reads),
      cmocka_unit_test(inflates_zstd),
      cmocka_unit_test(inflates_zlib),
      cmocka_unit_test(inflates_lz4),
      cmocka_unit_test(inflates_step_by_step),
      cmocka_unit_test(has_no_steps_for_lz4),
      cmocka_unit_test(accepts_zeros_after_the_end),
      cmocka_unit_test(goes_on_to_the_next_frame),
      cmocka_unit_test(refuses_a_stream_that_ends_early),
      cmocka_unit_test(refuses_a_stream_that_goes_on),
      cmocka_unit_test(refuses_a_stream_cut_short),
      cmocka_unit_test(refuses_garbage_after_the_end),
      cmocka_unit_test(refuses_what_is_not_packed),
      cmocka_unit_test(refuses_a_wide_zstd_window),
      cmocka_unit_test(stops_a_bomb_at_the_declared_size),
      cmocka_unit_test(stops_a_zlib_bomb_at_the_declared_size),
      cmocka_unit_test(builds_true_bombs),
      cmocka_unit_test(survives_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
