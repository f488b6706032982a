/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matrix multiplication of libkdl: kdl-matmul.offload, an ordinary library of kernels for the
 * CPU. This header only decides how they are launched.
 *
 *     kdl_open("kdl-matmul", NULL, &lib);
 *     kdl_device_find("host", &cpu);
 *     kdl_matmul_find(lib, cpu, KDL_MATMUL_F32_BF16, threads, &matmul);
 *     packed = malloc(kdl_matmul_packed_size(matmul.type, n, k));
 *     kdl_matmul_pack(&matmul, queue, kdl_matmul_rows(b, n), packed, n, k);         weights, once
 *     kdl_matmul_run(&matmul, queue, kdl_matmul_rows(a, k), packed, kdl_matmul_rows(c, n),
 *                    m, n, k, KDL_MATMUL_SET);
 *
 * Packed weights depend on the device they were packed on; do not store them. Weights that are used
 * once need no packing: kdl_matmul_run_unpacked. Languages other than C and C++ call the functions
 * at the end, which are not inline.
 */
#ifndef KDL_MATMUL_H
#define KDL_MATMUL_H

#include <kdl/extension.h>
#include <kdl/matmul_division.h>

#if __STDC_HOSTED__
#include <sys/auxv.h>
#endif

/* The type of the result, then that of both operands. */
typedef enum kdl_matmul_type {
  KDL_MATMUL_F32_BF16 = 0,
  KDL_MATMUL_S32_S8 = 1,
  KDL_MATMUL_F32_F32 = 2,
  KDL_MATMUL_F32_F16 = 3,
  /* Types that GPUs alone have kernels for: 8-bit floating-point numbers, and those of gfx942: half
   * the value of the same bits, 0x80 is not a number, and nothing else is. */
  KDL_MATMUL_F32_E4M3 = 4,
  KDL_MATMUL_F32_E4M3FNUZ = 5,
} kdl_matmul_type;

typedef enum kdl_matmul_mode {
  KDL_MATMUL_SET = 0, /* C = A B  */
  KDL_MATMUL_ADD = 1, /* C += A B */
} kdl_matmul_mode;

/* A matrix in memory. Strides count elements; a transposed matrix has them exchanged. */
typedef struct kdl_matmul_matrix {
  void *elements;
  int64_t row_stride, column_stride;
} kdl_matmul_matrix;

static inline kdl_matmul_matrix kdl_matmul_rows(const void *elements, int64_t row_stride) {
  kdl_matmul_matrix matrix = {(void *)(uintptr_t)elements, row_stride, 1};
  return matrix;
}

typedef struct kdl_matmul {
  kdl_matmul_type type;
  uint32_t threads; /* number of threads that a launch is divided among */
  kdl_kernel *pack, *multiply, *unpacked, *sum;
  uint32_t tile; /* of the microkernel: KDL_MMA_TILE of <kdl/mma.h> */
  int whole_k;   /* not 0: K is never divided, and results do not depend on the threads */
  kdl_matmul_machine machine;
  struct kdl_matmul_gpu *gpu; /* of <kdl/matmul_gpu.h>; NULL: the CPU's */
  /* Of kdl_matmul_run_call and kdl_matmul_run_unpacked_call, under the policy `adaptive`; NULL: the
   * division by <kdl/matmul_division.h> */
  kdl_tuner *tuner, *unpacked_tuner;
} kdl_matmul;

/* More than any host has. A launch has at most four groups per thread, eight in one
 * dimension. */
enum { KDL_MATMUL_MAX_THREADS = 1 << 16 };

/* Whether the environment variable KDL_MATMUL_WHOLE_K is set, to anything but 0. It counts as unset
 * in a program that runs with more rights than its user (AT_SECURE). */
static inline int kdl_matmul_whole_k_is_set(void) {
#if __STDC_HOSTED__
  const char *text = getauxval(AT_SECURE) ? NULL : getenv("KDL_MATMUL_WHOLE_K");
  return text && *text && !(text[0] == '0' && !text[1]);
#else
  return 0;
#endif
}

/* Finds the kernels for a type, their tile and the caches. `threads` is the number of threads that
 * a launch may have, at most KDL_MATMUL_MAX_THREADS; with 1, only the calling thread works. */
