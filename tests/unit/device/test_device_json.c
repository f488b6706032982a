/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device specs as JSON. */
#include "device_support.h"
#include "same_spec.h"

#include "lib/device/spec.h"

/* The spec as JSON, malloc'ed. */
static char *json_of(const kdl_device_spec *spec) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  kdl_device_spec_write_json(spec, 0, file);
  fclose(file);
  return text;
}

static kdl_device_routes routes; /* of the device that was read last */

static kdl_status read(const char *text, size_t index, kdl_device_spec *spec, size_t *count) {
  kdl_status status = kdl_device_routes_read_json("t", text, strlen(text), index, &routes, count);
  if (status == KDL_OK)
    *spec = routes.specs[0];
  return status;
}

static void a_spec_is_written_as_specified(void **state) {
  (void)state;
  kdl_device_spec spec = spec_of(
      "cuda:sm_90 features=fp8+tma_nv name=\"NVIDIA \\\"H200\\\"\" driver=13.0 class=discrete "
      "ordinal=0 uuid=12345678-9abc-def0-1234-56789abcdef0 pci=0000:65:00.0 memory=141GB units=132 "
      "ptx=9.0 subgroups=16+32 max_block=1024 shared=48KiB cooperative=yes cluster=8");
  char *text = json_of(&spec);
  assert_string_equal(text, "{\n"
                            "  \"backend\": \"cuda\",\n"
                            "  \"arch\": \"sm_90\",\n"
                            "  \"features\": [\"fp8\", \"tma_nv\"],\n"
                            "  \"name\": \"NVIDIA \\\"H200\\\"\",\n"
                            "  \"driver\": \"13.0\",\n"
                            "  \"class\": \"discrete\",\n"
                            "  \"ordinal\": 0,\n"
                            "  \"uuid\": \"12345678-9abc-def0-1234-56789abcdef0\",\n"
                            "  \"pci\": \"0000:65:00.0\",\n"
                            "  \"memory\": 141000000000,\n"
                            "  \"units\": 132,\n"
                            "  \"ptx\": \"9.0\",\n"
                            "  \"subgroups\": [16, 32],\n"
                            "  \"max_block\": 1024,\n"
                            "  \"shared\": 49152,\n"
                            "  \"cooperative\": true,\n"
                            "  \"cluster\": 8\n"
                            "}");
  free(text);
}

static void any_spec_reads_back_the_same(void **state) {
  (void)state;
  uint64_t seed = 1115;
  for (int i = 0; i < 5000; ++i) {
    kdl_device_spec spec = random_spec(&seed);
    kdl_device_spec again;
    size_t count;
    char *text = json_of(&spec);
    assert_ok(read(text, 0, &again, &count));
    assert_int_equal(count, 1);
    assert_true(is_same_spec(&spec, &again));
    free(text);
  }
}

static void all_three_forms_of_document_are_read(void **state) {
  (void)state;
  static const char *const documents[] = {
      "{\"backend\":\"cuda\",\"arch\":\"sm_90\"}",
      "[{\"arch\":\"sm_90\",\"backend\":\"cuda\"},{\"backend\":\"hip\",\"arch\":\"gfx942\"}]",
      "{\"kdl\":\"9.9\",\"drivers\":[{\"backend\":\"hip\",\"driver\":1}],\"devices\":["
      "{\"backend\":\"cuda\",\"arch\":\"sm_90\",\"routes\":null,\"new\":{}},"
      "{\"backend\":\"hip\",\"arch\":\"gfx942\"}]}",
  };
  for (size_t i = 0; i < sizeof documents / sizeof *documents; ++i) {
    kdl_device_spec spec;
    size_t count;
    assert_ok(read(documents[i], 0, &spec, &count));
    assert_string_equal(line_of(&spec), "cuda:sm_90");
    assert_int_equal(count, i ? 2 : 1);
    if (i) {
      assert_ok(read(documents[i], 1, &spec, &count));
      assert_string_equal(line_of(&spec), "hip:gfx942");
    }
  }
}

#define OPENCL "{\"backend\":\"opencl\",\"arch\":\"spirv64\"}"

