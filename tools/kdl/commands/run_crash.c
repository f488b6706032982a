/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels for CPUs run in this process: an access beyond a buffer or a division by zero ends it. */
#include "tools/kdl/commands/run.h"

#include "tools/common/memory.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char outside[] =
    "an access beyond a buffer, beyond the group memory of --shared or by "
    "a bad address, or a stack that is full";
static const char sanitize[] =
    "; --sanitize without --device finds accesses beyond buffers and group memory, if the file has "
    "an opencl-c image (kdl cc --targets=opencl-c)";

static const struct {
  int number;
  const char *name, *meaning, *advice;
} crashes[] = {
    {SIGSEGV, "SIGSEGV", outside, sanitize},
    {SIGBUS, "SIGBUS", outside, sanitize},
    {SIGFPE, "SIGFPE", "an integer division by zero, or one whose result overflows", ""},
    {SIGILL, "SIGILL", "a trap, or an instruction that this CPU does not have", ""},
    {SIGABRT, "SIGABRT",
     "a call of abort, by an assert or by the C library, which found its memory damaged, as by an "
     "access beyond a buffer",
     sanitize},
};
enum { crash_count = sizeof crashes / sizeof *crashes };

static char messages[crash_count][1024]; /* a handler may not format */

/* Threads may crash at once: the first one reports and ends the process, the others wait for that.
 */
static void on_crash(int number) {
  static atomic_flag is_reported = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&is_reported))
    pause();
  for (size_t i = 0; i < crash_count; ++i) {
    if (crashes[i].number != number)
      continue;
    ssize_t written = write(STDERR_FILENO, messages[i], strlen(messages[i]));
    (void)written;
  }
  signal(number, SIG_DFL);
  raise(number); /* taken when the handler returns */
}

/* For a handler on a stack that is full. Threads of libkdl have their own. */
static void use_signal_stack(void) {
  static char room[64 << 10];
  stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, before;
  if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE)
    sigaltstack(&stack, NULL);
}

void cli_run_explain_crashes(kdl_device *device, const char *kernel) {
  kdl_device_info info = {.size = sizeof info};
  struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
  if (kdl_device_get(device, &info) != KDL_OK || strcmp(info.backend, "host") != 0)
    return;
  use_signal_stack();
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < crash_count; ++i) {
    char *text;
    size_t size;
    FILE *out = xtext_stream(&text, &size);
    cli_text_printf(
        out, "%s: error: %.200s: the process crashed (%s) in the kernel or after it: %s%s\n",
        cli_report_name(), kernel, crashes[i].name, crashes[i].meaning, crashes[i].advice);
    xtext_close(out);
    snprintf(messages[i], sizeof messages[i], "%s", text);
    free(text);
    sigaction(crashes[i].number, &action, NULL);
  }
}
