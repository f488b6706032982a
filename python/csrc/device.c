/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices: kdl.devices(), kdl.device(text). */
#include "kdl_python.h"

PyTypeObject *py_device_type;

PyObject *py_device_new(kdl_device *device) {
  py_device *self = PyObject_New(py_device, py_device_type);
  if (self)
    self->device = device;
  return (PyObject *)self;
}

bool py_device_from(PyObject *object, kdl_device **out_device) {
  if (object && Py_TYPE(object) == py_device_type) {
    *out_device = ((py_device *)object)->device;
    return true;
  }
  if (object && PyUnicode_Check(object)) {
    const char *text = PyUnicode_AsUTF8AndSize(object, NULL);
    if (!text)
      return false;
    kdl_status status;
    Py_BEGIN_ALLOW_THREADS status = kdl_device_find(text, out_device);
    Py_END_ALLOW_THREADS if (status != KDL_OK) py_raise(status);
    return status == KDL_OK;
  }
  PyErr_Format(PyExc_TypeError, "found %R for a device, expected a str as 'cuda:0' or a kdl.Device",
               object ? (PyObject *)Py_TYPE(object) : Py_None);
  return false;
}

/* The fields of kdl_device_get, one attribute each. */
typedef enum field_kind {
  text_field,
  number_field,
  long_field,
  bool_field,
  class_field
} field_kind;

static const struct field {
  const char *name;
  const char *doc;
  size_t offset;
  field_kind kind;
} fields[] = {
#define FIELD(name, kind, doc) {#name, doc, offsetof(kdl_device_info, name), kind}
    FIELD(backend, text_field, "the driver that libkdl reaches it by, as 'cuda'"),
    FIELD(arch, text_field, "'sm_90', 'gfx90a:sramecc+:xnack-', 'x86-64-v4'"),
    FIELD(features, text_field, "what it has beyond its arch, joined by '+'"),
    FIELD(label, text_field, "backend and arch in short"),
    FIELD(name, text_field, "'NVIDIA H200'"),
    FIELD(platform, text_field, "of OpenCL"),
    FIELD(driver, text_field, "the driver's version"),
    FIELD(device_class, class_field, "'discrete', 'integrated', 'accelerator' or 'cpu'"),
    FIELD(is_here, bool_field, "whether it is a device of this machine"),
    FIELD(is_host, bool_field, "whether kernels are called in this process"),
    FIELD(ordinal, number_field, "its number in its backend; -1 where it has none"),
    FIELD(units, number_field, "multiprocessors, compute units or cores; 0 where not known"),
    FIELD(max_block, number_field, "work-items in a group"),
    FIELD(memory, long_field, "bytes"),
    FIELD(shared, long_field, "bytes of group memory"),
#undef FIELD
};

static PyObject *device_get_field(PyObject *self, void *closure) {
  const struct field *field = closure;
  kdl_device_info info = {.size = sizeof info};
  kdl_status status = kdl_device_get(((py_device *)self)->device, &info);
  if (status != KDL_OK)
    return py_raise(status);
  const void *at = (const char *)&info + field->offset;
  static const char *const class_names[] = {"", "discrete", "integrated", "accelerator", "cpu"};
  switch (field->kind) {
  case text_field:
    return py_text(*(const char *const *)at);
  case number_field:
    return PyLong_FromLong(*(const int *)at);
  case long_field:
    return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
  case bool_field:
    return PyBool_FromLong(*(const int *)at);
  default:
    return PyUnicode_FromString(class_names[info.device_class]);
  }
}

static PyObject *device_get_spec(PyObject *self, void *closure) {
  (void)closure;
  return py_text(kdl_device_spec_text(((py_device *)self)->device));
}

/* Without features, which would fill the line; .spec has them. */
static PyObject *device_repr(PyObject *self) {
  kdl_device_info info = {.size = sizeof info};
  kdl_status status = kdl_device_get(((py_device *)self)->device, &info);
  if (status != KDL_OK)
    return py_raise(status);
  return PyUnicode_FromFormat("<kdl.Device %s%s%s%s>", info.label, *info.name ? " (" : "",
                              info.name, *info.name ? ")" : "");
}

