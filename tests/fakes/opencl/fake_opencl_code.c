/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs and kernels of the fake libOpenCL. Images are read by libkdl's own readers. */
#include "fake_opencl_state.h"

#include "fake_code.h"

#include "lib/inspect/formats.h"
#include "lib/inspect/images.h"
#include "support/base/text.h"

#include <stdio.h>
#include <stdlib.h>

/* What a cl_kernel carries of an argument. */
typedef struct {
  bool is_set;
  size_t size;
  unsigned char bytes[64]; /* of a value; of memory the word */
  fake_object *memory;     /* what the word stood for when it was set, and ... */
  int serial;              /* ... which one that was */
} argument;

typedef struct {
  kdl_image_param params[most_params];
  argument arguments[most_params];
  unsigned count;
  size_t required[3]; /* the block that the source demands */
  pthread_t setter;   /* who set the last argument */
  bool has_setter;
} kernel_state;

static unsigned races, stale;

unsigned fake_opencl_races(void) {
  return races;
}

unsigned fake_opencl_stale(void) {
  return stale;
}

/* ------------------------------------------------------------------------------------------ */
/* Programs                                                                                     */

/* `kind` is kept in `capture`, whether it was built in `recorded`, with which options in `name`. */
static void *new_program(void *context_handle, kdl_image_kind kind, const void *data, size_t size,
                         int32_t *error) {
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  if (!context)
    return fake_cl_leave(NULL, KDL_CL_INVALID_CONTEXT, error);
  fake_object *program = fake_new(FAKE_MODULE, context);
  program->retained = 1;
  program->capture = (int)kind;
  program->per_item = 1;
  program->text = malloc(size + 1);
  memcpy(program->text, data, size);
  program->text[size] = '\0';
  program->size = size;
  return fake_cl_leave(program, KDL_CL_SUCCESS, error);
}

void *clCreateProgramWithSource(void *context, uint32_t count, const char **texts,
                                const size_t *lengths, int32_t *error) {
  FAKE_CL_ENTER(error);
  if (count != 1 || !texts || !texts[0] || !lengths)
    return fake_cl_leave(NULL, KDL_CL_INVALID_VALUE, error);
  return new_program(context, KDL_IMAGE_CL, texts[0], lengths[0], error);
}

static uint32_t il_of(const void *context_handle) {
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  const kdl_device_spec *spec = context ? fake_device((size_t)context->device) : NULL;
  return spec ? spec->il : 0;
}

static void *from_il(void *context, const void *il, size_t length, int32_t *error) {
  kdl_image_target target;
  if (!il_of(context))
    return fake_cl_leave(NULL, KDL_CL_INVALID_OPERATION, error);
  if (!il || kdl_image_sniff(il, length) != KDL_IMAGE_SPIRV ||
      kdl_image_read_target(KDL_IMAGE_SPIRV, il, length, &target) != KDL_OK ||
      KDL_VERSION_OF(target.version_major, target.version_minor) > il_of(context))
    return fake_cl_leave(NULL, KDL_CL_INVALID_VALUE, error);
  return new_program(context, KDL_IMAGE_SPIRV, il, length, error);
}

#ifndef FAKE_OLD
void *clCreateProgramWithIL(void *context, const void *il, size_t length, int32_t *error) {
  FAKE_CL_ENTER(error);
  return from_il(context, il, length, error);
}
#endif

void *clCreateProgramWithILKHR(void *context, const void *il, size_t length, int32_t *error) {
  FAKE_CL_ENTER(error);
  return from_il(context, il, length, error);
}

/* PTX where the device is NVIDIA's; nothing else is a binary here. */
void *clCreateProgramWithBinary(void *context_handle, uint32_t count, void *const *devices,
                                const size_t *lengths, const unsigned char **binaries,
                                int32_t *status, int32_t *error) {
  FAKE_CL_ENTER(error);
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  size_t device = count == 1 ? fake_opencl_device(devices[0]) : SIZE_MAX;
  if (!context || device != (size_t)context->device)
    return fake_cl_leave(NULL, context ? KDL_CL_INVALID_DEVICE : KDL_CL_INVALID_CONTEXT, error);
  bool is_nvidia = strncmp(fake_device(device)->arch, "sm_", 3) == 0;
  *status = is_nvidia && lengths[0] && kdl_image_sniff(binaries[0], lengths[0]) == KDL_IMAGE_PTX
                ? KDL_CL_SUCCESS
                : KDL_CL_INVALID_BINARY;
  if (*status != KDL_CL_SUCCESS)
    return fake_cl_leave(NULL, KDL_CL_INVALID_BINARY, error);
  return new_program(context_handle, KDL_IMAGE_PTX, binaries[0], lengths[0], error);
}

