/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Products of matrices that kdl-lower-mmt4d-to-ukernels turned into launches: @kdl_contraction_TYPE
 * of a binary with the kernels of the matmul library. To compiled code it is a kernel; its entry
 * launches those of the library, with the tile for the shape and the device.
 */
#include "matmul/cpu.h"
#include "runtime.h"

#include <kdl/extension.h>
#include <kdl/kernel/narrow.h>
#include <kdl/matmul_gpu.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kdl_mlir_contraction {
  kdl_kernel_head head; /* first: it is a kernel's handle */
  kdl_mlir_contraction *next;
  kdl_matmul matmul;
  kdl_matmul_gpu *gpu; /* NULL on the host */
};

static const struct {
  const char *name;
  kdl_matmul_type type;
} types[] = {
    {"f32_bf16", KDL_MATMUL_F32_BF16},
    {"f32_f16", KDL_MATMUL_F32_F16},
    {"s32_s8", KDL_MATMUL_S32_S8},
};

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

static int64_t number_at(const kdl_args *args, uint32_t i) {
  int64_t value;
  memcpy(&value, args->pointers[i], sizeof value);
  return value;
}

static kdl_matmul_matrix matrix_at(const kdl_args *args, uint32_t first) {
  return (kdl_matmul_matrix){(void *)(uintptr_t)number_at(args, first), number_at(args, first + 1),
                             number_at(args, first + 2)};
}

/* Sizes that fit the kernels; distances that are not negative, if operands are copied. */
static kdl_status check_numbers(const kdl_args *args) {
  for (uint32_t i = KDL_MLIR_CONTRACTION_M; i <= KDL_MLIR_CONTRACTION_BATCH; ++i) {
    if (number_at(args, i) < 0 || number_at(args, i) > INT32_MAX)
      return kdl_mlir_set_error(KDL_UNSUPPORTED,
                                "found %lld rows, columns, steps of K or matrices, expected at "
                                "most %d",
                                (long long)number_at(args, i), INT32_MAX);
  }
  for (uint32_t i = 0; i < KDL_MLIR_CONTRACTION_M; ++i) {
    if (i % 4 && number_at(args, i) < 0 && number_at(args, KDL_MLIR_CONTRACTION_ON_HOST))
      return kdl_mlir_set_error(KDL_UNSUPPORTED,
                                "found a negative distance in the host's memory, expected others");
  }
  return KDL_OK;
}

static kdl_matmul_gpu_problem read_problem(const kdl_args *args) {
  kdl_matmul_gpu_problem p =
      kdl_matmul_gpu_problem_of((uint32_t)number_at(args, KDL_MLIR_CONTRACTION_M),
                                (uint32_t)number_at(args, KDL_MLIR_CONTRACTION_N),
                                (uint32_t)number_at(args, KDL_MLIR_CONTRACTION_K));
  p.batch = (uint32_t)number_at(args, KDL_MLIR_CONTRACTION_BATCH);
  p.a = matrix_at(args, KDL_MLIR_CONTRACTION_A);
  p.b = matrix_at(args, KDL_MLIR_CONTRACTION_B);
  p.c = matrix_at(args, KDL_MLIR_CONTRACTION_C);
  p.residual = matrix_at(args, KDL_MLIR_CONTRACTION_RESIDUAL);
  p.a_batch = number_at(args, KDL_MLIR_CONTRACTION_A + 3);
  p.b_batch = number_at(args, KDL_MLIR_CONTRACTION_B + 3);
  p.c_batch = number_at(args, KDL_MLIR_CONTRACTION_C + 3);
  p.residual_batch = number_at(args, KDL_MLIR_CONTRACTION_RESIDUAL + 3);
  p.bias = (const float *)(uintptr_t)number_at(args, KDL_MLIR_CONTRACTION_BIAS);
  p.result = (kdl_matmul_result)number_at(args, KDL_MLIR_CONTRACTION_RESULT);
  p.activation = (kdl_matmul_activation)number_at(args, KDL_MLIR_CONTRACTION_ACTIVATION);
  memcpy(&p.scale, args->pointers[KDL_MLIR_CONTRACTION_SCALE], sizeof p.scale);
  return p;
}

/* ------------------------------------------------------------------------------------------ */
/* On the host                                                                                  */

