/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "arguments.h"

#include "array.h"
#include "fast_path.h"
#include "sequence.h"
#include "view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bool py_argument_error(const py_target *target, size_t index, const char *format, ...) {
  va_list list;
  va_start(list, format);
  PyObject *text = PyUnicode_FromFormatV(format, list);
  va_end(list);
  if (text && target->names)
    PyErr_Format(PyExc_TypeError, "%s: %U: %U", target->kernel,
                 PyTuple_GetItem(target->names, (Py_ssize_t)index), text);
  else if (text)
    PyErr_Format(PyExc_TypeError, "%s: argument %zu: %U", target->kernel, index, text);
  Py_XDECREF(text);
  return false;
}

py_keepalive *py_keepalive_next(py_arguments *arguments, py_keepalive_kind kind, size_t index) {
  py_keepalive *hold = &arguments->keepalives[arguments->keepalive_count];
  hold->kind = (uint8_t)kind;
  hold->index = (uint8_t)index;
  return hold;
}

void py_keepalive_release(py_keepalive *hold) {
  dl_managed *tensor = hold->of.tensor;
  dl_versioned *versioned = hold->of.versioned;
  switch ((py_keepalive_kind)hold->kind) {
  case PY_KEEPALIVE_VIEW:
    PyBuffer_Release(&hold->of.view);
    break;
  case PY_KEEPALIVE_TENSOR:
    if (tensor->destroy)
      tensor->destroy(tensor);
    break;
  case PY_KEEPALIVE_VERSIONED:
    if (versioned->destroy)
      versioned->destroy(versioned);
    break;
  case PY_KEEPALIVE_BUFFER:
    --hold->of.buffer->users;
    break;
  case PY_KEEPALIVE_BUFFER_PER_CALL:
    break;
  }
}

void py_arguments_free(py_arguments *arguments) {
  for (size_t i = 0; i < arguments->keepalive_count; ++i)
    py_keepalive_release(&arguments->keepalives[i]);
}

void py_arguments_pin_per_call(py_arguments *arguments) {
  for (size_t i = 0; i < arguments->keepalive_count; ++i) {
    py_keepalive *hold = &arguments->keepalives[i];
    if (hold->kind != PY_KEEPALIVE_BUFFER)
      continue;
    py_keepalive_release(hold);
    hold->kind = PY_KEEPALIVE_BUFFER_PER_CALL;
  }
}

static void add_buffer_users(const py_arguments *arguments, int more) {
  for (size_t i = 0; i < arguments->keepalive_count; ++i)
    if (arguments->keepalives[i].kind == PY_KEEPALIVE_BUFFER_PER_CALL)
      arguments->keepalives[i].of.buffer->users += (size_t)more;
}

bool py_arguments_pin_buffers(const py_target *target, const py_arguments *arguments) {
  for (size_t i = 0; i < arguments->keepalive_count; ++i) {
    const py_keepalive *hold = &arguments->keepalives[i];
    if (hold->kind == PY_KEEPALIVE_BUFFER_PER_CALL && hold->of.buffer->is_freed)
      return py_argument_error(target, hold->index, "the buffer was freed");
  }
  add_buffer_users(arguments, 1);
  return true;
}

void py_arguments_unpin_buffers(const py_arguments *arguments) {
  add_buffer_users(arguments, -1);
}

/* ------------------------------------------------------------------------------------------ */
/* Numbers                                                                                      */

static PY_COLD bool fail_out_of_range(const py_target *target, const py_param *param, size_t index,
                                      PyObject *object) {
  char name[32];
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "%s: argument %zu: %R does not fit %s", target->kernel, index,
               object, py_param_name(param, name));
  return false;
}

/* The object could not be converted to a number. Keeps an exception that its own code raised. */
static PY_COLD bool fail_no_number(const py_target *target, const py_param *param, size_t index,
                                   PyObject *object) {
  char name[32];
  if (PyErr_ExceptionMatches(PyExc_OverflowError))
    return fail_out_of_range(target, param, index, object);
  if (!PyErr_ExceptionMatches(PyExc_TypeError))
    return false;
  PyErr_Clear();
  return py_argument_error(target, index, "found %R, expected %s", (PyObject *)Py_TYPE(object),
                           py_param_name(param, name));
}

