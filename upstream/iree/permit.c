// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// To be preloaded: asks Linux for AMX's tile registers, which IREE's runtime does not.
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void permit(void) {
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
  (void)syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}
