/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The YAML of .ze_info: what Intel's compiler writes, in the shapes that YAML allows for it, and
 * what is refused. */
#include "lib/image/intel/ze_info.h"

#include "image_support.h"
#include "support/base/text.h"

#define HEAD "---\nversion:         '1.39'\nkernels:\n"
#define VALUE(index, size)                                                                         \
  "      - arg_type:        arg_byvalue\n"                                                         \
  "        offset:          48\n"                                                                  \
  "        size:            " size "\n"                                                            \
  "        arg_index:       " index "\n"
#define POINTER(index, mode, space)                                                                \
  "      - arg_type:        arg_bypointer\n"                                                       \
  "        offset:          0\n"                                                                   \
  "        size:            0\n"                                                                   \
  "        arg_index:       " index "\n"                                                           \
  "        addrmode:        " mode "\n"                                                            \
  "        addrspace:       " space "\n"
#define HIDDEN                                                                                     \
  "      - arg_type:        local_size\n"                                                          \
  "        offset:          12\n"                                                                  \
  "        size:            12\n"
#define KERNEL(name) "  - name:            " name "\n    payload_arguments:\n"

static kdl_ze_kernel read_kernel;

static kdl_status read_text(const char *text, const char *kernel) {
  size_t size = strlen(text);
  char *exact = malloc(size ? size : 1);
  memcpy(exact, text, size);
  kdl_ze_info info = {exact, size, 0x100};
  kdl_status status = kdl_ze_info_read(&info, kdl_text_of(kernel), 8, &read_kernel);
  free(exact);
  return status;
}

/* "v4 p8 "; a letter for the kind as in test_image_params.c. */
static const char *params_text(void) {
  static char text[512];
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < read_kernel.param_count; ++i)
    used += (size_t)snprintf(text + used, sizeof text - used, "%c%u ",
                             "bvifpog"[read_kernel.params[i].kind], read_kernel.params[i].size);
  return text;
}

static void parameters_are_sorted_by_their_index(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *params;
  } rows[] = {
      {HEAD KERNEL("k") HIDDEN POINTER("1", "stateful", "global")
           POINTER("1", "stateless", "global") VALUE("0", "4") VALUE("2", "8"),
       "v4 p8 v8 "},
      {HEAD KERNEL("k") POINTER("0", "slm", "local") POINTER("1", "stateful", "image")
           POINTER("2", "stateful", "sampler") POINTER("3", "stateless", "constant"),
       "g0 o0 o0 p8 "},
      /* one that the kernel does not use */
      {HEAD KERNEL("k") VALUE("2", "16"), "o0 o0 v16 "},
      /* parts of a structure */
      {HEAD KERNEL("k") VALUE("0", "1") "        source_offset:   0\n" VALUE(
           "0", "8") "        source_offset:   8\n",
       "v0 "},
      {HEAD KERNEL("k"), ""},
      {HEAD "  - name: k\n    execution_env:\n      simd_size: 32\n", ""},
      /* an address that is used as a number */
      {HEAD KERNEL("k") "      - arg_type:        buffer_address\n        arg_index: 0\n", "p8 "},
      /* other lists of the kernel, of other kernels, of the file */
      {HEAD KERNEL("k") VALUE("0", "4") "    binding_table_indices:\n      - bti_value: 0\n"
                                        "        arg_index: 7\n",
       "v4 "},
      {HEAD KERNEL("j") VALUE("0", "4") KERNEL("k") VALUE("0", "8") KERNEL("l") VALUE("1", "4"),
       "v8 "},
      {HEAD KERNEL("k") VALUE("0", "4") "kernels_misc_info:\n  - name: k\n    args_info:\n"
                                        "      - index: 9\n        size: 9\n...\n" VALUE("3", "4"),
       "v4 "},
      {"functions:\n  - name: k\n" HEAD KERNEL("k") VALUE("0", "4"), "v4 "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_ok(read_text(rows[i].text, "k"));
    assert_string_equal(params_text(), rows[i].params);
    assert_int_equal(read_kernel.block[0], 0);
  }
}

/* Lists may stand at the column of their key, comments anywhere, lines may end as on Windows. */
static void other_layouts_are_the_same(void **state) {
  (void)state;
  static const char at_the_column_of_its_key[] = "version: 1.8\n"
                                                 "kernels:\n"
                                                 "- name: k\n"
                                                 "  payload_arguments:\n"
                                                 "  - arg_type: arg_byvalue\n"
                                                 "    size: 4\n"
                                                 "    arg_index: 0\n";
  static const char with_comments[] = "kernels:   # all of them\n"
                                      "    -   name:   'k'\n"
                                      "        # none\n"
                                      "\n"
                                      "        payload_arguments:\n"
                                      "          -   size: 4 # bytes\n"
                                      "              arg_index: 0\n"
                                      "              arg_type: arg_byvalue";
  static const char of_windows[] = "version: \"1.39\"\r\n"
                                   "kernels:\r\n"
                                   "  - payload_arguments:\r\n"
                                   "      - arg_type: arg_byvalue\r\n"
                                   "        size: 4\r\n"
                                   "        arg_index: 0\r\n"
                                   "    name: \"k\"\r\n";
  const char *const texts[] = {at_the_column_of_its_key, with_comments, of_windows};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    assert_ok(read_text(texts[i], "k"));
    assert_string_equal(params_text(), "v4 ");
  }
}