static bool are_options_known(const char *options) {
  static const char *const known[] = {"-cl-kernel-arg-info", "-cl-fast-relaxed-math"};
  char words[512];
  snprintf(words, sizeof words, "%s", options);
  char *rest = words;
  for (char *word; (word = strsep(&rest, " "));) {
    bool is_known = !*word || strcmp(word, known[0]) == 0 || strcmp(word, known[1]) == 0 ||
                    strncmp(word, "-D", 2) == 0 || strcmp(word, "-cl-std=CL1.2") == 0 ||
                    strcmp(word, "-cl-std=CL3.0") == 0;
    if (!is_known)
      return false;
  }
  return true;
}

/* What the compiler says; the device that it is for takes OpenCL's SPIR-V of 64 bits. */
static void compile(fake_object *program, char *out_words, size_t size) {
  out_words[0] = '\0';
  if (program->capture == KDL_IMAGE_SPIRV)
    fake_spirv_check(program, program->text, program->size, 0, out_words, size);
  else if (memmem(program->text, program->size, "syntax_error", 12))
    snprintf(out_words, size,
             "<kernel>:3:7: error: use of undeclared identifier 'syntax_error'\n1 error "
             "generated.\n");
}

/* A program that has the word "syntax_error" in it does not build. */
int32_t clBuildProgram(void *handle, uint32_t count, void *const *devices, const char *options,
                       void (*notify)(void *program, void *user), void *user) {
  (void)notify, (void)user;
  FAKE_ENTER();
  fake_object *program = fake_live(handle, FAKE_MODULE);
  if (!program)
    return fake_leave(KDL_CL_INVALID_PROGRAM);
  if (count != 1 || fake_opencl_device(devices[0]) != (size_t)program->context->device)
    return fake_leave(KDL_CL_INVALID_DEVICE);
  if (options && !are_options_known(options))
    return fake_leave(KDL_CL_INVALID_BUILD_OPTIONS);
  snprintf(program->name, sizeof program->name, "%s", options ? options : "");
  char words[256];
  compile(program, words, sizeof words);
  if (*words)
    return fake_leave(KDL_CL_BUILD_PROGRAM_FAILURE);
  program->recorded = true;
  return fake_leave(KDL_CL_SUCCESS);
}

int32_t clGetProgramBuildInfo(void *handle, void *device, uint32_t what, size_t room, void *value,
                              size_t *size) {
  FAKE_ENTER();
  fake_object *program = fake_live(handle, FAKE_MODULE);
  if (!program || fake_opencl_device(device) == SIZE_MAX || what != KDL_CL_PROGRAM_BUILD_LOG)
    return fake_leave(program ? KDL_CL_INVALID_VALUE : KDL_CL_INVALID_PROGRAM);
  char log[256];
  compile(program, log, sizeof log);
  if (!*log && strstr(program->text, "remarkable"))
    snprintf(log, sizeof log, "remark: remarkable\n");
  return fake_leave(fake_opencl_give(log, strlen(log) + 1, room, value, size));
}

static bool has_kernels(const fake_object *program) {
  fake_object *kernel = fake_next(NULL, FAKE_KERNEL);
  while (kernel && kernel->owner != program)
    kernel = fake_next(kernel, FAKE_KERNEL);
  return kernel != NULL;
}

/* Kernels hold on to their program. */
static void drop_program(fake_object *program) {
  if (program->retained == 0 && !has_kernels(program))
    fake_delete_code(program);
}

