/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "torch.h"

#include "array.h"
#include "dlpack.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Tensors whose memory does not hold their values                                              */

py_torch_bits py_torch_bits_of(PyTypeObject *type) {
  py_torch_bits bits = {.is_negative = PyObject_GetAttrString((PyObject *)type, "is_neg"),
                        .is_conjugate = PyObject_GetAttrString((PyObject *)type, "is_conj")};
  PyErr_Clear();
  return bits;
}

static bool is_set(PyObject *method, PyObject *tensor) {
  PyObject *said = method ? PyObject_CallFunctionObjArgs(method, tensor, NULL) : NULL;
  bool is = said == Py_True;
  Py_XDECREF(said);
  return is;
}

bool py_torch_is_plain(const py_torch_bits *bits, const py_target *target, PyObject *tensor,
                       const dl_tensor *layout, size_t index) {
  bool is_complex = !layout || layout->code == dl_complex;
  if ((!layout || dl_may_be_negative(layout)) && is_set(bits->is_negative, tensor))
    return py_argument_error(target, index,
                             "found a tensor whose negative bit is set: pass tensor.resolve_neg()");
  if (is_complex && is_set(bits->is_conjugate, tensor))
    return py_argument_error(
        target, index, "found a tensor whose conjugate bit is set: pass tensor.resolve_conj()");
  return !PyErr_Occurred();
}

/* ------------------------------------------------------------------------------------------ */
/* Tensors of PyTorch versions before DLPack's exchange                                         */

/* Parses the name of a type in NumPy and PyTorch, "float32", into its kind and size. */
static void read_type_name(const char *name, uint8_t *out_kind, size_t *out_size) {
  static const struct {
    const char *name;
    uint8_t kind, size;
  } types[] = {
      {"float32", PY_FLOAT, 4},   {"float64", PY_FLOAT, 8},   {"float16", PY_FLOAT, 2},
      {"bfloat16", PY_BFLOAT, 2}, {"int8", PY_SIGNED, 1},     {"int16", PY_SIGNED, 2},
      {"int32", PY_SIGNED, 4},    {"int64", PY_SIGNED, 8},    {"uint8", PY_UNSIGNED, 1},
      {"uint16", PY_UNSIGNED, 2}, {"uint32", PY_UNSIGNED, 4}, {"uint64", PY_UNSIGNED, 8},
      {"bool", PY_UNSIGNED, 1},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
    if (strcmp(name, types[i].name) == 0) {
      *out_kind = types[i].kind;
      *out_size = types[i].size;
      return;
    }
  bool is_float8 = strncmp(name, "float8", 6) == 0;
  *out_kind = is_float8 ? PY_FLOAT : PY_BYTES;
  *out_size = is_float8 ? 1 : 0;
}

static bool torch_element(PyObject *tensor, uint8_t *out_kind, size_t *out_size) {
  PyObject *dtype = PyObject_GetAttrString(tensor, "dtype");
  PyObject *text = dtype ? PyObject_Str(dtype) : NULL;
  const char *name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  if (name)
    read_type_name(strncmp(name, "torch.", 6) == 0 ? name + 6 : name, out_kind, out_size);
  Py_XDECREF(text);
  Py_XDECREF(dtype);
  return name != NULL;
}

bool py_torch_stream(int32_t ordinal, void **out_stream) {
  PyObject *torch = PyImport_ImportModule("torch._C");
  PyObject *number =
      torch ? PyObject_CallMethod(torch, "_cuda_getCurrentRawStream", "i", ordinal) : NULL;
  Py_XDECREF(torch);
  if (!number)
    return false;
  *out_stream = PyLong_AsVoidPtr(number);
  Py_DECREF(number);
  return !PyErr_Occurred();
}

/* DLPack's type of the tensor's device; false with the exception set. */
static bool torch_device(PyObject *tensor, const py_target *target, size_t index, int32_t *out_type,
                         int32_t *out_ordinal) {
  PyObject *device = PyObject_GetAttrString(tensor, "device");
  PyObject *type = device ? PyObject_GetAttrString(device, "type") : NULL;
  const char *name = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
  PyObject *ordinal = name ? PyObject_CallMethod(tensor, "get_device", NULL) : NULL;
  long number = ordinal ? PyLong_AsLong(ordinal) : -1; /* -1 for the host */
  bool is_cpu = name && strcmp(name, "cpu") == 0, is_cuda = name && strcmp(name, "cuda") == 0;
  *out_type = is_cuda ? dl_cuda : dl_cpu;
  *out_ordinal = (int32_t)(is_cuda ? number : 0);
  if (name && !is_cpu && !is_cuda && !PyErr_Occurred())
    py_argument_error(target, index, "the tensor is on the device %s, the kernel runs on %s", name,
                      py_device_label(target->device));
  Py_XDECREF(ordinal);
  Py_XDECREF(type);
  Py_XDECREF(device);
  return !PyErr_Occurred();
}

bool py_torch_address(const py_torch_bits *bits, const py_target *target, const py_param *param,
                      PyObject *object, py_arguments *arguments, size_t index) {
  uint8_t kind;
  size_t size;
  int32_t type, ordinal;
  if (!torch_element(object, &kind, &size) ||
      !py_torch_is_plain(bits, target, object, NULL, index) ||
      !py_array_check_element(target, param, index, kind, size) ||
      !torch_device(object, target, index, &type, &ordinal) ||
      !py_array_check_device(target, index, type, ordinal))
    return false;
  PyObject *address = PyObject_CallMethod(object, "data_ptr", NULL);
  if (!address)
    return false;
  arguments->values[index].number = PyLong_AsUnsignedLongLong(address);
  Py_DECREF(address);
  if (PyErr_Occurred())
    return false;
  if (type == dl_cpu || arguments->has_stream)
    return true;
  arguments->has_stream = py_torch_stream(ordinal, &arguments->stream.handle);
  arguments->stream.from = PY_STREAM_TORCH;
  return arguments->has_stream;
}
