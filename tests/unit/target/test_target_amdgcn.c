/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD: every processor, target IDs, minima, and the order among images. */
#include "lib/target/families/gpu.h"
#include "lib/target/features/feature.h"
#include "lib/target/requirements.h"

#include "target_case.h"

/* AMDGPUUsage, "Processors" (target features supported), "Generic Processors" (members) and "ELF
 * Code Object: Header" (EF_AMDGPU_MACH); AMD's names of the families. */
static const struct {
  const char *name;
  unsigned mach;
  const char *features; /* of xnack and sramecc */
  const char *family;
  const char *generic;
} processors[] = {
    {"gfx600", 0x020, "", "gcn", ""},
    {"gfx601", 0x021, "", "gcn", ""},
    {"gfx602", 0x03a, "", "gcn", ""},
    {"gfx700", 0x022, "", "gcn", ""},
    {"gfx701", 0x023, "", "gcn", ""},
    {"gfx702", 0x024, "", "gcn", ""},
    {"gfx703", 0x025, "", "gcn", ""},
    {"gfx704", 0x026, "", "gcn", ""},
    {"gfx705", 0x03b, "", "gcn", ""},
    {"gfx801", 0x028, "xnack", "gcn", ""},
    {"gfx802", 0x029, "", "gcn", ""},
    {"gfx803", 0x02a, "", "gcn", ""},
    {"gfx805", 0x03c, "", "gcn", ""},
    {"gfx810", 0x02b, "xnack", "gcn", ""},
    {"gfx900", 0x02c, "xnack", "gcn", "gfx9-generic"},
    {"gfx902", 0x02d, "xnack", "gcn", "gfx9-generic"},
    {"gfx904", 0x02e, "xnack", "gcn", "gfx9-generic"},
    {"gfx906", 0x02f, "sramecc xnack", "gcn", "gfx9-generic"},
    {"gfx908", 0x030, "sramecc xnack", "cdna1", ""},
    {"gfx909", 0x031, "xnack", "gcn", "gfx9-generic"},
    {"gfx90a", 0x03f, "sramecc xnack", "cdna2", ""},
    {"gfx90c", 0x032, "xnack", "gcn", "gfx9-generic"},
    {"gfx940", 0x040, "sramecc xnack", "cdna3", "gfx9-4-generic"},
    {"gfx941", 0x04b, "sramecc xnack", "cdna3", "gfx9-4-generic"},
    {"gfx942", 0x04c, "sramecc xnack", "cdna3", "gfx9-4-generic"},
    {"gfx950", 0x04f, "sramecc xnack", "cdna4", "gfx9-4-generic"},
    {"gfx1010", 0x033, "xnack", "rdna1", "gfx10-1-generic"},
    {"gfx1011", 0x034, "xnack", "rdna1", "gfx10-1-generic"},
    {"gfx1012", 0x035, "xnack", "rdna1", "gfx10-1-generic"},
    {"gfx1013", 0x042, "xnack", "rdna1", "gfx10-1-generic"},
    {"gfx1030", 0x036, "", "rdna2", "gfx10-3-generic"},
    {"gfx1031", 0x037, "", "rdna2", "gfx10-3-generic"},
    {"gfx1032", 0x038, "", "rdna2", "gfx10-3-generic"},
    {"gfx1033", 0x039, "", "rdna2", "gfx10-3-generic"},
    {"gfx1034", 0x03e, "", "rdna2", "gfx10-3-generic"},
    {"gfx1035", 0x03d, "", "rdna2", "gfx10-3-generic"},
    {"gfx1036", 0x045, "", "rdna2", "gfx10-3-generic"},
    {"gfx1100", 0x041, "", "rdna3", "gfx11-generic"},
    {"gfx1101", 0x046, "", "rdna3", "gfx11-generic"},
    {"gfx1102", 0x047, "", "rdna3", "gfx11-generic"},
    {"gfx1103", 0x044, "", "rdna3", "gfx11-generic"},
    {"gfx1150", 0x043, "", "rdna3", "gfx11-generic"},
    {"gfx1151", 0x04a, "", "rdna3", "gfx11-generic"},
    {"gfx1152", 0x055, "", "rdna3", "gfx11-generic"},
    {"gfx1153", 0x058, "", "rdna3", "gfx11-generic"},
    {"gfx1154", 0x057, "", "rdna3", "gfx11-generic"},
    {"gfx1170", 0x05d, "", "rdna4", "gfx11-7-generic"},
    {"gfx1171", 0x05e, "", "rdna4", "gfx11-7-generic"},
    {"gfx1172", 0x05c, "", "rdna4", "gfx11-7-generic"},
    {"gfx1200", 0x048, "", "rdna4", "gfx12-generic"},
    {"gfx1201", 0x04e, "", "rdna4", "gfx12-generic"},
    {"gfx1250", 0x049, "", "", "gfx12-5-generic"},
    {"gfx1251", 0x05a, "", "", "gfx12-5-generic"},
    {"gfx1310", 0x050, "", "", "gfx13-generic"},
    {"gfx9-generic", 0x051, "xnack", "gcn", "gfx9-generic"},
    {"gfx9-4-generic", 0x05f, "sramecc xnack", "cdna", "gfx9-4-generic"},
    {"gfx10-1-generic", 0x052, "xnack", "rdna", "gfx10-1-generic"},
    {"gfx10-3-generic", 0x053, "", "rdna", "gfx10-3-generic"},
    {"gfx11-generic", 0x054, "", "rdna", "gfx11-generic"},
    {"gfx11-7-generic", 0x062, "", "rdna", "gfx11-7-generic"},
    {"gfx12-generic", 0x059, "", "rdna", "gfx12-generic"},
    {"gfx12-5-generic", 0x05b, "", "", "gfx12-5-generic"},
    {"gfx13-generic", 0x063, "", "", "gfx13-generic"},
};

