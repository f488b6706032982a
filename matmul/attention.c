/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Attention on GPUs: fills the kernels' parameter and launches them. */
#include <kdl/attention_gpu.h>

#include "matmul/attention_arguments.h"
#include "matmul/read_tiles.h"
#include "matmul/tensor_map.h"

#include <stdio.h>
#include <stdlib.h>

enum { CAUSAL = 1, FORM_COUNT = 2 };

struct kdl_attention_gpu {
  kdl_kernel *kernels[ATTENTION_HEADS][FORM_COUNT];
  attention_tile tiles[ATTENTION_HEADS];
  uint32_t units; /* multiprocessors */
  tensor_map_encode *encode;
};

static kdl_status refuse(const char *message) {
  return kdl_error_set(KDL_BAD_CALL, message);
}

/* ------------------------------------------------------------------------------------------ */
/* Finding                                                                                      */

static kdl_status find_kernels(kdl_library *lib, kdl_device *device, kdl_attention_gpu *attention) {
  kdl_status status = KDL_OK;
  for (uint32_t i = 0; i < ATTENTION_HEADS * FORM_COUNT && status == KDL_OK; ++i) {
    char name[64];
    snprintf(name, sizeof name, "kdl_gpu_attention_bf16_%u%s", 64u << i / FORM_COUNT,
             i % FORM_COUNT == CAUSAL ? "_causal" : "");
    status = kdl_sym(lib, device, name, NULL, &attention->kernels[i / FORM_COUNT][i % FORM_COUNT]);
  }
  return status;
}

/* Bulk copies have at most 256 lines; problems are counted in tiles of at least 64 rows. */
static kdl_status check_tiles(const attention_tile *tiles) {
  for (uint32_t i = 0; i < ATTENTION_HEADS; ++i) {
    const attention_tile *tile = &tiles[i];
    char message[256];
    if (tile->rows >= 64 && tile->rows <= 256 && tile->keys && tile->keys <= 256 && tile->threads &&
        tile->threads <= 1024 && tile->group_bytes)
      continue;
    snprintf(message, sizeof message,
             "kdl_attention_gpu_find: found a microkernel's tile %u of %u queries by %u keys with "
             "%u threads and %u bytes of group memory, expected 64 to 256 queries, 1 to 256 keys, "
             "1 to 1024 threads and some bytes",
             i, tile->rows, tile->keys, tile->threads, tile->group_bytes);
    return kdl_error_set(KDL_BAD_FILE, message);
  }
  return KDL_OK;
}

kdl_status kdl_attention_gpu_find(kdl_library *lib, kdl_device *device,
                                  kdl_attention_gpu **out_attention) {
  kdl_device_info info = {.size = sizeof info};
  kdl_kernel *tiles;
  if (!lib || !device || !out_attention)
    return refuse("kdl_attention_gpu_find: found NULL, expected a library, a device and a result");
  kdl_status status = kdl_device_get(device, &info);
  if (status != KDL_OK)
    return status;
  kdl_attention_gpu *attention = calloc(1, sizeof *attention);
  if (!attention)
    return kdl_error_set(KDL_NO_MEMORY, "attention: no memory");
  attention->units = info.units ? info.units : 1;
  status = kdl_sym(lib, device, "kdl_gpu_attention_bf16_tiles", NULL, &tiles);
  if (status == KDL_OK)
    status = read_tiles(device, tiles, attention->tiles, sizeof attention->tiles);
  if (status == KDL_OK)
    status = check_tiles(attention->tiles);
  if (status == KDL_OK)
    status = find_kernels(lib, device, attention);
  attention->encode = find_tensor_map_encode();
  if (status == KDL_OK && !attention->encode)
    status = kdl_error_set(KDL_UNSUPPORTED, "attention: the driver has no cuTensorMapEncodeTiled");
  if (status != KDL_OK) {
    free(attention);
    return status;
  }
  *out_attention = attention;
  return KDL_OK;
}