/* What follows the product, for the rows of one matrix. */
typedef struct {
  const kdl_matmul_gpu_problem *problem;
  kdl_matmul_type type;
  kdl_matmul_matrix sums, result, residual; /* sums may be the result */
} finish;

static uint32_t result_bytes(kdl_matmul_result result) {
  return result == KDL_MATMUL_RESULT_BF16 || result == KDL_MATMUL_RESULT_F16 ? 2 : 4;
}

static char *element_of(const kdl_matmul_matrix *matrix, uint64_t row, uint64_t column,
                        uint32_t bytes) {
  return (char *)matrix->elements +
         ((int64_t)row * matrix->row_stride + (int64_t)column * matrix->column_stride) * bytes;
}

static float load_result(const char *at, kdl_matmul_result result) {
  uint16_t narrow;
  float wide;
  if (result_bytes(result) == 4) {
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  memcpy(&narrow, at, sizeof narrow);
  return (float)kdl_narrow_to_double(
      result == KDL_MATMUL_RESULT_BF16 ? KDL_NARROW_BF16 : KDL_NARROW_F16, narrow);
}

static void store_result(char *at, kdl_matmul_result result, float value) {
  if (result_bytes(result) == 4) {
    memcpy(at, &value, sizeof value);
    return;
  }
  uint16_t narrow = kdl_narrow_from_double(
      result == KDL_MATMUL_RESULT_BF16 ? KDL_NARROW_BF16 : KDL_NARROW_F16, (double)value);
  memcpy(at, &narrow, sizeof narrow);
}

static void finish_row(void *user, uint64_t row) {
  const finish *f = user;
  const kdl_matmul_gpu_problem *p = f->problem;
  for (uint32_t column = 0; column < p->n; ++column) {
    const char *from = element_of(&f->sums, row, column, 4);
    float value;
    int32_t whole;
    memcpy(&value, from, sizeof value);
    memcpy(&whole, from, sizeof whole);
    value = (f->type == KDL_MATMUL_S32_S8 ? (float)whole : value) * p->scale;
    if (p->bias)
      value += p->bias[column];
    if (f->residual.elements)
      value +=
          load_result(element_of(&f->residual, row, column, result_bytes(p->result)), p->result);
    if (p->activation == KDL_MATMUL_RELU && value < 0.0f) /* NaN stays */
      value = 0.0f;
    store_result(element_of(&f->result, row, column, result_bytes(p->result)), p->result, value);
  }
}

static kdl_matmul_matrix of_batch(kdl_matmul_matrix matrix, int64_t distance, uint32_t i,
                                  uint32_t bytes) {
  if (matrix.elements)
    matrix.elements = (char *)matrix.elements + distance * i * bytes;
  return matrix;
}

/* One matrix of a batch: sums go to the result, or to `own` where values of it are still needed or
 * are narrower. */
static kdl_status run_matrix(const kdl_mlir_contraction *contraction, kdl_queue *queue,
                             const kdl_matmul_gpu_problem *p, uint32_t i, void *scratch,
                             void *own) {
  const uint32_t bytes = contraction->matmul.type == KDL_MATMUL_S32_S8 ? 1 : 2;
  const uint32_t wide = result_bytes(p->result);
  const int is_sum =
      p->scale == 1.0f && !p->bias && !p->activation &&
      (p->result == KDL_MATMUL_RESULT_ACC ||
       (p->result == KDL_MATMUL_RESULT_F32 && contraction->matmul.type != KDL_MATMUL_S32_S8));
  finish f = {.problem = p,
              .type = contraction->matmul.type,
              .result = of_batch(p->c, p->c_batch, i, wide),
              .residual = of_batch(p->residual, p->residual_batch, i, wide)};
  const kdl_matmul_matrix a = of_batch(p->a, p->a_batch, i, bytes);
  const kdl_matmul_matrix b = of_batch(p->b, p->b_batch, i, bytes);
  const int adds = is_sum && f.residual.elements == f.result.elements &&
                   f.residual.row_stride == f.result.row_stride &&
                   f.residual.column_stride == f.result.column_stride;
  f.sums = own && !adds ? kdl_matmul_rows(own, p->n) : f.result;
  kdl_status status = cpu_run_unpacked(&contraction->matmul, queue, &a, &b, scratch, &f.sums, p->m,
                                       p->n, p->k, adds ? KDL_MATMUL_ADD : KDL_MATMUL_SET);
  if (status != KDL_OK || adds || (is_sum && !f.residual.elements))
    return status;
  return kdl_host_parallel(p->m, finish_row, &f);
}

static kdl_status run_on_host(const kdl_mlir_contraction *contraction, kdl_queue *queue,
                              const kdl_matmul_gpu_problem *p) {
  const int needs_sums = p->residual.elements || result_bytes(p->result) == 2;
  void *scratch = malloc(kdl_matmul_packed_bytes(contraction->matmul.type, p->n, p->k) + 64);
  void *own = needs_sums ? malloc((size_t)p->m * p->n * 4 + 64) : NULL;
  kdl_status status = KDL_OK;
  if (!scratch || (needs_sums && !own))
    status = kdl_mlir_set_error(KDL_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < p->batch && status == KDL_OK; ++i)
    status = run_matrix(contraction, queue, p, i, scratch, own);
  free(own);
  free(scratch);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* On a GPU, with operands in the host's memory                                                 */

/* A matrix, or a batch of them, that has a copy on the device. */
typedef struct {
  void *there; /* on the host */
  kdl_buffer copy;
} staged;

enum { most_staged = 5 };
typedef struct {
  const kdl_mlir_device *device;
  staged operands[most_staged];
  uint32_t count;
} staging;

/* Bytes from the first element to the end of the last; strides are not negative. */
static uint64_t extent_of(const kdl_matmul_matrix *matrix, int64_t batch_stride, uint32_t rows,
                          uint32_t columns, uint32_t batch, uint32_t bytes) {
  if (!rows || !columns || !batch)
    return 0;
  return ((uint64_t)(rows - 1) * (uint64_t)matrix->row_stride +
          (uint64_t)(columns - 1) * (uint64_t)matrix->column_stride +
          (uint64_t)(batch - 1) * (uint64_t)batch_stride + 1) *
         bytes;
}

/* What mgpuMemAlloc allocated is on the device, and what was staged before. */
static kdl_status stage(staging *s, void **elements, uint64_t size, bool is_read) {
  kdl_mlir_range range;
  if (!*elements || !size || kdl_mlir_range_find((uint64_t)(uintptr_t)*elements, &range))
    return KDL_OK;
  for (uint32_t i = 0; i < s->count; ++i) {
    if (s->operands[i].there == *elements && s->operands[i].copy.size >= size) {
      *elements = (void *)(uintptr_t)s->operands[i].copy.address;
      return KDL_OK;
    }
  }
  staged *added = &s->operands[s->count];
  *added = (staged){.there = *elements};
  kdl_status status = kdl_alloc(s->device->device, size, &added->copy);
  if (status != KDL_OK)
    return status;
  ++s->count;
  *elements = (void *)(uintptr_t)added->copy.address;
  return is_read ? kdl_write(s->device->queue, &added->copy, 0, added->there, size) : KDL_OK;
}

static kdl_status stage_problem(staging *s, kdl_matmul_gpu_problem *p, uint32_t bytes) {
  const uint32_t wide = result_bytes(p->result);
  void *bias = (void *)(uintptr_t)p->bias;
  /* The result is the first. Gaps between its elements stay as they are. */
  const bool has_gaps = p->c.column_stride != 1 || p->c.row_stride != p->n ||
                        (p->batch > 1 && p->c_batch != (int64_t)p->m * p->n);
  kdl_status status =
      stage(s, &p->c.elements, extent_of(&p->c, p->c_batch, p->m, p->n, p->batch, wide),
            has_gaps || p->residual.elements == p->c.elements);
  if (status == KDL_OK)
    status =
        stage(s, &p->a.elements, extent_of(&p->a, p->a_batch, p->m, p->k, p->batch, bytes), true);
  if (status == KDL_OK)
    status =
        stage(s, &p->b.elements, extent_of(&p->b, p->b_batch, p->k, p->n, p->batch, bytes), true);
  if (status == KDL_OK)
    status = stage(s, &p->residual.elements,
                   extent_of(&p->residual, p->residual_batch, p->m, p->n, p->batch, wide), true);
  if (status == KDL_OK)
    status = stage(s, &bias, 4 * (uint64_t)p->n, true);
  p->bias = bias;
  return status;
}

/* Copies operands to the device and the result back, and waits. */
static kdl_status run_staged(const kdl_mlir_contraction *contraction, void *queue,
                             kdl_matmul_gpu_problem *p) {
  staging s = {0};
  kdl_status status = kdl_mlir_device_get(&s.device);
  if (status == KDL_OK && queue != ((kdl_queue_head *)s.device->queue)->queue)
    status = kdl_mlir_set_error(KDL_UNSUPPORTED,
                                "found a stream and operands in the host's memory, expected one");
  void *result = p->c.elements;
  if (status == KDL_OK)
    status = stage_problem(&s, p, contraction->matmul.type == KDL_MATMUL_S32_S8 ? 1 : 2);
  if (status == KDL_OK)
    status = kdl_matmul_gpu_run(contraction->gpu, s.device->queue, p);
  if (status == KDL_OK && s.count && s.operands[0].there == result)
    status = kdl_read(s.device->queue, result, &s.operands[0].copy, 0, s.operands[0].copy.size);
  kdl_status waited = s.device ? kdl_sync(s.device->queue) : KDL_OK;
  for (uint32_t i = 0; i < s.count; ++i)
    kdl_free(&s.operands[i].copy);
  return status == KDL_OK ? waited : status;
}

/* ------------------------------------------------------------------------------------------ */
/* The handle                                                                                   */

static kdl_status launch_contraction(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                     const kdl_args *args, void *queue) {
  const kdl_mlir_contraction *contraction = (const kdl_mlir_contraction *)head;
  kdl_queue_head own = {queue};
  (void)desc;
  if (args->count != KDL_MLIR_CONTRACTION_ARGS)
    return kdl_mlir_set_error(KDL_BAD_CALL, "found %zu arguments of a contraction, expected %d",
                              args->count, KDL_MLIR_CONTRACTION_ARGS);
  kdl_status status = check_numbers(args);
  if (status != KDL_OK)
    return status;
  kdl_matmul_gpu_problem problem = read_problem(args);
  if (contraction->gpu && number_at(args, KDL_MLIR_CONTRACTION_ON_HOST))
    return run_staged(contraction, queue, &problem);
  return contraction->gpu ? kdl_matmul_gpu_run(contraction->gpu, (kdl_queue *)&own, &problem)
                          : run_on_host(contraction, (kdl_queue *)&own, &problem);
}

static kdl_status make_contraction(kdl_mlir_module *module, const kdl_mlir_device *device,
                                   kdl_matmul_type type, kdl_mlir_contraction **out_made) {
  kdl_mlir_contraction *made = calloc(1, sizeof *made);
  if (!made)
    return kdl_mlir_set_error(KDL_NO_MEMORY, "out of memory");
  made->head.entry = launch_contraction;
  made->head.queue = ((kdl_queue_head *)device->queue)->queue;
  made->matmul.type = type;
  kdl_status status =
      device->is_host
          ? cpu_find(module->library, device->device, type, kdl_host_thread_count(), &made->matmul)
          : kdl_matmul_gpu_find(module->library, device->device, type, &made->gpu);
  if (status != KDL_OK) {
    free(made);
    return status;
  }
  *out_made = made;
  return KDL_OK;
}

kdl_status kdl_mlir_contraction_get(kdl_mlir_module *module, const kdl_mlir_device *device,
                                    const char *name, kdl_kernel **out_kernel) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  const char *type_name = name + sizeof KDL_MLIR_CONTRACTION - 1;
  size_t i = 0;
  while (i < sizeof types / sizeof *types && strcmp(types[i].name, type_name) != 0)
    ++i;
  if (i == sizeof types / sizeof *types)
    return kdl_mlir_set_error(KDL_NO_MATCH, "found a contraction of the unknown type %s",
                              type_name);
  pthread_mutex_lock(&lock);
  kdl_status status = KDL_OK;
  kdl_mlir_contraction *found = module->contractions, *made = NULL;
  while (found && found->matmul.type != types[i].type)
    found = found->next;
  if (!found)
    status = make_contraction(module, device, types[i].type, &made);
  if (made) {
    made->next = module->contractions;
    module->contractions = found = made;
  }
  pthread_mutex_unlock(&lock);
  if (found)
    *out_kernel = (kdl_kernel *)&found->head;
  return status;
}

void kdl_mlir_contractions_free(kdl_mlir_contraction *list) {
  for (kdl_mlir_contraction *next; list; list = next) {
    next = list->next;
    kdl_matmul_gpu_free(list->gpu);
    free(list);
  }
}
