/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "multiply.h"

#include "bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "summa: %s\n", kdl_error_message());
    exit(1); /* the launcher ends the others */
  }
}

static uint64_t bytes(uint64_t rows, uint64_t columns) {
  return rows * columns * sizeof(float);
}

/* The processes of a machine share its CPUs: one thread each. */
static void open_host(multiplier *it) {
  must(kdl_open("kdl-matmul", NULL, &it->lib));
  must(kdl_matmul_find(it->lib, it->device, KDL_MATMUL_F32_F32, 1, &it->matmul));
  it->scratch = malloc(kdl_matmul_packed_size(KDL_MATMUL_F32_F32, it->n, it->k));
  if (!it->scratch)
    exit(1);
}

static void open_device(multiplier *it) {
  must(kdl_sym(it->lib, it->device, "panel", NULL, &it->panel));
  must(kdl_alloc(it->device, bytes(it->m, it->k), &it->a));
  must(kdl_alloc(it->device, bytes(it->k, it->n), &it->b));
  must(kdl_alloc(it->device, bytes(it->m, it->n), &it->c));
  must(kdl_write(it->queue, &it->c, 0, it->result, bytes(it->m, it->n)));
}

void multiplier_open(multiplier *it, const char *panel_library, bool by_panel, float *result,
                     uint32_t m, uint32_t n, uint32_t k) {
  *it = (multiplier){.result = result, .m = m, .n = n, .k = k};
  memset(result, 0, bytes(m, n));
  must(kdl_open(panel_library, NULL, &it->lib));
  must(kdl_device_for_rank(it->lib, "panel", NULL, -1, 0, &it->device));
  int node = bind_near(it->device);
  must(kdl_queue_create(it->device, NULL, &it->queue));
  kdl_device_info device = {.size = sizeof device};
  must(kdl_device_get(it->device, &device));
  it->is_host = device.is_host && !by_panel;
  if (it->is_host) {
    kdl_close(it->lib);
    open_host(it);
  } else {
    open_device(it);
  }
  kdl_kernel *kernel = it->is_host ? it->matmul.unpacked : it->panel;
  kdl_kernel_info info = {.size = sizeof info};
  must(kdl_prefetch(kernel)); /* not in the middle of the first product */
  must(kdl_kernel_get(kernel, &info));
  int used = snprintf(it->where, sizeof it->where, "%s %s, image %zu", device.label, device.name,
                      info.image);
  if (node >= 0 && used > 0 && (size_t)used < sizeof it->where)
    snprintf(it->where + used, sizeof it->where - (size_t)used, ", near node %d", node);
}

void multiplier_add(multiplier *it, const float *a, const float *b, uint32_t k) {
  if (it->is_host) {
    must(kdl_matmul_run_unpacked(
        &it->matmul, it->queue, kdl_matmul_rows(a, k), kdl_matmul_rows(b, it->n), it->scratch,
        kdl_matmul_rows(it->result, it->n), it->m, it->n, k, KDL_MATMUL_ADD));
    return;
  }
  must(kdl_write(it->queue, &it->a, 0, a, bytes(it->m, k)));
  must(kdl_write(it->queue, &it->b, 0, b, bytes(k, it->n)));
  must(kdl_launch_items(it->panel, it->queue, kdl_extent2(it->n, it->m),
                        KDL_ARGS(&it->a, &it->b, &it->c, &it->m, &it->n, &k)));
}

void multiplier_wait(multiplier *it) {
  must(kdl_sync(it->queue));
}

void multiplier_finish(multiplier *it) {
  if (!it->is_host)
    must(kdl_read(it->queue, it->result, &it->c, 0, bytes(it->m, it->n)));
  must(kdl_sync(it->queue));
}

void multiplier_close(multiplier *it) {
  if (!it->is_host) {
    kdl_free(&it->a);
    kdl_free(&it->b);
    kdl_free(&it->c);
  }
  free(it->scratch);
  kdl_matmul_free(&it->matmul);
  kdl_queue_destroy(it->queue);
  kdl_close(it->lib);
}
