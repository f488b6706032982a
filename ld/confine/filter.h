/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Restricts the system calls of this process and all that it starts, by seccomp: an allow-list.
 * Other calls fail with EPERM. */
#ifndef KDL_LD_CONFINE_FILTER_H
#define KDL_LD_CONFINE_FILTER_H

typedef enum ld_filter_signals {
  LD_FILTER_SIGNALS_OWN,    /* to the process that installs it; its children send none */
  LD_FILTER_SIGNALS_SCOPED, /* to any: a namespace or Landlock protects other processes */
} ld_filter_signals;

/* Needs "no new privileges". 0, or an errno. */
int ld_filter_install(ld_filter_signals signals);

#endif
