/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * <kdl/kernel.h> for OpenCL C 1.2, which every OpenCL driver compiles: <gpuintrin.h>'s names by
 * OpenCL's functions. Version 1.2 has no subgroups: a subgroup is one work-item.
 */
#ifndef KDL_KERNEL_OPENCL_H
#define KDL_KERNEL_OPENCL_H

/* OpenCL has these types under its own names, and no <stdint.h>. */
typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

/* `kdl cc` defines it if the source computes with _Float16, which OpenCL does not have. */
#ifdef KDL_OPENCL_HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define _Float16 half
#endif

#define __gpu_private __private
#define __gpu_constant __constant
#define __gpu_local __local
#define __gpu_global __global
#define __gpu_kernel __kernel

#define KDL_BLOCK_ATTRIBUTE(...) KDL_EXTENT(KDL_REQUIRED_SIZE, __VA_ARGS__)
#define KDL_REQUIRED_SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))

#define KDL_LOCAL(type, declarator) __local type declarator

/* A parameter, which `kdl cc` adds to the kernel. */
#if defined(KDL_CC_READS) || defined(KDL_CC_ASKS)
__local uint8_t *kdl_local_dynamic(void);
#else
#define kdl_local_dynamic() kdl_dynamic
#endif
#define KDL_LOCAL_DYNAMIC(type, name) __local type *name = (__local type *)kdl_local_dynamic()

#define __GPU_X_DIM 0
#define __GPU_Y_DIM 1
#define __GPU_Z_DIM 2

#define __gpu_num_blocks(dim) ((uint)get_num_groups(dim))
#define __gpu_num_blocks_x() __gpu_num_blocks(0)
#define __gpu_num_blocks_y() __gpu_num_blocks(1)
#define __gpu_num_blocks_z() __gpu_num_blocks(2)
#define __gpu_block_id(dim) ((uint)get_group_id(dim))
#define __gpu_block_id_x() __gpu_block_id(0)
#define __gpu_block_id_y() __gpu_block_id(1)
#define __gpu_block_id_z() __gpu_block_id(2)
#define __gpu_num_threads(dim) ((uint)get_local_size(dim))
#define __gpu_num_threads_x() __gpu_num_threads(0)
#define __gpu_num_threads_y() __gpu_num_threads(1)
#define __gpu_num_threads_z() __gpu_num_threads(2)
#define __gpu_thread_id(dim) ((uint)get_local_id(dim))
#define __gpu_thread_id_x() __gpu_thread_id(0)
#define __gpu_thread_id_y() __gpu_thread_id(1)
#define __gpu_thread_id_z() __gpu_thread_id(2)

#define __gpu_sync_threads() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define __gpu_thread_suspend() ((void)0)

#include <kdl/kernel/lane.h>

/* `kdl cc` defines it if the source has 64-bit atomics, which not every device has. */
#ifdef KDL_OPENCL_INT64_ATOMICS
#include <kdl/kernel/opencl_atomics.h>
#else
#define kdl_atomic_add(p, v) atomic_add(p, v)
#define kdl_atomic_min(p, v) atomic_min(p, v)
#define kdl_atomic_max(p, v) atomic_max(p, v)
#define kdl_atomic_cas(p, expected, v) atomic_cmpxchg(p, expected, v)
#endif

#define kdl_bits_f32(value) as_uint((float)(value))
#define kdl_f32_bits(bits) as_float((uint)(bits))
#define kdl_fma(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define kdl_sqrt(x) sqrt((float)(x))
#define kdl_abs(x) fabs((float)(x))

#endif
