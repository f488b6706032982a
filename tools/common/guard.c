/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/guard.h"

#include "tools/common/memory.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local volatile sig_atomic_t is_guarded, was_hit;
static uintptr_t page_size;

static bool put_zeros(uintptr_t address) {
  void *page = (void *)(address / page_size * page_size);
  return mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
}

static void on_sigbus(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)context;
  if (!is_guarded || info->si_code != BUS_ADRERR || !put_zeros((uintptr_t)info->si_addr))
    cli_fatal("a file was truncated or became unreadable while being read");
  was_hit = 1;
}

void cli_guard_install(void) {
  struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
  page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}

void cli_guard_begin(void) {
  was_hit = 0;
  is_guarded = 1;
}

bool cli_guard_was_hit(void) {
  return was_hit;
}

void cli_guard_end(void) {
  is_guarded = was_hit = 0;
}