static void names_may_be_quoted(void **state) {
  (void)state;
  assert_ok(read_text(HEAD KERNEL("'it''s: one'") VALUE("0", "4"), "it's: one"));
  assert_ok(read_text(HEAD KERNEL("_ZTS6kernel") VALUE("0", "4"), "_ZTS6kernel"));
  static const char *const others[] = {"it's: on", "it's: one ", "it''s: one", "'it''s: one'", ""};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    char message[128];
    snprintf(message, sizeof message, "found no kernel \"%s\" in the image, expected one",
             others[i]);
    assert_fails(read_text(HEAD KERNEL("'it''s: one'"), others[i]), KDL_NO_MATCH, message);
  }
}

static void a_block_may_be_required(void **state) {
  (void)state;
  assert_ok(read_text(HEAD
                      "  - name: k\n    execution_env:\n      required_work_group_size: [ 64, 2, "
                      "1 ]\n      simd_size: 32\n",
                      "k"));
  assert_int_equal(read_kernel.block[0], 64);
  assert_int_equal(read_kernel.block[1], 2);
  assert_int_equal(read_kernel.block[2], 1);
  assert_ok(read_text(
      HEAD "  - name: k\n    user_attributes:\n      reqd_work_group_size: [8,4,2]\n", "k"));
  assert_int_equal(read_kernel.block[2], 2);
}

static void mistakes_are_told_with_their_place(void **state) {
  (void)state;
  static const struct {
    const char *text;
    kdl_status status;
    const char *message;
  } rows[] = {
      {"", KDL_NO_MATCH, "found no kernel \"k\" in the image, expected one"},
      {"version: '2.0'\nkernels:\n" KERNEL("k"), KDL_UNSUPPORTED,
       ".ze_info: found version \"2.0\", expected 1.x"},
      {"version:\nkernels:\n" KERNEL("k"), KDL_UNSUPPORTED,
       ".ze_info: found version \"\", expected 1.x"},
      {"kernels:\n" KERNEL("k") VALUE("0", "-4"), KDL_BAD_FILE,
       "offset 0x178: .ze_info: size: found \"-4\", expected a number"},
      {"kernels:\n" KERNEL("k") VALUE("4294967296", "4"), KDL_BAD_FILE,
       "offset 0x193: .ze_info: arg_index: found \"4294967296\", expected a number"},
      {"kernels:\n" KERNEL("k") VALUE("*one", "4"), KDL_BAD_FILE,
       "offset 0x193: .ze_info: arg_index: found \"*one\", expected a number"},
      {"kernels:\n" KERNEL("k") VALUE("1024", "4"), KDL_UNSUPPORTED,
       "found more than 1024 parameters, expected at most that"},
      {"kernels:\n" KERNEL("k") "      - arg_type: arg_byvalue\n        size: 4\n", KDL_BAD_FILE,
       "offset 0x137: .ze_info: payload_arguments: found no arg_index, expected one for "
       "arg_byvalue"},
      {"kernels:\n  - name: k\n    execution_env:\n      required_work_group_size: [ 64, 2 ]\n",
       KDL_BAD_FILE,
       "offset 0x128: .ze_info: required_work_group_size: found \"[ 64, 2 ]\", expected three "
       "numbers in brackets"},
      {"kernels:\n  - name: k\n    execution_env:\n      required_work_group_size: 64\n",
       KDL_BAD_FILE,
       "offset 0x128: .ze_info: required_work_group_size: found \"64\", expected three numbers in "
       "brackets"},
      {"kernels:\n  - name: k\n    execution_env:\n      required_work_group_size: [ 1, 2, 3, 4 "
       "]\n",
       KDL_BAD_FILE,
       "offset 0x128: .ze_info: required_work_group_size: found \"[ 1, 2, 3, 4 ]\", expected three "
       "numbers in brackets"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    assert_fails(read_text(rows[i].text, "k"), rows[i].status, rows[i].message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_are_sorted_by_their_index),
      cmocka_unit_test(other_layouts_are_the_same),
      cmocka_unit_test(names_may_be_quoted),
      cmocka_unit_test(a_block_may_be_required),
      cmocka_unit_test(mistakes_are_told_with_their_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
