/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The line that shows how far a command is, on a terminal. */
#include "tools/common/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads until the text was sent; false after a minute without a byte. */
static bool is_sent(int terminal, const char *text) {
  char all[4096];
  for (size_t used = 0; used < sizeof all - 1;) {
    struct pollfd ready = {.fd = terminal, .events = POLLIN};
    ssize_t count =
        poll(&ready, 1, 60000) > 0 ? read(terminal, all + used, sizeof all - 1 - used) : 0;
    if (count <= 0)
      return false;
    used += (size_t)count;
    all[used] = '\0';
    if (strstr(all, text))
      return true;
  }
  return false;
}

static void open_terminal(int *out_terminal, int *out_fd) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
    skip();
  int fd = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  if (fd < 0)
    skip();
  setenv("TERM", "xterm", 1);
  *out_terminal = terminal;
  *out_fd = fd;
}

/* As in the compression of a member that takes half a minute. */
static void the_line_goes_on_within_one_step(void **state) {
  (void)state;
  int terminal, fd;
  open_terminal(&terminal, &fd);
  cli_progress_begin("thinning", fd);
  cli_progress_step(0.5, "%d of %d members", 1, 2);
  assert_true(is_sent(terminal, "thinning  50% "));
  assert_true(is_sent(terminal, "1 of 2 members, 2 s"));
  assert_true(is_sent(terminal, "1 of 2 members, 3 s"));
  cli_progress_end();
  assert_true(is_sent(terminal, "\r\033[K"));
  close(fd);
  close(terminal);
}

static void a_long_step_has_parts(void **state) {
  (void)state;
  int terminal, fd;
  open_terminal(&terminal, &fd);
  cli_progress_begin("thinning", fd);
  cli_progress_step(0.5, "%d of %d members", 1, 2);
  cli_progress_part(0.5, 1);
  assert_true(is_sent(terminal, "thinning  50% "));
  cli_progress_within(0.5);
  assert_true(is_sent(terminal, "thinning  75% "));
  cli_progress_within(0.25); /* never back */
  assert_true(is_sent(terminal, "thinning  75% "));
  cli_progress_end();
  close(fd);
  close(terminal);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_long_step_has_parts),
      cmocka_unit_test(the_line_goes_on_within_one_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
