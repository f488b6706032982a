/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode that is specialized on a fake driver: its image is linked by the fake kdl-ld, and loaded
 * by the background thread. The file that includes this has included driver_launch.h, and defines
 *
 *     SPECIALIZE_BITCODE    a golden file
 *     specialize_image      writes the image that the fake kdl-ld gives to a path
 *     SPECIALIZE_CAPTURING  the function that the driver is asked by before a launch, unless it is
 * old */
#ifndef KDL_TESTS_UNIT_SPECIALIZE_DRIVER_H
#define KDL_TESTS_UNIT_SPECIALIZE_DRIVER_H

#include "cache_support.h"
#include "lib/inspect/launches.h"

#include <sys/stat.h>

static void specialize_image(const char *path);

static char work[] = "/tmp/kdl-specialize-XXXXXX";

static image_row launch_row(size_t index) {
  static uint8_t *bytes;
  static size_t size;
  (void)index;
  if (!bytes)
    bytes = read_golden(SPECIALIZE_BITCODE, &size);
  return (image_row){DRIVER_ARCH, KDL_IMAGE_BITCODE, bytes, size,
                     SIG "block=128x1x1; names=a x y n; specialize=a n y block"};
}

static inline void prepare_linker(void) {
  char path[128];
  assert_non_null(mkdtemp(work));
  snprintf(path, sizeof path, "%s/cache", work);
  setenv("KDL_CACHE_DIR", path, 1);
  snprintf(path, sizeof path, "%s/image", work);
  specialize_image(path);
  setenv("KDL_FAKE_LD_IMAGE", path, 1);
  snprintf(path, sizeof path, "%s/log", work);
  setenv("KDL_FAKE_LD_LOG", path, 1);
  setenv("KDL_LD", KDL_TEST_FAKES "/linker/kdl-ld", 1);
  setenv("KDL_SPECIALIZE", "auto,5", 1);
}

static inline bool linker_was_given(const char *option) {
  char path[128], line[8192];
  bool found = false;
  snprintf(path, sizeof path, "%s/log", work);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    found |= strstr(line, option) != NULL;
  if (file)
    fclose(file);
  return found;
}

static void launches_use_the_image_of_their_values(void **state) {
  (void)state;
  enum { before = 5, after = 7 };
  unsigned ready = 0, failed = 0;
  prepare_linker();
  start_log();
  session s = begin(0, 0);
  for (int i = 0; i < before; ++i)
    assert_ok(run(&s, s.queue));
  for (unsigned i = 0; i < rounds_of(20000, 1000) && !ready && !failed; ++i) {
    kdl_kernel_count_specialized(s.saxpy, &ready, &failed);
    usleep(1000);
  }
  assert_int_equal(failed, 0);
  assert_int_equal(ready, 1);
  assert_true(linker_was_given(" --kernel=saxpy --fold=0=0x40000000 --fold=3=0x000003e8 "));
  assert_true(linker_was_given(" --fold=2=align"));
  assert_true(linker_was_given(" --fold=block=128x1x1\n"));
  clear_log();
  for (int i = 0; i < after; ++i)
    assert_ok(run(&s, s.queue));
  assert_ok(check(&s, before + after));
  if (!is_old())
    assert_int_equal(calls_of(SPECIALIZE_CAPTURING), after);
  end(&s);
  remove_folder(work);
}

#endif