enum { processor_count = sizeof processors / sizeof *processors };

static void every_processor(void **state) {
  (void)state;
  for (size_t i = 0; i < processor_count; ++i) {
    const kdl_amdgcn_processor *row = kdl_amdgcn_find(kdl_text_of(processors[i].name));
    if (!row)
      fail_msg("%s is not found", processors[i].name);
    char family[8];
    snprintf(family, sizeof family, row->generation ? "%s%u" : "%s", row->line, row->generation);
    const kdl_amdgcn_processor *generic = kdl_amdgcn_generic(row->generic);
    assert_string_equal(row->name, processors[i].name);
    assert_int_equal(row->mach, processors[i].mach);
    assert_int_equal(row->has_xnack, strstr(processors[i].features, "xnack") != NULL);
    assert_int_equal(row->has_sramecc, strstr(processors[i].features, "sramecc") != NULL);
    assert_string_equal(family, processors[i].family);
    assert_string_equal(generic ? generic->name : "", processors[i].generic);
    assert_int_equal(row->generic_version, generic ? 1 : 0);
  }
  assert_non_null(kdl_amdgcn_at(processor_count - 1));
  assert_null(kdl_amdgcn_at(processor_count));
}

static void machines_are_told_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < processor_count; ++i) {
    for (size_t j = i + 1; j < processor_count; ++j)
      assert_int_not_equal(processors[i].mach, processors[j].mach);
  }
}

/* Every processor's own code runs on it and on no other; every generic's on its members alone. */
static void every_pair_of_processors(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  char line[64];
  for (size_t d = 0; d < processor_count; ++d) {
    if (strstr(processors[d].name, "generic"))
      continue;
    snprintf(line, sizeof line, "hip %s", processors[d].name);
    case_device(&device, line);
    for (size_t i = 0; i < processor_count; ++i) {
      snprintf(line, sizeof line, "hsaco %s", processors[i].name);
      case_image(&image, line);
      bool expected = strcmp(processors[i].name, processors[d].name) == 0 ||
                      strcmp(processors[i].name, processors[d].generic) == 0;
      if (kdl_match_admits(&image.rule, &device.rule) != expected)
        fail_msg("%s on %s: expected %d", processors[i].name, processors[d].name, expected);
    }
  }
}

