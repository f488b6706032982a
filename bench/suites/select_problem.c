/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "problem.h"

#include "measure/must.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <stdlib.h>

typedef struct {
  const char *triple, *arch;
  uint16_t declared_kind; /* LLVM's ImageKind */
} image_row;

enum { object = 1, cubin = 3, spirv = 6 };

static const image_row image_rows[] = {
    {"nvptx64-nvidia-cuda", "sm_80", cubin},
    {"nvptx64-nvidia-cuda", "sm_90", cubin},
    {"amdgcn-amd-amdhsa", "gfx942", object},
    {"amdgcn-amd-amdhsa", "gfx90a:xnack+", object},
    {"amdgcn-amd-amdhsa", "gfx11-generic", object},
    {"nvptx64-nvidia-cuda", "sm_100a", cubin},
    {"x86_64-unknown-linux-gnu", "x86-64-v4", object},
    {"spirv64-unknown-unknown", "", spirv},
};
static const image_row fitting_image = {"amdgcn-amd-amdhsa", "gfx90a", object};
static const char kernel_name[] = "saxpy_f32_vector";

static kdl_status add_problem_image(kdl_writer *writer, const image_row *row) {
  static const char nothing[64];
  kdl_pair pairs[] = {{KDL_TEXT("triple"), kdl_text_of(row->triple)},
                      {KDL_TEXT("arch"), kdl_text_of(row->arch)},
                      {KDL_TEXT("kdl.kernel.saxpy_f32_vector"), KDL_TEXT("rev=1")}};
  return kdl_writer_add(writer, &(kdl_writer_image){.size = sizeof(kdl_writer_image),
                                                    .declared_kind = row->declared_kind,
                                                    .offload_kind = KDL_OFFLOAD_HIP,
                                                    .pairs = pairs,
                                                    .pair_count = 3,
                                                    .data = nothing,
                                                    .data_size = sizeof nothing});
}

kdl_status select_problem_make(size_t count, select_problem *out_problem) {
  kdl_writer *writer = NULL;
  *out_problem = (select_problem){.count = count,
                                  .triples = calloc(count, sizeof(char *)),
                                  .archs = calloc(count, sizeof(char *)),
                                  .device_triple = "amdgcn-amd-amdhsa",
                                  .device_arch = "gfx90a:sramecc+:xnack-"};
  kdl_status status = out_problem->triples && out_problem->archs
                          ? kdl_writer_create(KDL_FORMAT_V1, &writer)
                          : kdl_fail(KDL_NO_MEMORY, "out of memory for %zu images", count);
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    const image_row *row =
        i + 1 == count ? &fitting_image : &image_rows[i % (sizeof image_rows / sizeof *image_rows)];
    out_problem->triples[i] = row->triple;
    out_problem->archs[i] = row->arch;
    status = add_problem_image(writer, row);
  }
  if (status == KDL_OK)
    status = kdl_writer_finish(writer, &out_problem->data, &out_problem->size);
  if (status == KDL_OK)
    status = kdl_device_find("hip:gfx90a:sramecc+:xnack-", &out_problem->device);
  kdl_writer_destroy(writer);
  return status;
}

void select_problem_free(select_problem *problem) {
  free(problem->data);
  free(problem->triples);
  free(problem->archs);
}

kdl_library *select_problem_open(const select_problem *problem) {
  kdl_library *lib;
  if (kdl_open_memory(problem->data, problem->size, NULL, &lib) != KDL_OK)
    bench_die("kdl_open_memory");
  return lib;
}

void select_problem_close(kdl_library *lib) {
  kdl_close(lib);
}

static inline void select_checked(const select_problem *problem, kdl_library *lib) {
  kdl_selection choice = {.size = sizeof choice};
  if (kdl_select(lib, problem->device, kernel_name, NULL, &choice) != KDL_OK ||
      choice.image != problem->count - 1)
    bench_die("kdl_select");
}

void select_problem_first(const select_problem *problem, kdl_library *lib) {
  select_checked(problem, lib);
}

void select_problem_again(const select_problem *problem, kdl_library *lib) {
  select_checked(problem, lib);
}
