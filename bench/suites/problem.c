/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "problem.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *triple;
  const char *arch;
  kdl_image_kind kind;
} image_row;

static const image_row three[] = {
    {"nvptx64-nvidia-cuda", "sm_80", KDL_IMAGE_CUBIN},
    {"amdgcn-amd-amdhsa", "gfx90a", KDL_IMAGE_HSACO},
    {"nvptx64-nvidia-cuda", "sm_90", KDL_IMAGE_CUBIN},
};

static const image_row many[] = {
    {"amdgcn-amd-amdhsa", "gfx90a:xnack+", KDL_IMAGE_HSACO},
    {"amdgcn-amd-amdhsa", "gfx942", KDL_IMAGE_HSACO},
    {"amdgcn-amd-amdhsa", "gfx11-generic", KDL_IMAGE_HSACO},
    {"nvptx64-nvidia-cuda", "sm_100a", KDL_IMAGE_CUBIN},
    {"nvptx64-nvidia-cuda", "sm_120", KDL_IMAGE_CUBIN},
    {"nvptx64-nvidia-cuda", "sm_80", KDL_IMAGE_CUBIN},
    {"x86_64-unknown-linux-gnu", "x86-64-v4", KDL_IMAGE_OBJECT},
    {"spirv64-unknown-unknown", "", KDL_IMAGE_SPIRV},
};

static kdl_status make(const image_row *rows, size_t row_count, size_t count, const char *device,
                       problem *made) {
  kdl_image_rule *rules = calloc(count, sizeof *rules);
  *made = (problem){.count = count, .expected = count};
  made->triples = calloc(count, sizeof *made->triples);
  made->archs = calloc(count, sizeof *made->archs);
  kdl_status status = KDL_OK;
  if (!rules || !made->triples || !made->archs)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for %zu images", count);
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    const image_row *row = &rows[i % row_count];
    kdl_image_desc desc = {
        .kind = row->kind, .triple = kdl_text_of(row->triple), .arch = kdl_text_of(row->arch)};
    kdl_image_compile(&desc, &rules[i]);
    made->triples[i] = row->triple;
    made->archs[i] = row->arch;
  }
  kdl_device_spec spec;
  if (status == KDL_OK && !kdl_preference_create(rules, count, KDL_POLICY_BEST, &made->order))
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for %zu images", count);
  if (status == KDL_OK)
    status = kdl_device_spec_parse(device, &spec);
  if (status == KDL_OK)
    status = kdl_device_spec_compile(&spec, &made->device);
  free(rules);
  return status;
}

kdl_status problem_of_three(problem *out_problem) {
  kdl_status status = make(three, 3, 3, "hip:gfx90a:sramecc+:xnack-", out_problem);
  out_problem->expected = 1;
  out_problem->device_triple = "amdgcn-amd-amdhsa";
  out_problem->device_arch = "gfx90a:sramecc+:xnack-";
  if (status == KDL_OK && out_problem->order.images[2] != 1)
    status = kdl_fail(KDL_BAD_CALL, "the image that fits is not the last in preference");
  return status;
}

kdl_status problem_of_many(size_t count, problem *out_problem) {
  kdl_status status =
      make(many, sizeof many / sizeof *many, count, "cuda:sm_90 driver=13.0", out_problem);
  out_problem->device_triple = "nvptx64-nvidia-cuda";
  out_problem->device_arch = "sm_90";
  return status;
}

void problem_free(problem *asked) {
  kdl_preference_destroy(&asked->order);
  free(asked->triples);
  free(asked->archs);
}

size_t problem_choose(const problem *asked) {
  return kdl_choose(&asked->order, &asked->device);
}