int32_t clReleaseProgram(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *program = fake_live(handle, FAKE_MODULE);
  if (!program || !program->retained)
    return fake_leave(KDL_CL_INVALID_PROGRAM);
  --program->retained;
  drop_program(program);
  return fake_leave(fault);
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

/* The first instruction of the opcode whose operand is the id; false where there is none. */
static bool find_instruction(const fake_object *program, uint32_t opcode, uint32_t operand,
                             uint32_t id, kdl_spirv *out) {
  kdl_status status = KDL_OK;
  if (kdl_spirv_open((const uint8_t *)program->text, program->size, out) != KDL_OK)
    return false;
  while (kdl_spirv_next(out, &status)) {
    if (out->opcode == opcode && out->length > operand && kdl_spirv_operand(out, operand) == id)
      return true;
  }
  return false;
}

/* The id that carries a name; 0 where none does. */
static uint32_t id_named(const fake_object *program, const char *name) {
  enum { op_name = 5 };
  kdl_spirv m;
  kdl_status status = KDL_OK;
  if (kdl_spirv_open((const uint8_t *)program->text, program->size, &m) != KDL_OK)
    return 0;
  while (kdl_spirv_next(&m, &status)) {
    if (m.opcode == op_name && m.length > 2 &&
        strncmp(program->text + (m.start + 2) * 4, name, (m.length - 2) * 4) == 0)
      return kdl_spirv_operand(&m, 1);
  }
  return 0;
}

/* OpVariable %type %id storage %initializer; OpConstant %type %id word */
static bool find_in_spirv(const fake_object *program, const char *name, uint32_t *out_value) {
  enum { op_constant = 43, op_variable = 59 };
  uint32_t id = id_named(program, name);
  kdl_spirv m;
  if (!id || !find_instruction(program, op_variable, 2, id, &m) || m.length < 5 ||
      !find_instruction(program, op_constant, 2, kdl_spirv_operand(&m, 4), &m) || m.length < 4)
    return false;
  *out_value = kdl_spirv_operand(&m, 3);
  return true;
}

static bool find_in_text(const fake_object *program, const char *name, uint32_t *out_value) {
  char words[160];
  snprintf(words, sizeof words, "%s %s = ", program->capture == KDL_IMAGE_PTX ? ".u32" : "uint",
           name);
  const char *found = strstr(program->text, words);
  if (found)
    *out_value = (uint32_t)strtoul(found + strlen(words), NULL, 0);
  return found != NULL;
}

fake_object *fake_variable(fake_object *code, fake_object *context, const char *name) {
  uint32_t value;
  bool declared = code->capture == KDL_IMAGE_SPIRV ? find_in_spirv(code, name, &value)
                                                   : find_in_text(code, name, &value);
  fake_object *variable = declared ? fake_find_variable(code, context, name) : NULL;
  return variable || !declared
             ? variable
             : fake_add_variable(code, context, name, sizeof value, &value, sizeof value);
}

int32_t clGetDeviceGlobalVariablePointerINTEL(void *device, void *handle, const char *name,
                                              size_t *size, void **address) {
  FAKE_ENTER();
  fake_object *program = fake_live(handle, FAKE_MODULE);
  if (!program || fake_opencl_device(device) == SIZE_MAX)
    return fake_leave(KDL_CL_INVALID_PROGRAM);
  fake_object *variable = fake_variable(program, program->context, name);
  if (!variable)
    return fake_leave(KDL_CL_INVALID_ARG_VALUE);
  *size = variable->size;
  *address = (void *)(uintptr_t)variable->address;
  return fake_leave(KDL_CL_SUCCESS);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

typedef struct {
  const char *name;
  bool found;
} search;

static int is_it(void *user, const char *name, size_t length) {
  search *s = user;
  s->found = strlen(s->name) == length && memcmp(s->name, name, length) == 0;
  return s->found;
}

static int add_param(void *user, const kdl_image_param *param) {
  kernel_state *state = user;
  if (state->count == most_params)
    return 1;
  state->params[state->count++] = *param;
  return 0;
}

/* Parameters but for group memory, as programs know them. */
static void tell_program(fake_object *kernel, const kernel_state *state) {
  for (unsigned i = 0; i < state->count; ++i) {
    if (state->params[i].kind != KDL_IMAGE_PARAM_GROUP)
      kernel->param_sizes[kernel->param_count++] = state->params[i].size;
  }
  kernel->program = fake_program_find(kernel);
}

void *clCreateKernel(void *handle, const char *name, int32_t *error) {
  FAKE_CL_ENTER(error);
  fake_object *program = fake_live(handle, FAKE_MODULE);
  if (!program || !program->recorded)
    return fake_cl_leave(NULL, program ? KDL_CL_INVALID_PROGRAM_EXECUTABLE : KDL_CL_INVALID_PROGRAM,
                         error);
  kdl_image_kind kind = (kdl_image_kind)program->capture;
  search s = {name, false};
  kernel_state *state = calloc(1, sizeof *state);
  if (kdl_image_read_kernels(kind, program->text, program->size, is_it, &s) != KDL_OK || !s.found ||
      kdl_image_read_params(kind, program->text, program->size, kdl_text_of(name), add_param,
                            state) != KDL_OK) {
    free(state);
    return fake_cl_leave(NULL, KDL_CL_INVALID_KERNEL_NAME, error);
  }
  const char *demand = strstr(program->text, "reqd_work_group_size(");
  const char *place = strstr(program->text, name);
  if (demand && place && demand < place && place - demand < 80)
    sscanf(demand, "reqd_work_group_size(%zu, %zu, %zu)", &state->required[0], &state->required[1],
           &state->required[2]);
  fake_object *kernel = fake_new(FAKE_KERNEL, program->context);
  kernel->retained = 1;
  kernel->owner = program;
  kernel->state = state;
  snprintf(kernel->name, sizeof kernel->name, "%s", name);
  tell_program(kernel, state);
  return fake_cl_leave(kernel, KDL_CL_SUCCESS, error);
}

int32_t clReleaseKernel(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel)
    return fake_leave(KDL_CL_INVALID_KERNEL);
  fake_object *program = kernel->owner;
  fake_delete(kernel);
  drop_program(program);
  return fake_leave(fault);
}

int32_t clGetKernelInfo(void *handle, uint32_t what, size_t room, void *value, size_t *size) {
  FAKE_ENTER();
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel || what != KDL_CL_KERNEL_NUM_ARGS)
    return fake_leave(kernel ? KDL_CL_INVALID_VALUE : KDL_CL_INVALID_KERNEL);
  uint32_t count = ((kernel_state *)kernel->state)->count;
  return fake_leave(fake_opencl_give(&count, sizeof count, room, value, size));
}

