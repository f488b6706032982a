/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing: the bytes equal those of independent writers, and saving never loses a file. */
#include "support.h"

#include "support/base/error.h"
#include "support/system/cache_settings.h"
#include "support/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads every image of a library back into a writer. */
static void copy_library(kdl_library *lib, kdl_writer *writer) {
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info info = image_at(lib, i);
    if (info.parent != KDL_NO_PARENT)
      continue;
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = info.declared_kind,
                              .offload_kind = info.offload_kind,
                              .flags = info.flags,
                              .pairs = info.pairs,
                              .pair_count = info.pair_count};
    assert_ok(kdl_image_bytes(lib, i, &image.data, &image.data_size));
    assert_ok(kdl_writer_add(writer, &image));
  }
}

static void expect_same_bytes(const char *golden, int format) {
  kdl_library *lib = open_golden(golden);
  kdl_writer *writer;
  assert_ok(kdl_writer_create(format, &writer));
  copy_library(lib, writer);
  void *data;
  size_t size;
  assert_ok(kdl_writer_finish(writer, &data, &size));
  size_t golden_size;
  uint8_t *expected = read_golden(golden, &golden_size);
  assert_int_equal(size, golden_size);
  assert_memory_equal(data, expected, size);
  free(expected);
  free(data);
  kdl_writer_destroy(writer);
  kdl_close(lib);
}

static void writes_what_others_write(void **state) {
  (void)state;
  expect_same_bytes("offload/v1_one.offload", KDL_FORMAT_V1);
  expect_same_bytes("offload/v1_three.offload", KDL_FORMAT_V1);
  expect_same_bytes("offload/v1_odd.offload", KDL_FORMAT_V1);
  expect_same_bytes("offload/v1_nested.offload", KDL_FORMAT_V1);
  expect_same_bytes("offload/v2_three.offload", KDL_FORMAT_V2);
  expect_same_bytes("offload/v2_odd.offload", KDL_FORMAT_V2);
  expect_same_bytes("offload/v2_metadata_only.offload", KDL_FORMAT_V2);
  expect_same_bytes("offload/v3_plain.offload", KDL_FORMAT_V3);
}

/* The compressed form contains the plain one, and its length. */
static void compresses_version_3(void **state) {
  (void)state;
  static const int ways[] = {KDL_FORMAT_ZSTD, KDL_FORMAT_ZLIB};
  kdl_library *plain = open_golden("offload/v3_plain.offload");
  for (size_t way = 0; way < 2; ++way) {
    kdl_writer *writer;
    assert_ok(kdl_writer_create(KDL_FORMAT_V3 | ways[way], &writer));
    copy_library(plain, writer);
    void *data;
    size_t size;
    kdl_status status = kdl_writer_finish(writer, &data, &size);
    kdl_writer_destroy(writer);
    if (status == KDL_UNSUPPORTED)
      continue; /* no such library here */
    assert_int_equal(status, KDL_OK);
    assert_int_equal(size % 8, 0);
    kdl_library *lib;
    assert_ok(try_open(data, size, &lib));
    assert_int_equal(kdl_image_count(lib), kdl_image_count(plain));
    for (size_t i = 0; i < kdl_image_count(lib); ++i) {
      kdl_image_info one = image_at(lib, i);
      kdl_image_info other = image_at(plain, i);
      assert_string_equal(one.container.data, "offload-binary v3 (compressed)");
      assert_int_equal(one.pair_count, other.pair_count);
      assert_string_equal(one.arch.data, other.arch.data);
      const void *bytes;
      const void *expected;
      size_t count;
      assert_ok(kdl_image_bytes(plain, i, &expected, &count));
      assert_ok(kdl_image_bytes(lib, i, &bytes, &count));
      assert_int_equal(one.byte_count, other.byte_count);
      assert_memory_equal(bytes, expected, count);
    }
    kdl_close(lib);
    free(data);
  }
  kdl_close(plain);
}