/* 16 bytes, through Python's int: such parameters are rare. */
static bool convert_wide(const py_target *target, const py_param *param, PyObject *integer,
                         py_value *out_value, size_t index) {
  PyObject *method = PyObject_GetAttrString(integer, "to_bytes");
  PyObject *args = method ? Py_BuildValue("(is)", 16, "little") : NULL;
  PyObject *keywords = args ? Py_BuildValue("{s:i}", "signed", param->kind == PY_SIGNED) : NULL;
  PyObject *bytes = keywords ? PyObject_Call(method, args, keywords) : NULL;
  if (bytes)
    memcpy(out_value->bytes, PyBytes_AsString(bytes), 16);
  Py_XDECREF(bytes);
  Py_XDECREF(keywords);
  Py_XDECREF(args);
  Py_XDECREF(method);
  return bytes ? true : fail_out_of_range(target, param, index, integer);
}

/* The object's value as an int: also for NumPy's bool, which has no __index__. */
static PyObject *integer_of(PyObject *object) {
  PyObject *integer = PyNumber_Index(object);
  if (integer || !PyErr_ExceptionMatches(PyExc_TypeError))
    return integer;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
  PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
  bool is_truth = name && module && PyUnicode_Check(name) && PyUnicode_Check(module) &&
                  PyUnicode_CompareWithASCIIString(module, "numpy") == 0 &&
                  (PyUnicode_CompareWithASCIIString(name, "bool") == 0 ||
                   PyUnicode_CompareWithASCIIString(name, "bool_") == 0);
  Py_XDECREF(module);
  Py_XDECREF(name);
  PyErr_Restore(type, value, trace);
  if (!is_truth)
    return NULL;
  PyErr_Clear();
  int truth = PyObject_IsTrue(object);
  return truth < 0 ? NULL : PyLong_FromLong(truth);
}

static bool convert_integer(const py_target *target, const py_param *param, PyObject *object,
                            py_value *out_value, size_t index) {
  PyObject *integer = py_is_int(object) ? object : integer_of(object);
  if (!integer)
    return fail_no_number(target, param, index, object);
  bool ok = true;
  unsigned bits = param->size * 8;
  if (param->size > 8) {
    ok = convert_wide(target, param, integer, out_value, index);
  } else {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (param->kind == PY_SIGNED)
      ok = !overflow && number >> (bits - 1) == (number < 0 ? -1 : 0);
    else if (overflow > 0 && bits == 64)
      number = (long long)PyLong_AsUnsignedLongLong(integer);
    else
      ok = !overflow && number >= 0 && (bits == 64 || number >> bits == 0);
    out_value->integer = number;
    ok = ok && !(number == -1 && PyErr_Occurred())
             ? true
             : fail_out_of_range(target, param, index, integer);
  }
  if (integer != object)
    Py_DECREF(integer);
  return ok;
}

/* Rounds to nearest, ties to even: 16 bits with `mantissa` bits of fraction and an exponent of 15 -
 * mantissa bits. */
static uint16_t round_to_16_bits(float number, unsigned mantissa) {
  uint32_t bits;
  memcpy(&bits, &number, 4);
  uint32_t sign = bits >> 31 << 15, magnitude = bits & 0x7fffffff;
  uint32_t infinity = 0x7fffU >> mantissa << mantissa;
  if (magnitude > 0x7f800000)
    return (uint16_t)(sign | infinity | 1U << (mantissa - 1));
  if (mantissa == 7) /* bfloat16 has the exponent of a float */
    return (uint16_t)(sign | ((magnitude + 0x7fff + (magnitude >> 16 & 1)) >> 16));
  if (magnitude >= 0x47800000) /* 65536 and more, infinity too */
    return (uint16_t)(sign | infinity);
  if (magnitude < 0x38800000) { /* below 2^-14: steps of 2^-24 */
    float positive;
    memcpy(&positive, &magnitude, 4);
    return (uint16_t)(sign | (uint32_t)lrintf(positive * 16777216.0F));
  }
  uint32_t rebased = magnitude - (112U << 23);
  return (uint16_t)(sign | ((rebased + 0xfff + (rebased >> 13 & 1)) >> 13));
}

/* Rounds to odd: the nearest float, or its neighbour with an odd last bit if inexact. Rounded once
 * more to fewer bits, it gives the same as rounding the number itself. */
static float round_to_odd(double number) {
  float single = (float)number;
  uint32_t bits;
  if (!isfinite(number) || (double)single == number)
    return single;
  if (fabs((double)single) > fabs(number))
    single = nextafterf(single, 0.0F);
  memcpy(&bits, &single, 4);
  bits |= 1;
  memcpy(&single, &bits, 4);
  return single;
}

