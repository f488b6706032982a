/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Embedded libraries of a plug-in, and files next to it, whatever happened to the current folder
 * and to its file since it was loaded. */
#include "launch_support.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>

typedef kdl_status open_function(const char *, const kdl_open_opts *, kdl_library **);
typedef kdl_status carrier_function(open_function *, const char *, kdl_library **);

static char root[] = "/tmp/kdl-caller-XXXXXX";
static carrier_function *carrier;

static void copy(const char *from, const char *to) {
  size_t size;
  uint8_t *data = read_file(from, &size);
  FILE *file = fopen(to, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  free(data);
}

static size_t images_of(const char *name) {
  kdl_library *lib;
  assert_ok(carrier(kdl_open, name, &lib));
  size_t count = kdl_image_count(lib);
  kdl_close(lib);
  return count;
}

static void own_file_after_a_change_of_folder(void **state) {
  (void)state;
  assert_int_equal(chdir(root), 0);
  assert_int_equal(chdir("there"), 0); /* where another plug-in has the same name */
  assert_int_equal(images_of(NULL), 3);
}

static void beside_it_after_a_change_of_folder(void **state) {
  (void)state;
  assert_int_equal(images_of("beside"), 1);
}

static void renamed(void **state) {
  (void)state;
  assert_int_equal(rename("../here/carrier.so", "../here/renamed.so"), 0);
  assert_int_equal(images_of(NULL), 3);
}

static void replaced(void **state) {
  (void)state;
  copy(KDL_TEST_IMAGES "/one/carrier.so", "../here/new.so");
  assert_int_equal(rename("../here/new.so", "../here/renamed.so"), 0);
  assert_int_equal(images_of(NULL), 3);
  assert_int_equal(images_of("beside"), 1);
}

static void removed(void **state) {
  (void)state;
  assert_int_equal(unlink("../here/renamed.so"), 0);
  assert_int_equal(images_of(NULL), 3);
}

static int load(void **state) {
  (void)state;
  if (!mkdtemp(root) || chdir(root) != 0 || mkdir("here", 0700) != 0 || mkdir("there", 0700) != 0)
    return 1;
  copy(KDL_TEST_IMAGES "/three/carrier.so", "here/carrier.so");
  copy(KDL_TEST_DATA "/offload/v1_one.offload", "here/beside.offload");
  copy(KDL_TEST_IMAGES "/one/carrier.so", "there/carrier.so");
  if (chdir("here") != 0)
    return 1;
  void *plugin = dlopen("./carrier.so", RTLD_NOW);
  if (!plugin)
    return 1;
  *(void **)&carrier = dlsym(plugin, "carrier_open");
  return carrier == NULL;
}

static int clean(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", root);
  return chdir("/") != 0 || system(command) != 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_file_after_a_change_of_folder),
      cmocka_unit_test(beside_it_after_a_change_of_folder),
      cmocka_unit_test(renamed),
      cmocka_unit_test(replaced),
      cmocka_unit_test(removed),
  };
  return cmocka_run_group_tests(tests, load, clean);
}