static void refuses_what_the_format_cannot_carry(void **state) {
  (void)state;
  kdl_writer *writer;
  static const int wrong[] = {0, 4, -1, KDL_FORMAT_V2 | KDL_FORMAT_ZSTD,
                              KDL_FORMAT_V3 | KDL_FORMAT_ZSTD | KDL_FORMAT_ZLIB};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    char expected[128];
    snprintf(expected, sizeof expected,
             "kdl_writer_create: found format %d, expected 1 to 3, or 3 with one way to compress",
             wrong[i]);
    assert_fails(kdl_writer_create(wrong[i], &writer), KDL_BAD_CALL, expected);
  }
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  void *data;
  size_t size;
  assert_fails(kdl_writer_finish(writer, &data, &size), KDL_BAD_CALL,
               "writing an OffloadBinary: found no image, expected one or more");
  kdl_pair blob = {{"symbols", 7}, {"a\0b", 3}};
  kdl_writer_image image = {.size = sizeof image, .pairs = &blob, .pair_count = 1};
  assert_fails(kdl_writer_add(writer, &image), KDL_BAD_CALL,
               "image 0: the value of \"symbols\" holds a NUL, which version 1 cannot carry; write "
               "version 2");
  blob.key = (kdl_string){"a\0b", 3};
  assert_fails(kdl_writer_add(writer, &image), KDL_BAD_CALL,
               "image 0: a key holds a NUL, which the format cannot carry");
  image.size = 8;
  assert_int_equal(kdl_writer_add(writer, &image), KDL_BAD_CALL);
  kdl_writer_destroy(writer);
}

/* ------------------------------------------------------------------------------------------ */
/* Saving                                                                                       */

static int make_folder(void **state) {
  char *folder = strdup("/tmp/kdl-test-XXXXXX");
  *state = mkdtemp(folder);
  return *state && chdir(folder) == 0 ? 0 : -1;
}

static size_t entries_here(void) {
  DIR *folder = opendir(".");
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(folder));)
    count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

static int remove_folder(void **state) {
  DIR *folder = opendir(".");
  for (struct dirent *entry; (entry = readdir(folder));)
    if (entry->d_name[0] != '.')
      remove(entry->d_name);
  closedir(folder);
  int status = chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1;
  free(*state);
  return status;
}

/* Sizes that would wrap where they are added up. */
static void refuses_what_memory_cannot_hold(void **state) {
  (void)state;
  kdl_writer *writer;
  kdl_writer_image small = {.size = sizeof small, .data = "x", .data_size = 1};
  kdl_writer_image large = small;
  large.data_size = (size_t)-40;
  assert_ok(kdl_writer_create(KDL_FORMAT_V2, &writer));
  assert_int_equal(kdl_writer_add(writer, &large), KDL_BAD_CALL);
  assert_ok(kdl_writer_add(writer, &small));
  large.data_size = PTRDIFF_MAX;
  assert_int_equal(kdl_writer_add(writer, &large), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "kdl_writer_add: image.data_size is "));
  void *data;
  size_t size;
  assert_ok(kdl_writer_finish(writer, &data, &size));
  free(data);
  kdl_writer_destroy(writer);
}

static void expect_content(const char *path, const char *text) {
  size_t size;
  uint8_t *data = read_file(path, &size);
  assert_int_equal(size, strlen(text));
  assert_memory_equal(data, text, size);
  free(data);
}

