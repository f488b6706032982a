/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What libkdl_flame.so exports besides what it wraps: a program marks its own steps by them, found
 * by dlsym. */
#ifndef KDL_BENCH_FLAME_MARKS_H
#define KDL_BENCH_FLAME_MARKS_H

/* The name must stay. */
__attribute__((visibility("default"))) void kdl_flame_begin(const char *name);
__attribute__((visibility("default"))) void kdl_flame_end(void);

#endif
