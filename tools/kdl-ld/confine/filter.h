/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The system calls that linking has no use for, refused from now on. */
#ifndef KDL_LD_FILTER_H
#define KDL_LD_FILTER_H

/* 0, or an errno where the kernel has no seccomp filters, or does not allow them here. */
int ld_filter_install(void);

#endif