/* -1 or 1 if the object is below or above the number that it returned, 0 if they are equal or it
 * cannot be compared; -2 with the exception set. NumPy compares its integers as doubles. */
static int compare_with_float(PyObject *object, double number) {
  PyObject *exact = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
  if (!exact) {
    PyErr_Clear();
    Py_INCREF(object);
    exact = object;
  }
  PyObject *rounded = PyFloat_FromDouble(number);
  int below = rounded ? PyObject_RichCompareBool(exact, rounded, Py_LT) : -1;
  int above = rounded && below == 0 ? PyObject_RichCompareBool(exact, rounded, Py_GT) : 0;
  Py_XDECREF(rounded);
  Py_DECREF(exact);
  if (below >= 0 && above >= 0)
    return above - below;
  if (!PyErr_ExceptionMatches(PyExc_Exception))
    return -2;
  PyErr_Clear();
  return 0;
}

/* The double nearest to a value on that side of the number, or its neighbour with an odd last bit,
 * as in round_to_odd. */
static double round_to_odd_toward(double number, int side) {
  uint64_t bits;
  memcpy(&bits, &number, 8);
  return !side || bits & 1 ? number : nextafter(number, side < 0 ? -INFINITY : INFINITY);
}

/* The object's value as a double that can be rounded once more without an error. That of a float
 * is, and so is one that fits the parameter exactly. */
static bool exact_number(const py_target *target, const py_param *param, PyObject *object,
                         double *number, size_t index) {
  if (PyFloat_Check(object) || isnan(*number) ||
      (!isinf(*number) &&
       (param->size == 8 || (param->size == 4 && (double)(float)*number == *number))))
    return true;
  int side = compare_with_float(object, *number);
  if (side == -2)
    return false;
  if (isinf(*number) && side)
    return fail_out_of_range(target, param, index, object);
  *number = round_to_odd_toward(*number, side);
  return true;
}

static bool convert_float(const py_target *target, const py_param *param, PyObject *object,
                          py_value *out_value, size_t index) {
  char name[32];
  double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred())
    return fail_no_number(target, param, index, object);
  if (!exact_number(target, param, object, &number, index))
    return false;
  if (param->size == 8) {
    out_value->real = number;
    return true;
  }
  unsigned mantissa = param->kind == PY_BFLOAT ? 7 : 10;
  bool fits = true;
  if (param->size == 4) {
    out_value->single = (float)number;
    fits = isfinite(out_value->single);
  } else if (param->size == 2) {
    out_value->number = round_to_16_bits(round_to_odd(number), mantissa);
    fits = (out_value->number & 0x7fff) < 0x7fffU >> mantissa << mantissa;
  } else
    return py_argument_error(target, index, "a number cannot be given as %s: pass bytes",
                             py_param_name(param, name));
  return !isfinite(number) || fits ? true : fail_out_of_range(target, param, index, object);
}

bool py_number_convert(const py_target *target, const py_param *param, PyObject *object,
                       py_value *out_value, size_t index) {
  bool is_float = param->kind == PY_FLOAT || param->kind == PY_BFLOAT;
  return (is_float ? convert_float : convert_integer)(target, param, object, out_value, index);
}

static bool convert_bytes(const py_target *target, const py_param *param, PyObject *object,
                          py_arguments *arguments, size_t index) {
  char name[32];
  Py_buffer *view = &py_keepalive_next(arguments, PY_KEEPALIVE_VIEW, index)->of.view;
  if (py_get_view(object, view, PyBUF_SIMPLE) < 0) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) && PyObject_CheckBuffer(object))
      return py_argument_raised(target, index);
    PyErr_Clear();
    return py_argument_error(target, index, "found %R, expected %s", (PyObject *)Py_TYPE(object),
                             py_param_name(param, name));
  }
  ++arguments->keepalive_count;
  if (param->size && (size_t)view->len != param->size)
    return py_argument_error(target, index, "found %zd bytes, expected %u", view->len,
                             (unsigned)param->size);
  arguments->pointers[index] = view->buf;
  arguments->sizes[index] = (size_t)view->len;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Pointers, and parameters without a signature                                                 */

