/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SPIR-V as a driver for OpenCL's flavour of it looks at a module, and its variables. */
#include "fake_code.h"

#include "lib/inspect/formats.h"

#include <stdio.h>

enum {
  op_execution_mode = 16,
  op_capability = 17,
  op_type_int = 21,
  op_type_array = 28,
  op_type_pointer = 32,
  op_constant = 43,
  op_function_parameter = 55,
  op_function_end = 56,
  op_variable = 59,
  op_decorate = 71,

  capability_shader = 1,
  capability_addresses = 4,
  capability_kernel = 6,
  model_physical64 = 2,
  model_opencl = 2,
  mode_local_size = 17,
  decoration_param_attribute = 38,
  decoration_linkage = 41,
  attribute_by_value = 2,
  linkage_export = 0,
  storage_constant = 0,
  storage_workgroup = 4,
  storage_cross_workgroup = 5,
  storage_function = 7,
};

static uint32_t operand(const kdl_spirv *m, uint32_t index) {
  return m->length > index ? kdl_spirv_operand(m, index) : UINT32_MAX;
}

static bool is_text(const kdl_spirv *m, uint32_t index, const char *text) {
  size_t room = m->length > index ? (m->length - index) * 4u : 0;
  return room > strlen(text) &&
         memcmp(m->data + (m->start + index) * 4, text, strlen(text) + 1) == 0;
}

/* The declaration with that result, which is operand `at` of it. */
static bool find_result(kdl_spirv m, uint32_t opcode, uint32_t at, uint32_t id, kdl_spirv *out) {
  kdl_status status = KDL_OK;
  while (kdl_spirv_next(&m, &status)) {
    if (m.opcode == opcode && operand(&m, at) == id) {
      *out = m;
      return true;
    }
  }
  return false;
}