static inline kdl_status kdl_matmul_find(kdl_library *lib, kdl_device *host, kdl_matmul_type type,
                                         uint32_t threads, kdl_matmul *out_matmul) {
  static const char *const names[][5] = {
      {"kdl_matmul_pack_f32_bf16", "kdl_matmul_f32_bf16", "kdl_matmul_plain_f32_bf16",
       "kdl_matmul_sum_f32_bf16", "kdl_matmul_tile_f32_bf16"},
      {"kdl_matmul_pack_s32_s8", "kdl_matmul_s32_s8", "kdl_matmul_plain_s32_s8",
       "kdl_matmul_sum_s32_s8", "kdl_matmul_tile_s32_s8"},
      {"kdl_matmul_pack_f32_f32", "kdl_matmul_f32_f32", "kdl_matmul_plain_f32_f32",
       "kdl_matmul_sum_f32_f32", "kdl_matmul_tile_f32_f32"},
      {"kdl_matmul_pack_f32_f16", "kdl_matmul_f32_f16", "kdl_matmul_plain_f32_f16",
       "kdl_matmul_sum_f32_f16", "kdl_matmul_tile_f32_f16"},
  };
  kdl_kernel *tile_kernel = NULL;
  uint32_t *tile = &out_matmul->tile;
  const void *pointers[] = {&tile};
  kdl_args args = {1, pointers, NULL};
  kdl_launch_desc one = kdl_grid(1, 1, 1);
  kdl_status status;
  if ((unsigned)type >= sizeof names / sizeof *names)
    return kdl_error_set(KDL_BAD_CALL, "matmul: found a type without kernels for the CPU, expected "
                                       "KDL_MATMUL_F32_BF16 (0) to F32_F16 (3)");
  out_matmul->type = type;
  out_matmul->gpu = NULL;
  out_matmul->tuner = out_matmul->unpacked_tuner = NULL;
  out_matmul->threads = threads ? threads : 1;
  if (threads > KDL_MATMUL_MAX_THREADS)
    out_matmul->threads = KDL_MATMUL_MAX_THREADS;
  status = kdl_sym(lib, host, names[type][0], NULL, &out_matmul->pack);
  if (!status)
    status = kdl_sym(lib, host, names[type][1], NULL, &out_matmul->multiply);
  if (!status)
    status = kdl_sym(lib, host, names[type][2], NULL, &out_matmul->unpacked);
  if (!status)
    status = kdl_sym(lib, host, names[type][3], NULL, &out_matmul->sum);
  if (!status)
    status = kdl_sym(lib, host, names[type][4], NULL, &tile_kernel);
  if (status)
    return status;
  out_matmul->whole_k = kdl_matmul_whole_k_is_set();
  out_matmul->machine = kdl_matmul_machine_read("/sys/devices/system/cpu/cpu0/cache");
  return kdl_launch_call(tile_kernel, NULL, &one, &args);
}

/* Values of K in a word of 4 bytes; words of K. */
static inline uint32_t kdl_matmul_values(kdl_matmul_type type) {
  return type == KDL_MATMUL_F32_BF16 ? 2 : type == KDL_MATMUL_S32_S8 ? 4 : 1;
}
static inline uint32_t kdl_matmul_words(kdl_matmul_type type, uint32_t k) {
  uint32_t values = kdl_matmul_values(type);
  return k / values + (k % values != 0);
}

/* Bytes of a packed K by N matrix, on any CPU: columns and words of 4 bytes, each rounded up to a
 * multiple of 16, and a number per column for s8. */
static inline size_t kdl_matmul_packed_size(kdl_matmul_type type, uint32_t n, uint32_t k) {
  size_t words = ((size_t)kdl_matmul_words(type, k) + 15) / 16 * 16,
         columns = ((size_t)n + 15) / 16 * 16;
  size_t bytes = columns * words * (type == KDL_MATMUL_F32_F16 ? 2 : 4);
  return bytes + (type == KDL_MATMUL_S32_S8 ? columns * 4 : 0);
}

/* Kernels count rows, columns and steps of K by signed 32 bits, beyond the end by a block. */
#define KDL_MATMUL_MAX_SIZE 2146435072u /* 2^31 - 2^20 */
static inline kdl_status kdl_matmul_check_sizes(uint32_t m, uint32_t n, uint32_t k) {
  if (m <= KDL_MATMUL_MAX_SIZE && n <= KDL_MATMUL_MAX_SIZE && k <= KDL_MATMUL_MAX_SIZE)
    return KDL_OK;
  return kdl_error_set(
      KDL_BAD_CALL,
      "matmul: found more than 2146435072 rows, columns or steps of K, expected fewer");
}

/* Groups of a launch that packs: up to four per thread, each with more to do than it takes to
 * share it. */
static inline uint32_t kdl_matmul_pack_groups(const kdl_matmul *matmul, uint32_t n, uint32_t k) {
  enum { least_bytes = 128 << 10 };
  size_t most = kdl_matmul_packed_size(matmul->type, n, k) / least_bytes;
  uint32_t wanted = matmul->threads < 2 ? 1 : 4 * matmul->threads;
  return most < 1 ? 1 : most < wanted ? (uint32_t)most : wanted;
}

