/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Exceptions: one per status, all derived from kdl.Error, and from Python's matching class if there
 * is one. */
#include "kdl_python.h"

static PyObject *errors[KDL_UNSUPPORTED + 1];

static const struct {
  const char *name;
  const char *doc;
  PyObject **python; /* a class of Python that it also derives from */
} classes[] = {
    [KDL_OK] = {"kdl.Error",
                "A call of libkdl failed. status is its kdl_status, code the driver's number.",
                NULL},
    [KDL_BAD_FILE] = {"kdl.BadFileError", "The bytes are not what their format promises.",
                      &PyExc_ValueError},
    [KDL_BAD_CALL] = {"kdl.BadCallError", "An argument is wrong.", &PyExc_ValueError},
    [KDL_NO_MATCH] = {"kdl.NoMatchError", "Nothing fits what was asked for.", &PyExc_LookupError},
    [KDL_DEVICE] = {"kdl.DeviceError", "A device or its driver failed.", &PyExc_RuntimeError},
    [KDL_IO] = {"kdl.FileAccessError", "The operating system refused.", &PyExc_OSError},
    [KDL_NO_MEMORY] = {"kdl.NoMemoryError",
                       "An allocation failed, or a documented limit was reached.",
                       &PyExc_MemoryError},
    [KDL_UNSUPPORTED] = {"kdl.UnsupportedError", "This build or this machine lacks what it takes.",
                         &PyExc_NotImplementedError},
};

int py_error_init(PyObject *module) {
  for (int i = 0; i <= KDL_UNSUPPORTED; ++i) {
    PyObject *bases = NULL;
    if (i)
      bases = PyTuple_Pack(2, errors[0], *classes[i].python);
    if (i && !bases)
      return -1;
    errors[i] = PyErr_NewExceptionWithDoc(classes[i].name, classes[i].doc, bases, NULL);
    Py_XDECREF(bases);
    if (!errors[i] || PyObject_SetAttrString(module, classes[i].name + 4, errors[i]) < 0)
      return -1;
  }
  PyObject *none = PyLong_FromLong(0);
  int failed = !none || PyObject_SetAttrString(errors[0], "status", none) < 0 ||
               PyObject_SetAttrString(errors[0], "code", none) < 0;
  Py_XDECREF(none);
  return failed ? -1 : 0;
}

static void raise_text(kdl_status status, PyObject *message, int64_t code) {
  PyObject *error = errors[status > 0 && status <= KDL_UNSUPPORTED ? status : 0];
  PyObject *value = message ? PyObject_CallFunctionObjArgs(error, message, NULL) : NULL;
  PyObject *number = value ? PyLong_FromLong(status) : NULL;
  PyObject *driver = number ? PyLong_FromLongLong(code) : NULL;
  if (driver && PyObject_SetAttrString(value, "status", number) == 0 &&
      PyObject_SetAttrString(value, "code", driver) == 0)
    PyErr_SetObject(error, value);
  Py_XDECREF(driver);
  Py_XDECREF(number);
  Py_XDECREF(value);
  Py_XDECREF(message);
}

PyObject *py_raise(kdl_status status) {
  return py_raise_for(status, NULL);
}

PyObject *py_none_or_raise(kdl_status status) {
  if (status != KDL_OK)
    return py_raise(status);
  Py_RETURN_NONE;
}

PyObject *py_raise_for(kdl_status status, const char *prefix) {
  int64_t code = kdl_error_code();
  const char *text = kdl_error_message();
  size_t length = prefix ? strlen(prefix) : 0;
  bool has_prefix = prefix && strncmp(text, prefix, length) == 0 && text[length] == ':';
  PyObject *message = py_text(text);
  if (message && prefix && !has_prefix) {
    PyObject *whole = PyUnicode_FromFormat("%s: %U", prefix, message);
    Py_DECREF(message);
    message = whole;
  }
  raise_text(status, message, code);
  return NULL;
}

int py_keyword(PyObject *name, const char *const *names, const char *function) {
  for (int i = 0; names[i]; ++i)
    if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
      return i;
  PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'", function, name);
  return -1;
}
