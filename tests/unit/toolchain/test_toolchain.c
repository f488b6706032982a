/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The search for every tool, in a root of the test's own: each place, their order, and variables.
 */
#include "compiler/toolchain/toolchain.h"
#include "support.h"
#include "support/base/text.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/kdl-toolchain-XXXXXX";
static char tried[64][PATH_MAX];
static size_t tried_count;

static void note_tried(void *user, const char *path) {
  (void)user;
  snprintf(tried[tried_count++], PATH_MAX, "%s", path);
}

/* ------------------------------------------------------------------------------------------ */
/* Files and variables                                                                          */

static const char *in_root(const char *below) {
  static char rooms[4][PATH_MAX];
  static unsigned next;
  char *path = rooms[next++ % 4];
  snprintf(path, PATH_MAX, "%s%s", root, below);
  return path;
}

static void make_folders(const char *path) {
  char folder[PATH_MAX];
  for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    mkdir(folder, 0700);
  }
}

static void make_file(const char *path, mode_t mode) {
  make_folders(path);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
  assert_int_equal(chmod(path, mode), 0);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at) {
  (void)info, (void)type, (void)at;
  return remove(path);
}

static int empty_root(void **state) {
  (void)state;
  static const char *const names[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "ROCM_PATH"};
  nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  mkdir(root, 0700);
  for (kdl_tool tool = 0; tool < KDL_TOOL_COUNT; ++tool)
    unsetenv(kdl_variable_name(kdl_toolchain_search(tool)->variable));
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    unsetenv(names[i]);
  setenv("PATH", "/nonexistent", 1);
  return 0;
}