static size_t most_items(const fake_object *kernel) {
  const kdl_device_spec *spec = fake_device((size_t)kernel->context->device);
  return spec->max_block ? spec->max_block : 1024;
}

int32_t clGetKernelWorkGroupInfo(void *handle, void *device, uint32_t what, size_t room,
                                 void *value, size_t *size) {
  FAKE_ENTER();
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel || fake_opencl_device(device) == SIZE_MAX)
    return fake_leave(kernel ? KDL_CL_INVALID_DEVICE : KDL_CL_INVALID_KERNEL);
  const kernel_state *state = kernel->state;
  size_t most = most_items(kernel), multiple = 32;
  switch (what) {
  case KDL_CL_KERNEL_WORK_GROUP_SIZE:
    return fake_leave(fake_opencl_give(&most, sizeof most, room, value, size));
  case KDL_CL_KERNEL_PREFERRED_MULTIPLE:
    return fake_leave(fake_opencl_give(&multiple, sizeof multiple, room, value, size));
  case KDL_CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
    return fake_leave(fake_opencl_give(state->required, sizeof state->required, room, value, size));
  default:
    return fake_leave(KDL_CL_INVALID_VALUE);
  }
}

static const char *type_name(const kdl_image_param *param) {
  bool is_float = param->kind == KDL_IMAGE_PARAM_FLOAT;
  switch (param->size) {
  case 1:
    return "uchar";
  case 2:
    return is_float ? "half" : "ushort";
  case 4:
    return is_float ? "float" : "uint";
  case 8:
    return is_float ? "double" : "ulong";
  case 16:
    return "float4";
  default:
    return "struct thing";
  }
}