static void routes_come_behind_the_device(void **state) {
  (void)state;
  kdl_device_spec spec;
  size_t count;
  /* The keys of the document and of the routes are not the device's. */
  assert_ok(
      read("{\"devices\":[{\"routes\":[" OPENCL ", {\"arch\":\"spirv32\",\"routes\":[" OPENCL
           "],\"backend\":\"opencl\",\"il\":\"1.2\"}],\"backend\":\"cuda\",\"arch\":\"sm_90\"}"
           "," OPENCL "],\"memory\":5,\"backend\":\"hip\"}",
           0, &spec, &count));
  assert_int_equal(count, 2);
  assert_int_equal(routes.count, 3);
  assert_string_equal(line_of(&routes.specs[0]), "cuda:sm_90");
  assert_string_equal(line_of(&routes.specs[1]), "opencl:spirv64");
  assert_string_equal(line_of(&routes.specs[2]), "opencl:spirv32 il=1.2");
#define FOUR OPENCL "," OPENCL "," OPENCL "," OPENCL
  assert_int_equal(read("{\"backend\":\"cuda\",\"arch\":\"sm_90\",\"routes\":[" FOUR "," FOUR "]}",
                        0, &spec, &count),
                   KDL_BAD_FILE);
  assert_non_null(strstr(kdl_error_message(), "found more than 8 routes"));
}

static void values_may_be_written_in_other_ways(void **state) {
  (void)state;
  kdl_device_spec spec;
  size_t count;
  assert_ok(read("{\"backend\":\"cuda\",\"arch\":\"sm_90\",\"memory\":\"80GB\",\"name\":null,"
                 "\"driver\":\"\",\"features\":[],\"cooperative\":false,\"units\":\"132\"}",
                 0, &spec, &count));
  assert_string_equal(line_of(&spec), "cuda:sm_90 memory=80GB units=132");
}

static void mistakes_are_told_with_line_and_column(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
    kdl_status status;
  } rows[] = {
      {"{\"backend\":\"cuda\",\"arch\":\"sm_90\",\"routes\":[{\"backend\":\"opencl\"}]}",
       "t: line 1, column 44: found a device without \"arch\", expected one with it", KDL_BAD_FILE},
      {"[]", "t: found 0 devices, expected one with index 0", KDL_NO_MATCH},
      {"{\"devices\":[]}", "t: found 0 devices, expected one with index 0", KDL_NO_MATCH},
      {"{}", "t: line 1, column 1: found a device without \"backend\", expected one with it",
       KDL_BAD_FILE},
      {"[\n  {\"backend\": \"cuda\"}]",
       "t: line 2, column 3: found a device without \"arch\", expected one with it", KDL_BAD_FILE},
      {"{\"backend\": \"cudda\"}",
       "t: line 1, column 13: found the backend \"cudda\", expected one of host, cuda, hip, "
       "level_zero, opencl",
       KDL_BAD_FILE},
      {"{\"backend\":\"cuda\",\"arch\":\"gfx942\"}",
       "t: line 1, column 1: cuda device, arch: position 0: found \"gfx942\", expected sm_NN or "
       "compute_NN, with 'a' or 'f' behind it if need be",
       KDL_BAD_FILE},
      {"{\"backend\":\"cuda\",\"arch\":\"sm_90\",\"features\":[\"fp9\"]}",
       "t: line 1, column 1: cuda device, features: position 0: found \"fp9\", expected a feature "
       "token; tokens are joined by '+'",
       KDL_BAD_FILE},
      {"{\"backend\":\"cuda\",\"arch\":\"sm_90\",\"driver\":\"new\"}",
       "t: line 1, column 1: cuda device, driver: position 0: found \"new\", expected a version "
       "for "
       "driver, as in 13.0",
       KDL_BAD_FILE},
      {"{\"memory\": -1}",
       "t: line 1, column 12: found the number -1, expected a whole number from 0 to 2^64 - 1",
       KDL_BAD_FILE},
      {"{\"units\": 4294967296}",
       "t: line 1, column 11: found 4294967296, expected for units: a number below 2^32",
       KDL_BAD_FILE},
      {"{\"uuid\": \"12\"}",
       "t: line 1, column 10: uuid: position 2: found the end, expected 32 hexadecimal digits, as "
       "in "
       "12345678-9abc-def0-1234-56789abcdef0",
       KDL_BAD_FILE},
      {"{\"class\": \"\"}",
       "t: line 1, column 11: class: position 0: found the end, expected discrete, integrated, "
       "accelerator or cpu",
       KDL_BAD_FILE},
      {"{\"features\": \"fp8\"}", "t: line 1, column 14: found a string, expected an array",
       KDL_BAD_FILE},
      {"{\"cooperative\": 1}", "t: line 1, column 17: found a number, expected true or false",
       KDL_BAD_FILE},
      {"{\"subgroups\": [3]}",
       "t: line 1, column 15: subgroups: position 0: found \"3\", expected powers of two joined by "
       "'+', as in 16+32",
       KDL_BAD_FILE},
      {"{\"name\": \"a\\u0007\"}",
       "t: line 1, column 10: name: position 1: found \"\\x07\", expected UTF-8 without control "
       "characters",
       KDL_BAD_FILE},
      {"{\"devices\":[{\"devices\":[]}]}",
       "t: line 1, column 13: found a device without \"backend\", expected one with it",
       KDL_BAD_FILE},
      {"\"cuda:sm_90\"", "t: line 1, column 1: found a string, expected an object", KDL_BAD_FILE},
      {"[{\"backend\":\"cuda\",\"arch\":\"sm_90\"}",
       "t: line 1, column 35: found the end, expected ',' or ']'", KDL_BAD_FILE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec;
    size_t count;
    assert_fails(read(rows[i].text, 0, &spec, &count), rows[i].status, rows[i].message);
  }
}