const char *py_device_label(kdl_device *device) {
  kdl_device_info info = {.size = sizeof info};
  return kdl_device_get(device, &info) == KDL_OK ? info.label : kdl_device_spec_text(device);
}

static Py_hash_t device_hash(PyObject *self) {
  return (Py_hash_t)((uintptr_t)((py_device *)self)->device >> 4);
}

static PyObject *device_compare(PyObject *left, PyObject *right, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(right) != py_device_type)
    Py_RETURN_NOTIMPLEMENTED;
  bool same = ((py_device *)left)->device == ((py_device *)right)->device;
  return PyBool_FromLong(same == (operation == Py_EQ));
}

static PyObject *device_memory_info(PyObject *self, PyObject *unused) {
  (void)unused;
  uint64_t available, total;
  kdl_status status = kdl_memory_info(((py_device *)self)->device, &available, &total);
  if (status != KDL_OK)
    return py_raise(status);
  return Py_BuildValue("KK", (unsigned long long)available, (unsigned long long)total);
}

static PyMethodDef methods[] = {
    {"memory_info", device_memory_info, METH_NOARGS,
     "memory_info($self)\n--\n\nBytes that are free now, and that there are."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[sizeof fields / sizeof *fields + 2];

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "A device of this machine, or one that was described: see kdl.devices and kdl.device."},
    {Py_tp_new, py_no_new},
    {Py_tp_dealloc, py_object_free},
    {Py_tp_repr, device_repr},
    {Py_tp_hash, device_hash},
    {Py_tp_richcompare, device_compare},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyObject *devices(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  size_t count;
  Py_BEGIN_ALLOW_THREADS count = kdl_device_count();
  Py_END_ALLOW_THREADS PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count; ++i) {
    kdl_device *device = kdl_device_at(i);
    PyObject *item = device ? py_device_new(device) : NULL;
    if (device && (!item || PyList_Append(list, item) < 0))
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *device(PyObject *module, PyObject *text) {
  (void)module;
  kdl_device *found;
  return py_device_from(text, &found) ? py_device_new(found) : NULL;
}

static PyObject *refresh_devices(PyObject *module, PyObject *backend) {
  (void)module;
  const char *name = backend == Py_None ? NULL : PyUnicode_AsUTF8AndSize(backend, NULL);
  if (!name && backend != Py_None)
    return NULL;
  size_t fresh;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_devices_refresh(name, &fresh);
  Py_END_ALLOW_THREADS return status == KDL_OK ? PyLong_FromSize_t(fresh) : py_raise(status);
}

static PyMethodDef functions[] = {
    {"devices", devices, METH_NOARGS,
     "devices()\n--\n\nThe devices of this machine, the preferred one first."},
    {"device", device, METH_O,
     "device(text, /)\n--\n\nThe device that a text means: 'cuda:0', 'host', or one that may be "
     "anywhere, as 'mi300x'."},
    {"devices_refresh", refresh_devices, METH_O,
     "devices_refresh(backend, /)\n--\n\nAsks drivers again; how many devices are new. None asks "
     "all."},
    {NULL, NULL, 0, NULL},
};

int py_device_init(PyObject *module) {
  size_t count = sizeof fields / sizeof *fields;
  for (size_t i = 0; i < count; ++i)
    properties[i] =
        (PyGetSetDef){fields[i].name, device_get_field, NULL, fields[i].doc, (void *)&fields[i]};
  properties[count] = (PyGetSetDef){"spec", device_get_spec, NULL,
                                    "the device as text, for kdl.device elsewhere", NULL};
  py_device_type = py_add_type(module, "kdl._kdl.Device", sizeof(py_device), 0, slots);
  return py_device_type ? PyModule_AddFunctions(module, functions) : -1;
}
