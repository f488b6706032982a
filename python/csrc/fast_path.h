/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Converts the most frequent arguments without a call of Python: a float, a one-digit int, an array
 * by DLPack's exchange. The stable ABI has functions for the numbers; their memory layout is
 * detected when the module is initialised, and not used if it differs.
 */
#ifndef KDL_PYTHON_CSRC_FAST_PATH_H
#define KDL_PYTHON_CSRC_FAST_PATH_H

#include "arguments.h"
#include "dlpack.h"

#include <math.h>
#include <string.h>

typedef struct py_fast_layouts {
  PyTypeObject *float_type; /* its number follows the object head; or NULL */
  PyTypeObject *int_type;   /* its digits follow a word that counts them; or NULL */
  size_t one_digit;         /* that word for a positive int below 2^30, except 0 */
  PyTypeObject *array_type; /* nearly always PyTorch's tensor; NULL: none seen yet */
  const dl_exchange *exchange;
  PyObject *is_negative; /* that type's method, or NULL */
} py_fast_layouts;
extern py_fast_layouts py_fast;

/* Detects the memory layout of numbers; -1 with the exception set. */
int py_fast_init(void);

typedef struct py_float_layout {
  PyObject head;
  double number;
} py_float_layout;

typedef struct py_int_layout {
  PyObject head;
  size_t count;
  uint32_t digit;
} py_int_layout;

static inline bool py_fast_float(PyObject *object, const py_param *param, py_value *out_value) {
  if (Py_TYPE(object) != py_fast.float_type)
    return false;
  double number = ((const py_float_layout *)object)->number;
  out_value->real = number;
  if (param->size == 8)
    return true;
  out_value->single = (float)number;
  return param->size == 4 && isfinite(out_value->single);
}

static inline bool py_fast_int(PyObject *object, const py_param *param, py_value *out_value) {
  const py_int_layout *integer = (const py_int_layout *)object;
  if (Py_TYPE(object) != py_fast.int_type || integer->count != py_fast.one_digit)
    return false;
  out_value->number = integer->digit; /* below 2^30: of either sign */
  return param->size == 4 || param->size == 8;
}

/* Whether the memory holds the array's values: PyTorch's negative bit may be set. */
static inline bool py_fast_is_plain(PyObject *object) {
  PyObject *said = PyObject_CallFunctionObjArgs(py_fast.is_negative, object, NULL);
  bool is_plain = said == Py_False;
  if (said)
    Py_DECREF(said);
  else
    PyErr_Clear(); /* the slow path raises it again */
  return is_plain;
}

/* Converts an array that matches the parameter exactly; queries the stream once per launch. */
static inline bool py_fast_array(PyObject *object, const py_param *param, const py_target *target,
                                 py_arguments *arguments, py_value *out_value) {
  const dl_exchange *api = py_fast.exchange;
  dl_tensor tensor;
  if (Py_TYPE(object) != py_fast.array_type || !param->dl_bits)
    return false;
  if (api->describe(object, &tensor) != 0) {
    PyErr_Clear(); /* the slow path raises it again */
    return false;
  }
  if (!tensor.data || tensor.bits != param->dl_bits || tensor.code != param->dl_code ||
      tensor.lanes != 1 || tensor.device_type != target->dl_type ||
      tensor.device_id != target->ordinal)
    return false;
  if (py_fast.is_negative && dl_may_be_negative(&tensor) && !py_fast_is_plain(object))
    return false;
  out_value->number = (uint64_t)(uintptr_t)tensor.data + tensor.byte_offset;
  if (arguments->has_stream || target->is_host)
    return true;
  if (api->current_stream(tensor.device_type, tensor.device_id, &arguments->stream.handle) != 0) {
    PyErr_Clear();
    return false;
  }
  arguments->stream.from = PY_STREAM_EXCHANGE;
  arguments->stream.type = tensor.device_type;
  arguments->stream.exchange = api;
  return arguments->has_stream = true;
}

#endif
