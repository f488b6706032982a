/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device specs as text: parsing, printing, and error messages. */
#include "device_support.h"
#include "lib/hooks.h"
#include "same_spec.h"

#define GRAMMAR " (grammar: BACKEND:ARCH [KEY=VALUE]...)"
#define KEYS                                                                                       \
  "features os_off refused name platform driver class ordinal uuid pci memory units il ptx "       \
  "subgroups max_block shared shared_optin cooperative cluster l1d l2 l3 tools"

/* ------------------------------------------------------------------------------------------ */
/* Round trips                                                                                  */

static void lines_that_print_as_they_were_written(void **state) {
  (void)state;
  static const char *const lines[] = {
      "cuda:sm_90",
      "cuda:sm_90 driver=13.0 memory=141GB",
      "cuda:sm_120 name=\"NVIDIA GeForce RTX 5090\" ptx=9.0 cluster=8",
      "hip:gfx90a:sramecc+:xnack-",
      "hip:gfx942:sramecc+:xnack- driver=6.4.43482 memory=192GiB subgroups=64 cooperative=yes",
      "level_zero:ip=12.60.7",
      "level_zero:pvc il=1.5 subgroups=16+32",
      "level_zero:spirv64 il=1.2",
      "opencl:spirv64",
      "opencl:spirv64 il=1.4",
      "opencl:sm_90 platform=\"NVIDIA CUDA\" driver=580.159.04",
      "opencl:spirv32 platform=\"Portable Computing Language\" driver=3.1+debian class=cpu",
      "host:x86-64",
      "host:x86-64-v4+avx512_bf16+avx512_vnni",
      "host:x86-64-v2 os_off=avx+avx2 refused=amx_tile",
      "host:znver4 units=96 l1d=32KiB l2=1MiB l3=256MiB",
      "host:neoverse-v2",
      "host:armv9-a+sve2-bitperm features=sve_vl_256",
      "cuda:sm_80 ordinal=0 uuid=12345678-9abc-def0-1234-56789abcdef0 pci=0000:65:00.0",
      "cuda:sm_80 ordinal=7 pci=10001:ff:1f.7",
      "cuda:sm_80 name=\"a \\\"quoted\\\" \\\\ name\"",
      "cuda:sm_80 name=Größe",
      "cuda:sm_80 max_block=1024 shared=48KiB shared_optin=227KiB",
      "cuda:sm_80 memory=18446744073709551615",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    kdl_device_spec spec = spec_of(lines[i]);
    assert_string_equal(line_of(&spec), lines[i]);
  }
}

