/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries: opening, images and their metadata, selection and explanations. Results are plain
 * tuples and dicts, from which the package makes its classes. */
#include "kdl_python.h"

PyTypeObject *py_library_type;

static void library_destroy(PyObject *object) {
  py_library *self = (py_library *)object;
  kdl_close(self->library);
  Py_XDECREF(self->memory);
  Py_XDECREF(self->path);
  py_object_free(object);
}

static kdl_status open_path(py_library *self, PyObject *path, const kdl_open_opts *opts) {
  PyObject *bytes = NULL;
  if (!PyUnicode_FSConverter(path, &bytes))
    return KDL_BAD_CALL;
  const char *text = PyBytes_AsString(bytes);
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_open(text, opts, &self->library);
  Py_END_ALLOW_THREADS Py_DECREF(bytes);
  return status;
}

/* Bytes are not copied, and kept until the library's last kernel is freed. Other bytes-like objects
 * may change, and are copied. */
static kdl_status open_bytes(py_library *self, PyObject *object, const kdl_open_opts *opts) {
  if (PyBytes_Check(object)) {
    Py_INCREF(object);
    self->memory = object;
  } else {
    self->memory = PyBytes_FromObject(object);
  }
  if (!self->memory)
    return KDL_BAD_CALL;
  const char *data = PyBytes_AsString(self->memory);
  size_t size = (size_t)PyBytes_Size(self->memory);
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_open_memory(data, size, opts, &self->library);
  Py_END_ALLOW_THREADS return status;
}

static PyObject *open_library(PyObject *module, PyObject *args, PyObject *keywords) {
  (void)module;
  static char *names[] = {"source", "name", "flags", NULL};
  PyObject *source;
  const char *name = NULL;
  unsigned flags = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|zI:open", names, &source, &name, &flags))
    return NULL;
  py_library *self = PyObject_New(py_library, py_library_type);
  if (!self)
    return NULL;
  self->library = NULL;
  self->path = NULL;
  self->memory = NULL;
  kdl_open_opts opts = {.size = sizeof opts, .name = name, .flags = flags};
  bool is_memory = PyObject_CheckBuffer(source);
  kdl_status status = is_memory ? open_bytes(self, source, &opts) : open_path(self, source, &opts);
  if (status != KDL_OK) {
    if (!PyErr_Occurred())
      py_raise(status);
    Py_DECREF(self);
    return NULL;
  }
  self->path = is_memory ? Py_None : source;
  Py_INCREF(self->path);
  return (PyObject *)self;
}

static PyObject *text_object(kdl_string text) {
  return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.length, "surrogateescape");
}

