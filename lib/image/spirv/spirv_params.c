/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The parameters of a SPIR-V kernel: the entry point names a function, the function its type, the
 * type those of its parameters. A structure that is passed by value is a pointer with the attribute
 * ByVal (Khronos, "OpenCL SPIR-V Environment Specification", "Kernels").
 *
 * Each id is found by scanning the declarations, because nothing is allocated for an index. Results
 * are kept in a small table, and the scans have a budget, so that a module made to be slow is
 * refused.
 */
#include "lib/image/readers.h"
#include "lib/inspect/formats.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <inttypes.h>

enum {
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_array = 28,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_type_function = 33,
  op_type_first_opaque = 25, /* image, sampler, sampled image */
  op_type_last_opaque = 27,
  op_type_first_opencl = 34, /* events, queues, pipes */
  op_type_last_opencl = 38,
  op_constant = 43,
  op_function_parameter = 55,
  op_decorate = 71,
  op_untyped_pointer = 4417,

  decoration_packed = 10,
  decoration_param_attribute = 38,
  attribute_by_value = 2,

  storage_workgroup = 4,
  storage_function = 7,

  max_walks = 256,
  max_measured = 4096,
  max_type_depth = 32,
  cache_size = 64,
};

typedef struct {
  uint32_t id;
  uint64_t start; /* word of the instruction that declares it; 0: not known yet */
} cached_declaration;

typedef struct {
  kdl_spirv start; /* before the first instruction */
  uint32_t pointer_size;
  unsigned walks_left;
  unsigned measured_left;
  unsigned depth_left; /* detects invalid recursive types */
  cached_declaration known[cache_size];
} type_reader;