static bool convert_buffer(const py_target *target, py_buffer *buffer, py_arguments *arguments,
                           size_t index) {
  if (buffer->is_freed)
    return py_argument_error(target, index, "the buffer was freed");
  if (buffer->buffer.device != target->device)
    return py_argument_error(target, index, "the buffer belongs to %s, the kernel runs on %s",
                             py_device_label(buffer->buffer.device),
                             py_device_label(target->device));
  arguments->values[index].number = buffer->buffer.address;
  py_keepalive_next(arguments, PY_KEEPALIVE_BUFFER, index)->of.buffer = buffer;
  ++arguments->keepalive_count;
  ++buffer->users;
  return true;
}

static bool convert_pointer(const py_target *target, const py_param *param, PyObject *object,
                            py_arguments *arguments, size_t index) {
  py_value *value = &arguments->values[index];
  if (Py_TYPE(object) == py_buffer_type)
    return convert_buffer(target, (py_buffer *)object, arguments, index);
  if (object == Py_None) {
    value->number = 0;
    return true;
  }
  if (py_is_int(object)) {
    value->number = PyLong_AsUnsignedLongLong(object);
    bool failed = value->number == UINT64_MAX && PyErr_Occurred();
    return failed ? fail_out_of_range(target, param, index, object) : true;
  }
  if (py_array_address(target, param, object, arguments, index))
    return true;
  char name[32];
  if (!PyErr_Occurred())
    py_argument_error(target, index,
                      "found %R, expected %s: an array, a kdl.Buffer, an address or None",
                      (PyObject *)Py_TYPE(object), py_param_name(param, name));
  return false;
}

/* A parameter of known size, or of unknown size: the object decides. A Python number has no size,
 * so that one of NumPy's is needed then. */
static bool convert_untyped(const py_target *target, const py_param *param, PyObject *object,
                            py_arguments *arguments, size_t index) {
  bool is_float = PyFloat_Check(object), is_integer = PyLong_Check(object);
  bool is_pointer = Py_TYPE(object) == py_buffer_type || object == Py_None;
  if (!is_float && !is_integer && !is_pointer) {
    /* A NumPy scalar is bytes of its own size; an array is a pointer. */
    if (PyObject_HasAttrString(object, "dtype") && PyObject_HasAttrString(object, "item") &&
        !PyObject_HasAttrString(object, "__setitem__"))
      return convert_bytes(target, param, object, arguments, index);
    if (PyBytes_Check(object))
      return convert_bytes(target, param, object, arguments, index);
    is_pointer = true;
  }
  if (!param->size && !is_pointer)
    return py_argument_error(
        target, index,
        "the kernel's image does not tell its parameters: give numbers as numpy.float32(...), "
        "numpy.int32(...)");
  py_param as = *param;
  as.size = param->size ? param->size : sizeof(void *);
  as.kind = is_pointer ? PY_POINTER : is_float ? PY_FLOAT : PY_SIGNED;
  arguments->sizes[index] = as.size;
  if (is_pointer)
    return as.size == sizeof(void *)
               ? convert_pointer(target, &as, object, arguments, index)
               : py_argument_error(target, index, "found %R, expected %u bytes",
                                   (PyObject *)Py_TYPE(object), (unsigned)param->size);
  if (as.size & (as.size - 1) || as.size > 16)
    return py_argument_error(target, index, "found %R, expected %u bytes",
                             (PyObject *)Py_TYPE(object), (unsigned)as.size);
  if (is_float)
    return convert_float(target, &as, object, &arguments->values[index], index);
  if (convert_integer(target, &as, object, &arguments->values[index], index))
    return true;
  PyErr_Clear();
  as.kind = PY_UNSIGNED;
  return convert_integer(target, &as, object, &arguments->values[index], index);
}

static bool convert_argument(const py_target *target, const py_param *param, PyObject *object,
                             py_arguments *arguments, size_t index) {
  switch (param->kind) {
  case PY_POINTER:
    return convert_pointer(target, param, object, arguments, index);
  case PY_FLOAT:
  case PY_BFLOAT:
    return convert_float(target, param, object, &arguments->values[index], index);
  case PY_SIGNED:
  case PY_UNSIGNED:
    return convert_integer(target, param, object, &arguments->values[index], index);
  case PY_BYTES:
    return convert_bytes(target, param, object, arguments, index);
  default:
    return convert_untyped(target, param, object, arguments, index);
  }
}

static inline bool convert_fast(const py_target *target, const py_param *param, PyObject *object,
                                py_arguments *arguments, py_value *out_value) {
  switch (param->kind) {
  case PY_POINTER:
    return py_fast_array(object, param, target, arguments, out_value);
  case PY_FLOAT:
    return py_fast_float(object, param, out_value);
  case PY_SIGNED:
  case PY_UNSIGNED:
    return py_fast_int(object, param, out_value);
  default:
    return false;
  }
}

