/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices in the memory of GPUs: fills the kernels' parameter and launches them. */
#include "matmul/division.h"
#include "matmul/gpu_plan.h"
#include "matmul/read_tiles.h"
#include "matmul/tensor_map.h"
#include "matmul/tuned.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The forms of a kernel: what lies by K, as bits, and whether it has the usual case alone. */
enum { FORM_LHS_BY_K = 1, FORM_RHS_BY_K = 2, FORM_PLAIN = 4, FORM_COUNT = 8 };

struct kdl_matmul_gpu {
  kdl_matmul_type type;
  uint64_t number; /* of these kernels: no other has it */
  kdl_kernel *kernels[GPU_SIZES][FORM_COUNT];
  kdl_kernel *pack;
  gpu_tile tiles[GPU_SIZES];
  gpu_machine machine;
  tensor_map_encode *encode; /* NULL: no bulk copies */
  kdl_tuner *tuner;          /* NULL: the plan of the least cost is used */
};

static uint64_t next_number(void) {
  static atomic_uint_fast64_t last;
  return atomic_fetch_add(&last, 1) + 1;
}

static kdl_status refuse(const char *message) {
  return kdl_error_set(KDL_BAD_CALL, message);
}

/* Bytes of an element of A and B. */
static uint32_t element_bytes(kdl_matmul_type type) {
  return type == KDL_MATMUL_F32_BF16 || type == KDL_MATMUL_F32_F16 ? 2 : 1;
}

/* ------------------------------------------------------------------------------------------ */
/* Finding                                                                                      */

static const char *type_name(kdl_matmul_type type) {
  return type == KDL_MATMUL_F32_BF16       ? "f32_bf16"
         : type == KDL_MATMUL_F32_F16      ? "f32_f16"
         : type == KDL_MATMUL_S32_S8       ? "s32_s8"
         : type == KDL_MATMUL_F32_E4M3     ? "f32_e4m3"
         : type == KDL_MATMUL_F32_E4M3FNUZ ? "f32_e4m3fnuz"
                                           : NULL;
}

static kdl_status find_kernel(kdl_library *lib, kdl_device *device, kdl_matmul_type type,
                              const char *suffix, kdl_kernel **out_kernel) {
  char name[64];
  snprintf(name, sizeof name, "kdl_gpu_matmul_%s_%s", type_name(type), suffix);
  return kdl_sym(lib, device, name, NULL, out_kernel);
}

/* What plans divide by, and what they count by 32 bits: a stage has a line of each row and column.
 */
static int is_sound(const gpu_tile *tile) {
  enum { line_bytes = 128, most_threads = 1024 };
  return tile->rows && tile->columns && tile->depth && tile->depth <= line_bytes && tile->threads &&
         tile->threads <= most_threads && tile->subgroups &&
         tile->stage_bytes == line_bytes * ((uint64_t)tile->rows + tile->columns);
}

kdl_status gpu_leave_out_tiles(const gpu_machine *machine, gpu_tile *tiles) {
  enum { most_stages = 15 };
  static const gpu_tile no_tile;
  kdl_status status = refuse("kdl_matmul_gpu_find: found a microkernel without a tile");
  int found = 0;
  for (uint32_t size = 0; size < GPU_SIZES; ++size) {
    gpu_tile *tile = &tiles[size];
    const uint64_t bytes = (uint64_t)tile->stages * tile->stage_bytes + tile->other_bytes;
    const uint64_t most = machine->group_bytes - 1024;
    char message[320];
    if (memcmp(tile, &no_tile, sizeof no_tile) == 0)
      continue;
    if (tile->stages && !is_sound(tile)) {
      snprintf(message, sizeof message,
               "kdl_matmul_gpu_find: found a microkernel's tile %u of %u by %u by %u with %u "
               "threads, %u subgroups and stages of %u bytes, expected none of these to be 0, at "
               "most 1024 threads, and 128 bytes of a stage for each row and column",
               size, tile->rows, tile->columns, tile->depth, tile->threads, tile->subgroups,
               tile->stage_bytes);
      return kdl_error_set(KDL_BAD_FILE, message);
    }
    if (!tile->stages)
      snprintf(
          message, sizeof message,
          "kdl_matmul_gpu_find: found a microkernel's tile %u of %u by %u with %u threads, for "
          "which the caller has no code, expected what docs/gpu-matmul.md has of tiles",
          size, tile->rows, tile->columns, tile->threads);
    else if (bytes > most || tile->stages > most_stages)
      snprintf(message, sizeof message,
               "kdl_matmul_gpu_find: found a microkernel's tile %u of %u by %u with %u stages and "
               "%llu bytes of group memory, expected at most %u stages and %llu bytes",
               size, tile->rows, tile->columns, tile->stages, (unsigned long long)bytes,
               (unsigned)most_stages, (unsigned long long)most);
    else if (++found)
      continue;
    status = kdl_error_set(KDL_UNSUPPORTED, message);
    memset(tile, 0, sizeof *tile);
  }
  return found ? KDL_OK : status;
}

