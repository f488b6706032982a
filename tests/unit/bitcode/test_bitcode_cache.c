/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode is linked once, and again when a dependency changes: the linker's log shows it. */
#include "bitcode_support.h"
#include "support/system/variables.h"

#include <sys/resource.h>

/* Runs the rows and returns whether the linker was needed. */
static bool was_linked(const mixed_row *rows, size_t count) {
  size_t before = runs();
  assert_int_equal(run_rows(rows, count), 3);
  size_t more = runs() - before;
  assert_true(more <= 1);
  return more == 1;
}

#define assert_linked(rows) assert_true(was_linked(rows, sizeof(rows) / sizeof *(rows)))
#define assert_cached(rows) assert_false(was_linked(rows, sizeof(rows) / sizeof *(rows)))

static bool is_llvm_here(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096];
  bool found = false;
  while (maps && fgets(line, sizeof line, maps))
    found |= strstr(line, "LLVM") != NULL;
  fclose(maps);
  return found;
}

static void second_time_is_cached(void **state) {
  (void)state;
  assert_linked(with_fallback);
  start_listening("link");
  assert_cached(with_fallback);
  assert_said("link: t: image 0 (bitcode " HOST_ARCH "): in the cache: object, ");
  assert_int_equal(times_said("linked by"), 0);
  stop_listening();
  assert_false(is_llvm_here());
}

/* ------------------------------------------------------------------------------------------ */
/* What matters                                                                                 */

static void caller_matters(void **state) {
  (void)state;
  static const mixed_row a[] = {{NULL, NULL, MARK, "aaaa"}};
  static const mixed_row b[] = {{NULL, NULL, MARK, "aaab"}};
  assert_linked(a);
  assert_linked(b);
  assert_cached(a);
  assert_cached(b);
}

/* Bitcode of the same library may be microkernels, unless it lists kernels alone; other images are
 * none. */
static void library_matters(void **state) {
  (void)state;
  static const mixed_row a[] = {{NULL, NULL, MARK, NULL}, {NULL, NULL, NULL, "one"}};
  static const mixed_row b[] = {{NULL, NULL, MARK, NULL}, {NULL, NULL, NULL, "two"}};
  static const mixed_row c[] = {{NULL, NULL, MARK, NULL}, {NULL, NULL, "variant_tag=x", "one"}};
  static const mixed_row d[] = {{NULL, NULL, MARK, NULL},
                                {NULL, NULL, "kdl.ukernel.dot=|kdl.kernel.k=rev=1", "one"}};
  assert_linked(a);
  assert_non_null(strstr(last_run, "--ukernels=/proc/self/fd/6"));
  assert_linked(b);
  assert_linked(c);
  assert_linked(d);
  assert_cached(a);
  assert_cached(d);
  static const mixed_row one[] = {{NULL, NULL, MARK, NULL}};
  static const mixed_row kernels[] = {{NULL, NULL, MARK, NULL},
                                      {NULL, NULL, "kdl.kernel.other=rev=1", "one"}};
  static const mixed_row object[] = {{NULL, NULL, "variant_priority=1|" MARK, NULL},
                                     {"mark1", NULL, "variant_tag=x", NULL}};
  assert_linked(one);
  assert_null(strstr(last_run, "--ukernels"));
  assert_cached(kernels);
  assert_cached(object);
  static const mixed_row refused[] = {{NULL, NULL, MARK, NULL},
                                      {NULL, NULL, "requires_features=warp_drive", "one"}};
  assert_cached(refused);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
}

