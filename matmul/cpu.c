/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Products on CPUs: finds the kernels and the caches, and launches what <matmul/division.h>
 * decides.
 */
#include "matmul/cpu.h"

#include <kdl/extension.h>

#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* The machine                                                                                  */

/* The first line of a file, without its end; empty where there is none. */
typedef struct line_text {
  char text[128];
} line_text;

static line_text read_line(const char *folder, int index, const char *name) {
  line_text line;
  FILE *file;
  snprintf(line.text, sizeof line.text, "%s/index%d/%s", folder, index, name);
  file = fopen(line.text, "r");
  if (!file || !fgets(line.text, sizeof line.text, file))
    line.text[0] = 0;
  if (file)
    fclose(file);
  return line;
}

/* A number, with K or M behind it; 0 where there is none. */
static uint64_t read_number(const char *folder, int index, const char *name) {
  line_text line = read_line(folder, index, name);
  char *end;
  unsigned long long value = strtoull(line.text, &end, 10);
  return *end == 'M' ? value << 20 : *end == 'K' ? value << 10 : value;
}

/* CPUs of a list such as "0-3,8": how many. */
static uint32_t read_cpus(const char *folder, int index) {
  line_text line = read_line(folder, index, "shared_cpu_list");
  char *at = line.text, *end;
  unsigned long count = 0;
  for (;;) {
    unsigned long first = strtoul(at, &end, 10), last = first;
    if (end == at)
      break;
    if (*end == '-')
      last = strtoul(end + 1, &end, 10);
    count += last >= first ? last - first + 1 : 0;
    if (*end != ',')
      break;
    at = end + 1;
  }
  return count ? (uint32_t)count : 1;
}

/* The caches of a folder like Linux's /sys/devices/system/cpu/cpu0/cache. */
kdl_matmul_machine cpu_read_machine(const char *folder) {
  kdl_matmul_machine machine = {32 << 10, 512 << 10, 0, 1, 1, 4096};
  int index;
  for (index = 0; index < 5; ++index) {
    uint64_t level = read_number(folder, index, "level");
    uint64_t size = read_number(folder, index, "size");
    char type = read_line(folder, index, "type").text[0]; /* Data, Instruction, Unified */
    if (type == 'I' || !type || !size || size > (uint64_t)1 << 40)
      continue;
    if (level == 1 && size >> 31 == 0)
      machine.l1 = (uint32_t)size;
    if (level == 2 && size >> 31 == 0) {
      machine.l2 = (uint32_t)size;
      machine.l2_threads = read_cpus(folder, index);
    }
    if (level == 3) {
      machine.l3 = size;
      machine.l3_threads = read_cpus(folder, index);
    }
  }
  return machine;
}
/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

kdl_status cpu_find(kdl_library *lib, kdl_device *host, kdl_matmul_type type, uint32_t threads,
                    kdl_matmul *out_matmul) {
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
  out_matmul->machine = cpu_read_machine("/sys/devices/system/cpu/cpu0/cache");
  return kdl_launch_call(tile_kernel, NULL, &one, &args);
}

bool cpu_packed_is_counted(uint32_t n, uint32_t k) {
  uint64_t most = ((uint64_t)n + 16) * ((uint64_t)k + 64);
  return (!n || most / n >= k) && most <= SIZE_MAX / 8;
}

kdl_status cpu_check_sizes(uint32_t m, uint32_t n, uint32_t k) {
  if (m > KDL_MATMUL_MAX_SIZE || n > KDL_MATMUL_MAX_SIZE || k > KDL_MATMUL_MAX_SIZE)
    return kdl_error_set(
        KDL_BAD_CALL,
        "matmul: found more than 2146435072 rows, columns or steps of K, expected fewer");
  if (!cpu_packed_is_counted(n, k))
    return kdl_error_set(KDL_BAD_CALL, "matmul: found a K by N matrix whose packed bytes exceed "
                                       "size_t, expected fewer columns or steps of K");
  return KDL_OK;
}

