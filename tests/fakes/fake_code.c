/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fake_code.h"

#include "lib/inspect/images.h"

#include <elf.h>
#include <stdio.h>

size_t fake_elf_size(const void *data) {
  Elf64_Ehdr header;
  memcpy(&header, data, sizeof header);
  size_t size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, (const char *)data + header.e_shoff + (size_t)i * header.e_shentsize,
           sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > size)
      size = section.sh_offset + section.sh_size;
  }
  size_t segments = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
  return segments > size ? segments : size;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

typedef struct {
  fake_object *code;
  fake_kind kind;
  kdl_image_kind image;
  const void *data;
  size_t size;
} visit_state;

static int add_param(void *user, const kdl_image_param *param) {
  fake_object *kernel = user;
  if (kernel->param_count == most_params)
    return 1;
  kernel->param_offsets[kernel->param_count] = param->offset;
  kernel->param_is_value[kernel->param_count] =
      param->kind >= KDL_IMAGE_PARAM_VALUE && param->kind <= KDL_IMAGE_PARAM_FLOAT;
  kernel->param_sizes[kernel->param_count++] = param->size;
  return 0;
}

static int add_kernel(void *user, const char *name, size_t length) {
  visit_state *state = user;
  fake_object *kernel = fake_new(state->kind, state->code->context);
  kernel->owner = state->code;
  snprintf(kernel->name, sizeof kernel->name, "%.*s", (int)length, name);
  if (kdl_image_read_params(state->image, state->data, state->size, (kdl_string){name, length},
                            add_param, kernel) != KDL_OK)
    return 1;
  kernel->program = fake_program_find(kernel);
  return 0;
}

bool fake_add_kernels(fake_object *code, fake_kind kind, kdl_image_kind image, const void *data,
                      size_t size) {
  visit_state state = {code, kind, image, data, size};
  return kdl_image_read_kernels(image, data, size, add_kernel, &state) == KDL_OK;
}

fake_object *fake_find_kernel(fake_kind kind, const fake_object *code, const char *name) {
  fake_object *kernel = fake_next(NULL, kind);
  while (kernel && (kernel->owner != code || strcmp(kernel->name, name) != 0))
    kernel = fake_next(kernel, kind);
  return kernel;
}

/* ------------------------------------------------------------------------------------------ */
/* Captures                                                                                     */

static _Thread_local int thread_mode = mode_global;

int fake_capture_mode(int mode) {
  int before = thread_mode;
  thread_mode = mode;
  return before;
}

bool fake_capture_break(void) {
  bool broke = false;
  if (thread_mode == mode_relaxed)
    return false;
  for (fake_object *s = fake_next(NULL, FAKE_STREAM); s; s = fake_next(s, FAKE_STREAM)) {
    if (s->capture == capture_active) {
      s->capture = capture_broken;
      broke = true;
    }
  }
  return broke;
}

void fake_capture_begin(fake_object *stream) {
  stream->capture = capture_active;
  fake_recorded_clear(stream);
}

fake_object *fake_capture_end(fake_object *stream) {
  int capture = stream->capture;
  stream->capture = capture_none;
  if (capture != capture_active)
    return NULL;
  fake_object *made = fake_new(FAKE_GRAPH, stream->context);
  fake_recorded_copy(stream, made);
  fake_recorded_clear(stream);
  return made;
}