static void canonical_form(void **state) {
  (void)state;
  static const struct {
    const char *text, *canonical;
  } rows[] = {
      {"gfx90a", "gfx90a"},
      {"gfx90a:xnack+", "gfx90a:xnack+"},
      {"gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-"},
      {"gfx90a:sramecc-:xnack-", "gfx90a:sramecc-:xnack-"},
      {"gfx9-4-generic:xnack+", "gfx9-4-generic:xnack+"},
      {"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-"},
      {"amdgpu9.42-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-"},
      {"amdgpu-amd-amdhsa--gfx1030", "gfx1030"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_amdgcn_id id;
    char buffer[64] = "";
    kdl_out out = {buffer, sizeof buffer, 0};
    assert_true(kdl_amdgcn_parse(kdl_text_of(rows[i].text), &id, NULL));
    kdl_out_amdgcn(&out, &id);
    assert_string_equal(buffer, rows[i].canonical);
  }
}

static void bad_target_ids(void **state) {
  (void)state;
  static const char processor[] = "a processor (gfx90a, gfx11-generic) and its features";
  static const char feature[] = "sramecc+, sramecc-, xnack+ or xnack-, each at most once and only "
                                "where the processor has it";
  static const struct {
    const char *text;
    size_t position;
    const char *expected;
  } rows[] = {
      {"", 0, processor},
      {"gfx", 0, processor},
      {"gfx9", 0, processor},
      {"gfx09a", 0, processor},
      {"gfx90A", 0, processor},
      {"gfx90b", 0, processor},
      {"gfx1250-strict", 0, processor},
      {"gfx11000", 0, processor},
      {"gfx-generic", 0, processor},
      {"amdgcn-amd-amdhsa--gfx1", 19, processor},
      {"gfx90a:", 7, feature},
      {"gfx90a:xnack", 7, feature},
      {"gfx90a:xnack*", 7, feature},
      {"gfx90a:+", 7, feature},
      {"gfx90a:tgsplit+", 7, feature},
      {"gfx90a:xnack+:xnack-", 14, feature},
      {"gfx90a:xnack+:", 14, feature},
      {"gfx1100:xnack-", 8, feature},
      {"gfx900:sramecc+", 7, feature},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_amdgcn_id id;
    kdl_parse_error error = {99, NULL};
    if (kdl_amdgcn_parse(kdl_text_of(rows[i].text), &id, &error))
      fail_msg("%s was taken", rows[i].text);
    assert_int_equal(error.position, rows[i].position);
    assert_string_equal(error.expected, rows[i].expected);
  }
}

static void minima(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int position; /* of the error; -1 where it is right */
  } rows[] = {
      {"gfx90a:cdna2", -1},  {"gfx908:cdna1", -1},  {"gfx942:cdna3", -1},
      {"gfx950:cdna4", -1},  {"gfx1010:rdna1", -1}, {"gfx1030:rdna2", -1},
      {"gfx1100:rdna3", -1}, {"gfx1200:rdna4", -1}, {"gfx906:gcn", -1},
      {"gfx90a", -1},        {"gfx90a:cdna", 7},    {"gfx90a:cdna3", 7},
      {"gfx90a:", 7},        {"gfx90a:rdna2", 7},   {"gfx11-generic", 0},
      {"gfx1250", 0},        {"sm_90", 0},          {"", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const kdl_amdgcn_processor *processor;
    kdl_parse_error error = {0, NULL};
    bool right = kdl_amdgcn_parse_min(kdl_text_of(rows[i].text), &processor, &error);
    if (right != (rows[i].position < 0))
      fail_msg("%s", rows[i].text);
    if (!right)
      assert_int_equal(error.position, rows[i].position);
  }
}

/* A device without settings in its name has those a driver reports by default. */
static void default_settings(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  static const struct {
    const char *image;
    bool runs;
  } rows[] = {{"hsaco gfx90a:xnack-", true},
              {"hsaco gfx90a:xnack+", false},
              {"hsaco gfx90a:sramecc+", true},
              {"hsaco gfx90a:sramecc-", false}};
  case_device(&device, "hip gfx90a");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    case_image(&image, rows[i].image);
    assert_int_equal(kdl_match_admits(&image.rule, &device.rule), rows[i].runs);
  }
}