/* What a real machine's `kdl devices --json` said. */
static void a_real_machine(void **state) {
  (void)state;
  size_t size;
  size_t count;
  uint8_t *text = read_golden("devices/h200.json", &size);
  assert_ok(kdl_device_routes_read_json("h200.json", text, size, 0, &routes, &count));
  assert_int_equal(count, 3);
  assert_string_equal(line_of(&routes.specs[0]),
                      "cuda:sm_90 name=\"NVIDIA H200\" driver=13.0 class=discrete ordinal=0 "
                      "uuid=e492ee3d-0fe5-e2f9-4b85-9506e7392a1e pci=0000:00:06.0 "
                      "memory=146591680KiB units=132 subgroups=32 max_block=1024 shared=48KiB "
                      "shared_optin=227KiB cooperative=yes cluster=8 l2=60MiB");
  assert_int_equal(routes.count, 2);
  assert_int_equal(routes.specs[1].backend, KDL_BACKEND_OPENCL);
  assert_string_equal(routes.specs[1].platform, "NVIDIA CUDA");
  assert_ok(kdl_device_routes_read_json("h200.json", text, size, 1, &routes, &count));
  assert_int_equal(routes.count, 1);
  assert_int_equal(kdl_device_spec_family(&routes.specs[0]), KDL_FAMILY_X86_64);
  assert_non_null(strstr(routes.specs[0].arch, "+amx_tile+amx_int8+amx_bf16"));
  assert_ok(kdl_device_routes_read_json("h200.json", text, size, 2, &routes, &count));
  assert_string_equal(routes.specs[0].platform, "Portable Computing Language");
  free(text);
}

static void one_after_the_last_is_refused(void **state) {
  (void)state;
  kdl_device_spec spec;
  size_t count;
  assert_fails(read("{\"backend\":\"cuda\",\"arch\":\"sm_90\"}", 1, &spec, &count), KDL_NO_MATCH,
               "t: found 1 device, expected one with index 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_spec_is_written_as_specified),
      cmocka_unit_test(any_spec_reads_back_the_same),
      cmocka_unit_test(all_three_forms_of_document_are_read),
      cmocka_unit_test(routes_come_behind_the_device),
      cmocka_unit_test(values_may_be_written_in_other_ways),
      cmocka_unit_test(mistakes_are_told_with_line_and_column),
      cmocka_unit_test(a_real_machine),
      cmocka_unit_test(one_after_the_last_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
