/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The per-kernel key: reading, printing, comparing, and whether a device can launch it. */
#include "lib/target/kernel_key.h"

#include "kernel_key_text.h"
#include "target_case.h"

static kdl_kernel_key parse(const char *text) {
  kdl_kernel_key key;
  kdl_parse_error error = {0, NULL};
  if (!kdl_kernel_parse(kdl_text_of(text), &key, &error))
    fail_msg("%s: position %zu: expected %s", text, error.position, error.expected);
  return key;
}

static const char *print(const kdl_kernel_key *key) {
  static char buffer[512];
  kdl_out out = {buffer, sizeof buffer, 0};
  buffer[0] = '\0';
  out_kernel_key(&out, key);
  return buffer;
}

static void names(void **state) {
  (void)state;
  kdl_string name;
  assert_true(kdl_kernel_name(KDL_TEXT("kdl.kernel.saxpy"), &name));
  assert_true(kdl_text_is(name, "saxpy"));
  assert_true(kdl_kernel_name(KDL_TEXT("kdl.kernel.a.b"), &name));
  assert_true(kdl_text_is(name, "a.b"));
  assert_false(kdl_kernel_name(KDL_TEXT("kdl.kernel."), &name));
  assert_false(kdl_kernel_name(KDL_TEXT("kdl.kernels.saxpy"), &name));
  assert_false(kdl_kernel_name(KDL_TEXT("triple"), &name));
}

static void all_fields(void **state) {
  (void)state;
  kdl_kernel_key key =
      parse("sig=f32 ptr<f32> ptr<f32> u32; block=256x1x1; tile=256x4x1; shared=49152; hidden=2; "
            "coop=1; cluster=2x1x1; subgroup=32; min_memory=4GiB; rev=3; const=1 2; names=a x y n; "
            "when=n<=16 & items.x>0; shape=n; effects=add; trial=safe; numerics=exact; "
            "specialize=n a x block");
  assert_int_equal(key.present, (1 << KDL_KERNEL_FIELD_COUNT) - 1);
  assert_int_equal(key.param_count, 4);
  assert_int_equal(key.block[0], 256);
  assert_int_equal(key.tile[1], 4);
  assert_int_equal(key.shared, 49152);
  assert_int_equal(key.hidden, 2);
  assert_int_equal(key.coop, 1);
  assert_int_equal(key.cluster[0], 2);
  assert_int_equal(key.subgroup, 32);
  assert_int_equal(key.min_memory, 4ull << 30);
  assert_int_equal(key.rev, 3);
  assert_true(kdl_text_is(key.constants, "1 2"));
}

static void absent_fields(void **state) {
  (void)state;
  kdl_kernel_key key = parse("rev=0");
  assert_int_equal(key.present, 1 << KDL_KERNEL_REV);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(key.block[i], 1);
    assert_int_equal(key.tile[i], 1);
    assert_int_equal(key.cluster[i], 1);
  }
  assert_int_equal(key.param_count, 0);
  assert_int_equal(key.shared, 0);
}