static int make_root(void **state) {
  (void)state;
  return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
  (void)state;
  return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ------------------------------------------------------------------------------------------ */
/* Searching                                                                                    */

static bool find(kdl_tool tool, char path[PATH_MAX]) {
  tried_count = 0;
  return kdl_tool_find_watched(kdl_toolchain_search(tool),
                               &(kdl_tool_watch){.tried = note_tried, .root = root}, path);
}

static void assert_found(kdl_tool tool, const char *expected) {
  char path[PATH_MAX];
  assert_true(find(tool, path));
  assert_string_equal(path, expected);
  assert_string_equal(tried[tried_count - 1], expected);
}

static void assert_missing(kdl_tool tool) {
  char path[PATH_MAX];
  assert_false(find(tool, path));
}

/* A variable of the vendor's, with its folder in the root. */
static void make_variable(const char *place, char out_path[PATH_MAX]) {
  char name[64], folder[PATH_MAX];
  const char *rest = strchr(place, '/');
  snprintf(name, sizeof name, "%.*s", (int)(rest - place - 1), place + 1);
  snprintf(folder, sizeof folder, "%s/%s", root, name);
  setenv(name, folder, 1);
  snprintf(out_path, PATH_MAX, "%s/%s%s", root, name, rest);
}

static void make_path(const char *name, char out_path[PATH_MAX]) {
  char list[2 * sizeof root + 32];
  snprintf(list, sizeof list, "%s/first::%s/second", root, root);
  setenv("PATH", list, 1);
  snprintf(out_path, PATH_MAX, "%s/second/%s", root, name);
}

/* Of any version. */
static void make_absolute(const char *place, char out_path[PATH_MAX]) {
  kdl_out out = {out_path, PATH_MAX, 0};
  kdl_out_format(&out, "%s", root);
  for (; *place; ++place)
    kdl_out_format(&out, *place == '*' ? "15" : "%c", *place);
}

/* Makes the tool there, and what the place refers to; the path that the search gives. */
static void make_place(const kdl_tool_search *tool, const char *place, char out_path[PATH_MAX]) {
  if (*place == '$')
    make_variable(place, out_path);
  else if (!strchr(place, '/'))
    make_path(place, out_path);
  else if (*place == '/')
    make_absolute(place, out_path);
  else { /* relative to the folder of the neighbour */
    make_file(in_root("/toolkit/bin/ptxas"), 0700);
    setenv("KDL_PTXAS", in_root("/toolkit/bin/ptxas"), 1);
    snprintf(out_path, PATH_MAX, "%s/toolkit/bin/%s", root, place);
  }
  make_file(out_path, tool->is_file ? 0400 : 0700);
}

/* Each place alone; then all of them, of which the first is removed again and again. */
static void every_place_is_searched_in_order(void **state) {
  for (kdl_tool which = 0; which < KDL_TOOL_COUNT; ++which) {
    const kdl_tool_search *tool = kdl_toolchain_search(which);
    char paths[KDL_TOOL_MAX_PLACES][PATH_MAX];
    for (size_t i = 0; tool->places[i]; ++i) {
      empty_root(state);
      make_place(tool, tool->places[i], paths[i]);
      assert_found(which, paths[i]);
    }
    empty_root(state);
    assert_missing(which);
    for (size_t i = 0; tool->places[i]; ++i)
      make_place(tool, tool->places[i], paths[i]);
    for (size_t i = 0; tool->places[i]; ++i) {
      assert_found(which, paths[i]);
      assert_int_equal(unlink(paths[i]), 0);
    }
    assert_missing(which);
  }
}

/* Vendors' variables, PATH and well-known folders, in this order, and no other. */
static void rows_have_one_order(void **state) {
  (void)state;
  for (kdl_tool which = 0; which < KDL_TOOL_COUNT; ++which) {
    int reached = 0;
    for (const char *const *place = kdl_toolchain_search(which)->places; *place; ++place) {
      bool is_llvm = strncmp(*place, KDL_LLVM_PROGRAMS, strlen(KDL_LLVM_PROGRAMS)) == 0;
      int step = **place == '$' ? 0 : is_llvm ? 1 : **place == '/' ? 3 : 2;
      assert_true(step >= reached);
      reached = step;
    }
  }
}

static void newer_versions_come_first(void **state) {
  (void)state;
  make_file(in_root("/usr/bin/llvm-spirv-14"), 0700);
  make_file(in_root("/usr/bin/llvm-spirv-24"), 0700);
  make_file(in_root("/usr/bin/llvm-spirv-25"), 0700);
  make_file(in_root("/usr/bin/llvm-spirv-19"), 0700);
  assert_found(KDL_TOOL_LLVM_SPIRV, in_root("/usr/bin/llvm-spirv-24"));
}

/* ------------------------------------------------------------------------------------------ */
/* The tool's own variable                                                                      */

static void variable_names_the_tool(void **state) {
  char other[PATH_MAX];
  for (kdl_tool which = 0; which < KDL_TOOL_COUNT; ++which) {
    const kdl_tool_search *tool = kdl_toolchain_search(which);
    empty_root(state);
    for (const char *const *place = tool->places; *place; ++place)
      make_place(tool, *place, other);
    make_file(in_root("/own/tool"), tool->is_file ? 0400 : 0700);
    setenv(kdl_variable_name(tool->variable), in_root("/own/tool"), 1);
    assert_found(which, in_root("/own/tool"));
    setenv(kdl_variable_name(tool->variable), "none", 1);
    assert_missing(which);
    assert_int_equal(tried_count, 0);
    setenv(kdl_variable_name(tool->variable), in_root("/own/missing"), 1);
    assert_missing(which);
    setenv(kdl_variable_name(tool->variable), "", 1);
    assert_true(find(which, other));
  }
}

static void variable_may_name_a_program_on_path(void **state) {
  char path[PATH_MAX];
  (void)state;
  make_path("ptxas-13", path);
  make_file(path, 0700);
  setenv("KDL_PTXAS", "ptxas-13", 1);
  assert_found(KDL_TOOL_PTXAS, path);
  setenv("KDL_PTXAS", "ptxas-12", 1);
  assert_missing(KDL_TOOL_PTXAS);
}

static void variable_may_name_the_folder_of_a_file(void **state) {
  (void)state;
  make_file(in_root("/bitcode/ocml.bc"), 0400);
  setenv("KDL_ROCM_DEVICE_LIBS", in_root("/bitcode"), 1);
  assert_found(KDL_TOOL_OCML, in_root("/bitcode/ocml.bc"));
  make_file(in_root("/bin/ptxas"), 0700);
  setenv("KDL_PTXAS", in_root("/bin"), 1);
  assert_missing(KDL_TOOL_PTXAS);
}

/* ------------------------------------------------------------------------------------------ */
/* What is no tool                                                                              */

static void folders_and_other_files_are_passed_over(void **state) {
  char path[PATH_MAX];
  (void)state;
  make_place(kdl_toolchain_search(KDL_TOOL_PTXAS), "ptxas", path);
  make_file(in_root("/first/ptxas/file"), 0700);
  assert_found(KDL_TOOL_PTXAS, path);
  make_file(in_root("/home/bin/ptxas"), 0600);
  setenv("CUDA_HOME", in_root("/home"), 1);
  assert_found(KDL_TOOL_PTXAS, path);
  setenv("CUDA_HOME", "", 1);
  assert_found(KDL_TOOL_PTXAS, path);
  setenv("KDL_PTXAS", in_root("/first/ptxas"), 1);
  assert_missing(KDL_TOOL_PTXAS);
}

static void long_paths_are_passed_over(void **state) {
  static char folder[2 * PATH_MAX];
  char path[PATH_MAX];
  (void)state;
  make_place(kdl_toolchain_search(KDL_TOOL_PTXAS), "ptxas", path);
  memset(folder, 'x', sizeof folder - 1);
  folder[0] = '/';
  setenv("CUDA_HOME", folder, 1);
  assert_found(KDL_TOOL_PTXAS, path);
  setenv("KDL_PTXAS", folder, 1);
  assert_missing(KDL_TOOL_PTXAS);
  setenv("KDL_PTXAS", folder + 1, 1);
  assert_missing(KDL_TOOL_PTXAS);
}

/* Everything before the tool that is found: where one appears there, it is taken. */
static void every_try_is_seen(void **state) {
  char path[PATH_MAX];
  (void)state;
  make_place(kdl_toolchain_search(KDL_TOOL_PTXAS), "ptxas", path);
  setenv("CUDA_PATH", in_root("/cuda"), 1);
  assert_found(KDL_TOOL_PTXAS, path);
  assert_int_equal(tried_count, 3);
  assert_string_equal(tried[0], in_root("/cuda/bin/ptxas"));
  assert_string_equal(tried[1], in_root("/first/ptxas"));
}

/* ------------------------------------------------------------------------------------------ */
/* Words                                                                                        */

static void messages_name_the_places(void **state) {
  char text[512];
  (void)state;
  assert_string_equal(
      kdl_tool_format_missing(kdl_toolchain_search(KDL_TOOL_PTXAS), text, sizeof text),
      "found no ptxas in KDL_PTXAS, $CUDA_HOME/bin, $CUDA_PATH/bin, $CUDA_ROOT/bin, PATH, "
      "/usr/local/cuda/bin, /opt/cuda/bin or /usr/lib/cuda/bin (Debian: nvidia-cuda-toolkit)");
  assert_string_equal(
      kdl_tool_format_missing(kdl_toolchain_search(KDL_TOOL_CLANG), text, sizeof text),
      "found no clang in KDL_CLANG or PATH (Debian: clang-22)");
  setenv("KDL_PTXAS", "/there", 1);
  assert_string_equal(
      kdl_tool_format_missing(kdl_toolchain_search(KDL_TOOL_PTXAS), text, sizeof text),
      "found no ptxas in KDL_PTXAS=/there");
}

/* The line of the table that begins with the tool has its variable and its places, in order. */
static void documents_have_every_place(void **state) {
  (void)state;
  size_t size;
  char *page = (char *)read_file(KDL_TEST_DATA "/../../docs/linking.md", &size);
  page[size] = '\0';
  for (kdl_tool which = 0; which < KDL_TOOL_COUNT; ++which) {
    const kdl_tool_search *tool = kdl_toolchain_search(which);
    char word[PATH_MAX];
    snprintf(word, sizeof word, "\n| `%s` |", tool->name);
    char *row = strstr(page, word);
    if (!row)
      fail_msg("docs/linking.md has no row%s", word);
    char *end = strchr(row + 1, '\n');
    *end = '\0';
    snprintf(word, sizeof word, "`%s`", kdl_variable_name(tool->variable));
    const char *at = strstr(row, word);
    for (const char *const *place = tool->places; at && *place; ++place) {
      size_t folder = strlen(KDL_LLVM_PROGRAMS);
      bool is_llvm = strncmp(*place, KDL_LLVM_PROGRAMS "/", folder + 1) == 0;
      snprintf(word, sizeof word, "`%s%s`", is_llvm ? "LLVM" : "",
               is_llvm ? *place + folder : *place);
      at = strstr(at, word);
    }
    if (!at)
      fail_msg("%s: docs/linking.md does not have %s, or in another order", tool->name, word);
    *end = '\n';
  }
  free(page);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(every_place_is_searched_in_order, empty_root),
      cmocka_unit_test_setup(rows_have_one_order, empty_root),
      cmocka_unit_test_setup(newer_versions_come_first, empty_root),
      cmocka_unit_test_setup(variable_names_the_tool, empty_root),
      cmocka_unit_test_setup(variable_may_name_a_program_on_path, empty_root),
      cmocka_unit_test_setup(variable_may_name_the_folder_of_a_file, empty_root),
      cmocka_unit_test_setup(folders_and_other_files_are_passed_over, empty_root),
      cmocka_unit_test_setup(long_paths_are_passed_over, empty_root),
      cmocka_unit_test_setup(every_try_is_seen, empty_root),
      cmocka_unit_test_setup(messages_name_the_places, empty_root),
      cmocka_unit_test_setup(documents_have_every_place, empty_root),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