static inline kdl_status kdl_matmul_pack(const kdl_matmul *matmul, kdl_queue *queue,
                                         kdl_matmul_matrix b, void *packed, uint32_t n,
                                         uint32_t k) {
  kdl_launch_desc desc = kdl_grid(kdl_matmul_pack_groups(matmul, n, k), 1, 1);
  const void *pointers[] = {&b.elements, &b.row_stride, &b.column_stride, &packed, &n, &k};
  kdl_args args = {6, pointers, NULL};
  kdl_status status = kdl_matmul_check_sizes(0, n, k);
  desc.threads = matmul->threads;
  return status ? status : kdl_launch_call(matmul->pack, queue, &desc, &args);
}

/* A grid in one dimension, for compilers, which know neither the machine nor its threads. Divided
 * by rows, each group packs another part of A; by columns, all pack the same part, which costs less
 * the fewer rows there are. */
static inline kdl_launch_desc kdl_matmul_grid(const kdl_matmul *matmul, uint32_t m, uint32_t n) {
  uint32_t rows = m / 28, columns = n / 128;
  int by_rows = rows >= 2 * matmul->threads || n <= 16;
  uint32_t most = by_rows ? rows : columns;
  uint32_t wanted = matmul->threads < 2 ? 1 : 8 * matmul->threads;
  uint32_t groups = wanted < most ? wanted : most ? most : 1;
  kdl_launch_desc desc = by_rows ? kdl_grid(groups, 1, 1) : kdl_grid(1, groups, 1);
  /* Together with the kernels' own, 704 KiB of packed rows: most of an L2 cache of 1 MiB. */
  desc.shared = 448 << 10;
  return desc;
}

/* Parts of K in place of the groups of such a grid, where these are few: 1, or as many as make
 * eight for each thread, and more than the grid has groups, because a part of K computes all of C.
 * Their sums take no more memory than packed B would. Registers may be tiles where words have
 * several values. */
static inline uint32_t kdl_matmul_grid_depths(const kdl_matmul *matmul, uint32_t m, uint32_t n,
                                              uint32_t k) {
  const uint32_t tile = matmul->type == KDL_MATMUL_F32_BF16 || matmul->type == KDL_MATMUL_S32_S8
                            ? (uint32_t)16 << 16
                            : 0;
  kdl_launch_desc grid = kdl_matmul_grid(matmul, m, n);
  kdl_matmul_division by = {grid.grid[0], grid.grid[1], 1, 0, 0, 0};
  uint32_t parts = kdl_matmul_depth_parts(tile, 8 * matmul->threads, m, n,
                                          kdl_matmul_words(matmul->type, k), &by);
  if (matmul->threads < 2 || matmul->whole_k || parts <= grid.grid[0] * grid.grid[1])
    return 1;
  return (uint64_t)parts * m * n * 4 > kdl_matmul_packed_size(matmul->type, n, k) ? 1 : parts;
}

/* A launch that computes C, with the groups of a division, on no more threads than were asked for.
 */
static inline kdl_launch_desc kdl_matmul_launch(const kdl_matmul *matmul,
                                                kdl_matmul_division division) {
  enum { declared = 256 << 10 };
  kdl_launch_desc desc = kdl_grid(division.rows, division.columns, division.depths);
  desc.shared = division.memory - declared;
  desc.threads = matmul->threads;
  return desc;
}

static inline kdl_status kdl_matmul_run_divided(const kdl_matmul *matmul, kdl_queue *queue,
                                                kdl_matmul_matrix a, const void *packed,
                                                kdl_matmul_matrix c, uint32_t m, uint32_t n,
                                                uint32_t k, kdl_matmul_mode mode,
                                                kdl_matmul_division division) {
  kdl_launch_desc desc = kdl_matmul_launch(matmul, division);
  uint32_t accumulate = mode == KDL_MATMUL_ADD;
  const void *pointers[] = {&a.elements,
                            &a.row_stride,
                            &a.column_stride,
                            &packed,
                            &c.elements,
                            &c.row_stride,
                            &c.column_stride,
                            &m,
                            &n,
                            &k,
                            &accumulate,
                            &division.depth};
  kdl_args args = {12, pointers, NULL};
  kdl_status status = kdl_matmul_check_sizes(m, n, k);
  return status ? status : kdl_launch_call(matmul->multiply, queue, &desc, &args);
}