static void lines_that_print_in_the_usual_form(void **state) {
  (void)state;
  static const struct {
    const char *written, *printed;
  } rows[] = {
      {"  cuda:sm_90\t driver=13.0  ", "cuda:sm_90 driver=13.0"},
      {"cuda:sm_90 memory=141000MB", "cuda:sm_90 memory=141GB"},
      {"cuda:sm_90 memory=1024MiB", "cuda:sm_90 memory=1GiB"},
      {"cuda:sm_90 memory=0", "cuda:sm_90"},
      {"cuda:sm_90 shared=49152", "cuda:sm_90 shared=48KiB"},
      {"cuda:sm_90 shared=49152B", "cuda:sm_90 shared=48KiB"},
      {"cuda:sm_90 name=\"\" driver=13.0", "cuda:sm_90 driver=13.0"},
      {"cuda:sm_90 name=\"plain\"", "cuda:sm_90 name=plain"},
      {"cuda:sm_90 driver=13.0 name=x", "cuda:sm_90 name=x driver=13.0"},
      {"cuda:sm_90 uuid=GPU-12345678-9ABC-DEF0-1234-56789ABCDEF0",
       "cuda:sm_90 uuid=12345678-9abc-def0-1234-56789abcdef0"},
      {"cuda:sm_90 uuid=123456789abcdef0123456789abcdef0",
       "cuda:sm_90 uuid=12345678-9abc-def0-1234-56789abcdef0"},
      {"cuda:sm_90 pci=65:0.0", "cuda:sm_90 pci=0000:65:00.0"},
      {"cuda:sm_90 subgroups=32+16+32", "cuda:sm_90 subgroups=16+32"},
      {"cuda:sm_90 cooperative=no", "cuda:sm_90"},
      {"opencl:spirv64 il=1", "opencl:spirv64 il=1.0"},
      {"opencl:spirv64 features=fp64,images", "opencl:spirv64 features=fp64+images"},
      {"level_zero:12.60.7", "level_zero:ip=12.60.7"},
      {"level_zero:ip=pvc", "level_zero:pvc"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec = spec_of(rows[i].written);
    assert_string_equal(line_of(&spec), rows[i].printed);
  }
}

static void any_spec_prints_to_a_line_that_parses_to_it(void **state) {
  (void)state;
  uint64_t seed = 20261115;
  for (int i = 0; i < 20000; ++i) {
    kdl_device_spec spec = random_spec(&seed);
    kdl_device_spec again;
    const char *line = line_of(&spec);
    if (kdl_device_spec_parse(line, &again) != KDL_OK)
      fail_msg("%s", kdl_error_message());
    assert_true(is_same_spec(&spec, &again));
    assert_string_equal(line_of(&again), line);
  }
}

static void the_longest_spec_fits_its_line(void **state) {
  (void)state;
  kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
  strcpy(spec.arch, "x86-64-v4");
  while (strlen(spec.arch) + 8 < sizeof spec.arch)
    strcat(spec.arch, "+avx512f");
  strcpy(spec.features, "avx512f");
  while (strlen(spec.features) + 8 < sizeof spec.features)
    strcat(spec.features, "+avx512f");
  strcpy(spec.os_off, spec.features);
  strcpy(spec.refused, spec.features);
  memset(spec.name, '"', sizeof spec.name - 1);
  memset(spec.platform, '\\', sizeof spec.platform - 1);
  memset(spec.driver, '"', sizeof spec.driver - 1);
  size_t count;
  const kdl_spec_key *keys = kdl_spec_keys(&count);
  for (size_t i = 0; i < count; ++i) {
    if (keys[i].kind == KDL_SPEC_KIND_BYTES)
      kdl_spec_value_set_number(&spec, &keys[i], UINT64_MAX);
    if (keys[i].kind == KDL_SPEC_KIND_COUNT || keys[i].kind == KDL_SPEC_KIND_ORDINAL)
      kdl_spec_value_set_number(&spec, &keys[i], UINT32_MAX);
  }
  spec.uuid.known = spec.pci.known = spec.cooperative = true;
  spec.il = spec.ptx = spec.subgroups = UINT32_MAX;
  spec.pci.domain = UINT32_MAX;
  spec.device_class = KDL_DEVICE_ACCELERATOR;
  kdl_device_spec again = spec_of(line_of(&spec));
  assert_true(is_same_spec(&spec, &again));
}

/* ------------------------------------------------------------------------------------------ */
/* Mistakes                                                                                     */

/* A row without a message is no mistake. */
static const struct {
  const char *line, *message;
} mistakes[] = {
    {"", "device spec '': offset 0: found the end, expected a backend: host cuda hip level_zero "
         "opencl" GRAMMAR},
    {"cuad:sm_90", "device spec 'cuad:sm_90': offset 0: found 'cuad', expected a backend: host "
                   "cuda hip level_zero opencl; did you mean 'cuda'?" GRAMMAR},
    {"vulkan:1", "device spec 'vulkan:1': offset 0: found 'vulkan', expected a backend: host cuda "
                 "hip level_zero opencl" GRAMMAR},
    {"cuda", "device spec 'cuda': offset 4: found the end, expected ':' and an arch after the "
             "backend" GRAMMAR},
    {"cuda sm_90", "device spec 'cuda sm_90': offset 4: found ' ', expected ':' and an arch after "
                   "the backend" GRAMMAR},
    {"cuda:", "device spec 'cuda:': offset 5: found the end, expected an arch of at most 1023 "
              "bytes, as in cuda:sm_90" GRAMMAR},
    {"level_zero:ip= il=1.4", "device spec 'level_zero:ip= il=1.4': offset 14: found ' ', expected "
                              "an arch of at most 1023 bytes, as in level_zero:ip=12.60.7" GRAMMAR},
    {"cuda:gfx90a", "device spec 'cuda:gfx90a': offset 5: found 'gfx90a', expected sm_NN or "
                    "compute_NN, with 'a' or 'f' behind it if need be" GRAMMAR},
    {"hip:gfx90b", "device spec 'hip:gfx90b': offset 4: found 'gfx90b', expected a processor "
                   "(gfx90a, gfx11-generic) and its features; did you mean 'gfx900'?" GRAMMAR},
    {"hip:gfx90a:xnak+",
     "device spec 'hip:gfx90a:xnak+': offset 11: found 'xnak', expected sramecc+, sramecc-, "
     "xnack+ "
     "or xnack-, each at most once and only where the processor has it" GRAMMAR},
    {"level_zero:ip=12.60", "device spec 'level_zero:ip=12.60': offset 19: found the end, expected "
                            "an IP version (12.60.7) or a product (pvc, dg2-g10, bmg-g21)" GRAMMAR},
    {"opencl:spirv", NULL},
    {"opencl:ptx", "device spec 'opencl:ptx': offset 7: found 'ptx', expected spirv64 or "
                   "spirv32" GRAMMAR},
    {"host:znver6", "device spec 'host:znver6': offset 5: found 'znver6', expected x86-64 to "
                    "x86-64-v4, armv8-a to armv9.4-a or a CPU, then +features; did you mean "
                    "'znver1'?" GRAMMAR},
    {"host:x86-64-v4+avx512_bf61",
     "device spec 'host:x86-64-v4+avx512_bf61': offset 15: found 'avx512_bf61', expected an "
     "x86-64 "
     "feature, as in +avx512_bf16; did you mean 'avx512_bf16'?" GRAMMAR},
    {"host:neoverse-v2+svee2", "device spec 'host:neoverse-v2+svee2': offset 17: found 'svee2', "
                               "expected an AArch64 feature, as in +sve2; did you mean "
                               "'sve2'?" GRAMMAR},
    {"cuda:sm_90 drivr=13.0", "device spec 'cuda:sm_90 drivr=13.0': offset 11: found 'drivr', "
                              "expected a key: " KEYS "; did you mean 'driver'?" GRAMMAR},
    {"cuda:sm_90 =13.0", "device spec 'cuda:sm_90 =13.0': offset 11: found '=', expected a "
                         "key: " KEYS GRAMMAR},
    {"cuda:sm_90 driver", "device spec 'cuda:sm_90 driver': offset 17: found the end, expected '=' "
                          "and a value after the key" GRAMMAR},
    {"cuda:sm_90 driver=", "device spec 'cuda:sm_90 driver=': offset 18: found the end, expected a "
                           "value; an empty one is \"\"" GRAMMAR},
    {"cuda:sm_90 driver=13.0 driver=12.0", "device spec 'cuda:sm_90 driver=13.0 driver=12.0': "
                                           "offset 23: found 'driver', expected each key "
                                           "once" GRAMMAR},
    {"cuda:sm_90 driver=new",
     "device spec 'cuda:sm_90 driver=new': offset 18: found 'new', expected "
     "a version for driver, as in 13.0" GRAMMAR},
    {"cuda:sm_90 driver=\"13.x\"",
     "device spec 'cuda:sm_90 driver=\"13.x\"': offset 22: found 'x', "
     "expected a version for driver, as in 13.0" GRAMMAR},
    {"cuda:sm_90 driver=470.82", "device spec 'cuda:sm_90 driver=470.82': offset 18: found "
                                 "'470.82', expected a CUDA version for "
                                 "driver, as in 13.0; that of NVIDIA's driver 470 is 11.4" GRAMMAR},
    {"cuda:sm_90 driver=535", "device spec 'cuda:sm_90 driver=535': offset 18: found '535', "
                              "expected a CUDA version for driver, as in 13.0; that of NVIDIA's "
                              "driver 535 is 12.2" GRAMMAR},
    {"cuda:sm_90 driver=100.1", "device spec 'cuda:sm_90 driver=100.1': offset 18: found '100.1', "
                                "expected a CUDA version for driver, as in 13.0; nvidia-smi prints "
                                "it as \"CUDA Version\"" GRAMMAR},
    {"cuda:sm_90 name=\"abc", "device spec 'cuda:sm_90 name=\"abc': offset 16: found '\"abc', "
                              "expected '\"' at the end of the value" GRAMMAR},
    {"cuda:sm_90 name=\"abc\"d", "device spec 'cuda:sm_90 name=\"abc\"d': offset 21: found 'd', "
                                 "expected a blank after the value" GRAMMAR},
    {"cuda:sm_90 name=\"a\\b\"", "device spec 'cuda:sm_90 name=\"a\\b\"': offset 19: found 'b\"', "
                                 "expected '\"' or '\\' after a backslash" GRAMMAR},
    {"cuda:sm_90 name=a\"b", "device spec 'cuda:sm_90 name=a\"b': offset 17: found '\"b', expected "
                             "quotes around the whole value" GRAMMAR},
    {"cuda:sm_90 name=\"a\x01z\"", "device spec 'cuda:sm_90 name=\"a\\x01z\"': offset 18: found "
                                   "'\\x01z', expected for name: UTF-8 "
                                   "without control characters" GRAMMAR},
    {"cuda:sm_90 name=\xff",
     "device spec 'cuda:sm_90 name=\\xff': offset 16: found '\\xff', expected "
     "for name: UTF-8 without control characters" GRAMMAR},
    {"cuda:sm_90 class=fast",
     "device spec 'cuda:sm_90 class=fast': offset 17: found 'fast', expected "
     "for class: discrete, integrated, accelerator or cpu" GRAMMAR},
    {"cuda:sm_90 ordinal=-1",
     "device spec 'cuda:sm_90 ordinal=-1': offset 19: found '-1', expected "
     "for ordinal: a number below 2^32" GRAMMAR},
    {"cuda:sm_90 units=4294967296", "device spec 'cuda:sm_90 units=4294967296': offset 26: found "
                                    "'6', expected for units: a number "
                                    "below 2^32" GRAMMAR},
    {"cuda:sm_90 units=12x",
     "device spec 'cuda:sm_90 units=12x': offset 19: found 'x', expected for "
     "units: a number below 2^32" GRAMMAR},
    {"cuda:sm_90 uuid=1234",
     "device spec 'cuda:sm_90 uuid=1234': offset 20: found the end, expected "
     "for uuid: 32 hexadecimal digits, as in "
     "12345678-9abc-def0-1234-56789abcdef0" GRAMMAR},
    {"cuda:sm_90 uuid=123456789abcdef0123456789abcdef0ff",
     "device spec 'cuda:sm_90 uuid=123456789abcdef0123456789abcdef0ff': offset 48: found 'ff', "
     "expected for uuid: 32 hexadecimal digits, as in "
     "12345678-9abc-def0-1234-56789abcdef0" GRAMMAR},
    {"cuda:sm_90 pci=0000:65:20.0", "device spec 'cuda:sm_90 pci=0000:65:20.0': offset 23: found "
                                    "'20.0', expected for pci: a PCI address, as in "
                                    "0000:65:00.0" GRAMMAR},
    {"cuda:sm_90 pci=65",
     "device spec 'cuda:sm_90 pci=65': offset 15: found '65', expected for pci: a "
     "PCI address, as in 0000:65:00.0" GRAMMAR},
    {"cuda:sm_90 memory=14XB",
     "device spec 'cuda:sm_90 memory=14XB': offset 20: found 'XB', expected "
     "for memory: a number of bytes, as in 80GB, 48KiB or 4096" GRAMMAR},
    {"cuda:sm_90 memory=GB",
     "device spec 'cuda:sm_90 memory=GB': offset 18: found 'GB', expected for "
     "memory: a number of bytes, as in 80GB, 48KiB or 4096" GRAMMAR},
    {"cuda:sm_90 memory=17000000TiB",
     "device spec 'cuda:sm_90 memory=17000000TiB': offset 18: found '17000000TiB', expected for "
     "memory: less than 2^64 bytes" GRAMMAR},
    {"cuda:sm_90 memory=18446744073709551616",
     "device spec 'cuda:sm_90 memory=18446744073709551616': offset 18: found "
     "'18446744073709551616', expected for memory: less than 2^64 bytes" GRAMMAR},
    {"opencl:spirv64 il=x",
     "device spec 'opencl:spirv64 il=x': offset 18: found 'x', expected for il: "
     "a version, as in 1.4" GRAMMAR},
    {"opencl:spirv64 il=1-4",
     "device spec 'opencl:spirv64 il=1-4': offset 19: found '-4', expected "
     "for il: a version, as in 1.4" GRAMMAR},
    {"opencl:spirv64 il=1.4.2", "device spec 'opencl:spirv64 il=1.4.2': offset 21: found '.2', "
                                "expected for il: a version, as in 1.4" GRAMMAR},
    {"cuda:sm_90 subgroups=16+3", "device spec 'cuda:sm_90 subgroups=16+3': offset 24: found '3', "
                                  "expected for subgroups: powers of two joined by '+', as in "
                                  "16+32" GRAMMAR},
    {"cuda:sm_90 cooperative=1", "device spec 'cuda:sm_90 cooperative=1': offset 23: found '1', "
                                 "expected for cooperative: yes or no" GRAMMAR},
    {"cuda:sm_90 features=fp8++bf16", "device spec 'cuda:sm_90 features=fp8++bf16': offset 24: "
                                      "found '+bf16', expected for features: "
                                      "feature tokens joined by '+'" GRAMMAR},
    {"cuda:sm_90 features=fp8+",
     "device spec 'cuda:sm_90 features=fp8+': offset 24: found the end, "
     "expected for features: feature tokens joined by '+'" GRAMMAR},
    {"opencl:spirv64 features=fp64+subgruops",
     "device spec 'opencl:spirv64 features=fp64+subgruops': offset 29: found 'subgruops', "
     "expected a "
     "feature token; tokens are joined by '+'; did you mean 'subgroups'?" GRAMMAR},
    {"host:x86-64-v3 os_off=avx513f",
     "device spec 'host:x86-64-v3 os_off=avx513f': offset 22: found 'avx513f', expected a "
     "feature "
     "token; tokens are joined by '+'; did you mean 'avx512f'?" GRAMMAR},
    {"cuda:sm_90 platform=",
     "device spec 'cuda:sm_90 platform=': offset 20: found the end, expected a "
     "value; an empty one is \"\"" GRAMMAR},
};

static void every_mistake_is_told_at_its_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; ++i) {
    kdl_device_spec spec;
    if (mistakes[i].message)
      assert_fails(kdl_device_spec_parse(mistakes[i].line, &spec), KDL_BAD_CALL,
                   mistakes[i].message);
    else
      assert_ok(kdl_device_spec_parse(mistakes[i].line, &spec));
  }
}

