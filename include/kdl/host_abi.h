/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The ABI of kernels for the CPU. It is the whole contract between compilers and the runtime;
 * <kdl/kernel.h> is the convenient way to write such a kernel in C.
 *
 * An image is a shared object. For each kernel NAME it exports the function NAME, so that tools can
 * list it, and the constant kdl_host_kernel_NAME, its descriptor. NAME is not mangled, and the
 * image needs no symbol of libkdl.
 *
 * It is a 64-bit little-endian shared object for x86-64, AArch64 or RISC-V. libkdl maps it, and
 * binds its references to its own symbols first (docs/launching.md). libkdl refuses one that has
 *
 *   - thread-local variables, IFUNCs, relocations of code (compile with -fPIC), an executable
 *     stack, a segment that is both written and executed, or more than 2 GiB;
 *   - a needed library other than libc and libm;
 *   - an undefined symbol that is not weak, other than abort, bcmp, dprintf, free, malloc, memcmp,
 *     memcpy, memmove, memset, printf, strlen, __stack_chk_fail, __stack_chk_guard, and the
 *     functions of libm on doubles and floats (lib/image/host/host_imports.def has their names).
 *
 * A note names the CPU that the image needs. KDL_HOST_CPU below writes one, and so do kdl cc,
 * kdl-ld and MLIR's #kdl.host. Without a note, the metadata must name the CPU (`arch`); with
 * neither, the image runs nowhere (docs/targets.md).
 *
 * One call of the function runs one work-group. The function loops over the work-items itself, so
 * that the compiler can vectorise the loop; a call per work-item would cost more than most kernels
 * do. Groups of one launch run on several threads at once, in any order.
 */
#ifndef KDL_HOST_ABI_H
#define KDL_HOST_ABI_H

#include <stdint.h>

/* Incremented when a struct below changes in another way than by new members at its end. */
#define KDL_HOST_ABI 1

/* The group that a call runs. The image must not read beyond `size` bytes. */
typedef struct kdl_host_group {
  uint32_t size;     /* sizeof(kdl_host_group) as the runtime knows it                     */
  uint32_t group[3]; /* of group_count; x runs fastest                                     */
  uint32_t group_count[3];
  uint32_t block[3];    /* work-items in a group                                              */
  uint32_t tile[3];     /* work-items of the problem that a group covers                      */
  uint32_t shared_size; /* bytes of group memory: what the kernel declares and the launch adds */
  void *shared;         /* group memory, aligned to 64, uninitialised, private to the group until
                           the call returns; NULL where shared_size is 0                       */
  const char **error;   /* a group that fails stores a message of the image here, atomically;
                           the launch then fails with that message                             */
} kdl_host_group;

/* `args` are pointers to the arguments' values, in the order of the parameters; each value has the
 * alignment of its type. All groups of a launch get the same ones and must not write them. */
typedef void kdl_host_function(const kdl_host_group *group, const void *const *args);

typedef struct kdl_host_param {
  uint32_t size;
  uint32_t align; /* a power of two */
} kdl_host_param;

/* Describes a kernel. In the packed form of its arguments, each parameter follows the last one at
 * the next multiple of its alignment. */
typedef struct kdl_host_kernel {
  uint32_t abi;  /* KDL_HOST_ABI */
  uint32_t size; /* sizeof(kdl_host_kernel) as the image knows it */
  kdl_host_function *run;
  uint32_t block[3]; /* work-items in a group; 0: the launch decides */
  uint32_t tile[3];  /* work-items of the problem that a group covers; 0: as the block */
  uint32_t shared;   /* bytes of group memory, to which a launch may add */
  uint32_t param_count;
  const kdl_host_param *params;
} kdl_host_kernel;

/* The note, in the section .note.kdl, has this owner and type. Its descriptor is text with a final
 * NUL in the syntax of the key `arch`: a level or a CPU, then further features:
 * "x86-64-v3+avx_vnni", "armv8.2-a+bf16", "rv64gcv_zba". */
#define KDL_HOST_NOTE_OWNER "kdl"
#define KDL_HOST_NOTE_CPU 1

/* Use KDL_HOST_CPU("x86-64-v3") once per image, at file scope, with the value of -march. */
#define KDL_HOST_CPU(arch)                                                                         \
  __attribute__((used, section(".note.kdl"), aligned(4))) static const struct {                    \
    uint32_t owner_size, size, type;                                                               \
    char owner[4], text[(sizeof arch + 3) / 4 * 4];                                                \
  } kdl_host_cpu = {4, sizeof arch, KDL_HOST_NOTE_CPU, KDL_HOST_NOTE_OWNER, arch}

#endif
