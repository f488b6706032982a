/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Cache tiers: one machine uses what another linked, wherever their files are. Entries that are
 * incomplete, not trusted or made with other files are linked again, and no program sees an error.
 * A machine is a separate cache folder. */
#include "bitcode_support.h"

#include "ext/jit/cache/claim.h"
#include "ext/jit/identity.h"

static char shared_path[64], depended[64];

/* The next machine: nothing is in its own cache. */
static void next_machine(void) {
  remove_folder(cache_path);
}

static int begin_layers(void **state) {
  char list[128];
  begin_test(state);
  snprintf(shared_path, sizeof shared_path, "%s/shared", work);
  snprintf(depended, sizeof depended, "%s/depended", work);
  remove_folder(shared_path);
  snprintf(list, sizeof list, "%s,shared", shared_path);
  setenv("KDL_CACHE", list, 1);
  unsetenv("KDL_UKERNEL_PATH");
  return 0;
}

static void set_lower(const char *path) {
  char list[128];
  snprintf(list, sizeof list, "%s,ro", path);
  setenv("KDL_CACHE", list, 1);
}

/* Another modification time, as on another machine. The file is not recently modified any more. */
static void write_file(const char *path, const char *text, time_t when) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
  const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void linked_once(void **state) {
  (void)state;
  for (size_t machine = 0; machine < 10; ++machine) {
    next_machine();
    assert_int_equal(run_rows(with_fallback, 2), 3);
    assert_int_equal(files_in(cache_path), 1); /* and the machine has it now */
    assert_int_equal(files_in(shared_path), 1);
  }
  assert_int_equal(runs(), 1);
  remove_folder(shared_path);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 1);
}

/* Without an own cache, and with one that is read-only. */
static void no_own_cache(void **state) {
  (void)state;
  char list[128];
  snprintf(list, sizeof list, "off:%s,shared", shared_path);
  setenv("KDL_CACHE", list, 1);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 1);
  assert_int_equal(files_in(cache_path), 0);
  snprintf(list, sizeof list, "ro:%s,shared", shared_path);
  setenv("KDL_CACHE", list, 1);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 1);
  assert_int_equal(files_in(cache_path), 0);
}

/* The same microkernels in another folder, written at another time, are the same; others are not.
 */
static void ukernels_by_contents(void **state) {
  (void)state;
  char folders[2][64], files[2][80];
  for (int i = 0; i < 2; ++i) {
    snprintf(folders[i], sizeof folders[i], "%s/uk%d", work, i);
    snprintf(files[i], sizeof files[i], "%s/a.bc", folders[i]);
    assert_int_equal(mkdir(folders[i], 0700), 0);
    write_file(files[i], "same", 1000000 + i);
  }
  for (int i = 0; i < 2; ++i) {
    next_machine();
    setenv("KDL_UKERNEL_PATH", folders[i], 1);
    assert_int_equal(run_rows(with_fallback, 2), 3);
    assert_int_equal(runs(), 1);
  }
  next_machine();
  write_file(files[1], "else", 1000001);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 2);
}

/* Files that kdl-ld found must be the same on the machine that uses the entry. */
/* Microkernels of one folder are one library, of which the best is linked; those of two folders are
 * two, and the first has precedence. */
static void ukernels_by_place(void **state) {
  (void)state;
  char both[64], one[64], first[80], list[256];
  snprintf(both, sizeof both, "%s/both", work);
  snprintf(one, sizeof one, "%s/one", work);
  assert_int_equal(mkdir(both, 0700), 0);
  assert_int_equal(mkdir(one, 0700), 0);
  for (int i = 0; i < 3; ++i) {
    const char *const files[] = {"both/a.offload", "both/b.offload", "one/a.offload"};
    snprintf(first, sizeof first, "%s/%s", work, files[i]);
    write_file(first, i == 1 ? "b" : "a", 1000000);
  }
  setenv("KDL_UKERNEL_PATH", both, 1);
  assert_int_equal(run_rows(alone, 1), 3);
  next_machine();
  snprintf(list, sizeof list, "%s:%s/b.offload", one, both);
  setenv("KDL_UKERNEL_PATH", list, 1);
  assert_int_equal(run_rows(alone, 1), 3);
  assert_int_equal(runs(), 2);
}

/* A key of this machine describes files as they were: exported later, it must not claim that the
 * image was made from their current contents. */
