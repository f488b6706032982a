/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a kernel for the CPU looks like from outside. Compilers that make such kernels and the
 * runtime that calls them agree on this header and on nothing else; <kdl/kernel.h> is the
 * convenient way to write one in C.
 *
 * An image is a shared object. For each kernel NAME it exports the function NAME, so that tools can
 * list it, and the constant kdl_host_kernel_NAME, which describes it. Both have the kernel's plain
 * name, and the image needs no symbol of libkdl.
 *
 * It is a 64-bit little-endian shared object for x86-64, AArch64 or RISC-V. libkdl maps it itself
 * and binds its references to its own symbols first (docs/launching.md). It refuses one that has
 *
 *   - thread-local variables, IFUNCs, relocations of code (compile with -fPIC), an executable
 *     stack, a segment that is both written and executed, or more than 2 GiB;
 *   - a library that it needs, other than libc and libm;
 *   - a symbol that is undefined and not weak, other than abort, bcmp, free, malloc, memcmp,
 *     memcpy, memmove, memset, strlen, __stack_chk_fail, __stack_chk_guard, and the functions of
 *     libm on doubles and floats (lib/image/host/host_imports.def has their names).
 *
 * A note names the CPU it needs; KDL_HOST_CPU below writes one, and so does every compiler of
 * libkdl's. Without a note the metadata must name it (`arch`): where neither does, the image runs
 * nowhere (docs/targets.md).
 *
 * The function runs one work-group per call and loops over the group's work-items itself: inside
 * the image the loop can be vectorised, and a call per work-item would cost more than most kernels
 * do. Groups of one launch run on several threads at once and in any order.
 */
#ifndef KDL_HOST_ABI_H
#define KDL_HOST_ABI_H

#include <stdint.h>

/* Changes when a struct below changes otherwise than by growing at its end. */
#define KDL_HOST_ABI 1

/* Which group this is. The image reads no further than `size`. */
typedef struct kdl_host_group {
  uint32_t size;     /* sizeof(kdl_host_group) as the runtime knows it                     */
  uint32_t group[3]; /* of group_count; x runs fastest                                     */
  uint32_t group_count[3];
  uint32_t block[3];    /* work-items in a group                                              */
  uint32_t tile[3];     /* work-items of the problem that a group covers                      */
  uint32_t shared_size; /* bytes of group memory: what the kernel declares and the launch adds */
  void *shared;         /* group memory, aligned to 64, its contents undefined; this group's
                           alone until the call returns; NULL where shared_size is 0           */
  const char **error;   /* where a group that cannot go on leaves a message of the image's own,
                           atomically: the launch then fails with it                           */
} kdl_host_group;

/* Arguments are pointers to values, in the order of the parameters; a value is aligned as its type
 * needs. They are the same for all groups of a launch and are not to be written. */
typedef void kdl_host_function(const kdl_host_group *group, const void *const *args);

typedef struct kdl_host_param {
  uint32_t size;
  uint32_t align; /* a power of two */
} kdl_host_param;

/* Packed, parameters lie one behind the other, each at the next multiple of its alignment. */
typedef struct kdl_host_kernel {
  uint32_t abi;  /* KDL_HOST_ABI */
  uint32_t size; /* sizeof(kdl_host_kernel) as the image knows it */
  kdl_host_function *run;
  uint32_t block[3]; /* work-items in a group; 0: whatever the launch says */
  uint32_t tile[3];  /* work-items of the problem that a group covers; 0: as the block */
  uint32_t shared;   /* bytes of group memory, beyond what a launch adds */
  uint32_t param_count;
  const kdl_host_param *params;
} kdl_host_kernel;

/* The note: in a section .note.kdl, of this owner and type. Its description is text, ended by NUL,
 * as the `arch` of the metadata is: a level or a CPU and features beyond it, "x86-64-v3+avx_vnni",
 * "armv8.2-a+bf16", "rv64gcv_zba". */
#define KDL_HOST_NOTE_OWNER "kdl"
#define KDL_HOST_NOTE_CPU 1

/* Once per image, at file scope, as in KDL_HOST_CPU("x86-64-v3"); it names what the compiler was
 * given as -march. */
#define KDL_HOST_CPU(arch)                                                                         \
  __attribute__((used, section(".note.kdl"), aligned(4))) static const struct {                    \
    uint32_t owner_size, size, type;                                                               \
    char owner[4], text[(sizeof arch + 3) / 4 * 4];                                                \
  } kdl_host_cpu = {4, sizeof arch, KDL_HOST_NOTE_CPU, KDL_HOST_NOTE_OWNER, arch}

#endif