/* Drivers tell only of programs from source that were built to be asked. */
int32_t clGetKernelArgInfo(void *handle, uint32_t index, uint32_t what, size_t room, void *value,
                           size_t *size) {
  FAKE_ENTER();
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel)
    return fake_leave(KDL_CL_INVALID_KERNEL);
  const kernel_state *state = kernel->state;
  if (!strstr(kernel->owner->name, "-cl-kernel-arg-info"))
    return fake_leave(KDL_CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
  if (index >= state->count)
    return fake_leave(KDL_CL_INVALID_ARG_INDEX);
  const kdl_image_param *param = &state->params[index];
  uint32_t address = param->kind == KDL_IMAGE_PARAM_POINTER ? KDL_CL_ADDRESS_GLOBAL
                     : param->kind == KDL_IMAGE_PARAM_GROUP ? KDL_CL_ADDRESS_LOCAL
                                                            : KDL_CL_ADDRESS_PRIVATE;
  uint32_t access =
      param->kind == KDL_IMAGE_PARAM_OPAQUE ? KDL_CL_ACCESS_NONE - 1 : KDL_CL_ACCESS_NONE;
  const char *type = type_name(param);
  switch (what) {
  case KDL_CL_ARG_ADDRESS_QUALIFIER:
    return fake_leave(fake_opencl_give(&address, sizeof address, room, value, size));
  case KDL_CL_ARG_ACCESS_QUALIFIER:
    return fake_leave(fake_opencl_give(&access, sizeof access, room, value, size));
  case KDL_CL_ARG_TYPE_NAME:
    return fake_leave(fake_opencl_give(type, strlen(type) + 1, room, value, size));
  default:
    return fake_leave(KDL_CL_INVALID_VALUE);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

/* The argument to be set; notes who sets it. */
static int32_t find_argument(const void *handle, uint32_t index, fake_object **out_kernel,
                             kdl_image_param **out_param, argument **out_argument) {
  *out_kernel = fake_live(handle, FAKE_KERNEL);
  if (!*out_kernel)
    return KDL_CL_INVALID_KERNEL;
  kernel_state *state = (*out_kernel)->state;
  if (index >= state->count)
    return KDL_CL_INVALID_ARG_INDEX;
  races += state->has_setter && !pthread_equal(state->setter, pthread_self());
  state->setter = pthread_self();
  state->has_setter = true;
  *out_param = &state->params[index];
  *out_argument = &state->arguments[index];
  return KDL_CL_SUCCESS;
}

static int32_t set_memory(argument *to, const fake_object *kernel, uint64_t word,
                          fake_opencl_memory kind, int32_t wrong) {
  fake_object *memory = word ? fake_opencl_memory_at(word, kind) : NULL;
  if (word && !memory)
    return wrong;
  if (memory && memory->context != kernel->context)
    return KDL_CL_INVALID_CONTEXT;
  *to = (argument){
      .is_set = true, .size = sizeof word, .memory = memory, .serial = memory ? memory->arch : 0};
  memcpy(to->bytes, &word, sizeof word);
  return KDL_CL_SUCCESS;
}

int32_t fake_opencl_set(const void *handle, uint32_t index, size_t size, const void *value) {
  fake_object *kernel;
  kdl_image_param *param;
  argument *to;
  int32_t error = find_argument(handle, index, &kernel, &param, &to);
  if (error != KDL_CL_SUCCESS)
    return error;
  uint64_t word = 0;
  switch (param->kind) {
  case KDL_IMAGE_PARAM_GROUP:
    if (!size)
      return KDL_CL_INVALID_ARG_SIZE;
    if (value)
      return KDL_CL_INVALID_ARG_VALUE;
    *to = (argument){.is_set = true, .size = size};
    return KDL_CL_SUCCESS;
  case KDL_IMAGE_PARAM_POINTER:
    if (size != sizeof word)
      return KDL_CL_INVALID_ARG_SIZE;
    if (value)
      memcpy(&word, value, sizeof word);
    return set_memory(to, kernel, word, FAKE_BUFFER, KDL_CL_INVALID_MEM_OBJECT);
  default:
    if (size != param->size || size > sizeof to->bytes)
      return KDL_CL_INVALID_ARG_SIZE;
    if (!value)
      return KDL_CL_INVALID_ARG_VALUE;
    *to = (argument){.is_set = true, .size = size};
    memcpy(to->bytes, value, size);
    return KDL_CL_SUCCESS;
  }
}

int32_t clSetKernelArg(void *kernel, uint32_t index, size_t size, const void *value) {
  FAKE_ENTER();
  return fake_leave(fake_opencl_set(kernel, index, size, value));
}

static int32_t set_address(const void *handle, uint32_t index, const void *address,
                           fake_opencl_memory kind) {
  fake_object *kernel;
  kdl_image_param *param;
  argument *to;
  int32_t error = find_argument(handle, index, &kernel, &param, &to);
  if (error == KDL_CL_SUCCESS && param->kind != KDL_IMAGE_PARAM_POINTER)
    error = KDL_CL_INVALID_ARG_INDEX;
  return error == KDL_CL_SUCCESS
             ? set_memory(to, kernel, (uintptr_t)address, kind, KDL_CL_INVALID_ARG_VALUE)
             : error;
}

int32_t fake_opencl_set_svm(const void *kernel, uint32_t index, const void *address) {
  return set_address(kernel, index, address, FAKE_SVM);
}

void *fake_opencl_arguments(const fake_object *kernel) {
  kernel_state *copy = malloc(sizeof *copy);
  if (!copy)
    abort();
  *copy = *(const kernel_state *)kernel->state;
  return copy;
}

void fake_opencl_swap(fake_object *kernel, void *arguments) {
  kernel_state *own = kernel->state, *other = arguments, kept = *own;
  *own = *other;
  *other = kept;
  own->has_setter = false; /* whoever sets those has the command buffer */
}

#ifndef FAKE_OLD
int32_t clSetKernelArgSVMPointer(void *kernel, uint32_t index, const void *address) {
  FAKE_ENTER();
  return fake_leave(set_address(kernel, index, address, FAKE_SVM));
}
#endif

int32_t clSetKernelArgMemPointerINTEL(void *kernel, uint32_t index, const void *address) {
  FAKE_ENTER();
  return fake_leave(set_address(kernel, index, address, FAKE_USM));
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static int32_t check_shape(const fake_object *kernel, const size_t *global, const size_t *local,
                           unsigned grid[3], unsigned block[3]) {
  const kernel_state *state = kernel->state;
  size_t items = 1;
  for (int i = 0; i < 3; ++i) {
    if (!global[i])
      return KDL_CL_INVALID_GLOBAL_WORK_SIZE;
    if (!local[i] || global[i] % local[i] || (state->required[0] && local[i] != state->required[i]))
      return KDL_CL_INVALID_WORK_GROUP_SIZE;
    items *= local[i];
    block[i] = (unsigned)local[i];
    grid[i] = (unsigned)(global[i] / local[i]);
  }
  return items > most_items(kernel) ? KDL_CL_INVALID_WORK_GROUP_SIZE : KDL_CL_SUCCESS;
}

/* A driver that looked the memory up when it was set uses what it found then. */
static bool is_fresh(const argument *a) {
  fake_object *memory = fake_live(a->memory, FAKE_MEMORY);
  return !a->memory || (memory && memory->arch == a->serial);
}

/* Pointers to the values, with the addresses that handles stand for. */
static bool collect(kernel_state *state, uint64_t addresses[], void *values[]) {
  unsigned used = 0;
  for (unsigned i = 0; i < state->count; ++i) {
    argument *a = &state->arguments[i];
    if (state->params[i].kind == KDL_IMAGE_PARAM_GROUP)
      continue;
    values[used] = a->bytes;
    if (state->params[i].kind == KDL_IMAGE_PARAM_POINTER) {
      if (!is_fresh(a)) {
        ++stale;
        return false;
      }
      uint64_t word;
      memcpy(&word, a->bytes, sizeof word);
      addresses[used] = a->memory == (void *)(uintptr_t)word && word ? a->memory->address : word;
      values[used] = &addresses[used];
    }
    ++used;
  }
  return true;
}

int32_t fake_opencl_launch(const void *queue_handle, const void *handle, uint32_t dimensions,
                           const size_t *global, const size_t *local) {
  fake_object *queue;
  int32_t error = fake_opencl_queue(queue_handle, &queue);
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (error != KDL_CL_SUCCESS || !kernel)
    return error != KDL_CL_SUCCESS ? error : KDL_CL_INVALID_KERNEL;
  if (kernel->context != queue->context)
    return KDL_CL_INVALID_CONTEXT;
  if (dimensions != 3)
    return KDL_CL_INVALID_WORK_DIMENSION;
  kernel_state *state = kernel->state;
  uint64_t shared = 0;
  for (unsigned i = 0; i < state->count; ++i) {
    if (!state->arguments[i].is_set)
      return KDL_CL_INVALID_KERNEL_ARGS;
    if (state->params[i].kind == KDL_IMAGE_PARAM_GROUP)
      shared += state->arguments[i].size;
  }
  const kdl_device_spec *spec = fake_device((size_t)kernel->context->device);
  unsigned grid[3], block[3];
  error = check_shape(kernel, global, local, grid, block);
  if (error != KDL_CL_SUCCESS)
    return error;
  if (spec->shared && shared > spec->shared)
    return KDL_CL_OUT_OF_RESOURCES;
  ++fake_launch_count;
  uint64_t addresses[most_params];
  void *values[most_params];
  if (kernel->program && (!collect(state, addresses, values) ||
                          !fake_program_run(kernel, kernel->context, grid, block, shared, values)))
    kernel->context->sticky = KDL_CL_OUT_OF_RESOURCES;
  return KDL_CL_SUCCESS;
}

int32_t clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
                               const size_t *global, const size_t *local, uint32_t count,
                               void *const *events, void **event) {
  FAKE_ENTER();
  if (offset || count || events || event || !global || !local)
    return fake_leave(KDL_CL_INVALID_VALUE);
  return fake_leave(fake_opencl_launch(queue, kernel, dimensions, global, local));
}