static void keys_of_files_that_changed_are_not_portable(void **state) {
  (void)state;
  static const char *const words[] = {"ukernels", "member", "kdl-ld"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    char *text, *first, *again;
    size_t length;
    write_file(depended, "one", 1000000);
    FILE *out = open_memstream(&text, &length);
    fprintf(out, "device x\n%s ", words[i]);
    kdl_identity_print(out, depended, NULL);
    fputc('\n', out);
    fclose(out);
    assert_ok(kdl_portable_key((kdl_string){text, length}, &first, &length));
    write_file(depended, "one", 2000000); /* the key of a recently modified file has its contents */
    assert_ok(kdl_portable_key(text_of(text), &again, &length));
    assert_string_equal(first, again);
    free(again);
    write_file(depended, "two", 1000000);
    assert_int_equal(kdl_portable_key(text_of(text), &again, &length), KDL_UNSUPPORTED);
    assert_non_null(strstr(kdl_error_message(), "is another now"));
    unlink(depended);
    assert_int_equal(kdl_portable_key(text_of(text), &again, &length), KDL_UNSUPPORTED);
    free(first);
    free(text);
  }
}

static void write_program(const char *path, const char *more) {
  size_t size;
  uint8_t *data = read_file(KDL_TEST_FAKES "/linker/kdl-ld", &size);
  FILE *file = fopen(path, "wbe");
  assert_int_equal(fwrite(data, 1, size, file), size);
  fputs(more, file);
  fclose(file);
  free(data);
}

/* A build ID identifies the linker's output, and does not change when a tool replaces the
 * microkernels in it. */
static void ukernels_by_all_bytes(void **state) {
  (void)state;
  char file[128];
  snprintf(file, sizeof file, "%s/ukernels.so", work);
  setenv("KDL_UKERNEL_PATH", file, 1);
  write_program(file, "one");
  assert_int_equal(run_rows(alone, 1), 3);
  next_machine();
  write_program(file, "one");
  assert_int_equal(run_rows(alone, 1), 3);
  assert_int_equal(runs(), 1);
  next_machine();
  write_program(file, "two");
  assert_int_equal(run_rows(alone, 1), 3);
  assert_int_equal(runs(), 2);
}

static void depends_by_contents(void **state) {
  (void)state;
  static const char text[] = "source t\ndepends 7 4 1.000000000 2.000000000 ";
  char notes[256], *portable, *here;
  size_t length;
  bool is_young;
  write_file(depended, "linker", 1000000);
  snprintf(notes, sizeof notes, "%s%s\n", text, depended);
  assert_ok(kdl_portable_notes(text_of(notes), &portable, &length));
  assert_int_equal(length, strlen(portable));
  assert_non_null(strstr(portable, depended));
  assert_null(strstr(portable, "1.000000000"));
  assert_true(kdl_portable_notes_are_current((kdl_string){portable, length}));
  write_file(depended, "linker", 2000000);
  assert_true(kdl_portable_notes_are_current((kdl_string){portable, length}));
  assert_ok(kdl_portable_notes_to_local((kdl_string){portable, length}, &here, &length, &is_young));
  assert_non_null(strstr(here, "2000000.000000000"));
  assert_true(is_young); /* its change time is now, whatever its modification time is */
  free(here);
  write_file(depended, "Linker", 2000000);
  assert_false(kdl_portable_notes_are_current(text_of(portable)));
  unlink(depended);
  assert_false(kdl_portable_notes_are_current(text_of(portable)));
  free(portable);
}

/* ------------------------------------------------------------------------------------------ */
/* Entries of other machines                                                                    */

static void entry_path(char path[4200]) {
  DIR *stream = opendir(shared_path);
  assert_non_null(stream);
  for (struct dirent *item; (item = readdir(stream));) {
    if (strstr(item->d_name, ".kdl"))
      snprintf(path, 4200, "%s/%s", shared_path, item->d_name);
  }
  closedir(stream);
}

/* A name that appears before its contents: it is not used, and not touched until it is replaced. */
static void contents_come_late(void **state) {
  (void)state;
  char path[4200];
  size_t size;
  assert_int_equal(run_rows(with_fallback, 2), 3);
  entry_path(path);
  uint8_t *whole = read_file(path, &size);
  const size_t lengths[] = {0, 1, 63, 64, size / 2, size - 1};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    struct stat before, after;
    assert_int_equal(truncate(path, (off_t)lengths[i]), 0);
    assert_int_equal(stat(path, &before), 0);
    next_machine();
    setenv("KDL_FAKE_LD", "refuse", 1); /* what is there does not change */
    assert_int_equal(run_rows(with_fallback, 2), 1);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    unsetenv("KDL_FAKE_LD");
    assert_int_equal(run_rows(with_fallback, 2), 3);
    uint8_t *now = read_file(path, &size);
    assert_memory_equal(now, whole, size);
    free(now);
  }
  free(whole);
}

