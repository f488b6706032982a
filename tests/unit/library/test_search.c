/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where kdl_open searches, in which order; KDL_PRELOAD and the global scope. The kernel that runs
 * identifies the library that was found. */
#include "launch_support.h"

#include <limits.h>
#include <sys/stat.h>

static char root[] = "/tmp/kdl-search-XXXXXX";

/* A library with one image, ROOT/path. */
static void put(const char *path, const char *image) {
  host_row row = {image, 0, NULL, NULL, NULL, NULL};
  host_library made = make_library(&row, 1);
  char full[PATH_MAX];
  snprintf(full, sizeof full, "%s/%s", root, path);
  FILE *file = fopen(full, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(made.data, 1, made.size, file), made.size);
  fclose(file);
  free_rows(&made);
}

static void make_folder(const char *path) {
  char full[PATH_MAX];
  snprintf(full, sizeof full, "%s/%s", root, path);
  assert_int_equal(mkdir(full, 0700), 0);
}

/* The variant of the library that `name` opens. */
static uint32_t variant_of(const char *name) {
  kdl_library *lib;
  assert_ok(kdl_open(name, NULL, &lib));
  uint32_t variant = run_mark(kernel_named(lib, "mark"), 300);
  kdl_close(lib);
  return variant;
}

static void search_along(const char *first, const char *second) {
  char list[2 * PATH_MAX];
  snprintf(list, sizeof list, "%s/%s::%s/%s", root, first, root, second);
  setenv("KDL_LIBRARY_PATH", list, 1);
}

static void path_order_decides(void **state) {
  (void)state;
  search_along("a", "b");
  assert_int_equal(variant_of("lib.offload"), 1);
  assert_int_equal(variant_of("lib"), 1);
  search_along("b", "a");
  assert_int_equal(variant_of("lib.offload"), 2);
  assert_int_equal(variant_of("lib"), 2);
  unsetenv("KDL_LIBRARY_PATH");
}

static void slash_means_a_file(void **state) {
  (void)state;
  search_along("b", "b");
  char full[PATH_MAX];
  snprintf(full, sizeof full, "%s/a/lib.offload", root);
  assert_int_equal(variant_of(full), 1);
  kdl_library *lib;
  assert_int_equal(kdl_open("./lib.offload", NULL, &lib), KDL_IO);
  unsetenv("KDL_LIBRARY_PATH");
}

/* As with ld.so: what lies there by chance is nothing that was asked for. */
static void current_folder_is_asked_for(void **state) {
  (void)state;
  char before[PATH_MAX], here[PATH_MAX];
  kdl_library *lib;
  assert_non_null(getcwd(before, sizeof before));
  snprintf(here, sizeof here, "%s/a", root);
  assert_int_equal(chdir(here), 0);
  assert_int_equal(kdl_open("lib", NULL, &lib), KDL_IO);
  assert_int_equal(kdl_open("lib.offload", NULL, &lib), KDL_IO);
  assert_non_null(
      strstr(kdl_error_message(), "; the one in the current folder is './lib.offload'"));
  assert_int_equal(variant_of("./lib.offload"), 1);
  setenv("KDL_LIBRARY_PATH", ":", 1); /* empty parts mean nothing */
  assert_int_equal(kdl_open("lib", NULL, &lib), KDL_IO);
  setenv("KDL_LIBRARY_PATH", ".", 1);
  assert_int_equal(variant_of("lib"), 1);
  search_along("b", ".");
  assert_int_equal(variant_of("lib"), 2);
  unsetenv("KDL_LIBRARY_PATH");
  assert_int_equal(chdir(before), 0);
}

static void put_file(const char *path, const char *image) {
  host_row row = {image, 0, NULL, NULL, NULL, NULL};
  host_library made = make_library(&row, 1);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(made.data, 1, made.size, file), made.size);
  fclose(file);
  free_rows(&made);
}

/* The folder of this very program. */
static void beside_the_caller(void **state) {
  (void)state;
  char program[PATH_MAX], beside[PATH_MAX + 64];
  assert_non_null(realpath("/proc/self/exe", program));
  snprintf(beside, sizeof beside, "%s-beside.offload", program);
  put_file(beside, "mark3");
  assert_int_equal(variant_of(strrchr(beside, '/') + 1), 3);
  unlink(beside);
}