static void canonical_form(void **state) {
  (void)state;
  static const struct {
    const char *text, *canonical;
  } rows[] = {
      {"sig=f32 ptr<f32> ptr<f32> u32; block=256x1x1; tile=256x1x1; shared=0; hidden=0; coop=0; "
       "rev=1",
       "sig=f32 ptr<f32> ptr<f32> u32; block=256x1x1; tile=256x1x1; shared=0; hidden=0; coop=0; "
       "rev=1"},
      {"rev=1;block=256;sig=  f32   ptr<f32> ", "sig=f32 ptr<f32>; block=256x1x1; rev=1"},
      {"block=16x16", "block=16x16x1"},
      {"min_memory=2GB; shared=1KiB", "shared=1024; min_memory=2000000000"},
      {"sig=", "sig="},
      {"const=0   2 ; sig=ptr<f32>", "sig=ptr<f32>; const=0   2"},
      {"rev=1; colour=blue green ; block=8", "block=8x1x1; rev=1; colour=blue green"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_kernel_key key = parse(rows[i].text);
    assert_string_equal(print(&key), rows[i].canonical);
    kdl_kernel_key again = parse(rows[i].canonical);
    char first[512];
    strcpy(first, print(&key));
    assert_string_equal(print(&again), first);
  }
}

static void parameters(void **state) {
  (void)state;
  static const struct {
    const char *text;
    kdl_param_kind kind;
    uint32_t size, align;
  } rows[] = {
      {"i8", KDL_PARAM_INT, 1, 1},
      {"i16", KDL_PARAM_INT, 2, 2},
      {"i32", KDL_PARAM_INT, 4, 4},
      {"i64", KDL_PARAM_INT, 8, 8},
      {"i128", KDL_PARAM_INT, 16, 16},
      {"u8", KDL_PARAM_UINT, 1, 1},
      {"u64", KDL_PARAM_UINT, 8, 8},
      {"f8", KDL_PARAM_FLOAT, 1, 1},
      {"f16", KDL_PARAM_FLOAT, 2, 2},
      {"bf16", KDL_PARAM_FLOAT, 2, 2},
      {"f32", KDL_PARAM_FLOAT, 4, 4},
      {"f64", KDL_PARAM_FLOAT, 8, 8},
      {"ptr<f32>", KDL_PARAM_PTR, 0, 0},
      {"ptr<void>", KDL_PARAM_PTR, 0, 0},
      {"ptr<bf16>", KDL_PARAM_PTR, 0, 0},
      {"ptr<ptr<u8>>", KDL_PARAM_PTR, 0, 0},
      {"ptr<bytes<24:8>>", KDL_PARAM_PTR, 0, 0},
      {"bytes<24:8>", KDL_PARAM_BYTES, 24, 8},
  };
  char sig[512] = "";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    strcat(sig, rows[i].text);
    strcat(sig, " ");
  }
  size_t at = 0;
  kdl_param param;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_true(kdl_signature_next(kdl_text_of(sig), &at, &param, NULL));
    assert_true(kdl_text_is(param.text, rows[i].text));
    assert_int_equal(param.kind, rows[i].kind);
    assert_int_equal(param.size, rows[i].size);
    assert_int_equal(param.align, rows[i].align);
  }
  assert_false(kdl_signature_next(kdl_text_of(sig), &at, &param, NULL));
  assert_int_equal(at, strlen(sig));
}