static void set_time(const char *path, time_t when) {
  const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Waits until no file counts as recently modified any more, which changes a file's identity once:
 * see ext/jit/identity.h. */
static void let_files_age(void) {
  sleep(3);
}

/* Files and folders along the path: also ones that are added, removed, or rewritten at once with
 * the same size and time. */
static void ukernel_path_matters(void **state) {
  (void)state;
  char folder[128], file[192], other[192], list[512];
  snprintf(folder, sizeof folder, "%s/uk", work);
  snprintf(file, sizeof file, "%s/a.offload", folder);
  snprintf(other, sizeof other, "%s/b.bc", folder);
  snprintf(list, sizeof list, "%s/none.offload:%s", work, folder);
  assert_linked(alone);
  assert_int_equal(mkdir(folder, 0700), 0);
  setenv("KDL_UKERNEL_PATH", list, 1);
  assert_linked(alone);
  assert_non_null(strstr(last_run, "/none.offload --ukernels=/tmp/"));
  write_text(file, "one");
  assert_linked(alone);
  write_text(file, "two");
  set_time(file, 1000000000);
  assert_linked(alone);
  write_text(file, "six");
  set_time(file, 1000000000);
  assert_linked(alone);
  write_text(other, "x");
  assert_linked(alone);
  let_files_age();
  run_rows(alone, 1);
  assert_cached(alone);
  unlink(other);
  assert_linked(alone);
  unsetenv("KDL_UKERNEL_PATH");
  assert_cached(alone);
}

static void copy_file(const char *from, const char *to, const char *more) {
  size_t size;
  uint8_t *data = read_file(from, &size);
  FILE *file = fopen(to, "wb");
  assert_int_equal(fwrite(data, 1, size, file), size);
  fputs(more, file);
  fclose(file);
  assert_int_equal(chmod(to, 0700), 0);
  free(data);
}

/* By its build ID, not by its place; a program without one by what its file is. */
static void linker_matters(void **state) {
  (void)state;
  char copy[128], script[128];
  snprintf(copy, sizeof copy, "%s/kdl-ld", work);
  snprintf(script, sizeof script, "%s/kdl-ld.sh", work);
  assert_linked(alone);
  copy_file(KDL_TEST_FAKES "/linker/kdl-ld", copy, "");
  setenv("KDL_LD", copy, 1);
  assert_cached(alone);
  write_text(script, "#!/bin/sh\nexec " KDL_TEST_FAKES "/linker/kdl-ld \"$@\"\n");
  assert_int_equal(chmod(script, 0700), 0);
  let_files_age();
  setenv("KDL_LD", script, 1);
  assert_linked(alone);
  assert_cached(alone);
  set_time(script, 1000000001);
  assert_linked(alone);
  setenv("KDL_LD", KDL_TEST_FAKES "/linker/kdl-ld", 1);
}

static void programs_matter(void **state) {
  (void)state;
  static const char *const folders[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i)
    unsetenv(folders[i]);
  assert_linked(alone);
  setenv("KDL_PTXAS", "none", 1);
  assert_linked(alone);
  setenv("KDL_LLD", "/x", 1);
  assert_linked(alone);
  setenv("KDL_LLD", "/x\ny", 1);
  assert_linked(alone);
  setenv("KDL_LLD", "/x\nz", 1);
  assert_linked(alone);
  setenv("KDL_LLD", "/x\\012z", 1);
  assert_linked(alone);
  unsetenv("KDL_LLD");
  assert_cached(alone);
  unsetenv("KDL_PTXAS");
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
    setenv(folders[i], "/x", 1);
    assert_linked(alone);
    unsetenv(folders[i]);
    assert_cached(alone);
  }
}

static void variables_of_the_link_key_matter(void **state) {
  (void)state;
  for (kdl_variable which = 0; which < KDL_VARIABLE_COUNT; ++which) {
    if (kdl_variable_rule_of(which) == KDL_VARIABLE_RULE_LINK_KEY)
      unsetenv(kdl_variable_name(which));
  }
  assert_linked(alone);
  for (kdl_variable which = 0; which < KDL_VARIABLE_COUNT; ++which) {
    if (kdl_variable_rule_of(which) != KDL_VARIABLE_RULE_LINK_KEY)
      continue;
    setenv(kdl_variable_name(which), "/x", 1);
    assert_linked(alone);
    unsetenv(kdl_variable_name(which));
    assert_cached(alone);
  }
}

