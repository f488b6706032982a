/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oneDNN 2, through its C interface; built where its headers are, opened where its library is. The
 * interface of oneDNN 3 is another one. */
#include "gemm.h"

#if KDL_HAVE_DNNL_H
#include <dnnl.h>
#endif
#if defined(DNNL_VERSION_MAJOR) && DNNL_VERSION_MAJOR == 2
#include <dlfcn.h>
#include <stdlib.h>

#define FUNCTIONS(X)                                                                               \
  X(dnnl_engine_create)                                                                            \
  X(dnnl_stream_create)                                                                            \
  X(dnnl_stream_wait)                                                                              \
  X(dnnl_memory_desc_init_by_tag)                                                                  \
  X(dnnl_memory_create)                                                                            \
  X(dnnl_memory_destroy)                                                                           \
  X(dnnl_matmul_desc_init)                                                                         \
  X(dnnl_primitive_desc_create)                                                                    \
  X(dnnl_primitive_desc_destroy)                                                                   \
  X(dnnl_primitive_desc_query_md)                                                                  \
  X(dnnl_primitive_create)                                                                         \
  X(dnnl_primitive_destroy)                                                                        \
  X(dnnl_primitive_execute)                                                                        \
  X(dnnl_reorder_primitive_desc_create)

static struct {
#define X(name) __typeof__(&name) name;
  FUNCTIONS(X)
#undef X
  void (*omp_set_num_threads)(int);
  dnnl_engine_t engine;
  dnnl_stream_t stream;
} dnn;

typedef struct prepared {
  dnnl_primitive_t multiply;
  dnnl_memory_t memory[3];
} prepared;

static const char *onednn_open(void) {
  if (dnn.stream)
    return NULL;
  void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return "libdnnl.so.2 not found (Debian: libdnnl2)";
#define X(name)                                                                                    \
  *(void **)&dnn.name = dlsym(library, #name);                                                     \
  if (!dnn.name)                                                                                   \
    return "libdnnl.so.2 lacks " #name;
  FUNCTIONS(X)
#undef X
  /* It divides work with OpenMP; without this it could not be told how many threads to take. */
  *(void **)&dnn.omp_set_num_threads = dlsym(library, "omp_set_num_threads");
  if (!dnn.omp_set_num_threads)
    return "libdnnl.so.2 was built without OpenMP";
  if (dnn.dnnl_engine_create(&dnn.engine, dnnl_cpu, 0) ||
      dnn.dnnl_stream_create(&dnn.stream, dnn.engine, dnnl_stream_default_flags))
    return "libdnnl.so.2 makes no engine for this CPU";
  return NULL;
}

static dnnl_data_type_t operand_type(kdl_matmul_type type) {
  static const dnnl_data_type_t types[] = {dnnl_bf16, dnnl_s8, dnnl_f32, dnnl_f16};
  return types[type];
}

static bool reorder(dnnl_memory_t from, const dnnl_memory_desc_t *from_desc, dnnl_memory_t to,
                    const dnnl_memory_desc_t *to_desc) {
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  if (dnn.dnnl_reorder_primitive_desc_create(&desc, from_desc, dnn.engine, to_desc, dnn.engine,
                                             NULL))
    return false;
  bool made = !dnn.dnnl_primitive_create(&primitive, desc);
  dnn.dnnl_primitive_desc_destroy(desc);
  if (!made)
    return false;
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  bool done = !dnn.dnnl_primitive_execute(primitive, dnn.stream, 2, args) &&
              !dnn.dnnl_stream_wait(dnn.stream);
  dnn.dnnl_primitive_destroy(primitive);
  return done;
}

static void onednn_release(void *context) {
  prepared *p = context;
  for (size_t i = 0; i < 3; ++i)
    if (p->memory[i])
      dnn.dnnl_memory_destroy(p->memory[i]);
  if (p->multiply)
    dnn.dnnl_primitive_destroy(p->multiply);
  free(p);
}

static bool onednn_make(prepared *p, const gemm_problem *problem, bool pack) {
  dnnl_data_type_t in = operand_type(problem->type);
  dnnl_data_type_t out = problem->type == KDL_MATMUL_S32_S8 ? dnnl_s32 : dnnl_f32;
  dnnl_dims_t a = {problem->m, problem->k}, b = {problem->k, problem->n};
  dnnl_dims_t c = {problem->m, problem->n};
  dnnl_memory_desc_t a_desc, b_desc, b_chosen, c_desc;
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_desc_t desc;
  if (dnn.dnnl_memory_desc_init_by_tag(&a_desc, 2, a, in, dnnl_ab) ||
      dnn.dnnl_memory_desc_init_by_tag(&b_desc, 2, b, in, dnnl_ab) ||
      dnn.dnnl_memory_desc_init_by_tag(&b_chosen, 2, b, in, pack ? dnnl_format_tag_any : dnnl_ab) ||
      dnn.dnnl_memory_desc_init_by_tag(&c_desc, 2, c, out, dnnl_ab) ||
      dnn.dnnl_matmul_desc_init(&matmul, &a_desc, &b_chosen, NULL, &c_desc) ||
      dnn.dnnl_primitive_desc_create(&desc, &matmul, NULL, dnn.engine, NULL))
    return false;
  b_chosen = *dnn.dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
  bool made = !dnn.dnnl_primitive_create(&p->multiply, desc);
  dnn.dnnl_primitive_desc_destroy(desc);
  dnnl_memory_t plain;
  if (!made ||
      dnn.dnnl_memory_create(&p->memory[0], &a_desc, dnn.engine, (void *)(uintptr_t)problem->a) ||
      dnn.dnnl_memory_create(&p->memory[2], &c_desc, dnn.engine, problem->c) ||
      dnn.dnnl_memory_create(&plain, &b_desc, dnn.engine, (void *)(uintptr_t)problem->b))
    return false;
  if (!pack) {
    p->memory[1] = plain;
    return true;
  }
  made = !dnn.dnnl_memory_create(&p->memory[1], &b_chosen, dnn.engine, DNNL_MEMORY_ALLOCATE) &&
         reorder(plain, &b_desc, p->memory[1], &b_chosen);
  dnn.dnnl_memory_destroy(plain);
  return made;
}

static void *onednn_prepare(const gemm_problem *problem, uint32_t threads, bool pack) {
  prepared *p = calloc(1, sizeof *p);
  if (!p)
    return NULL;
  dnn.omp_set_num_threads((int)threads);
  if (onednn_make(p, problem, pack))
    return p;
  onednn_release(p);
  return NULL;
}

static void onednn_run(void *context) {
  prepared *p = context;
  dnnl_exec_arg_t args[] = {
      {DNNL_ARG_SRC, p->memory[0]}, {DNNL_ARG_WEIGHTS, p->memory[1]}, {DNNL_ARG_DST, p->memory[2]}};
  if (dnn.dnnl_primitive_execute(p->multiply, dnn.stream, 3, args) ||
      dnn.dnnl_stream_wait(dnn.stream))
    abort();
}

const gemm_peer gemm_onednn = {"onednn",       "oneDNN",   onednn_open,
                               onednn_prepare, onednn_run, onednn_release};
#else
static const char *onednn_open(void) {
  return "kdl was built without the headers of oneDNN 2 (Debian: libdnnl-dev)";
}

const gemm_peer gemm_onednn = {"onednn", "oneDNN", onednn_open, NULL, NULL, NULL};
#endif