/* One that stays damaged is removed after an hour. */
static void damage_is_removed_late(void **state) {
  (void)state;
  char path[4200];
  assert_int_equal(run_rows(with_fallback, 2), 3);
  entry_path(path);
  assert_int_equal(truncate(path, 10), 0);
  const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
  assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
  next_machine();
  setenv("KDL_FAKE_LD", "refuse", 1);
  assert_int_equal(run_rows(with_fallback, 2), 1);
  assert_int_equal(access(path, F_OK), -1);
}

/* ------------------------------------------------------------------------------------------ */
/* Lower tiers                                                                                  */

/* The entry is complete, but no device loads its image. */
static void spoil_entry(void) {
  char path[4200];
  size_t size;
  void *data;
  kdl_cache_entry entry;
  entry_path(path);
  uint8_t *bytes = read_file(path, &size);
  assert_ok(kdl_cache_entry_parse(bytes, size, &entry));
  entry.image = "\177ELF and nothing more";
  entry.image_size = 21;
  assert_ok(kdl_cache_entry_serialize(&entry, &data, &size));
  FILE *file = fopen(path, "wbe");
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
  free(data);
  free(bytes);
}

static void what_does_not_load_is_made_anew_for_all(void **state) {
  (void)state;
  for (int own = 0; own < 2; ++own) {
    begin_layers(state);
    if (!own) {
      char list[128];
      snprintf(list, sizeof list, "off:%s,shared", shared_path);
      setenv("KDL_CACHE", list, 1);
    }
    assert_int_equal(run_rows(alone, 1), 3);
    spoil_entry();
    next_machine();
    assert_int_equal(run_rows(alone, 1), 3);
    assert_int_equal(runs(), 2);
    for (int machine = 0; machine < 3; ++machine) {
      next_machine();
      assert_int_equal(run_rows(alone, 1), 3);
      assert_int_equal(runs(), 2);
    }
  }
}

/* If it cannot be linked again, the next process at least does not find it. */
static void what_does_not_load_is_removed(void **state) {
  (void)state;
  assert_int_equal(run_rows(with_fallback, 2), 3);
  spoil_entry();
  next_machine();
  setenv("KDL_FAKE_LD", "status", 1);
  assert_int_equal(run_rows(with_fallback, 2), 1);
  assert_int_equal(files_in(shared_path), 0);
}

static void lower_is_only_read(void **state) {
  (void)state;
  char path[4200];
  assert_int_equal(run_rows(with_fallback, 2), 3);
  entry_path(path);
  assert_int_equal(chmod(path, 0644), 0); /* as in an image of a container */
  set_lower(shared_path);
  next_machine();
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 1);
  assert_int_equal(files_in(cache_path), 1);
  next_machine();
  assert_int_equal(unlink(path), 0);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 2);
  assert_int_equal(files_in(shared_path), 0);
}

/* Another user's folder or file, and one that others may write, are not used. */
static void untrusted_is_not_used(void **state) {
  (void)state;
  char path[4200];
  assert_int_equal(run_rows(with_fallback, 2), 3);
  entry_path(path);
  set_lower(shared_path);
  assert_int_equal(chmod(path, 0666), 0);
  next_machine();
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 2);
  assert_int_equal(chmod(path, 0600), 0);
  assert_int_equal(chmod(shared_path, 0777), 0);
  next_machine();
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 3);
  assert_int_equal(chmod(shared_path, 0700), 0);
  if (geteuid() != 0) {
    print_message("skipped: only root can give a file to another user\n");
    return;
  }
  assert_int_equal(chown(path, 12345, 12345), 0);
  next_machine();
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 4);
}

/* Missing folders, folders that cannot be created, and other files. */
static void folder_refuses(void **state) {
  (void)state;
  static const char *const lists[] = {"/proc/kdl,shared", "/dev/null,shared", "/nonexistent,ro",
                                      "/dev/null,ro", "/proc/kdl,shared:/nonexistent,ro"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    next_machine();
    setenv("KDL_CACHE", lists[i], 1);
    assert_int_equal(run_rows(with_fallback, 2), 3);
    assert_int_equal(runs(), i + 1);
    assert_int_equal(files_in(cache_path), 1);
  }
}

#define TEST(name) cmocka_unit_test_setup(name, begin_layers)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(linked_once),
      TEST(no_own_cache),
      TEST(ukernels_by_contents),
      TEST(ukernels_by_all_bytes),
      TEST(ukernels_by_place),
      TEST(keys_of_files_that_changed_are_not_portable),
      TEST(depends_by_contents),
      TEST(contents_come_late),
      TEST(damage_is_removed_late),
      TEST(what_does_not_load_is_made_anew_for_all),
      TEST(what_does_not_load_is_removed),
      TEST(lower_is_only_read),
      TEST(untrusted_is_not_used),
      TEST(folder_refuses),
  };
  return cmocka_run_group_tests(tests, make_work, end_work);
}