static int has_form(const kdl_matmul_gpu *matmul, const gpu_tile *tile, uint32_t form) {
  /* The instructions take bytes along K alone. */
  const int has_by_k = element_bytes(matmul->type) == 2;
  return tile->rows && (tile->is_bulk || !(form & FORM_PLAIN)) &&
         (has_by_k || !(form & (FORM_LHS_BY_K | FORM_RHS_BY_K)));
}

static kdl_status find_kernels(kdl_library *lib, kdl_device *device, kdl_matmul_gpu *matmul) {
  static const char *const forms[FORM_COUNT] = {"n",       "a",       "b",       "ab",
                                                "n_plain", "a_plain", "b_plain", "ab_plain"};
  for (uint32_t size = 0; size < GPU_SIZES; ++size) {
    for (uint32_t form = 0; form < FORM_COUNT; ++form) {
      char suffix[16];
      if (!has_form(matmul, &matmul->tiles[size], form))
        continue;
      snprintf(suffix, sizeof suffix, "%u%s", size, forms[form]);
      kdl_status status =
          find_kernel(lib, device, matmul->type, suffix, &matmul->kernels[size][form]);
      if (status != KDL_OK)
        return status;
    }
  }
  return KDL_OK;
}

kdl_status kdl_matmul_gpu_find(kdl_library *lib, kdl_device *device, kdl_matmul_type type,
                               kdl_matmul_gpu **out_matmul) {
  kdl_device_info info = {.size = sizeof info};
  kdl_kernel *tiles;
  if (!lib || !device || !out_matmul)
    return refuse("kdl_matmul_gpu_find: found NULL, expected a library, a device and a result");
  if (!type_name(type))
    return refuse("kdl_matmul_gpu_find: found a type without kernels for GPUs, expected bf16, f16, "
                  "s8 or e4m3");
  kdl_status status = kdl_device_get(device, &info);
  if (status != KDL_OK)
    return status;
  kdl_matmul_gpu *matmul = calloc(1, sizeof *matmul);
  if (!matmul)
    return kdl_error_set(KDL_NO_MEMORY, "matmul: no memory");
  matmul->type = type;
  matmul->number = next_number();
  matmul->machine.units = info.units ? info.units : 1;
  /* A multiprocessor has 1 KiB more than a group may use: 228, 164 or 100. */
  matmul->machine.group_bytes =
      (uint32_t)(info.shared_optin ? info.shared_optin : info.shared) + 1024;
  status = find_kernel(lib, device, type, "tiles", &tiles);
  if (status == KDL_OK)
    status = read_tiles(device, tiles, matmul->tiles, sizeof matmul->tiles);
  if (status == KDL_OK)
    status = gpu_leave_out_tiles(&matmul->machine, matmul->tiles);
  if (status == KDL_OK)
    status = find_kernel(lib, device, type, "pack", &matmul->pack);
  if (status == KDL_OK)
    status = find_kernels(lib, device, matmul);
  if (status != KDL_OK) {
    free(matmul);
    return status;
  }
  for (uint32_t size = 0; size < GPU_SIZES; ++size) {
    if (matmul->tiles[size].is_bulk)
      matmul->encode = find_tensor_map_encode();
  }
  /* Tiles add up in another order. */
  if (!kdl_matmul_whole_k_is_set() && gpu_tuner_create(tiles, &matmul->tuner) != KDL_OK)
    matmul->tuner = NULL;
  *out_matmul = matmul;
  return KDL_OK;
}

void kdl_matmul_gpu_free(kdl_matmul_gpu *matmul) {
  if (!matmul)
    return;
  kdl_tuner_destroy(matmul->tuner);
  free(matmul);
}