static bool is_by_value(kdl_spirv m, uint32_t id) {
  kdl_status status = KDL_OK;
  while (kdl_spirv_next(&m, &status)) {
    if (m.opcode == op_decorate && operand(&m, 1) == id &&
        operand(&m, 2) == decoration_param_attribute && operand(&m, 3) == attribute_by_value)
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

static bool has_capability(kdl_spirv m, uint32_t capability) {
  kdl_status status = KDL_OK;
  while (kdl_spirv_next(&m, &status)) {
    if (m.opcode == op_capability && operand(&m, 1) == capability)
      return true;
  }
  return false;
}

/* Pointers of kernels are to memory that the host can name. */
static bool is_parameter_good(kdl_spirv start, const kdl_spirv *parameter) {
  kdl_spirv type;
  if (!find_result(start, op_type_pointer, 1, operand(parameter, 1), &type))
    return true;
  uint32_t storage = operand(&type, 2);
  return storage == storage_constant || storage == storage_workgroup ||
         storage == storage_cross_workgroup ||
         (storage == storage_function && is_by_value(start, operand(parameter, 2)));
}

static bool are_parameters_good(kdl_spirv start, uint32_t function) {
  kdl_spirv m;
  kdl_status status = KDL_OK;
  if (!find_result(start, KDL_SPIRV_OP_FUNCTION, 2, function, &m))
    return false;
  while (kdl_spirv_next(&m, &status) && m.opcode == op_function_parameter) {
    if (!is_parameter_good(start, &m))
      return false;
  }
  return true;
}

/* OpExecutionMode %saxpy LocalSize 32 2 1 */
static void read_required(kdl_spirv start, uint32_t function, fake_object *kernel) {
  kdl_status status = KDL_OK;
  while (kdl_spirv_next(&start, &status)) {
    if (start.opcode != op_execution_mode || operand(&start, 1) != function ||
        operand(&start, 2) != mode_local_size)
      continue;
    for (uint32_t i = 0; i < 3; ++i)
      kernel->required[i] = operand(&start, 3 + i);
  }
}

static const char *check_kernels(kdl_spirv start, fake_object *module) {
  kdl_spirv m = start;
  kdl_status status = KDL_OK;
  uint32_t last = 0;
  while (kdl_spirv_next(&m, &status)) {
    last = m.opcode;
    if (m.opcode != KDL_SPIRV_OP_ENTRY_POINT)
      continue;
    uint32_t function = operand(&m, 2);
    if (operand(&m, 1) != capability_kernel)
      return "an entry point is no kernel";
    if (!are_parameters_good(start, function))
      return "a parameter of a kernel points to private memory";
    for (fake_object *f = fake_next(NULL, FAKE_FUNCTION); f; f = fake_next(f, FAKE_FUNCTION)) {
      if (f->owner == module && is_text(&m, 3, f->name))
        read_required(start, function, f);
    }
  }
  return status == KDL_OK && last == op_function_end ? "" : "it ends within a function";
}

static const char *check_module(kdl_spirv start, fake_object *module) {
  kdl_spirv model = start;
  kdl_status status = KDL_OK;
  while (kdl_spirv_next(&model, &status) && model.opcode != KDL_SPIRV_OP_MEMORY_MODEL)
    ;
  if (has_capability(start, capability_shader) || !has_capability(start, capability_kernel) ||
      !has_capability(start, capability_addresses))
    return "it is not for OpenCL";
  if (model.opcode != KDL_SPIRV_OP_MEMORY_MODEL || operand(&model, 1) != model_physical64 ||
      operand(&model, 2) != model_opencl)
    return "its memory model is not that of OpenCL with 64 bits";
  return check_kernels(start, module);
}

void fake_spirv_check(fake_object *module, const void *data, size_t size, uint32_t newest,
                      char *out_words, size_t words_size) {
  kdl_spirv m;
  uint32_t version;
  out_words[0] = '\0';
  memcpy(&version, (const char *)data + 4, sizeof version);
  version = (version >> 16 & 0xff) << 16 | (version >> 8 & 0xff);
  if (newest && version > newest)
    snprintf(out_words, words_size,
             "error: SPIR-V %u.%u is newer than %u.%u\nerror: backend compiler failed build.\n",
             version >> 16, version & 0xffff, newest >> 16, newest & 0xffff);
  else if (size % 4 || kdl_spirv_open(data, size, &m) != KDL_OK)
    snprintf(out_words, words_size, "error: no SPIR-V\n");
  else if (*check_module(m, module))
    snprintf(out_words, words_size, "error: %s\nerror: backend compiler failed build.\n",
             check_module(m, module));
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

/* In bytes: an integer, or an array of such. */
static uint32_t size_of(kdl_spirv start, uint32_t type) {
  kdl_spirv m, length;
  if (find_result(start, op_type_int, 1, type, &m))
    return operand(&m, 2) / 8;
  if (!find_result(start, op_type_array, 1, type, &m) ||
      !find_result(start, op_constant, 2, operand(&m, 3), &length))
    return 0;
  return size_of(start, operand(&m, 2)) * operand(&length, 3);
}

/* OpDecorate %weight LinkageAttributes "weight" Export */
static uint32_t exported_id(kdl_spirv m, const char *name) {
  kdl_status status = KDL_OK;
  while (kdl_spirv_next(&m, &status)) {
    if (m.opcode == op_decorate && operand(&m, 2) == decoration_linkage && is_text(&m, 3, name) &&
        operand(&m, m.length - 1) == linkage_export)
      return operand(&m, 1);
  }
  return 0;
}

fake_object *fake_spirv_variable(fake_object *code, fake_object *context, const char *name) {
  kdl_spirv start, variable, pointer, constant;
  fake_object *known = fake_find_variable(code, context, name);
  if (known || !code->text ||
      kdl_spirv_open((const uint8_t *)code->text, code->size, &start) != KDL_OK)
    return known;
  uint32_t id = exported_id(start, name);
  if (!id || !find_result(start, op_variable, 2, id, &variable) ||
      !find_result(start, op_type_pointer, 1, operand(&variable, 1), &pointer))
    return NULL;
  uint32_t value = 0;
  if (variable.length > 4 && find_result(start, op_constant, 2, operand(&variable, 4), &constant))
    value = operand(&constant, 3);
  return fake_add_variable(code, context, name, size_of(start, operand(&pointer, 3)), &value,
                           sizeof value);
}