/* Sets a value and drops the caller's reference; false with the exception set. */
static bool set_dict_item(PyObject *dict, const char *key, PyObject *value) {
  bool ok = value && PyDict_SetItemString(dict, key, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *pairs_dict(const kdl_image_info *info) {
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < info->pair_count; ++i) {
    PyObject *key = text_object(info->pairs[i].key);
    PyObject *value = key ? text_object(info->pairs[i].value) : NULL;
    if (!value || PyDict_SetItem(dict, key, value) < 0)
      Py_CLEAR(dict);
    Py_XDECREF(key);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *parent_object(const kdl_image_info *info) {
  if (info->parent == KDL_NO_PARENT)
    Py_RETURN_NONE;
  return PyLong_FromSize_t(info->parent);
}

static PyObject *library_image(PyObject *object, PyObject *index) {
  py_library *self = (py_library *)object;
  size_t number = PyLong_AsSize_t(index);
  if (PyErr_Occurred())
    return NULL;
  kdl_image_info info = {.size = sizeof info};
  kdl_status status = kdl_image_get(self->library, number, &info);
  if (status != KDL_OK)
    return py_raise(status);
  PyObject *dict = PyDict_New();
  bool has_parent = dict && set_dict_item(dict, "parent", parent_object(&info));
  if (has_parent && set_dict_item(dict, "index", PyLong_FromSize_t(info.index)) &&
      set_dict_item(dict, "kind", PyUnicode_FromString(kdl_image_kind_name(info.kind))) &&
      set_dict_item(dict, "offload_kind", PyLong_FromLong(info.offload_kind)) &&
      set_dict_item(dict, "triple", text_object(info.triple)) &&
      set_dict_item(dict, "arch", text_object(info.arch)) &&
      set_dict_item(dict, "container", text_object(info.container)) &&
      set_dict_item(dict, "offset", PyLong_FromUnsignedLongLong(info.header_offset)) &&
      set_dict_item(dict, "size", PyLong_FromUnsignedLongLong(info.byte_count)) &&
      set_dict_item(dict, "stored", PyLong_FromUnsignedLongLong(info.stored_count)) &&
      set_dict_item(dict, "module", PyLong_FromSize_t(info.module)) &&
      set_dict_item(dict, "problem", text_object(info.problem)) &&
      set_dict_item(dict, "metadata", pairs_dict(&info)))
    return dict;
  Py_XDECREF(dict);
  return NULL;
}

static PyObject *library_image_bytes(PyObject *object, PyObject *index) {
  py_library *self = (py_library *)object;
  size_t number = PyLong_AsSize_t(index);
  if (PyErr_Occurred())
    return NULL;
  const void *data;
  size_t size;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_image_bytes(self->library, number, &data, &size);
  Py_END_ALLOW_THREADS return status == KDL_OK ? PyBytes_FromStringAndSize(data, (Py_ssize_t)size)
                                               : py_raise(status);
}

static int append_name(void *list, const kdl_string *name) {
  PyObject *text = text_object(*name);
  int failed = !text || PyList_Append(list, text) < 0;
  Py_XDECREF(text);
  return failed;
}

static PyObject *library_image_kernels(PyObject *object, PyObject *index) {
  py_library *self = (py_library *)object;
  size_t number = PyLong_AsSize_t(index);
  PyObject *list = PyErr_Occurred() ? NULL : PyList_New(0);
  if (!list)
    return NULL;
  kdl_status status = kdl_image_kernels(self->library, number, append_name, list);
  if (status == KDL_OK && !PyErr_Occurred())
    return list;
  Py_DECREF(list);
  return status == KDL_OK ? NULL : py_raise(status);
}

static Py_ssize_t library_length(PyObject *self) {
  return (Py_ssize_t)kdl_image_count(((py_library *)self)->library);
}

/* ------------------------------------------------------------------------------------------ */
/* Selection                                                                                    */

typedef struct selection {
  kdl_select_opts opts;
  PyObject *pairs[2]; /* keeps the constants' names and values alive */
  kdl_constant constants[64];
} selection;

static bool policy_from(const char *text, kdl_policy *out_policy) {
  static const char *const names[] = {"best", "first", "capability", "adaptive"};
  for (int i = 0; i < 4; ++i)
    if (strcmp(text, names[i]) == 0) {
      *out_policy = (kdl_policy)i;
      return true;
    }
  PyErr_Format(PyExc_ValueError,
               "policy: found '%s', expected 'best', 'first', 'capability' or 'adaptive'", text);
  return false;
}

static void selection_end(selection *selection) {
  Py_XDECREF(selection->pairs[0]);
  Py_XDECREF(selection->pairs[1]);
}

static bool constants_from(PyObject *constants, selection *selection) {
  if (constants == Py_None)
    return true;
  PyObject *items = PyMapping_Items(constants);
  PyObject *texts = items ? PyList_New(0) : NULL;
  Py_ssize_t count = texts ? PyList_Size(items) : 0;
  selection->pairs[0] = items;
  selection->pairs[1] = texts;
  if (count > 64)
    PyErr_SetString(PyExc_ValueError, "constants: more than 64");
  for (Py_ssize_t i = 0; !PyErr_Occurred() && i < count; ++i) {
    PyObject *pair = PyList_GetItem(items, i);
    PyObject *name = PyTuple_Check(pair) ? PyTuple_GetItem(pair, 0) : NULL;
    if (!name || !PyUnicode_Check(name) || PyTuple_Size(pair) != 2) {
      PyErr_Format(PyExc_TypeError, "constants: found %R, expected a name and its value", pair);
      break;
    }
    PyObject *value = PyObject_Str(PyTuple_GetItem(pair, 1));
    if (value && PyList_Append(texts, value) == 0) {
      selection->constants[i].name = PyUnicode_AsUTF8AndSize(name, NULL);
      selection->constants[i].value = PyUnicode_AsUTF8AndSize(value, NULL);
    }
    Py_XDECREF(value);
  }
  selection->opts.constants = selection->constants;
  selection->opts.constant_count = (size_t)count;
  return !PyErr_Occurred();
}

static bool selection_from(const char *policy, const char *tag, PyObject *constants,
                           selection *out) {
  *out = (selection){.opts = {.size = sizeof out->opts, .variant_tag = tag}};
  return (!policy || policy_from(policy, &out->opts.policy)) && constants_from(constants, out);
}

/* The options, or NULL to use those of the environment. */
static const kdl_select_opts *selection_options(const selection *selection, const char *policy) {
  return policy || selection->opts.variant_tag || selection->opts.constant_count ? &selection->opts
                                                                                 : NULL;
}

static PyObject *reasons_of(const kdl_verdict *verdict) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < verdict->reason_count; ++i) {
    const kdl_reason *reason = &verdict->reasons[i];
    PyObject *item =
        Py_BuildValue("(sNN)", reason->code, py_text(reason->words), py_text(reason->fix));
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

typedef struct verdicts {
  PyObject *list;
  bool is_held; /* an image holds the kernel, or may hold it */
} verdicts;

static bool lacks_kernel(const kdl_verdict *verdict) {
  size_t count = verdict->reason_count;
  return count && strcmp(verdict->reasons[count - 1].code, "no_kernel") == 0;
}

static int append_verdict(void *user, const kdl_verdict *verdict) {
  verdicts *to = user;
  to->is_held |= !lacks_kernel(verdict);
  PyObject *dict = PyDict_New();
  bool ok = dict && set_dict_item(dict, "image", PyLong_FromSize_t(verdict->image)) &&
            set_dict_item(dict, "place", PyLong_FromSize_t(verdict->position)) &&
            set_dict_item(dict, "chosen", PyBool_FromLong(verdict->chosen)) &&
            set_dict_item(dict, "eligible", PyBool_FromLong(verdict->eligible)) &&
            set_dict_item(dict, "rank", PyLong_FromUnsignedLongLong(verdict->rank)) &&
            set_dict_item(dict, "priority", PyLong_FromUnsignedLong(verdict->priority)) &&
            set_dict_item(dict, "device", py_text(verdict->device)) &&
            set_dict_item(dict, "fit", py_text(verdict->fit)) &&
            set_dict_item(dict, "reasons", reasons_of(verdict)) &&
            PyList_Append(to->list, dict) == 0;
  Py_XDECREF(dict);
  return !ok;
}

static PyObject *library_explain(PyObject *object, PyObject *args, PyObject *keywords) {
  py_library *self = (py_library *)object;
  static char *names[] = {"kernel", "device", "policy", "tag", NULL};
  const char *kernel = NULL, *policy = NULL, *tag = NULL;
  PyObject *where = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "zO|zz:explain", names, &kernel, &where, &policy,
                                   &tag))
    return NULL;
  kdl_device *device;
  selection selection;
  if (!py_device_from(where, &device) || !selection_from(policy, tag, Py_None, &selection))
    return NULL;
  const kdl_select_opts *opts = selection_options(&selection, policy);
  kdl_selection none = {.size = sizeof none};
  verdicts to = {.list = PyList_New(0)};
  if (!to.list)
    return NULL;
  kdl_status status = kdl_explain(self->library, device, kernel, opts, append_verdict, &to);
  if (status == KDL_OK && !PyErr_Occurred() && kernel && !to.is_held)
    status = kdl_select(self->library, device, kernel, opts, &none); /* names similar kernels */
  if (status == KDL_OK && !PyErr_Occurred())
    return to.list;
  Py_DECREF(to.list);
  return status == KDL_OK ? NULL : py_raise(status);
}

static PyObject *library_kernel(PyObject *object, PyObject *args, PyObject *keywords) {
  py_library *self = (py_library *)object;
  static char *names[] = {"name", "device", "policy", "tag", "constants", NULL};
  const char *name, *policy = NULL, *tag = NULL;
  PyObject *where = Py_None, *constants = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|OzzO:kernel", names, &name, &where, &policy,
                                   &tag, &constants))
    return NULL;
  selection selection;
  if (!selection_from(policy, tag, constants, &selection)) {
    selection_end(&selection);
    return NULL;
  }
  const kdl_select_opts *opts = selection_options(&selection, policy);
  kdl_device *device = NULL;
  PyObject *kernel = NULL;
  kdl_status status = KDL_OK;
  if (where == Py_None) {
    Py_BEGIN_ALLOW_THREADS status = kdl_device_for(self->library, name, opts, &device);
    Py_END_ALLOW_THREADS
  } else if (!py_device_from(where, &device)) {
    device = NULL;
  }
  if (status != KDL_OK)
    py_raise(status);
  else if (device)
    kernel = py_kernel_new(self, name, device, opts);
  selection_end(&selection);
  return kernel;
}

