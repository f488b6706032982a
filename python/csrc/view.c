/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "view.h"

/* Names of fields are between colons. */
bool py_format_has_objects(const char *format) {
  bool is_name = false;
  for (const char *at = format ? format : ""; *at; ++at)
    if (*at == ':')
      is_name = !is_name;
    else if (*at == 'O' && !is_name)
      return true;
  return false;
}

/* NumPy reports it also for elements that the buffer protocol has no format for. */
bool py_dtype_has_objects(PyObject *dtype) {
  PyObject *said = dtype ? PyObject_GetAttrString(dtype, "hasobject") : NULL;
  bool has = said == Py_True;
  Py_XDECREF(said);
  PyErr_Clear();
  return has;
}

const char py_message_objects[] = "found an array of Python objects";
const char py_message_masked[] =
    "found a masked array, whose mask is not looked at: pass its data or filled()";

bool py_is_masked(PyObject *object) {
  PyObject *type = (PyObject *)Py_TYPE(object);
  return PyObject_HasAttrString(type, "harden_mask") && PyObject_HasAttrString(type, "filled");
}

int py_get_view(PyObject *object, Py_buffer *view, int flags) {
  bool has_objects;
  if (py_is_masked(object)) {
    PyErr_SetString(PyExc_TypeError, py_message_masked);
    return -1;
  }
  if (PyObject_GetBuffer(object, view, flags | PyBUF_ND | PyBUF_FORMAT) == 0) {
    has_objects = py_format_has_objects(view->format);
  } else { /* some elements have no format */
    PyErr_Clear();
    if (PyObject_GetBuffer(object, view, flags) < 0)
      return -1;
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    has_objects = py_dtype_has_objects(dtype);
    Py_XDECREF(dtype);
  }
  if (!has_objects)
    return 0;
  PyBuffer_Release(view);
  PyErr_SetString(PyExc_TypeError, py_message_objects);
  return -1;
}