void kdl_attention_gpu_free(kdl_attention_gpu *attention) {
  free(attention);
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static kdl_status check(const kdl_attention_gpu *attention,
                        const kdl_attention_gpu_problem *problem) {
  if (!attention || !problem)
    return refuse("kdl_attention_gpu_run: found NULL, expected kernels and a problem");
  if (problem->size != sizeof *problem)
    return refuse("kdl_attention_gpu_run: found another size of the problem, expected "
                  "kdl_attention_gpu_problem_of");
  if (problem->head != 64 && problem->head != 128)
    return refuse("kdl_attention_gpu_run: found another head, expected 64 or 128 values");
  if (!problem->kv_heads || problem->heads % problem->kv_heads)
    return refuse("kdl_attention_gpu_run: found heads of K and V that do not divide those of Q");
  if (!(problem->scale > 0.0f))
    return refuse("kdl_attention_gpu_run: found a scale that is not above 0");
  if (problem->workspace.address && problem->workspace.size < 4)
    return refuse("kdl_attention_gpu_run: found a workspace of less than 4 bytes");
  if (problem->queries > INT32_MAX / 2 || problem->keys > INT32_MAX / 2 ||
      (uint64_t)problem->batch * problem->heads > INT32_MAX / (1 + problem->queries / 64))
    return refuse("kdl_attention_gpu_run: found more rows than 2^30, or more than 2^31 tiles");
  return KDL_OK;
}

/* Boxes of some rows, 128 bytes of each. A tensor of no rows is not read. */
static int encode(const kdl_attention_gpu *attention, const kdl_attention_gpu_problem *problem,
                  kdl_attention_tensor tensor, uint32_t heads, uint32_t rows, uint32_t lines,
                  gpu_tensor_map *out_map) {
  const uint64_t sizes[4] = {problem->head, rows ? rows : 1, heads, problem->batch};
  const int64_t distances[3] = {rows > 1 ? tensor.row_stride : problem->head,
                                heads > 1 ? tensor.head_stride : problem->head,
                                problem->batch > 1 ? tensor.batch_stride : problem->head};
  const uint32_t box[4] = {64, lines, 1, 1}, steps[4] = {1, 1, 1, 1};
  uint64_t strides[3];
  for (int i = 0; i < 3; ++i) {
    if (distances[i] < 1 || distances[i] % 8 || distances[i] >> 38)
      return 0;
    strides[i] = (uint64_t)distances[i] * 2;
  }
  return (uintptr_t)tensor.elements % 16 == 0 &&
         attention->encode(out_map, cu_bfloat16, 4, tensor.elements, sizes, strides, box, steps,
                           cu_interleave_none, cu_swizzle_128, cu_promotion_256, cu_fill_zero) == 0;
}

/* Heads whose tiles are neighbours. With a causal mask, as many as have keys and values that fit
 * into L2 together (32 MiB), so that long tiles come first; all, where groups take turns, since
 * these have about the same to do only if tiles become shorter from the first to the last. */
static uint32_t band_of(const kdl_attention_gpu_problem *problem) {
  const uint64_t bytes = (uint64_t)problem->keys * problem->head * 4;
  const uint64_t kept = bytes ? ((uint64_t)32 << 20) / bytes : 1;
  const uint64_t slices = (uint64_t)problem->batch * problem->heads;
  const uint64_t band = (kept ? kept : 1) * (problem->heads / problem->kv_heads);
  if (!problem->is_causal)
    return 1;
  return (uint32_t)(band < slices && problem->workspace.address ? band : slices);
}

static kdl_status fill(const kdl_attention_gpu *attention, const kdl_attention_gpu_problem *problem,
                       const attention_tile *tile, kdl_grid_constant_attention *args) {
  memset(args, 0, sizeof *args);
  args->counter = problem->workspace.address;
  args->sums = (uint64_t)(uintptr_t)problem->sums;
  args->queries = problem->queries;
  args->keys = problem->keys;
  args->heads = problem->heads;
  args->heads_of_keys = problem->heads / problem->kv_heads;
  args->tiles = (problem->queries + tile->rows - 1) / tile->rows;
  args->slices = problem->batch * problem->heads;
  args->band = band_of(problem);
  args->diagonal = problem->diagonal;
  args->scale = problem->scale * 1.44269504f;
  const uint32_t kv_heads = problem->kv_heads, keys = problem->keys;
  const kdl_attention_tensor k = keys ? problem->k : problem->q;
  const kdl_attention_tensor v = keys ? problem->v : problem->q;
  if (!encode(attention, problem, problem->q, problem->heads, problem->queries, tile->rows,
              &args->q_map) ||
      !encode(attention, problem, k, kv_heads, keys, tile->keys, &args->k_map) ||
      !encode(attention, problem, v, kv_heads, keys, tile->keys, &args->v_map) ||
      !encode(attention, problem, problem->o, problem->heads, problem->queries, 16, &args->o_map))
    return refuse("kdl_attention_gpu_run: found an address or a distance that bulk copies cannot "
                  "have, expected multiples of 16 bytes");
  return KDL_OK;
}

kdl_status kdl_attention_gpu_run(const kdl_attention_gpu *attention, kdl_queue *queue,
                                 const kdl_attention_gpu_problem *problem) {
  kdl_status status = check(attention, problem);
  if (status != KDL_OK || !problem->batch || !problem->heads || !problem->queries)
    return status;
  const uint32_t place = problem->head == 128;
  const attention_tile *tile = &attention->tiles[place];
  kdl_grid_constant_attention args;
  status = fill(attention, problem, tile, &args);
  if (status != KDL_OK)
    return status;
  const uint32_t count = args.tiles * args.slices;
  kdl_launch_desc desc = kdl_grid(count < attention->units ? count : attention->units, 1, 1);
  desc.block[0] = tile->threads;
  desc.block[1] = desc.block[2] = 1;
  desc.shared = tile->group_bytes;
  const void *pointers[] = {&args};
  kdl_args list = {1, pointers, NULL};
  return kdl_launch_call(attention->kernels[place][problem->is_causal ? CAUSAL : 0], queue, &desc,
                         &list);
}