static PyObject *library_subscript(PyObject *self, PyObject *name) {
  PyObject *args = PyTuple_Pack(1, name);
  PyObject *kernel = args ? library_kernel(self, args, NULL) : NULL;
  Py_XDECREF(args);
  return kernel;
}

static PyObject *library_get_path(PyObject *self, void *closure) {
  (void)closure;
  PyObject *path = ((py_library *)self)->path;
  Py_INCREF(path);
  return path;
}

static PyMethodDef methods[] = {
    {"image", library_image, METH_O,
     "image($self, index, /)\n--\n\nWhat is known of one image, as a dict."},
    {"image_bytes", library_image_bytes, METH_O,
     "image_bytes($self, index, /)\n--\n\nThe bytes of one image."},
    {"image_kernels", library_image_kernels, METH_O,
     "image_kernels($self, index, /)\n--\n\nThe kernels in one image."},
    {"explain_data", (PyCFunction)(void (*)(void))library_explain, METH_VARARGS | METH_KEYWORDS,
     "explain_data($self, kernel, device, policy=None, tag=None)\n--\n\nEvery image in rank order, "
     "as dicts."},
    {"kernel", (PyCFunction)(void (*)(void))library_kernel, METH_VARARGS | METH_KEYWORDS,
     "kernel($self, name, device=None, policy=None, tag=None, constants=None)\n--\n\n"
     "The kernel for a device, by default the best one of this machine. It is loaded at its first "
     "launch."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"path", library_get_path, NULL, "what was opened; None for bytes", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A library of kernels: see kdl.open."},
    {Py_tp_new, py_no_new},
    {Py_tp_dealloc, library_destroy},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_sq_length, library_length},
    {Py_mp_subscript, library_subscript},
    {0, NULL},
};

static PyMethodDef functions[] = {
    {"open_library", (PyCFunction)(void (*)(void))open_library, METH_VARARGS | METH_KEYWORDS,
     "open_library(source, name=None, flags=0)\n--\n\nOpens a path, or bytes that hold a library."},
    {NULL, NULL, 0, NULL},
};

int py_library_init(PyObject *module) {
  py_library_type = py_add_type(module, "kdl._kdl.Library", sizeof(py_library), 0, slots);
  return py_library_type ? PyModule_AddFunctions(module, functions) : -1;
}