/* Files in the report that change, disappear or appear. Recently modified ones prevent caching. */
static void dependencies_matter(void **state) {
  (void)state;
  char path[128], json[160];
  struct timespec now;
  snprintf(path, sizeof path, "%s/dep\\end", work);
  snprintf(json, sizeof json, "%s/dep\\\\end", work);
  setenv("KDL_FAKE_LD_DEPENDS", json, 1);
  clock_gettime(CLOCK_REALTIME, &now);
  write_text(path, "one");
  set_time(path, now.tv_sec + 3600);
  start_listening("link");
  assert_linked(alone);
  assert_linked(alone);
  assert_said("not kept: what it depends on was just changed");
  stop_listening();
  set_time(path, 1000000000);
  let_files_age();
  assert_linked(alone);
  assert_cached(alone);
  set_time(path, 1000000002);
  let_files_age();
  start_listening("link");
  assert_linked(alone);
  assert_said("the cache's answer is out of date: ");
  stop_listening();
  assert_cached(alone);
  unlink(path);
  assert_linked(alone);
  assert_cached(alone);
  write_text(path, "one");
  assert_linked(alone);
  unlink(path);
}

/* ------------------------------------------------------------------------------------------ */
/* Constants                                                                                    */

static kdl_status sym_with(kdl_library *lib, const kdl_constant *constants, size_t count,
                           kdl_kernel **out_kernel) {
  kdl_select_opts opts = {.size = sizeof opts, .constants = constants, .constant_count = count};
  return kdl_sym(lib, the_host(), "mark", &opts, out_kernel);
}

static void constants_matter(void **state) {
  (void)state;
  static const kdl_constant ab[] = {{"a", "1"}, {"b", "-0.5"}}, ba[] = {{"b", "-0.5"}, {"a", "1"}},
                            a2[] = {{"a", "2"}, {"b", "-0.5"}};
  kdl_kernel *plain, *first, *same, *other;
  mixed_library made = open_mixed(alone, 1);
  plain = kernel_named(made.lib, "mark");
  assert_ok(sym_with(made.lib, ab, 2, &first));
  assert_ok(sym_with(made.lib, ba, 2, &same));
  assert_ok(sym_with(made.lib, a2, 2, &other));
  assert_ptr_equal(first, same);
  assert_ptr_not_equal(first, plain);
  assert_ptr_not_equal(first, other);
  assert_ok(kdl_prefetch(first));
  assert_int_equal(runs(), 1);
  assert_non_null(strstr(last_run, " --kernel=mark --const=a=1 --const=b=-0.5\n"));
  assert_ok(kdl_prefetch(other));
  assert_int_equal(runs(), 2);
  assert_non_null(strstr(last_run, " --kernel=mark --const=a=2 --const=b=-0.5\n"));
  assert_ok(kdl_prefetch(plain));
  assert_int_equal(runs(), 3);
  assert_null(strstr(last_run, "--const"));
  assert_int_equal(run_mark(first, 10), 3);
  free_mixed(&made);
  made = open_mixed(alone, 1);
  assert_ok(sym_with(made.lib, ba, 2, &first));
  assert_ok(kdl_prefetch(first));
  assert_int_equal(runs(), 3);
  free_mixed(&made);
}

/* Machine code has its values already. */
static void constants_are_for_bitcode(void **state) {
  (void)state;
  static const mixed_row rows[] = {{"mark1", NULL, MARK, NULL}};
  static const kdl_constant a[] = {{"a", "1"}};
  kdl_kernel *special;
  mixed_library made = open_mixed(rows, 1);
  assert_ok(sym_with(made.lib, a, 1, &special));
  start_listening("load");
  assert_int_equal(run_mark(special, 10), 1);
  assert_int_equal(run_mark(kernel_named(made.lib, "mark"), 10), 1);
  assert_int_equal(times_said("loaded on host"), 1); /* one module for both */
  stop_listening();
  free_mixed(&made);
  assert_int_equal(runs(), 0);
}