static kdl_status spend_budget(unsigned *left) {
  if (*left == 0)
    return kdl_fail(KDL_UNSUPPORTED,
                    "found parameters of types that are too many, too large or too deep to read");
  --*left;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Finding                                                                                      */

/* Whether the instruction declares the id, which is second in constants, first in types. */
static bool declares(const kdl_spirv *m, uint32_t id) {
  bool is_type = (m->opcode >= op_type_int && m->opcode <= op_type_last_opencl) ||
                 m->opcode == op_untyped_pointer;
  uint32_t operand = is_type ? 1 : m->opcode == op_constant ? 2 : 0;
  return operand && m->length > operand && kdl_spirv_operand(m, operand) == id;
}

static void seek_to(kdl_spirv *m, uint64_t start) {
  kdl_status status = KDL_OK;
  m->at = start;
  kdl_spirv_next(m, &status); /* was scanned before */
}

/* The instruction that declares a type or a constant; its opcode is 0 where there is none. */
static kdl_status spirv_find_declaration(type_reader *t, uint32_t id, kdl_spirv *out) {
  cached_declaration *slot = &t->known[id % cache_size];
  *out = t->start;
  if (slot->start && slot->id == id) {
    seek_to(out, slot->start);
    return KDL_OK;
  }
  kdl_status status = spend_budget(&t->walks_left);
  while (status == KDL_OK && kdl_spirv_next_declaration(out, &status)) {
    if (declares(out, id)) {
      *slot = (cached_declaration){id, out->start};
      return KDL_OK;
    }
  }
  out->opcode = 0;
  return status;
}

static kdl_status is_decorated(type_reader *t, uint32_t id, uint32_t decoration, uint32_t value,
                               bool *out_is) {
  kdl_spirv m = t->start;
  kdl_status status = spend_budget(&t->walks_left);
  *out_is = false;
  while (status == KDL_OK && !*out_is && kdl_spirv_next_declaration(&m, &status))
    *out_is = m.opcode == op_decorate && m.length >= 3 && kdl_spirv_operand(&m, 1) == id &&
              kdl_spirv_operand(&m, 2) == decoration &&
              (decoration != decoration_param_attribute ||
               (m.length >= 4 && kdl_spirv_operand(&m, 3) == value));
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Sizes                                                                                        */

typedef struct {
  uint64_t size;
  uint64_t align;
} layout;

static uint64_t round_up(uint64_t value, uint64_t align) {
  return align ? (value + align - 1) / align * align : value;
}

static kdl_status spirv_measure(type_reader *t, uint32_t id, layout *out);

/* Vectors of three have the size of four. */
static kdl_status measure_vector(type_reader *t, const kdl_spirv *m, layout *out) {
  uint64_t count = kdl_spirv_operand(m, 3);
  kdl_status status = spirv_measure(t, kdl_spirv_operand(m, 2), out);
  out->size *= count == 3 ? 4 : count;
  out->align = out->size;
  return status;
}

static kdl_status measure_array(type_reader *t, const kdl_spirv *m, layout *out) {
  kdl_spirv length;
  KDL_TRY(spirv_measure(t, kdl_spirv_operand(m, 2), out));
  KDL_TRY(spirv_find_declaration(t, kdl_spirv_operand(m, 3), &length));
  out->size *=
      length.opcode == op_constant && length.length >= 4 ? kdl_spirv_operand(&length, 3) : 0;
  return KDL_OK;
}

static kdl_status measure_struct(type_reader *t, const kdl_spirv *m, layout *out) {
  bool is_packed;
  kdl_status status = is_decorated(t, kdl_spirv_operand(m, 1), decoration_packed, 0, &is_packed);
  *out = (layout){0, 1};
  for (uint32_t i = 2; i < m->length && status == KDL_OK; ++i) {
    layout member;
    status = spirv_measure(t, kdl_spirv_operand(m, i), &member);
    if (status != KDL_OK || member.size > UINT32_MAX)
      break;
    uint64_t align = is_packed ? 1 : member.align;
    out->size = round_up(out->size, align) + member.size;
    if (out->size > UINT32_MAX)
      break;
    out->align = align > out->align ? align : out->align;
  }
  out->size = round_up(out->size, out->align);
  return status;
}

static kdl_status measure_as(type_reader *t, const kdl_spirv *m, layout *out) {
  switch (m->opcode) {
  case op_type_int:
  case op_type_float:
    if (m->length >= 3)
      out->size = out->align = ((uint64_t)kdl_spirv_operand(m, 2) + 7) / 8;
    return KDL_OK;
  case op_type_pointer:
  case op_untyped_pointer:
    *out = (layout){t->pointer_size, t->pointer_size};
    return KDL_OK;
  case op_type_vector:
    return m->length >= 4 ? measure_vector(t, m, out) : KDL_OK;
  case op_type_array:
    return m->length >= 4 ? measure_array(t, m, out) : KDL_OK;
  case op_type_struct:
    return measure_struct(t, m, out);
  default:
    return KDL_OK;
  }
}

/* By OpenCL's rules for data types. A type without a size, or with more than 32 bits of it, gets
 * 0. */
static kdl_status spirv_measure(type_reader *t, uint32_t id, layout *out) {
  kdl_spirv m;
  *out = (layout){0, 1};
  kdl_status status = spend_budget(&t->measured_left);
  if (status == KDL_OK)
    status = spend_budget(&t->depth_left);
  if (status != KDL_OK)
    return status;
  status = spirv_find_declaration(t, id, &m);
  if (status == KDL_OK)
    status = measure_as(t, &m, out);
  ++t->depth_left;
  if (out->size > UINT32_MAX)
    *out = (layout){0, 1};
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

static kdl_image_param_kind spirv_param_kind(const kdl_spirv *type) {
  uint32_t opcode = type->opcode;
  bool is_opaque = (opcode >= op_type_first_opaque && opcode <= op_type_last_opaque) ||
                   (opcode >= op_type_first_opencl && opcode <= op_type_last_opencl);
  switch (opcode) {
  case op_type_int:
    return KDL_IMAGE_PARAM_INTEGER;
  case op_type_float:
    return KDL_IMAGE_PARAM_FLOAT;
  case op_type_pointer:
  case op_untyped_pointer:
    return type->length >= 3 && kdl_spirv_operand(type, 2) == storage_workgroup
               ? KDL_IMAGE_PARAM_GROUP
               : KDL_IMAGE_PARAM_POINTER;
  default:
    return is_opaque ? KDL_IMAGE_PARAM_OPAQUE : KDL_IMAGE_PARAM_VALUE;
  }
}

static kdl_status spirv_describe_param(type_reader *t, uint32_t type, uint32_t param_id,
                                       kdl_image_param *out) {
  kdl_spirv m;
  bool by_value = false;
  kdl_status status = spirv_find_declaration(t, type, &m);
  if (status != KDL_OK)
    return status;
  if (m.opcode == 0)
    return kdl_malformed_at(0, "OpTypeFunction",
                            "found a parameter of type %%%" PRIu32 ", expected a declared type",
                            type);
  uint32_t measured = type;
  *out = (kdl_image_param){.kind = spirv_param_kind(&m), .offset = KDL_NO_OFFSET};
  if (m.opcode == op_type_pointer && m.length >= 4 && kdl_spirv_operand(&m, 2) == storage_function)
    status = is_decorated(t, param_id, decoration_param_attribute, attribute_by_value, &by_value);
  if (by_value) {
    out->kind = KDL_IMAGE_PARAM_VALUE;
    measured = kdl_spirv_operand(&m, 3);
  }
  layout size = {0, 1};
  if (status == KDL_OK)
    status = spirv_measure(t, measured, &size);
  out->size = out->kind == KDL_IMAGE_PARAM_GROUP ? 0 : (uint32_t)size.size;
  return status;
}

/* The function of that id: its type, and where its parameters are declared. */
static kdl_status spirv_find_function(const type_reader *t, uint32_t id, kdl_spirv *out,
                                      uint32_t *out_type) {
  kdl_status status = KDL_OK;
  *out = t->start;
  while (kdl_spirv_next(out, &status)) {
    if (out->opcode != KDL_SPIRV_OP_FUNCTION)
      continue;
    status = kdl_spirv_expect(out, "OpFunction", 5);
    if (status != KDL_OK)
      return status;
    if (kdl_spirv_operand(out, 2) == id) {
      *out_type = kdl_spirv_operand(out, 4);
      return KDL_OK;
    }
  }
  if (status != KDL_OK)
    return status;
  return kdl_malformed_at(out->at * 4, "OpEntryPoint",
                          "found function %%%" PRIu32 ", expected one that is defined", id);
}

static kdl_status spirv_visit_params(type_reader *t, uint32_t function, kdl_visit_param *visit,
                                     void *user) {
  kdl_spirv declared;
  kdl_spirv m;
  uint32_t type = 0;
  kdl_status status = spirv_find_function(t, function, &declared, &type);
  if (status == KDL_OK)
    status = spirv_find_declaration(t, type, &m);
  if (status == KDL_OK && m.opcode != op_type_function)
    return kdl_malformed_at(declared.start * 4, "OpFunction",
                            "found type %%%" PRIu32 ", expected one of a function", type);
  for (uint32_t i = 3; status == KDL_OK && i < m.length; ++i) {
    kdl_image_param param;
    uint32_t id = 0;
    if (kdl_spirv_next(&declared, &status) && declared.opcode == op_function_parameter &&
        declared.length >= 3)
      id = kdl_spirv_operand(&declared, 2);
    if (status == KDL_OK)
      status = spirv_describe_param(t, kdl_spirv_operand(&m, i), id, &param);
    if (status == KDL_OK && visit(user, &param))
      break;
  }
  return status;
}

/* The size of pointers, by the addressing model; 0 where they are logical. */
static kdl_status read_pointer_size(type_reader *t) {
  static const uint8_t sizes[] = {0, 4, 8};
  kdl_spirv m = t->start;
  kdl_status status = KDL_OK;
  while (kdl_spirv_next_declaration(&m, &status)) {
    if (m.opcode != KDL_SPIRV_OP_MEMORY_MODEL || m.length < 3)
      continue;
    uint32_t model = kdl_spirv_operand(&m, 1);
    t->pointer_size = model < sizeof sizes ? sizes[model] : 0;
    break;
  }
  return status;
}

kdl_status kdl_spirv_read_params(const uint8_t *data, size_t size, kdl_string kernel,
                                 kdl_visit_param *visit, void *user) {
  type_reader t = {
      .walks_left = max_walks, .measured_left = max_measured, .depth_left = max_type_depth};
  kdl_status status = kdl_spirv_open(data, size, &t.start);
  if (status == KDL_OK && t.start.is_big_endian)
    return kdl_fail(KDL_UNSUPPORTED, "big-endian SPIR-V: its kernels' names cannot be read");
  if (status == KDL_OK)
    status = read_pointer_size(&t);
  if (status != KDL_OK)
    return status;
  kdl_spirv m = t.start;
  kdl_string name;
  while ((status = kdl_spirv_next_kernel(&m, &name)) == KDL_OK && name.data) {
    if (kdl_text_equal(name, kernel))
      return spirv_visit_params(&t, kdl_spirv_operand(&m, 2), visit, user);
  }
  return status == KDL_OK ? kdl_no_such_kernel(kernel) : status;
}