static inline kdl_status kdl_matmul_run(const kdl_matmul *matmul, kdl_queue *queue,
                                        kdl_matmul_matrix a, const void *packed,
                                        kdl_matmul_matrix c, uint32_t m, uint32_t n, uint32_t k,
                                        kdl_matmul_mode mode) {
  return kdl_matmul_run_divided(matmul, queue, a, packed, c, m, n, k, mode,
                                kdl_matmul_divide(&matmul->machine, matmul->tile, matmul->threads,
                                                  m, n, kdl_matmul_words(matmul->type, k), 0));
}

/* Whether a product with unpacked B is best computed in one launch, which packs on demand, for
 * compilers, which know neither the machine nor its threads: for a small B, or for too few rows to
 * reuse packed ones. With several threads, each group packs for itself. Columns that would fill
 * little of a vector are better packed as rows, which that launch does not do. */
static inline int kdl_matmul_fuses_packing(const kdl_matmul *matmul, uint32_t m, uint32_t n,
                                           uint32_t k) {
  size_t most = (size_t)(matmul->threads < 2 ? 512 : 256) << 10;
  uint32_t last = n % 32;
  if (m <= 32)
    return n > 8;
  return n > 8 && (!last || last > 4) && kdl_matmul_packed_size(matmul->type, n, k) <= most;
}

/* Whether the last columns of a packed B are its rows. They are added up in another order, which
 * must not depend on the threads: the sizes alone decide then whether B is packed before. */
static inline int kdl_matmul_packs_rows(const kdl_matmul *matmul, uint32_t n, uint32_t words) {
  kdl_matmul_tile tile = kdl_matmul_tile_of(matmul->tile);
  uint32_t last = n % tile.columns;
  return n <= 8 || (!tile.is_matrix && last && last <= 4 && words >= 64);
}

/* The same as kdl_matmul_fuses_packing with a machine and threads: what costs less, where a launch
 * by all of them costs so much and the division is the one with unpacked B. */
static inline int kdl_matmul_packs_on_demand(const kdl_matmul *matmul, uint32_t m, uint32_t n,
                                             uint32_t k, const kdl_matmul_division *division,
                                             float launch_ns) {
  const kdl_matmul_machine *machine = &matmul->machine;
  uint32_t words = kdl_matmul_words(matmul->type, k), threads = matmul->threads;
  kdl_matmul_division before = kdl_matmul_divide(machine, matmul->tile, threads, m, n, words, 0);
  float packing = kdl_matmul_packing_cycles(
      machine, matmul->tile, threads, kdl_matmul_pack_groups(matmul, n, k), n, words, launch_ns);
  if (m <= 32)
    return n > 8;
  if (kdl_matmul_packs_rows(matmul, n, words))
    return n > 8 && kdl_matmul_packed_size(matmul->type, n, k) <= (size_t)256 << 10;
  return division->cycles <= before.cycles + packing;
}

/* Adds up the sums of parts of K, with as many groups as those have. */
static inline kdl_status kdl_matmul_sum(const kdl_matmul *matmul, kdl_queue *queue,
                                        const void *sums, uint32_t parts, kdl_matmul_matrix c,
                                        uint32_t m, uint32_t n, kdl_matmul_mode mode) {
  kdl_launch_desc desc = kdl_grid(parts, 1, 1);
  uint32_t accumulate = mode == KDL_MATMUL_ADD;
  const void *pointers[] = {&sums, &parts, &c.elements, &c.row_stride, &c.column_stride,
                            &m,    &n,     &accumulate};
  kdl_args args = {8, pointers, NULL};
  kdl_status status = kdl_matmul_check_sizes(m, n, 0);
  desc.threads = matmul->threads;
  return status ? status : kdl_launch_call(matmul->sum, queue, &desc, &args);
}

/* Groups of rows and columns, and K in parts if their sums fit the scratch memory. */
static inline kdl_matmul_division kdl_matmul_divide_unpacked(const kdl_matmul *matmul, uint32_t m,
                                                             uint32_t n, uint32_t k) {
  uint32_t words = kdl_matmul_words(matmul->type, k);
  kdl_matmul_division division =
      kdl_matmul_divide(&matmul->machine, matmul->tile, matmul->threads, m, n, words, 1);
  if (!matmul->whole_k)
    division.depths = kdl_matmul_depth_parts(matmul->tile, matmul->threads, m, n, words, &division);
  if ((uint64_t)division.depths * m * n * 4 > kdl_matmul_packed_size(matmul->type, n, k))
    division.depths = 1;
  return division;
}