/* ------------------------------------------------------------------------------------------ */
/* Operands                                                                                     */

/* Tensor maps need addresses and distances that are multiples of 16 bytes, and values without gaps
 * along one dimension. A map has this dimension, then the other, then the batch. */
static int encode_operand(const kdl_matmul_gpu *matmul, const gpu_matrix *matrix, int is_by_k,
                          uint64_t rows, uint64_t k, uint64_t batch, uint32_t lines,
                          gpu_tensor_map *out_map) {
  const uint64_t bytes = element_bytes(matmul->type);
  const int64_t along = is_by_k ? matrix->outer : matrix->inner;
  const int64_t across = is_by_k ? matrix->inner : matrix->outer;
  const uint32_t depth = 128 / (uint32_t)bytes;
  const uint64_t sizes[3] = {is_by_k ? rows : k, is_by_k ? k : rows, batch};
  const uint64_t row_bytes = (uint64_t)across * bytes;
  const uint64_t batch_bytes = batch > 1 ? (uint64_t)matrix->batch * bytes : row_bytes;
  const uint64_t strides[2] = {row_bytes, batch_bytes};
  const uint32_t box[3] = {depth, is_by_k ? depth : lines, 1}, steps[3] = {1, 1, 1};
  if (!matmul->encode || along != 1 || across < 1 || matrix->batch < 0 || !k || !rows ||
      matrix->address % 16 || row_bytes % 16 || batch_bytes % 16 || !batch_bytes ||
      row_bytes >> 40 || batch_bytes >> 40)
    return 0;
  const int type = matmul->type == KDL_MATMUL_F32_BF16  ? cu_bfloat16
                   : matmul->type == KDL_MATMUL_F32_F16 ? cu_float16
                                                        : cu_uint8;
  return matmul->encode(out_map, type, 3, (void *)(uintptr_t)matrix->address, sizes, strides, box,
                        steps, cu_interleave_none, cu_swizzle_128, cu_promotion_256,
                        cu_fill_zero) == 0;
}

/* The result, in boxes of 16 rows by 128 bytes. */
static int encode_result(const kdl_matmul_gpu *matmul, kdl_grid_constant_matmul *args) {
  static const int types[] = {[GPU_F32] = cu_float32,
                              [GPU_BF16] = cu_bfloat16,
                              [GPU_F16] = cu_float16,
                              [GPU_S32] = cu_int32};
  const gpu_matrix *matrix = &args->result;
  const uint64_t bytes = args->value == GPU_F32 || args->value == GPU_S32 ? 4 : 2;
  const uint64_t row_bytes = (uint64_t)matrix->outer * bytes;
  const uint64_t batch_bytes = args->batch > 1 ? (uint64_t)matrix->batch * bytes : row_bytes;
  const uint64_t sizes[3] = {args->n, args->m, args->batch}, strides[2] = {row_bytes, batch_bytes};
  const uint32_t box[3] = {128 / (uint32_t)bytes, 16, 1}, steps[3] = {1, 1, 1};
  if (!matmul->encode || matrix->inner != 1 || matrix->outer < 1 || matrix->address % 16 ||
      row_bytes % 16 || batch_bytes % 16 || matrix->batch < 0 || !batch_bytes || row_bytes >> 40 ||
      batch_bytes >> 40)
    return 0;
  return matmul->encode(&args->result_map, types[args->value], 3,
                        (void *)(uintptr_t)matrix->address, sizes, strides, box, steps,
                        cu_interleave_none, cu_swizzle_128, cu_promotion_none, cu_fill_zero) == 0;
}

/* Copying zeros for lines that a narrow matrix does not have takes longer than copying lines. What
 * stays in their place gives sums that are not stored. */
static uint32_t lines_of(uint32_t tile_lines, uint32_t count, int is_by_k) {
  const uint32_t lines = count > tile_lines ? tile_lines : (count + 7) / 8 * 8;
  return is_by_k || lines > tile_lines ? tile_lines : lines;
}

/* Whether values follow each other along rows (A) or columns (B), not along K. */
static int lies_by_k(const kdl_matmul_gpu *matmul, const gpu_matrix *matrix) {
  return element_bytes(matmul->type) == 2 && matrix->inner != 1 && matrix->outer == 1;
}