static void constants_are_checked(void **state) {
  (void)state;
  static const struct {
    kdl_constant constants[2];
    size_t count;
    const char *message;
  } rows[] = {
      {{{"", "1"}}, 1, "constants: found the name \"\", expected an identifier"},
      {{{NULL, "1"}}, 1, "constants: found the name \"\", expected an identifier"},
      {{{"a=b", "1"}}, 1, "constants: found the name \"a=b\", expected an identifier"},
      {{{"a", NULL}}, 1, "constants: a: found the value \"\", expected a number"},
      {{{"a", "1\n2"}}, 1, "constants: a: found the value \"1\\x0a2\", expected a number"},
      {{{"a", "1"}, {"a", "2"}}, 2, "constants: found \"a\" twice, expected each once"},
      {{{"a", "1"}}, 257, "constants: found 257, expected at most 256"},
  };
  mixed_library made = open_mixed(alone, 1);
  kdl_kernel *kernel;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    assert_fails(sym_with(made.lib, rows[i].constants, rows[i].count, &kernel), KDL_BAD_CALL,
                 rows[i].message);
  /* A program that was built before there were constants. */
  kdl_select_opts older = {.size = offsetof(kdl_select_opts, constants), .constant_count = 999};
  assert_ok(kdl_sym(made.lib, the_host(), "mark", &older, &kernel));
  older.size = 12;
  assert_fails(kdl_sym(made.lib, the_host(), "mark", &older, &kernel), KDL_BAD_CALL,
               "kdl_select: opts.size is 12, expected 40");
  free_mixed(&made);
}

/* ------------------------------------------------------------------------------------------ */
/* A cache that does not work                                                                   */

/* The one entry there is, by its path. */
static void entry_path(char path[512]) {
  DIR *stream = opendir(cache_path);
  path[0] = '\0';
  for (struct dirent *item; (item = readdir(stream));) {
    if (strstr(item->d_name, ".kdl"))
      snprintf(path, 512, "%s/%s", cache_path, item->d_name);
  }
  closedir(stream);
}

static void flip(const char *path, off_t at) {
  int fd = open(path, O_RDWR);
  char byte;
  assert_int_equal(pread(fd, &byte, 1, at), 1);
  byte = (char)~byte;
  assert_int_equal(pwrite(fd, &byte, 1, at), 1);
  close(fd);
}

/* Every byte when the entry is read; and, since each costs a run of the linker, some of them all
 * the way to the launch. */
static void each_byte_is_noticed(void **state) {
  (void)state;
  char path[512];
  struct stat info;
  assert_linked(alone);
  entry_path(path);
  assert_int_equal(stat(path, &info), 0);
  int folder = kdl_cache_folder_open(cache_path, KDL_CACHE_PRIVATE);
  for (off_t at = 0; at < info.st_size; ++at) {
    kdl_cache_hit found;
    flip(path, at);
    assert_int_equal(kdl_cache_read(folder, KDL_CACHE_PRIVATE, strrchr(path, '/') + 1, &found),
                     KDL_BAD_FILE);
    flip(path, at);
  }
  close(folder);
  assert_cached(alone);
  for (off_t at = 0; at < info.st_size; at += at < 700 ? 23 : 1999) {
    flip(path, at);
    assert_linked(alone);
    assert_cached(alone);
  }
}

/* The entry is complete, but its image does not load: it is linked again, once. */
static void unloadable_entry_is_replaced(void **state) {
  (void)state;
  assert_linked(alone);
  kdl_cache_settings settings;
  assert_ok(kdl_cache_settings_read(&settings));
  int folder = kdl_cache_folder_open(settings.dir, KDL_CACHE_PRIVATE);
  kdl_cache_file *files;
  size_t count;
  assert_ok(kdl_cache_files_list(folder, &files, &count));
  assert_int_equal(count, 1);
  kdl_cache_hit found;
  assert_ok(kdl_cache_read(folder, KDL_CACHE_PRIVATE, files[0].name, &found));
  kdl_cache_entry entry = found.entry;
  entry.image_size = 100;
  assert_ok(kdl_cache_store(&settings, &entry));
  kdl_cache_hit_free(&found);
  free(files);
  close(folder);
  start_listening("link");
  assert_linked(alone);
  assert_said("what was there does not load");
  stop_listening();
  assert_cached(alone);
}

