/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where a fake driver writes down its calls (KDL_FAKE_LOG). The process that starts a test with
 * such a driver makes the file, under a name that nobody foresees, and removes it when the test has
 * ended, however it did: the driver writes to it until the end. */
#ifndef KDL_TESTS_UNIT_FAKE_LOG_H
#define KDL_TESTS_UNIT_FAKE_LOG_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { fake_log_size = 1024 };

static inline void make_fake_log(char out_path[fake_log_size]) {
  const char *folder = getenv("TMPDIR");
  snprintf(out_path, fake_log_size, "%s/kdl-driver-XXXXXX", folder && *folder ? folder : "/tmp");
  int file = mkstemp(out_path);
  if (file < 0) {
    perror(out_path);
    exit(1);
  }
  close(file);
}

#endif