static gpu_matrix matrix_of(kdl_matmul_matrix matrix, int64_t batch, int is_rhs) {
  return (gpu_matrix){.address = (uint64_t)(uintptr_t)matrix.elements,
                      .outer = is_rhs ? matrix.column_stride : matrix.row_stride,
                      .inner = is_rhs ? matrix.row_stride : matrix.column_stride,
                      .batch = batch};
}

/* ------------------------------------------------------------------------------------------ */
/* Packing                                                                                      */

/* Of a packed row, in elements: multiples of 32 bytes, as tensor maps need them. */
static uint32_t packed_pitch(const kdl_matmul_gpu *matmul, uint32_t k) {
  const uint32_t unit = 32 / element_bytes(matmul->type);
  return (k + unit - 1) / unit * unit;
}

kdl_matmul_matrix kdl_matmul_gpu_packed(const kdl_matmul_gpu *matmul, void *packed, uint32_t k) {
  return (kdl_matmul_matrix){packed, 1, packed_pitch(matmul, k)};
}

kdl_status kdl_matmul_gpu_pack(const kdl_matmul_gpu *matmul, kdl_queue *queue,
                               const kdl_matmul_matrix *b, void *packed, uint32_t n, uint32_t k) {
  if (!matmul || !queue || !b || !packed)
    return refuse("kdl_matmul_gpu_pack: found NULL, expected kernels, a queue, B and a buffer");
  if (n > INT32_MAX || k > INT32_MAX)
    return refuse("kdl_matmul_gpu_pack: found more than 2147483647 columns or steps of K");
  uint32_t pitch = packed_pitch(matmul, k);
  if (!n || !k)
    return KDL_OK;
  kdl_launch_desc desc = kdl_grid((pitch + gpu_pack_side - 1) / gpu_pack_side,
                                  (n + gpu_pack_side - 1) / gpu_pack_side, 1);
  const uint32_t bytes = element_bytes(matmul->type);
  desc.block[0] = gpu_pack_threads;
  desc.block[1] = desc.block[2] = 1;
  desc.shared = gpu_pack_side * (gpu_pack_side * bytes + 4);
  const void *pointers[] = {
      &b->elements, &b->row_stride, &b->column_stride, &packed, &pitch, &n, &k};
  kdl_args args = {7, pointers, NULL};
  return kdl_launch_call(matmul->pack, queue, &desc, &args);
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static kdl_status check(const kdl_matmul_gpu *matmul, const kdl_matmul_gpu_problem *problem) {
  if (!matmul || !problem)
    return refuse("kdl_matmul_gpu_run: found NULL, expected kernels and a problem");
  if (problem->size != sizeof *problem)
    return refuse("kdl_matmul_gpu_run: found another size of the problem, expected "
                  "kdl_matmul_gpu_problem_of");
  if ((unsigned)problem->result > KDL_MATMUL_RESULT_F32 ||
      (unsigned)problem->activation > KDL_MATMUL_GELU)
    return refuse("kdl_matmul_gpu_run: found an unknown type of result or activation");
  if (matmul->type == KDL_MATMUL_S32_S8 && problem->result == KDL_MATMUL_RESULT_ACC &&
      (problem->scale != 1.0f || problem->bias || problem->activation))
    return refuse("kdl_matmul_gpu_run: found a scale, bias or activation with a result of s32, "
                  "expected a result of f32, bf16 or f16");
  /* Kernels count by 32 bits, beyond the end of a matrix by a tile; bulk copies, by signed ones. */
  if (problem->m > INT32_MAX || problem->n > INT32_MAX || problem->k > INT32_MAX)
    return refuse("kdl_matmul_gpu_run: found more than 2147483647 rows, columns or steps of K");
  return KDL_OK;
}

static int is_empty(const kdl_matmul_gpu_problem *problem) {
  return !problem->m || !problem->n || !problem->batch;
}

static uint32_t value_of(const kdl_matmul_gpu *matmul, kdl_matmul_result result) {
  switch (result) {
  case KDL_MATMUL_RESULT_BF16:
    return GPU_BF16;
  case KDL_MATMUL_RESULT_F16:
    return GPU_F16;
  case KDL_MATMUL_RESULT_F32:
    return GPU_F32;
  default:
    return matmul->type == KDL_MATMUL_S32_S8 ? GPU_S32 : GPU_F32;
  }
}

static int has_epilogue(const kdl_matmul_gpu *matmul, const kdl_matmul_gpu_problem *problem,
                        const kdl_grid_constant_matmul *args) {
  const int is_scaled = matmul->type == KDL_MATMUL_S32_S8 && args->value != GPU_S32;
  return is_scaled || problem->scale != 1.0f || problem->bias || problem->residual.elements ||
         problem->activation;
}

static kdl_status fill(const kdl_matmul_gpu *matmul, const kdl_matmul_gpu_problem *problem,
                       const kdl_matmul_gpu_plan *plan, kdl_grid_constant_matmul *args,
                       uint32_t *out_form) {
  const gpu_tile *tile = &matmul->tiles[plan->tile];
  memset(args, 0, sizeof *args);
  args->lhs = matrix_of(problem->a, problem->a_batch, 0);
  args->rhs = matrix_of(problem->b, problem->b_batch, 1);
  args->result = matrix_of(problem->c, problem->c_batch, 0);
  args->residual = matrix_of(problem->residual, problem->residual_batch, 0);
  args->bias = (uint64_t)(uintptr_t)problem->bias;
  args->counters = problem->workspace.address;
  args->partial = problem->workspace.address + GPU_COUNTER_BYTES;
  args->m = problem->m;
  args->n = problem->n;
  args->k = problem->k;
  args->batch = problem->batch;
  args->parts = plan->parts;
  args->whole = plan->whole;
  args->cluster = plan->cluster;
  args->stages = plan->stages;
  args->band = gpu_band(&matmul->machine, tile, problem->m);
  args->value = value_of(matmul, problem->result);
  args->activation = (uint32_t)problem->activation;
  args->scale = problem->scale;
  const int lhs_by_k = lies_by_k(matmul, &args->lhs), rhs_by_k = lies_by_k(matmul, &args->rhs);
  args->lhs_lines = lines_of(tile->rows, problem->m, lhs_by_k);
  args->rhs_lines = lines_of(tile->columns, problem->n, rhs_by_k);
  if (encode_operand(matmul, &args->lhs, lhs_by_k, problem->m, problem->k, problem->batch,
                     args->lhs_lines, &args->lhs_map))
    args->flags |= GPU_LHS_BULK;
  if (encode_operand(matmul, &args->rhs, rhs_by_k, problem->n, problem->k, problem->batch,
                     args->rhs_lines, &args->rhs_map))
    args->flags |= GPU_RHS_BULK;
  if (encode_result(matmul, args))
    args->flags |= GPU_RESULT_BULK;
  if (has_epilogue(matmul, problem, args))
    args->flags |= GPU_EPILOGUE;
  const int is_plain =
      plan->parts == 1 && args->flags == (GPU_LHS_BULK | GPU_RHS_BULK | GPU_RESULT_BULK);
  *out_form = (lhs_by_k ? FORM_LHS_BY_K : 0u) | (rhs_by_k ? FORM_RHS_BY_K : 0u) |
              (is_plain ? FORM_PLAIN : 0u);
  return KDL_OK;
}

/* What a plan depends on. */
typedef struct plan_key {
  uint64_t number, workspace;
  uint32_t m, n, k, batch, tile, parts;
} plan_key;

typedef struct kept_plan {
  plan_key key;
  kdl_matmul_gpu_plan plan;
  uint32_t unusable; /* ways, for a tuner */
} kept_plan;

static int is_tuned(const kdl_matmul_gpu *matmul, const kdl_matmul_gpu_problem *problem) {
  return matmul->tuner && !problem->tile && !problem->parts;
}

/* A plan takes nearly a microsecond: each thread keeps its last ones, by the shape. */
static const kept_plan *find_plan(const kdl_matmul_gpu *matmul,
                                  const kdl_matmul_gpu_problem *problem) {
  enum { kept = 32 };
  static _Thread_local kept_plan plans[kept];
  plan_key key = {matmul->number, problem->workspace.size, problem->m,    problem->n,
                  problem->k,     problem->batch,          problem->tile, problem->parts};
  uint32_t place = (key.m * 31 + key.n) * 31 + key.k + key.tile * 5 + key.parts;
  place = (place ^ place >> 7 ^ place >> 14) % kept;
  if (memcmp(&plans[place].key, &key, sizeof key) != 0) {
    plans[place].plan = gpu_plan(&matmul->machine, matmul->tiles, problem);
    plans[place].key = key;
    if (is_tuned(matmul, problem))
      plans[place].unusable = gpu_unusable_ways(&matmul->machine, matmul->tiles, problem);
  }
  return &plans[place];
}

kdl_status kdl_matmul_gpu_plan_of(const kdl_matmul_gpu *matmul,
                                  const kdl_matmul_gpu_problem *problem,
                                  kdl_matmul_gpu_plan *out_plan) {
  kdl_status status = check(matmul, problem);
  if (status != KDL_OK)
    return status;
  if (is_empty(problem)) {
    *out_plan = (kdl_matmul_gpu_plan){0};
    return KDL_OK;
  }
  *out_plan = find_plan(matmul, problem)->plan;
  return out_plan->rows ? KDL_OK
                        : refuse("kdl_matmul_gpu_run: found no tile of that size, more than "
                                 "2147483647 tiles, or too small a workspace for these parts of K");
}

static int begins_early(const kdl_matmul_gpu *matmul, const kdl_matmul_gpu_problem *problem,
                        const kdl_matmul_gpu_plan *plan) {
  const gpu_tile *tile = &matmul->tiles[plan->tile];
  return gpu_begins_early(&matmul->machine, tile, gpu_tile_count(tile, problem), plan);
}

static kdl_status run_planned(const kdl_matmul_gpu *matmul, kdl_queue *queue,
                              const kdl_matmul_gpu_problem *problem) {
  kdl_matmul_gpu_plan plan;
  kdl_status status = kdl_matmul_gpu_plan_of(matmul, problem, &plan);
  if (status != KDL_OK)
    return status;
  kdl_grid_constant_matmul args;
  uint32_t form;
  status = fill(matmul, problem, &plan, &args, &form);
  if (status != KDL_OK)
    return status;
  kdl_launch_desc desc = kdl_grid(plan.groups, 1, 1);
  desc.block[0] = matmul->tiles[plan.tile].threads;
  desc.block[1] = desc.block[2] = 1;
  desc.shared = gpu_group_bytes(&matmul->tiles[plan.tile], plan.stages);
  if (begins_early(matmul, problem, &plan)) /* the kernel waits by itself */
    desc.flags = KDL_LAUNCH_EARLY;
  if (plan.cluster > 1) {
    desc.cluster[0] = plan.cluster;
    desc.cluster[1] = desc.cluster[2] = 1;
  }
  const void *pointers[] = {&args};
  kdl_args list = {1, pointers, NULL};
  return kdl_launch_call(matmul->kernels[plan.tile][form], queue, &desc, &list);
}

/* What else a time depends on: which operands lie along K, the type of the result, a workspace. */
static uint64_t forms_of(const kdl_matmul_gpu *matmul, const kdl_matmul_gpu_problem *problem) {
  const gpu_matrix lhs = matrix_of(problem->a, 0, 0), rhs = matrix_of(problem->b, 0, 1);
  return (lies_by_k(matmul, &lhs) ? 1u : 0u) + (lies_by_k(matmul, &rhs) ? 2u : 0u) +
         (problem->result ? 4u : 0u) + (problem->workspace.size ? 8u : 0u);
}

/* Where C is its own residual, a launch cannot be repeated. */
kdl_status kdl_matmul_gpu_run(const kdl_matmul_gpu *matmul, kdl_queue *queue,
                              const kdl_matmul_gpu_problem *problem) {
  kdl_status status = check(matmul, problem);
  if (status != KDL_OK || is_empty(problem))
    return status;
  if (!is_tuned(matmul, problem))
    return run_planned(matmul, queue, problem);
  const uint64_t numbers[] = {problem->m, problem->n, problem->k, problem->batch,
                              forms_of(matmul, problem)};
  const int is_measured = !problem->residual.elements;
  kdl_tuner_launch launch;
  uint32_t way =
      kdl_tuner_begin(matmul->tuner, queue, numbers, find_plan(matmul, problem)->unusable,
                      is_measured ? &launch : NULL);
  do {
    const kdl_matmul_gpu_problem as = gpu_problem_of_way(problem, way);
    status = run_planned(matmul, queue, &as);
  } while (is_measured && kdl_tuner_end(matmul->tuner, queue, &launch, status) &&
           (way = launch.way, 1));
  return status;
}