kdl_status cpu_pack(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *b,
                    void *packed, uint32_t n, uint32_t k) {
  kdl_launch_desc desc = kdl_grid(kdl_matmul_pack_groups(matmul, n, k), 1, 1);
  const void *pointers[] = {&b->elements, &b->row_stride, &b->column_stride, &packed, &n, &k};
  kdl_args args = {6, pointers, NULL};
  kdl_status status = cpu_check_sizes(0, n, k);
  desc.threads = matmul->threads;
  return status ? status : kdl_launch_call(matmul->pack, queue, &desc, &args);
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* A launch that computes C, with the groups of a division, on no more threads than were asked for.
 */
static kdl_launch_desc launch_of(const kdl_matmul *matmul, const kdl_matmul_division *division) {
  enum { declared = 256 << 10 };
  kdl_launch_desc desc = kdl_grid(division->rows, division->columns, division->depths);
  desc.shared = division->memory - declared;
  desc.threads = matmul->threads;
  return desc;
}

kdl_status cpu_run_divided(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                           const void *packed, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                           uint32_t k, kdl_matmul_mode mode, const kdl_matmul_division *division) {
  kdl_launch_desc desc = launch_of(matmul, division);
  uint32_t accumulate = mode == KDL_MATMUL_ADD;
  const void *pointers[] = {&a->elements,
                            &a->row_stride,
                            &a->column_stride,
                            &packed,
                            &c->elements,
                            &c->row_stride,
                            &c->column_stride,
                            &m,
                            &n,
                            &k,
                            &accumulate,
                            &division->depth};
  kdl_args args = {12, pointers, NULL};
  kdl_status status = cpu_check_sizes(m, n, k);
  return status ? status : kdl_launch_call(matmul->multiply, queue, &desc, &args);
}

kdl_status cpu_run(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                   const void *packed, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                   uint32_t k, kdl_matmul_mode mode) {
  kdl_matmul_division division = kdl_matmul_divide(&matmul->machine, matmul->tile, matmul->threads,
                                                   m, n, kdl_matmul_words(matmul->type, k), 0);
  return cpu_run_divided(matmul, queue, a, packed, c, m, n, k, mode, &division);
}

/* Adds up the sums of parts of K, with as many groups as those have. */
static kdl_status sum(const kdl_matmul *matmul, kdl_queue *queue, const void *sums, uint32_t parts,
                      const kdl_matmul_matrix *c, uint32_t m, uint32_t n, kdl_matmul_mode mode) {
  kdl_launch_desc desc = kdl_grid(parts, 1, 1);
  uint32_t accumulate = mode == KDL_MATMUL_ADD;
  const void *pointers[] = {&sums, &parts, &c->elements, &c->row_stride, &c->column_stride,
                            &m,    &n,     &accumulate};
  kdl_args args = {8, pointers, NULL};
  kdl_status status = cpu_check_sizes(m, n, 0);
  desc.threads = matmul->threads;
  return status ? status : kdl_launch_call(matmul->sum, queue, &desc, &args);
}

/* One launch with unpacked B, or two where K is divided. */
kdl_status cpu_run_unpacked_divided(const kdl_matmul *matmul, kdl_queue *queue,
                                    const kdl_matmul_matrix *a, const kdl_matmul_matrix *b,
                                    void *scratch, const kdl_matmul_matrix *c, uint32_t m,
                                    uint32_t n, uint32_t k, kdl_matmul_mode mode,
                                    const kdl_matmul_division *division) {
  int divides_k = division->depths > 1;
  kdl_status status = cpu_check_sizes(m, n, k);
  kdl_launch_desc desc = launch_of(matmul, division);
  kdl_matmul_matrix sums = kdl_matmul_rows(scratch, n);
  const kdl_matmul_matrix *to = divides_k ? &sums : c;
  uint32_t accumulate = !divides_k && mode == KDL_MATMUL_ADD;
  const void *pointers[] = {&a->elements,
                            &a->row_stride,
                            &a->column_stride,
                            &b->elements,
                            &b->row_stride,
                            &b->column_stride,
                            &to->elements,
                            &to->row_stride,
                            &to->column_stride,
                            &m,
                            &n,
                            &k,
                            &accumulate,
                            &division->depth};
  kdl_args args = {14, pointers, NULL};
  if (!status)
    status = kdl_launch_call(matmul->unpacked, queue, &desc, &args);
  if (status || !divides_k)
    return status;
  return sum(matmul, queue, scratch, division->depths, c, m, n, mode);
}

/* The same with unpacked B. `scratch` has kdl_matmul_packed_size bytes. */
kdl_status cpu_run_unpacked(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                            const kdl_matmul_matrix *b, void *scratch, const kdl_matmul_matrix *c,
                            uint32_t m, uint32_t n, uint32_t k, kdl_matmul_mode mode) {
  kdl_matmul_division division = kdl_matmul_divide_unpacked(matmul, m, n, k);
  kdl_status status = cpu_check_sizes(m, n, k);
  if (status)
    return status;
  if (division.depths > 1 || kdl_matmul_packs_on_demand(matmul, m, n, k, &division,
                                                        (float)kdl_host_launch_ns(matmul->threads)))
    return cpu_run_unpacked_divided(matmul, queue, a, b, scratch, c, m, n, k, mode, &division);
  status = cpu_pack(matmul, queue, b, scratch, n, k);
  return status ? status : cpu_run(matmul, queue, a, scratch, c, m, n, k, mode);
}