static void a_full_disk_loses_nothing(void **state) {
  (void)state;
  assert_ok(kdl_file_save("f", "precious", 8));
  struct rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  struct rlimit small = {4096, old.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  char *big = calloc(1, 1 << 16);
  kdl_status status = kdl_file_save("f", big, 1 << 16);
  setrlimit(RLIMIT_FSIZE, &old);
  free(big);
  assert_fails(status, KDL_IO, "f: cannot write: File too large");
  expect_content("f", "precious");
  assert_int_equal(entries_here(), 1);
}

static kdl_status write_half_and_die(void *user, int fd) {
  (void)user;
  if (kdl_fd_write(fd, "half", 4))
    raise(SIGKILL);
  return KDL_IO;
}

/* Where the folder's file system has files without a name, as nearly all of Linux's do. */
static void nothing_is_left_of_a_process_that_is_killed(void **state) {
  (void)state;
  int fd = open(".", O_TMPFILE | O_WRONLY, 0600);
  if (fd < 0) {
    print_message("skipped: no files without a name: %s\n", strerror(errno));
    skip();
  }
  close(fd);
  assert_ok(kdl_file_save("f", "precious", 8));
  pid_t child = fork();
  if (child == 0)
    _exit(kdl_file_save_by("f", write_half_and_die, NULL) == KDL_OK);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  expect_content("f", "precious");
  assert_int_equal(entries_here(), 1);
}

static void a_name_of_the_longest_sort_is_replaced(void **state) {
  (void)state;
  char name[NAME_MAX + 1];
  memset(name, 'n', NAME_MAX);
  name[NAME_MAX] = '\0';
  assert_ok(kdl_file_save(name, "old", 3));
  assert_ok(kdl_file_save(name, "new", 3));
  expect_content(name, "new");
  assert_int_equal(entries_here(), 1);
}

static void keeps_mode_and_link(void **state) {
  (void)state;
  assert_ok(kdl_file_save("f", "old", 3));
  assert_int_equal(chmod("f", 0640), 0);
  assert_int_equal(symlink("f", "link"), 0);
  assert_ok(kdl_file_save("link", "new!", 4));
  struct stat info;
  assert_int_equal(lstat("link", &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat("f", &info), 0);
  assert_int_equal(info.st_mode & 07777, 0640);
  expect_content("f", "new!");
}

static void set_id_bits_are_not_kept(void **state) {
  (void)state;
  assert_ok(kdl_file_save("f", "old", 3));
  assert_int_equal(chmod("f", 07755), 0);
  assert_ok(kdl_file_save("f", "new", 3));
  struct stat info;
  assert_int_equal(stat("f", &info), 0);
  assert_int_equal(info.st_mode & 07777, 0755);
}

enum { other_user = 12345 };

/* A folder that all may write to, and in it links and files of another user. */
static void what_others_planted_leads_nowhere(void **state) {
  (void)state;
  if (geteuid() != 0) {
    print_message("skipped: only root can make files of another user\n");
    skip();
  }
  assert_int_equal(mkdir("all", 0700), 0);
  assert_int_equal(chmod("all", 01777), 0);
  assert_ok(kdl_file_save("precious", "old", 3));
  assert_int_equal(symlink("../precious", "all/planted"), 0);
  assert_int_equal(lchown("all/planted", other_user, other_user), 0);
  assert_int_equal(symlink("all/planted", "own"), 0);
  assert_int_equal(mkfifo("all/pipe", 0666), 0);
  assert_int_equal(chown("all/pipe", other_user, other_user), 0);
  assert_fails(kdl_file_save("all/planted", "new", 3), KDL_IO,
               "all/planted: cannot write there: found a link, pipe or the like of another user "
               "(number 12345) in a folder that every user may write to: all/planted");
  assert_int_equal(kdl_file_save("own", "new", 3), KDL_IO);
  assert_int_equal(kdl_file_save("all/pipe", "new", 3), KDL_IO);
  expect_content("precious", "old");
  /* One's own are followed, and so are those of the folder's owner. */
  assert_int_equal(symlink("../precious", "all/own"), 0);
  assert_ok(kdl_file_save("all/own", "own", 3));
  expect_content("precious", "own");
  assert_int_equal(chown("all", other_user, other_user), 0);
  assert_ok(kdl_file_save("all/planted", "its", 3));
  expect_content("precious", "its");
  assert_int_equal(chown("all", 0, 0), 0);
  /* The same for links in the path, whatever fs.protected_symlinks is, also after one's own. */
  assert_int_equal(mkdir("home", 0700), 0);
  assert_ok(kdl_file_save("home/f", "old", 3));
  assert_int_equal(symlink("../home", "all/way"), 0);
  assert_int_equal(lchown("all/way", other_user, other_user), 0);
  assert_int_equal(symlink("all/way", "detour"), 0);
  assert_fails(kdl_file_save("all/way/f", "new", 3), KDL_IO,
               "all/way/f: cannot write there: found a link of another user (number 12345) in a "
               "folder that every user may write to: all/way");
  assert_int_equal(kdl_file_save("all/way/new", "new", 3), KDL_IO);
  assert_int_equal(kdl_file_save("./all/../all//way/f", "new", 3), KDL_IO);
  assert_int_equal(kdl_file_save("detour/f", "new", 3), KDL_IO);
  int fd;
  assert_int_equal(kdl_file_open("all/way/f", O_WRONLY, &fd), KDL_IO);
  expect_content("home/f", "old");
  assert_int_equal(access("home/new", F_OK), -1);
  /* But one's own, the folder's owner's, and those in other folders. */
  assert_int_equal(lchown("all/way", 0, 0), 0);
  assert_ok(kdl_file_save("detour/f", "own", 3));
  expect_content("home/f", "own");
  assert_int_equal(lchown("all/way", other_user, other_user), 0);
  assert_int_equal(chown("all", other_user, other_user), 0);
  assert_ok(kdl_file_save("all/way/f", "its", 3));
  expect_content("home/f", "its");
  assert_int_equal(chown("all", 0, 0), 0);
  assert_int_equal(chmod("all", 0777), 0);
  assert_ok(kdl_file_save("all/way/f", "any", 3));
  assert_int_equal(chmod("all", 01755), 0);
  assert_ok(kdl_file_save("all/way/f", "few", 3));
  expect_content("home/f", "few");
  assert_int_equal(chmod("all", 01777), 0);
  /* A file that is replaced does not stay another's. */
  assert_ok(kdl_file_save("all/f", "old", 3));
  assert_int_equal(chown("all/f", other_user, other_user), 0);
  assert_ok(kdl_file_save("all/f", "new", 3));
  struct stat info;
  assert_int_equal(stat("all/f", &info), 0);
  assert_int_equal(info.st_uid, 0);
  assert_int_equal(system("rm -r all precious own home detour"), 0);
}

/* Cache folders: the same for links in their paths and at their ends, and nothing is made. */
static void cache_folders_are_not_misled(void **state) {
  (void)state;
  if (geteuid() != 0) {
    print_message("skipped: only root can make files of another user\n");
    skip();
  }
  assert_int_equal(mkdir("all", 0700), 0);
  assert_int_equal(chmod("all", 01777), 0);
  assert_int_equal(mkdir("home", 0700), 0);
  assert_int_equal(symlink("../home", "all/way"), 0);
  assert_int_equal(symlink("nowhere", "dangling"), 0);
  assert_int_equal(lchown("all/way", other_user, other_user), 0);
  static const char *const paths[] = {"all/way", "all/way/cache", "all/way/a/b"};
  for (size_t i = 0; i < 3; ++i) {
    assert_int_equal(kdl_cache_folder_make(paths[i], KDL_CACHE_PRIVATE), -1);
    assert_non_null(strstr(kdl_error_message(), "of another user (number 12345)"));
    assert_int_equal(kdl_cache_folder_open(paths[i], KDL_CACHE_PRIVATE), -1);
    assert_int_equal(kdl_error_status(), KDL_IO);
  }
  assert_int_equal(kdl_cache_folder_make("dangling", KDL_CACHE_PRIVATE), -1);
  assert_int_equal(access("nowhere", F_OK), -1);
  assert_int_equal(rmdir("home"), 0); /* it is empty */
  assert_int_equal(mkdir("home", 0700), 0);
  /* One's own are followed. */
  assert_int_equal(lchown("all/way", 0, 0), 0);
  int folder = kdl_cache_subfolder_make("all/way/a/b", "c", KDL_CACHE_PRIVATE);
  assert_true(folder >= 0);
  close(folder);
  assert_int_equal(access("home/a/b/c", F_OK), 0);
  assert_int_equal(system("rm -r all home dangling"), 0);
}

/* Counts in place of libc's, and looks what is there by then. */
static int flushed_files, flushed_folders, flush_error;
static bool was_in_place;
int fsync(int fd) {
  struct stat info;
  assert_int_equal(fstat(fd, &info), 0);
  if (S_ISDIR(info.st_mode)) {
    ++flushed_folders;
    was_in_place = access("saved", F_OK) == 0;
    errno = flush_error;
    return flush_error ? -1 : 0;
  }
  ++flushed_files;
  was_in_place = access("saved", F_OK) == 0;
  return 0;
}

/* The file before it is renamed, and its folder after. */
static void what_is_saved_outlasts_a_power_failure(void **state) {
  (void)state;
  kdl_temp_file draft;
  flushed_files = flushed_folders = 0;
  assert_ok(kdl_temp_file_create("saved", "saved", &draft));
  assert_int_equal(flushed_files + flushed_folders, 0);
  assert_ok(kdl_temp_file_keep(&draft, "saved"));
  assert_int_equal(flushed_files, 1);
  assert_int_equal(flushed_folders, 1);
  assert_true(was_in_place);
  /* Some file systems cannot, and others fail. */
  flush_error = EINVAL;
  assert_ok(kdl_file_save("saved", "a", 1));
  flush_error = EIO;
  assert_fails(kdl_file_save("saved", "b", 1), KDL_IO,
               "saved: cannot flush its folder, in which it is now: Input/output error");
  flush_error = 0;
  expect_content("saved", "b");
  assert_int_equal(unlink("saved"), 0);
}

static void links_in_circles_end(void **state) {
  (void)state;
  assert_int_equal(symlink("a", "b"), 0);
  assert_int_equal(symlink("b", "a"), 0);
  assert_fails(kdl_file_save("a", "x", 1), KDL_IO,
               "a: cannot write there: Too many levels of symbolic links");
  assert_int_equal(mkdir("d", 0700), 0);
  assert_int_equal(symlink("../f", "d/up"), 0);
  assert_ok(kdl_file_save("f", "x", 1));
  assert_ok(kdl_file_save("d/up", "y", 1));
  expect_content("f", "y");
  assert_int_equal(system("rm -r a b d f"), 0);
}

static void new_files_follow_the_umask(void **state) {
  (void)state;
  mode_t old = umask(027);
  assert_ok(kdl_file_save("f", "x", 1));
  umask(old);
  struct stat info;
  assert_int_equal(stat("f", &info), 0);
  assert_int_equal(info.st_mode & 07777, 0640);
}

static void refuses_bad_places(void **state) {
  (void)state;
  assert_fails(kdl_file_save("no/such/folder", "x", 1), KDL_IO,
               "no/such/folder: cannot create a file there: No such file or directory");
  assert_int_equal(kdl_file_save(".", "x", 1), KDL_IO);
  assert_int_equal(symlink("nowhere", "dangling"), 0);
  assert_int_equal(kdl_file_save("dangling", "x", 1), KDL_IO);
  assert_int_equal(entries_here(), 1);
}

int main(void) {
#define in_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_what_others_write),
      cmocka_unit_test(compresses_version_3),
      cmocka_unit_test(refuses_what_the_format_cannot_carry),
      cmocka_unit_test(refuses_what_memory_cannot_hold),
      in_folder(a_full_disk_loses_nothing),
      in_folder(nothing_is_left_of_a_process_that_is_killed),
      in_folder(a_name_of_the_longest_sort_is_replaced),
      in_folder(set_id_bits_are_not_kept),
      in_folder(what_others_planted_leads_nowhere),
      in_folder(cache_folders_are_not_misled),
      in_folder(what_is_saved_outlasts_a_power_failure),
      in_folder(links_in_circles_end),
      in_folder(keeps_mode_and_link),
      in_folder(new_files_follow_the_umask),
      in_folder(refuses_bad_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