static void too_long_is_refused(void **state) {
  (void)state;
  char line[KDL_SPEC_LINE + 1];
  kdl_device_spec spec;
  memset(line, 'x', sizeof line);
  line[KDL_SPEC_LINE] = '\0';
  assert_fails(kdl_device_spec_parse(line, &spec), KDL_BAD_CALL,
               "device spec: found 4096 bytes, expected at most 4095");
  line[KDL_SPEC_LINE - 1] = '\0';
  memcpy(line, "cuda:", 5);
  assert_int_equal(kdl_device_spec_parse(line, &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 5: found 'xxx"));
  assert_non_null(strstr(kdl_error_message(), "expected an arch of at most 1023 bytes"));
  snprintf(line, sizeof line, "cuda:sm_90 name=%0200d", 0);
  assert_int_equal(kdl_device_spec_parse(line, &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 143: "));
  assert_non_null(strstr(kdl_error_message(), "expected for name: at most 127 bytes"));
  snprintf(line, sizeof line, "opencl:spirv64 driver=%0100d", 0);
  assert_int_equal(kdl_device_spec_parse(line, &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "expected for driver: at most 63 bytes"));
  snprintf(line, sizeof line, "opencl:spirv64 features=%0600d", 0);
  assert_int_equal(kdl_device_spec_parse(line, &spec), KDL_BAD_CALL);
  assert_non_null(
      strstr(kdl_error_message(), "expected for features: at most 511 bytes of tokens"));
}

static void a_failure_leaves_the_spec_alone(void **state) {
  (void)state;
  kdl_device_spec spec = spec_of("cuda:sm_90 driver=13.0");
  assert_int_equal(kdl_device_spec_parse("cuda:sm_80 drivr=1", &spec), KDL_BAD_CALL);
  assert_string_equal(line_of(&spec), "cuda:sm_90 driver=13.0");
}

/* ------------------------------------------------------------------------------------------ */
/* Meaning                                                                                      */

static void keys_replace_what_a_spec_says(void **state) {
  (void)state;
  kdl_device_routes routes;
  assert_ok(kdl_device_routes_parse("cuda:sm_90 driver=13.0 memory=80GB | opencl:sm_90", &routes));
  assert_ok(kdl_device_routes_parse_keys("h100 driver=12.4", 4, &routes));
  assert_string_equal(line_of(&routes.specs[0]), "cuda:sm_90 driver=12.4 memory=80GB");
  assert_int_equal(routes.count, 2);
  assert_string_equal(line_of(&routes.specs[1]), "opencl:sm_90");
  assert_ok(kdl_device_routes_parse_keys("h100 | opencl:spirv64", 4, &routes));
  assert_int_equal(routes.count, 2);
  assert_string_equal(line_of(&routes.specs[1]), "opencl:spirv64");
  kdl_device_spec spec;
  assert_int_equal(kdl_device_spec_parse("cuda:sm_90 | opencl:sm_90", &spec), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 11: found '|', expected one route"));
}

static void family_class_and_driver(void **state) {
  (void)state;
  static const struct {
    const char *line;
    kdl_target_family family;
    kdl_device_class device_class;
    uint32_t driver;
  } rows[] = {
      {"cuda:sm_90 driver=13.0", KDL_FAMILY_NVPTX, KDL_DEVICE_DISCRETE, KDL_VERSION_OF(13, 0)},
      {"cuda:sm_90", KDL_FAMILY_NVPTX, KDL_DEVICE_DISCRETE, 0},
      {"cuda:sm_87 class=integrated driver=12", KDL_FAMILY_NVPTX, KDL_DEVICE_INTEGRATED,
       KDL_VERSION_OF(12, 0)},
      {"hip:gfx942 driver=6.4.43482", KDL_FAMILY_AMDGCN, KDL_DEVICE_DISCRETE, KDL_VERSION_OF(6, 4)},
      {"level_zero:bmg driver=1.6.3", KDL_FAMILY_INTEL, KDL_DEVICE_DISCRETE, 0},
      {"level_zero:spirv64", KDL_FAMILY_SPIRV, KDL_DEVICE_DISCRETE, 0},
      {"opencl:spirv64 class=cpu driver=3.1", KDL_FAMILY_SPIRV, KDL_DEVICE_CPU, 0},
      {"host:x86-64-v3", KDL_FAMILY_X86_64, KDL_DEVICE_CPU, 0},
      {"host:znver4", KDL_FAMILY_X86_64, KDL_DEVICE_CPU, 0},
      {"host:neoverse-v1", KDL_FAMILY_AARCH64, KDL_DEVICE_CPU, 0},
      {"host:armv8.2-a+sve", KDL_FAMILY_AARCH64, KDL_DEVICE_CPU, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec = spec_of(rows[i].line);
    assert_int_equal(kdl_device_spec_family(&spec), rows[i].family);
    assert_int_equal(kdl_device_spec_class(&spec), rows[i].device_class);
    assert_int_equal(kdl_device_spec_driver(&spec), rows[i].driver);
  }
}

static bool runs(const char *line, kdl_image_kind kind, const char *arch, const char *requires) {
  kdl_device_spec spec = spec_of(line);
  kdl_device_rule device;
  assert_ok(kdl_device_spec_compile(&spec, &device));
  kdl_pair pair = {KDL_TEXT("requires_features"), kdl_text_of(requires)};
  kdl_image_rule image;
  kdl_image_compile(&(kdl_image_desc){.kind = kind,
                                      .arch = kdl_text_of(arch),
                                      .triple = kdl_text_of(
                                          kind == KDL_IMAGE_SPIRV ? "spirv64-unknown-unknown" : ""),
                                      .pairs = &pair,
                                      .pair_count = *requires != '\0',
                                      .version_major = kind == KDL_IMAGE_SPIRV,
                                      .version_minor = 4},
                    &image);
  return kdl_match_admits(&image, &device);
}

/* Every key that the rules look at reaches them. */
static void specs_compile_to_what_they_say(void **state) {
  (void)state;
  assert_true(runs("cuda:sm_90", KDL_IMAGE_CUBIN, "sm_90", ""));
  assert_false(runs("cuda:sm_80", KDL_IMAGE_CUBIN, "sm_90", ""));
  assert_true(runs("hip:gfx90a:xnack+", KDL_IMAGE_HSACO, "gfx90a:xnack+", ""));
  assert_false(runs("hip:gfx90a:xnack-", KDL_IMAGE_HSACO, "gfx90a:xnack+", ""));
  assert_true(runs("level_zero:ip=12.60.7", KDL_IMAGE_ZEBIN, "12.60.7", ""));
  assert_true(runs("opencl:spirv64 il=1.4", KDL_IMAGE_SPIRV, "", ""));
  assert_false(runs("opencl:spirv64 il=1.3", KDL_IMAGE_SPIRV, "", ""));
  assert_false(runs("opencl:spirv64", KDL_IMAGE_SPIRV, "", ""));
  assert_true(runs("opencl:spirv64", KDL_IMAGE_CL, "", ""));
  assert_true(runs("opencl:sm_90", KDL_IMAGE_CL, "", ""));
  assert_true(runs("opencl:sm_90 driver=580.159.04", KDL_IMAGE_PTX, "sm_80", ""));
  assert_false(runs("opencl:sm_90", KDL_IMAGE_PTX, "sm_100", ""));
  assert_false(runs("opencl:sm_90", KDL_IMAGE_CUBIN, "sm_90", ""));
  assert_false(runs("opencl:sm_90 il=1.4", KDL_IMAGE_SPIRV, "", ""));
  assert_false(runs("level_zero:spirv64 il=1.4", KDL_IMAGE_CL, "", ""));
  assert_false(runs("cuda:sm_90", KDL_IMAGE_CL, "", ""));
  assert_true(runs("opencl:spirv64 il=1.4 features=fp64", KDL_IMAGE_SPIRV, "", "fp64"));
  assert_false(runs("opencl:spirv64 il=1.4", KDL_IMAGE_SPIRV, "", "fp64"));
  assert_true(
      runs("opencl:spirv64 il=1.4 subgroups=16+32", KDL_IMAGE_SPIRV, "", "subgroup_size_16"));
  assert_false(runs("opencl:spirv64 il=1.4 subgroups=32", KDL_IMAGE_SPIRV, "", "subgroup_size_16"));
  assert_true(runs("opencl:spirv64 il=1.4 features=fp64 cooperative=yes", KDL_IMAGE_SPIRV, "",
                   "fp64+cooperative_launch"));
  assert_true(runs("opencl:spirv64 il=1.4 cluster=8", KDL_IMAGE_SPIRV, "", "clusters"));
  assert_true(runs("host:x86-64-v3", KDL_IMAGE_OBJECT, "x86-64-v3", ""));
  assert_true(runs("host:x86-64-v2 features=avx2+bmi1+bmi2+f16c+fma+lzcnt+movbe", KDL_IMAGE_OBJECT,
                   "x86-64-v3", ""));
  assert_false(runs("host:znver4 os_off=avx512f", KDL_IMAGE_OBJECT, "x86-64-v4", ""));
  assert_false(
      runs("host:sapphirerapids refused=amx_tile", KDL_IMAGE_OBJECT, "sapphirerapids", ""));
}

/* What the system keeps off takes nothing with it that it builds on. */
static void what_is_off_is_off_alone(void **state) {
  (void)state;
  assert_true(runs("host:x86-64-v2 os_off=avx+avx2", KDL_IMAGE_OBJECT, "x86-64-v2", ""));
  assert_true(runs("host:znver4 os_off=avx512f", KDL_IMAGE_OBJECT, "x86-64-v3", ""));
  assert_true(runs("host:sapphirerapids refused=amx_tile", KDL_IMAGE_OBJECT, "x86-64-v4", ""));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_that_print_as_they_were_written),
      cmocka_unit_test(lines_that_print_in_the_usual_form),
      cmocka_unit_test(any_spec_prints_to_a_line_that_parses_to_it),
      cmocka_unit_test(the_longest_spec_fits_its_line),
      cmocka_unit_test(every_mistake_is_told_at_its_place),
      cmocka_unit_test(too_long_is_refused),
      cmocka_unit_test(a_failure_leaves_the_spec_alone),
      cmocka_unit_test(keys_replace_what_a_spec_says),
      cmocka_unit_test(family_class_and_driver),
      cmocka_unit_test(specs_compile_to_what_they_say),
      cmocka_unit_test(what_is_off_is_off_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