static const py_param *param_at(const py_signature *signature, size_t index) {
  static const py_param unknown = {.kind = PY_ANY};
  return signature->count >= 0 ? &signature->params[index] : &unknown;
}

bool py_arguments_convert(const py_target *target, const py_signature *signature,
                          PyObject *const *objects, size_t count, bool names_queue,
                          py_arguments *out_arguments) {
  out_arguments->count = count;
  out_arguments->keepalive_count = 0;
  out_arguments->has_stream = names_queue;
  out_arguments->stream.from = PY_STREAM_NONE;
  out_arguments->deferred_count = 0;
  if (count > py_max_params || (signature->count >= 0 && count != (size_t)signature->count)) {
    int most = signature->count >= 0 ? signature->count : py_max_params;
    PyErr_Format(PyExc_TypeError, "%s: found %zu arguments, expected %s%d", target->kernel, count,
                 signature->count >= 0 ? "" : "at most ", most);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const py_param *param = param_at(signature, i);
    py_value *value = &out_arguments->values[i];
    out_arguments->pointers[i] = value;
    if (convert_fast(target, param, objects[i], out_arguments, value))
      continue;
    out_arguments->sizes[i] = param->size;
    if (!convert_argument(target, param, objects[i], out_arguments, i))
      return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Conversion with the queue                                                                    */

bool py_target_of(kdl_device *device, const char *kernel, py_target *out_target) {
  kdl_device_info info = {.size = sizeof info};
  kdl_status status = kdl_device_get(device, &info);
  if (status != KDL_OK) {
    py_raise(status);
    return false;
  }
  bool is_cuda = strcmp(info.backend, "cuda") == 0, is_hip = strcmp(info.backend, "hip") == 0;
  *out_target = (py_target){.device = device,
                            .kernel = kernel,
                            .dl_type = is_cuda        ? dl_cuda
                                       : is_hip       ? dl_rocm
                                       : info.is_host ? dl_cpu
                                                      : 0,
                            .ordinal = info.ordinal,
                            .is_host = info.is_host};
  return true;
}

bool py_stream_queue(const py_target *target, const py_stream *stream, kdl_queue **out_queue) {
  void *handle;
  *out_queue = NULL;
  return (py_recording_count && py_recording_is_default_queue(target->device)) ||
         (py_array_stream(target, stream, &handle) &&
          py_queue_of_native(target->device, handle, out_queue));
}

static bool choose_queue(const py_target *target, PyObject *named, const py_arguments *arguments,
                         kdl_queue **out_queue) {
  *out_queue = NULL;
  if (named)
    return py_queue_from(named, target->device, out_queue);
  return !arguments->has_stream ||
         (py_recording_count && py_recording_is_default_queue(target->device)) ||
         py_queue_of_native(target->device, arguments->stream.handle, out_queue);
}

static bool convert_deferred(const py_target *target, const py_signature *signature,
                             kdl_queue *queue, PyObject *const *objects, py_arguments *arguments) {
  void *handle;
  kdl_status status = queue ? KDL_OK : kdl_device_queue(target->device, &queue);
  if (status == KDL_OK)
    status = kdl_queue_native(queue, &handle);
  if (status != KDL_OK) {
    py_raise_for(status, target->kernel);
    return false;
  }
  for (size_t i = 0; i < arguments->deferred_count; ++i) {
    size_t index = arguments->deferred[i];
    if (!py_array_convert_deferred(target, param_at(signature, index), objects[index], handle,
                                   arguments, index))
      return false;
  }
  return true;
}

bool py_arguments_convert_with_queue(const py_target *target, const py_signature *signature,
                                     PyObject *queue_object, PyObject *const *objects, size_t count,
                                     py_arguments *out_arguments, kdl_queue **out_queue) {
  PyObject *named = queue_object == Py_None ? NULL : queue_object;
  bool ok = py_arguments_convert(target, signature, objects, count, named, out_arguments) &&
            choose_queue(target, named, out_arguments, out_queue);
  if (ok && out_arguments->deferred_count) /* other code runs in between, and may change the table
                                            * of queues */
    ok = convert_deferred(target, signature, *out_queue, objects, out_arguments) &&
         choose_queue(target, named, out_arguments, out_queue);
  return ok;
}