/* LLVM's AMDGPU feature lists: mai-insts, gfx11-insts (WMMA), dot1/dot8-insts, fp8, wavefront. */
static void tokens(void **state) {
  (void)state;
  static const struct {
    const char *token;
    const char *with, *without; /* devices */
  } rows[] = {
      {"fp64", "gfx600 gfx900 gfx90a gfx1100 gfx1201", ""},
      {"fp16", "gfx803 gfx900 gfx1030", "gfx600 gfx701"},
      {"generic_pointer", "gfx700 gfx900", "gfx600"},
      {"images", "gfx900 gfx90a gfx1100", "gfx942 gfx950 gfx1250"},
      {"cooperative_launch", "gfx900 gfx90a gfx1100", "gfx803"},
      {"int8_dot", "gfx906 gfx908 gfx90a gfx942 gfx1011 gfx1012 gfx1030 gfx1100",
       "gfx900 gfx90c gfx1010 gfx1013"},
      {"mfma_amd", "gfx908 gfx90a gfx942 gfx950", "gfx906 gfx1100 gfx1201 gfx1250"},
      {"wmma_amd", "gfx1100 gfx1103 gfx1151 gfx1170 gfx1200 gfx1250",
       "gfx1030 gfx90a gfx942 gfx1310"},
      {"bf16", "gfx908 gfx90a gfx942 gfx1100", "gfx906 gfx1030"},
      {"fp8", "gfx942 gfx950 gfx1170 gfx1171 gfx1172 gfx1200 gfx1250 gfx1310",
       "gfx90a gfx1100 gfx1154"},
      {"tf32", "gfx942", "gfx90a gfx950 gfx1100"},
      {"fp4", "gfx950 gfx1250", "gfx942 gfx1200"},
      {"subgroup_size_64", "gfx600 gfx90a gfx942 gfx1030 gfx1100", "gfx1250 gfx1251"},
      {"subgroup_size_32", "gfx1010 gfx1030 gfx1100 gfx1201 gfx1250", "gfx900 gfx90a gfx942"},
      {"clusters", "gfx1250 gfx1251 gfx1310", "gfx1201 gfx950"},
      {"tensor_core_nv", "", "gfx90a gfx1100"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    int bit = kdl_feature_bit(KDL_CLASS_GPU, kdl_text_of(rows[i].token));
    assert_true(bit >= 0);
    for (int with = 0; with < 2; ++with) {
      char names[128];
      strcpy(names, with ? rows[i].with : rows[i].without);
      char *rest;
      for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        static device_case device;
        char line[64];
        snprintf(line, sizeof line, "hip %s", name);
        case_device(&device, line);
        if (kdl_feature_has(device.rule.lacks, (unsigned)bit) == with)
          fail_msg("%s and %s", name, rows[i].token);
      }
    }
  }
}

/* All minima are 1 today; a processor that joins a generic later will ask for more. */
static void generic_versions(void **state) {
  (void)state;
  static image_case image;
  static device_case device;
  char codes[64];
  case_device(&device, "hip gfx1103");
  kdl_feature_add(&device.rule.lacks, KDL_NEED_GENERIC_VERSION); /* as if its minimum were 2 */
  case_image(&image, "hsaco gfx11-generic");
  assert_string_equal(case_match(&image, &device, codes, sizeof codes), "generic_version_old");
  case_image(&image, "hsaco gfx11-generic g1");
  assert_string_equal(case_match(&image, &device, codes, sizeof codes), "generic_version_old");
  case_image(&image, "hsaco gfx11-generic g2");
  assert_string_equal(case_match(&image, &device, codes, sizeof codes), "runs");
  case_image(&image, "hsaco gfx11-generic g255");
  assert_string_equal(case_match(&image, &device, codes, sizeof codes), "runs");
}

static void nearer_images_rank_higher(void **state) {
  (void)state;
  static const char *const order[] = {
      "bitcode gfx942 triple=amdgcn-amd-amdhsa",
      "spirv amdgcnspirv",
      "hsaco gfx9-4-generic",
      "hsaco gfx9-4-generic:xnack-",
      "hsaco gfx9-4-generic:sramecc+:xnack-",
      "hsaco gfx942",
      "hsaco gfx942:xnack-",
      "hsaco gfx942:sramecc+:xnack-",
  };
  for (int count = 1; count <= (int)(sizeof order / sizeof *order); ++count)
    assert_int_equal(case_best(order, count, "hip gfx942:sramecc+:xnack- loads=bitcode"),
                     count - 1);
}

static void a_generic_processor_is_no_device(void **state) {
  (void)state;
  static device_case device;
  kdl_device_error error;
  assert_false(case_device_try(&device, "hip gfx11-generic", &error));
  assert_string_equal(error.field, "arch");
  assert_string_equal(error.parse.expected, "a device's own processor, not a generic one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_processor),
      cmocka_unit_test(machines_are_told_apart),
      cmocka_unit_test(every_pair_of_processors),
      cmocka_unit_test(canonical_form),
      cmocka_unit_test(bad_target_ids),
      cmocka_unit_test(minima),
      cmocka_unit_test(default_settings),
      cmocka_unit_test(tokens),
      cmocka_unit_test(generic_versions),
      cmocka_unit_test(nearer_images_rank_higher),
      cmocka_unit_test(a_generic_processor_is_no_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
