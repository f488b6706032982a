/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The module kdl._kdl. */
#include "fast_path.h"

#include <kdl/extension.h>

PyTypeObject *py_add_type(PyObject *module, const char *name, size_t size, unsigned long flags,
                          PyType_Slot *slots) {
  PyType_Spec spec = {name, (int)size, 0, (unsigned)(Py_TPFLAGS_DEFAULT | flags), slots};
  PyObject *type = PyType_FromSpec(&spec);
  const char *dot = strrchr(name, '.');
  if (type && PyObject_SetAttrString(module, dot + 1, type) < 0)
    Py_CLEAR(type);
  return (PyTypeObject *)type;
}

void py_object_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

PyObject *py_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  (void)args;
  (void)keywords;
  PyErr_Format(PyExc_TypeError, "%R has no constructor: see help(kdl) for what makes its objects",
               (PyObject *)type);
  return NULL;
}

PyObject *py_text(const char *text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

int py_byte_count(PyObject *object, void *out_count) {
  PyObject *integer = PyNumber_Index(object);
  unsigned long long count = integer ? PyLong_AsUnsignedLongLong(integer) : 0;
  Py_XDECREF(integer);
  *(uint64_t *)out_count = count;
  return !PyErr_Occurred();
}

bool py_thread_limit(PyObject *object, uint32_t *out_threads) {
  *out_threads = 0;
  if (!object || object == Py_None)
    return true;
  PyObject *integer = PyNumber_Index(object);
  int overflow = 0;
  long long count = integer ? PyLong_AsLongLongAndOverflow(integer, &overflow) : -1;
  bool is_wrong = integer && (overflow < 0 || (!overflow && count < 1));
  if (is_wrong)
    PyErr_Format(PyExc_ValueError, "threads: found %R, expected a number from 1 on", integer);
  *out_threads = overflow || count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
  bool ok = integer && !is_wrong;
  Py_XDECREF(integer);
  return ok;
}

static PyObject *module_limit_threads(PyObject *module, PyObject *limit) {
  (void)module;
  uint32_t threads;
  if (!py_thread_limit(limit, &threads))
    return NULL;
  uint32_t before = kdl_host_limit_threads(threads);
  if (before)
    return PyLong_FromUnsignedLong(before);
  Py_RETURN_NONE;
}

static PyObject *module_thread_count(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyLong_FromUnsignedLong(kdl_host_thread_count());
}

static PyObject *module_version(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyUnicode_FromString(kdl_version());
}

static PyMethodDef functions[] = {
    {"version", module_version, METH_NOARGS, "version()\n--\n\nThe version of libkdl, as '0.1.0'."},
    {"limit_threads", module_limit_threads, METH_O,
     "limit_threads(threads, /)\n--\n\nLimits the threads of the CPU that run a launch of the "
     "calling thread without another limit; None: no limit. Returns the limit before."},
    {"thread_count", module_thread_count, METH_NOARGS,
     "thread_count()\n--\n\nHow many threads of the CPU run a launch of the calling thread, at "
     "most."},
    {"model_symbols", py_model_symbols, METH_VARARGS,
     "model_symbols(path, names, /)\n--\n\nLoads a shared object, which runs its constructors. "
     "Returns the symbols' addresses, None for one that it lacks."},
    {"model_text", py_model_text, METH_O,
     "model_text(address, /)\n--\n\nThe text at an address, to its NUL."},
    {NULL, NULL, 0, NULL},
};

/* The types and their handles belong to the process. Another interpreter would share them without a
 * lock, so that only the first one that imports the module can use it. */
static int module_exec(PyObject *module) {
  static int64_t first = -1;
  int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (first >= 0) {
    PyErr_SetString(PyExc_ImportError,
                    first == interpreter
                        ? "kdl cannot be imported a second time in one process"
                        : "kdl cannot be used in several interpreters of one process");
    return -1;
  }
  if (py_fast_init() < 0 || py_error_init(module) < 0 || py_device_init(module) < 0 ||
      py_library_init(module) < 0 || py_queue_init(module) < 0 || py_buffer_init(module) < 0 ||
      py_kernel_init(module) < 0 || py_sequence_init(module) < 0 || py_writer_init(module) < 0 ||
      py_matmul_init(module) < 0 || py_model_init(module) < 0)
    return -1;
  first = interpreter;
  return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030c0000 && Py_LIMITED_API + 0 >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "kdl._kdl",
    .m_doc = "libkdl's functions; the package kdl is their manual.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kdl(void) {
  return PyModuleDef_Init(&definition);
}