/* Those that come with libkdl, as "kdl-matmul": from where this program was built to. */
static void libraries_of_libkdl_are_last(void **state) {
  (void)state;
  char path[PATH_MAX], *slash;
  assert_non_null(realpath("/proc/self/exe", path));
  slash = strrchr(path, '/');
  snprintf(slash, sizeof path - (size_t)(slash - path), "/%s", KDL_TEST_LIBRARIES);
  char *folder = realpath(path, NULL);
  assert_non_null(folder);
  snprintf(path, sizeof path, "%s/search-test-%d.offload", folder, (int)getpid());
  free(folder);
  put_file(path, "mark3");
  char name[64];
  snprintf(name, sizeof name, "search-test-%d", (int)getpid());
  uint32_t found = variant_of(name);
  snprintf(name, sizeof name, "a/search-test-%d.offload", (int)getpid());
  put(name, "mark1");
  *strrchr(name, '.') = '\0';
  search_along("b", "a");
  uint32_t listed = variant_of(name + 2);
  unsetenv("KDL_LIBRARY_PATH");
  unlink(path);
  assert_int_equal(found, 3);
  assert_int_equal(listed, 1);
}

static void folder_is_one_library(void **state) {
  (void)state;
  search_along("c", "a");
  kdl_library *lib;
  assert_ok(kdl_open("many", NULL, &lib));
  assert_int_equal(kdl_image_count(lib), 2);
  assert_int_equal(run_mark(kernel_named(lib, "mark"), 300), 2); /* 10.offload before 9.offload */
  kdl_close(lib);
  char full[PATH_MAX];
  snprintf(full, sizeof full, "%s/a", root);
  assert_ok(kdl_open(full, NULL, &lib));
  kdl_close(lib);
  snprintf(full, sizeof full, "%s/empty", root);
  char expected[PATH_MAX + 64];
  snprintf(expected, sizeof expected, "%s: found a folder without *.offload files", full);
  assert_fails(kdl_open(full, NULL, &lib), KDL_IO, expected);
  unsetenv("KDL_LIBRARY_PATH");
}

static void what_is_nowhere_is_told_with_every_place(void **state) {
  (void)state;
  search_along("a", "b");
  kdl_library *lib;
  assert_int_equal(kdl_open("nowhere", NULL, &lib), KDL_IO);
  char places[2 * PATH_MAX + 8];
  snprintf(places, sizeof places,
           "nowhere: cannot open: found neither nowhere, nowhere.offload nor nowhere.d in %s/a, "
           "%s/b, ",
           root, root);
  assert_int_equal(strncmp(kdl_error_message(), places, strlen(places)), 0);
  assert_non_null(strstr(kdl_error_message(), "/kdl; KDL_LIBRARY_PATH adds folders"));
  unsetenv("KDL_LIBRARY_PATH");
}

static void global_scope_is_in_the_order_of_opening(void **state) {
  (void)state;
  kdl_library *one, *two;
  kdl_kernel *kernel;
  char path[PATH_MAX];
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_GLOBAL};
  assert_int_equal(kdl_sym(NULL, the_host(), "mark", NULL, &kernel), KDL_NO_MATCH);
  snprintf(path, sizeof path, "%s/b/lib.offload", root);
  assert_ok(kdl_open(path, &opts, &two));
  snprintf(path, sizeof path, "%s/a/lib.offload", root);
  assert_ok(kdl_open(path, &opts, &one));
  assert_ok(kdl_sym(NULL, the_host(), "mark", NULL, &kernel));
  assert_int_equal(run_mark(kernel, 100), 2);
  kdl_close(two);
  assert_ok(kdl_sym(NULL, the_host(), "mark", NULL, &kernel));
  assert_int_equal(run_mark(kernel, 100), 1);
  kdl_close(one);
  assert_int_equal(kdl_sym(NULL, the_host(), "mark", NULL, &kernel), KDL_NO_MATCH);
}

static int make_tree(void **state) {
  (void)state;
  if (!mkdtemp(root))
    return 1;
  static const char *const folders[] = {"a", "b", "c", "c/many.d", "empty"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i)
    make_folder(folders[i]);
  put("a/lib.offload", "mark1");
  put("b/lib.offload", "mark2");
  put("c/many.d/10.offload", "mark2");
  put("c/many.d/9.offload", "mark3");
  return 0;
}

static int remove_tree(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", root);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(path_order_decides),
      cmocka_unit_test(slash_means_a_file),
      cmocka_unit_test(current_folder_is_asked_for),
      cmocka_unit_test(beside_the_caller),
      cmocka_unit_test(libraries_of_libkdl_are_last),
      cmocka_unit_test(folder_is_one_library),
      cmocka_unit_test(what_is_nowhere_is_told_with_every_place),
      cmocka_unit_test(global_scope_is_in_the_order_of_opening),
  };
  return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