static void modes(void **state) {
  (void)state;
  setenv("KDL_CACHE", "off", 1);
  assert_linked(alone);
  assert_linked(alone);
  assert_int_equal(files_in(cache_path), 0);
  setenv("KDL_CACHE", "ro", 1);
  assert_linked(alone);
  assert_int_equal(files_in(cache_path), 0);
  unsetenv("KDL_CACHE");
  assert_linked(alone);
  setenv("KDL_CACHE", "ro", 1);
  assert_cached(alone);
  setenv("KDL_CACHE", "off", 1);
  assert_linked(alone);
  setenv("KDL_CACHE", "sometimes", 1);
  start_listening("link");
  assert_linked(alone);
  assert_said("cache: not used: KDL_CACHE: found \"sometimes\"");
  stop_listening();
  unsetenv("KDL_CACHE");
}

static void works_uncached(const char *said_words) {
  start_listening("link");
  assert_linked(alone);
  assert_linked(alone);
  assert_said(said_words);
  stop_listening();
}

/* Works without the cache, and logs that. */
static void folder_that_refuses(void **state) {
  (void)state;
  char path[128];
  setenv("KDL_CACHE_DIR", "/proc/self/kdl", 1);
  works_uncached("not kept: /proc/self/kdl: cannot make the folder: No such file or directory");
  setenv("KDL_CACHE_DIR", "/dev/null/kdl", 1);
  works_uncached("not kept: /dev/null/kdl: Not a directory");
  snprintf(path, sizeof path, "%s/open", work);
  assert_int_equal(mkdir(path, 0777), 0);
  chmod(path, 0777);
  setenv("KDL_CACHE_DIR", path, 1);
  works_uncached("found mode 0777, expected a folder that no other user may write to");
  setenv("KDL_CACHE_DIR", cache_path, 1);
  setenv("KDL_CACHE_SIZE", "100", 1);
  works_uncached("bytes is more than KDL_CACHE_SIZE, which is 100");
  unsetenv("KDL_CACHE_SIZE");
  assert_linked(alone);
  remove_folder(cache_path);
  assert_linked(alone);
  assert_cached(alone);
}

/* Too small for an entry, large enough for the memory files that loading takes. */
static void files_that_are_limited(void **state) {
  (void)state;
  struct stat info;
  struct rlimit before;
  assert_int_equal(stat(KDL_TEST_IMAGES "/mark3.so", &info), 0);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)info.st_size + 10, before.rlim_max});
  works_uncached("cannot write: File too large");
  setrlimit(RLIMIT_FSIZE, &before);
}

static void reports_that_cannot_be_read(void **state) {
  (void)state;
  setenv("KDL_FAKE_LD", "bad-report", 1);
  works_uncached(
      "not kept: what it depends on is unknown: the report of kdl-ld: line 1, column 12: ");
  setenv("KDL_FAKE_LD", "no-report", 1);
  works_uncached(
      "not kept: what it depends on is unknown: the report of kdl-ld: line 1, column 1: ");
}

#define TEST(name) cmocka_unit_test_setup(name, begin_test)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(second_time_is_cached),
      TEST(caller_matters),
      TEST(library_matters),
      TEST(ukernel_path_matters),
      TEST(linker_matters),
      TEST(programs_matter),
      TEST(variables_of_the_link_key_matter),
      TEST(dependencies_matter),
      TEST(constants_matter),
      TEST(constants_are_for_bitcode),
      TEST(constants_are_checked),
      TEST(each_byte_is_noticed),
      TEST(unloadable_entry_is_replaced),
      TEST(modes),
      TEST(folder_that_refuses),
      TEST(files_that_are_limited),
      TEST(reports_that_cannot_be_read),
  };
  return cmocka_run_group_tests(tests, make_work, end_work);
}
