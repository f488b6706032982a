/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The system calls that this process and all it starts may make from now on, by seccomp: an
 * allow-list. Others fail with EPERM. */
#ifndef KDL_LD_FILTER_H
#define KDL_LD_FILTER_H

typedef enum ld_filter_signals {
  LD_FILTER_SIGNALS_OWN,    /* to the process that installs it; those that it starts send none */
  LD_FILTER_SIGNALS_SCOPED, /* to any: something else keeps them from other processes */
} ld_filter_signals;

/* Needs "no new privileges". 0, or the number of the error. */
int ld_filter_install(ld_filter_signals signals);

#endif