/* One launch with unpacked B, or two where K is divided. */
static inline kdl_status kdl_matmul_run_unpacked_divided(const kdl_matmul *matmul, kdl_queue *queue,
                                                         kdl_matmul_matrix a, kdl_matmul_matrix b,
                                                         void *scratch, kdl_matmul_matrix c,
                                                         uint32_t m, uint32_t n, uint32_t k,
                                                         kdl_matmul_mode mode,
                                                         kdl_matmul_division division) {
  int divides_k = division.depths > 1;
  kdl_status status = kdl_matmul_check_sizes(m, n, k);
  kdl_launch_desc desc = kdl_matmul_launch(matmul, division);
  kdl_matmul_matrix to = divides_k ? kdl_matmul_rows(scratch, n) : c;
  uint32_t accumulate = !divides_k && mode == KDL_MATMUL_ADD;
  const void *pointers[] = {&a.elements,
                            &a.row_stride,
                            &a.column_stride,
                            &b.elements,
                            &b.row_stride,
                            &b.column_stride,
                            &to.elements,
                            &to.row_stride,
                            &to.column_stride,
                            &m,
                            &n,
                            &k,
                            &accumulate,
                            &division.depth};
  kdl_args args = {14, pointers, NULL};
  if (!status)
    status = kdl_launch_call(matmul->unpacked, queue, &desc, &args);
  if (status || !divides_k)
    return status;
  return kdl_matmul_sum(matmul, queue, scratch, division.depths, c, m, n, mode);
}

/* The same with unpacked B. `scratch` has kdl_matmul_packed_size bytes. */
static inline kdl_status kdl_matmul_run_unpacked(const kdl_matmul *matmul, kdl_queue *queue,
                                                 kdl_matmul_matrix a, kdl_matmul_matrix b,
                                                 void *scratch, kdl_matmul_matrix c, uint32_t m,
                                                 uint32_t n, uint32_t k, kdl_matmul_mode mode) {
  kdl_matmul_division division = kdl_matmul_divide_unpacked(matmul, m, n, k);
  kdl_status status = kdl_matmul_check_sizes(m, n, k);
  if (status)
    return status;
  if (division.depths > 1 || kdl_matmul_packs_on_demand(matmul, m, n, k, &division,
                                                        (float)kdl_host_launch_ns(matmul->threads)))
    return kdl_matmul_run_unpacked_divided(matmul, queue, a, b, scratch, c, m, n, k, mode,
                                           division);
  status = kdl_matmul_pack(matmul, queue, b, scratch, n, k);
  return status ? status : kdl_matmul_run(matmul, queue, a, scratch, c, m, n, k, mode);
}

/* ------------------------------------------------------------------------------------------ */
/* The same as functions of libkdl_matmul, for bindings and for pointers to functions           */

#ifdef __cplusplus
extern "C" {
#endif

/* They check their arguments: KDL_BAD_CALL for NULL, for an unknown type or mode, for sizes above
 * KDL_MATMUL_MAX_SIZE as the inline ones do, and for a struct that kdl_matmul_find did not fill.
 * Matrices are passed by pointers.
 *
 * For a GPU of NVIDIA or AMD, matrices and packed weights are addresses of device memory. B is
 * mostly read as fast as it lies: kdl_matmul_run_unpacked_call, without a scratch. When packing
 * pays, epilogues and batches: <kdl/matmul_gpu.h>. */
KDL_API kdl_status kdl_matmul_find_call(kdl_library *lib, kdl_device *device, kdl_matmul_type type,
                                        uint32_t threads, kdl_matmul *out_matmul);

/* Frees what a GPU's has. NULL is accepted. */
KDL_API void kdl_matmul_free_call(kdl_matmul *matmul);

/* 0 for an unknown type, and for sizes that exceed size_t. */
KDL_API size_t kdl_matmul_packed_size_call(kdl_matmul_type type, uint32_t n, uint32_t k);

KDL_API kdl_status kdl_matmul_pack_call(const kdl_matmul *matmul, kdl_queue *queue,
                                        const kdl_matmul_matrix *b, void *packed, uint32_t n,
                                        uint32_t k);

KDL_API kdl_status kdl_matmul_run_call(const kdl_matmul *matmul, kdl_queue *queue,
                                       const kdl_matmul_matrix *a, const void *packed,
                                       const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                                       uint32_t k, kdl_matmul_mode mode);

KDL_API kdl_status kdl_matmul_run_unpacked_call(const kdl_matmul *matmul, kdl_queue *queue,
                                                const kdl_matmul_matrix *a,
                                                const kdl_matmul_matrix *b, void *scratch,
                                                const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                                                uint32_t k, kdl_matmul_mode mode);

#ifdef __cplusplus
}
#endif

#endif