static void bad_keys(void **state) {
  (void)state;
  static const char field[] = "name=value; fields are separated by ';'";
  static const char sig[] = "types separated by spaces: iN uN fN bf16 ptr<T> bytes<N:align>";
  static const char extent[] = "one to three numbers joined by 'x': 256x1x1";
  static const char constants[] = "numbers of parameters, from 0, separated by spaces";
  static const struct {
    const char *text;
    size_t position;
    const char *expected;
  } rows[] = {
      {"", 0, field},
      {"rev", 3, field},
      {"rev=1;", 6, field},
      {"; rev=1", 0, field},
      {"rev=1; =2", 7, field},
      {"rev =1", 3, field},
      {"REV=1", 0, field},
      {"rev=1; rev=2", 7, "each field once"},
      {"rev=x", 4, "an unsigned number up to 4294967295"},
      {"rev=4294967296", 13, "an unsigned number up to 4294967295"},
      {"rev=1 2", 5, "an unsigned number up to 4294967295"},
      {"const=", 6, constants},
      {"const=x", 6, constants},
      {"const=1,2", 7, constants},
      {"const=1 4294967296", 17, constants},
      {"block=", 6, extent},
      {"block=0", 6, extent},
      {"block=256x0", 10, extent},
      {"block=1x2x3x4", 11, extent},
      {"block=256,1", 9, extent},
      {"tile=x", 5, extent},
      {"coop=2", 5, "0 or 1"},
      {"hidden=17", 7, "a number of pointers up to 16"},
      {"subgroup=24", 9, "8, 16, 32 or 64"},
      {"shared=big", 7, "a number of bytes"},
      {"min_memory=4TB", 12, "a number of bytes, or with KB, MB, GB, KiB, MiB, GiB"},
      {"sig=f32,u32", 7, sig},
      {"sig=f33", 5, sig},
      {"sig=f128", 5, sig},
      {"sig=i1", 5, sig},
      {"sig=float", 5, sig},
      {"sig=ptr", 4, sig},
      {"sig=ptr<>", 8, sig},
      {"sig=ptr<f32", 11, sig},
      {"sig=ptr<ptr<ptr<ptr<ptr<ptr<u8>>>>>>", 24, sig},
      {"sig=bytes<0:4>", 10, sig},
      {"sig=bytes<8:3>", 12, sig},
      {"sig=bytes<8>", 11, sig},
      {"sig=f32 q", 8, sig},
      {"colour=blue\n", 11, "printable text"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_kernel_key key;
    kdl_parse_error error = {99, NULL};
    if (kdl_kernel_parse(kdl_text_of(rows[i].text), &key, &error))
      fail_msg("%s was taken", rows[i].text);
    if (error.position != rows[i].position)
      fail_msg("%s: position %zu, expected %zu", rows[i].text, error.position, rows[i].position);
    assert_string_equal(error.expected, rows[i].expected);
  }
}

static void variants(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    bool same;
  } rows[] = {
      {"sig=f32 ptr<f32>; rev=1", "rev=1; sig=f32  ptr<f32>; block=64", true},
      {"sig=f32 ptr<f32>; rev=1", "sig=f32 ptr<f32>; rev=2", false},
      {"sig=f32 ptr<f32>; rev=1", "sig=f32 ptr<f16>; rev=1", false},
      {"sig=f32 ptr<f32>; rev=1", "sig=f32; rev=1", false},
      {"sig=; rev=1", "rev=1", true},
      {"sig=f32; rev=1", "rev=1", true}, /* what is not said contradicts nothing */
      {"sig=f32", "sig=f32; rev=2", true},
      {"sig=ptr<f32>; const=0", "sig=ptr<f32>", true},
      {"sig=f32; rev=1", "rev=2", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_kernel_key a = parse(rows[i].a);
    kdl_kernel_key b = parse(rows[i].b);
    assert_int_equal(kdl_kernel_is_variant(&a, &b), rows[i].same);
    assert_int_equal(kdl_kernel_is_variant(&b, &a), rows[i].same);
  }
}

static void limits_of_devices_are_kept(void **state) {
  (void)state;
  static const kdl_device_limits h200 = {1024, {1024, 1024, 64}, 232448, 8, 141000000000};
  static const kdl_device_limits unknown = {0};
  static const struct {
    const char *key, *device;
    const kdl_device_limits *limits;
    const char *expected;
  } rows[] = {
      {"block=1024; shared=232448; coop=1; cluster=8; subgroup=32; min_memory=141GB", "cuda sm_90",
       &h200, "runs"},
      {"block=1025", "cuda sm_90", &h200, "block_too_large"},
      {"block=32x32x2", "cuda sm_90", &h200, "block_too_large"},
      {"block=1x1x65", "cuda sm_90", &h200, "block_too_large"},
      {"block=4294967295x4294967295x4294967295", "cuda sm_90", &h200, "block_too_large"},
      {"shared=232449", "cuda sm_90", &h200, "shared_too_large"},
      {"cluster=16", "cuda sm_90", &h200, "no_clusters"},
      {"cluster=2", "cuda sm_89", &unknown, "no_clusters"},
      {"cluster=1", "cuda sm_89", &unknown, "runs"},
      {"coop=1", "cuda sm_53", &unknown, "no_cooperative_launch"},
      {"coop=0", "cuda sm_53", &unknown, "runs"},
      {"coop=1", "host x86-64", &unknown, "no_cooperative_launch"},
      {"subgroup=64", "cuda sm_90", &unknown, "subgroup_size"},
      {"subgroup=64", "hip gfx90a", &unknown, "runs"},
      {"subgroup=32", "hip gfx90a", &unknown, "subgroup_size"},
      {"subgroup=16", "level_zero pvc", &unknown, "runs"},
      {"subgroup=8", "level_zero pvc", &unknown, "subgroup_size"},
      {"subgroup=8", "host x86-64", &unknown, "subgroup_size"},
      {"min_memory=142GB", "cuda sm_90", &h200, "too_little_memory"},
      {"block=4096; shared=1GB; min_memory=1000GB", "cuda sm_90", &unknown, "runs"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    static device_case device;
    char codes[128];
    case_device(&device, rows[i].device);
    kdl_kernel_key key = parse(rows[i].key);
    const char *found =
        case_codes(kdl_kernel_reasons(&key, &device.rule, rows[i].limits), codes, sizeof codes);
    if (strcmp(found, rows[i].expected) != 0)
      fail_msg("%s on %s: expected %s, found %s", rows[i].key, rows[i].device, rows[i].expected,
               found);
  }
}

static void refusals_are_told_in_words(void **state) {
  (void)state;
  static const kdl_device_limits limits = {1024, {1024, 1024, 64}, 49152, 8, 1000};
  static const struct {
    const char *key;
    unsigned reason;
    const char *words;
  } rows[] = {
      {"block=1024x2", KDL_REASON_BLOCK_TOO_LARGE,
       "block=1024x2x1 is 2048 work-items; the device has groups of at most 1024 (1024x1024x64)"},
      {"shared=65536", KDL_REASON_SHARED_TOO_LARGE,
       "shared=65536; a group on the device has at most 49152 bytes"},
      {"coop=1", KDL_REASON_NO_COOPERATIVE_LAUNCH, "coop=1; the device has no cooperative launch"},
      {"cluster=16", KDL_REASON_NO_CLUSTERS,
       "cluster=16x1x1; the device has clusters of at most 8 groups"},
      {"subgroup=64", KDL_REASON_SUBGROUP_SIZE,
       "subgroup=64; the device has no subgroups of that size"},
      {"min_memory=2KB", KDL_REASON_TOO_LITTLE_MEMORY,
       "min_memory=2000; the device has 1000 bytes"},
  };
  char buffer[256];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_kernel_key key = parse(rows[i].key);
    kdl_kernel_reason_words(&key, &limits, rows[i].reason, buffer, sizeof buffer);
    assert_string_equal(buffer, rows[i].words);
  }
}

static void a_limit_that_is_unknown_is_not_named(void **state) {
  (void)state;
  const struct {
    kdl_device_limits limits;
    const char *words;
  } rows[] = {
      {{.threads = 1024},
       "block=1024x2x1 is 2048 work-items; the device has groups of at most 1024"},
      {{.block = {512, 512, 64}},
       "block=1024x2x1 is 2048 work-items; the device has groups of at most 512x512x64"},
  };
  char buffer[256];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_kernel_key key = parse("block=1024x2x1");
    kdl_kernel_reason_words(&key, &rows[i].limits, KDL_REASON_BLOCK_TOO_LARGE, buffer,
                            sizeof buffer);
    assert_string_equal(buffer, rows[i].words);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),
      cmocka_unit_test(all_fields),
      cmocka_unit_test(absent_fields),
      cmocka_unit_test(canonical_form),
      cmocka_unit_test(parameters),
      cmocka_unit_test(bad_keys),
      cmocka_unit_test(variants),
      cmocka_unit_test(limits_of_devices_are_kept),
      cmocka_unit_test(refusals_are_told_in_words),
      cmocka_unit_test(a_limit_that_is_unknown_is_not_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
