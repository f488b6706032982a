/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes an OffloadBinary from images in memory. */
#include "kdl_python.h"

#include <stdlib.h>

enum { most_pairs = 256 };

static bool text_from(PyObject *object, kdl_string *out_text) {
  Py_ssize_t length;
  const char *text = PyUnicode_AsUTF8AndSize(object, &length);
  *out_text = (kdl_string){text, (size_t)length};
  return text != NULL;
}

/* The pairs of a dict, whose texts have its lifetime. */
static bool pairs_from(PyObject *dict, kdl_pair pairs[most_pairs], size_t *out_count) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  size_t count = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    if (count == most_pairs) {
      PyErr_Format(PyExc_ValueError, "metadata: more than %d keys", most_pairs);
      return false;
    }
    if (!text_from(key, &pairs[count].key) || !text_from(value, &pairs[count].value))
      return false;
    ++count;
  }
  *out_count = count;
  return true;
}

/* One image: (bytes, metadata, offload kind, declared kind). The list keeps the bytes alive. */
static bool add_image_item(kdl_writer *writer, PyObject *item, bool with_digest) {
  PyObject *bytes, *metadata;
  int offload_kind, declared_kind;
  if (!PyArg_ParseTuple(item, "SO!ii:pack", &bytes, &PyDict_Type, &metadata, &offload_kind,
                        &declared_kind))
    return false;
  if (offload_kind < 0 || offload_kind > UINT16_MAX) {
    PyErr_Format(PyExc_ValueError, "offload_kind: found %d, expected 0 to 65535", offload_kind);
    return false;
  }
  kdl_pair pairs[most_pairs];
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = (uint16_t)declared_kind,
                            .offload_kind = (uint16_t)offload_kind,
                            .pairs = pairs,
                            .data = PyBytes_AsString(bytes),
                            .data_size = (size_t)PyBytes_Size(bytes)};
  if (!pairs_from(metadata, pairs, &image.pair_count))
    return false;
  kdl_status status =
      with_digest ? kdl_writer_add_with_digest(writer, &image) : kdl_writer_add(writer, &image);
  if (status != KDL_OK)
    py_raise(status);
  return status == KDL_OK;
}

/* A writer and a tuple of its images, which keeps them alive if other code changes the list; NULL
 * with the exception set. */
static kdl_writer *writer_from(PyObject *images, int format, bool with_digest) {
  kdl_writer *writer;
  kdl_status status = kdl_writer_create(format, &writer);
  if (status != KDL_OK) {
    py_raise(status);
    return NULL;
  }
  bool ok = true;
  for (Py_ssize_t i = 0; ok && i < PyTuple_Size(images); ++i)
    ok = add_image_item(writer, PyTuple_GetItem(images, i), with_digest);
  if (ok)
    return writer;
  kdl_writer_destroy(writer);
  return NULL;
}

static PyObject *writer_pack(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *images, *result = NULL;
  int format, with_digest;
  if (!PyArg_ParseTuple(args, "O!ip:pack", &PyList_Type, &images, &format, &with_digest))
    return NULL;
  PyObject *held = PyList_AsTuple(images);
  kdl_writer *writer = held ? writer_from(held, format, with_digest) : NULL;
  void *data;
  size_t size;
  kdl_status status = writer ? kdl_writer_finish(writer, &data, &size) : KDL_OK;
  if (writer && status == KDL_OK) {
    result = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    free(data);
  } else if (writer) {
    py_raise(status);
  }
  kdl_writer_destroy(writer);
  Py_XDECREF(held);
  return result;
}

static PyObject *writer_save(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *images, *path;
  int format, with_digest;
  if (!PyArg_ParseTuple(args, "O!ipO&:save", &PyList_Type, &images, &format, &with_digest,
                        PyUnicode_FSConverter, &path))
    return NULL;
  PyObject *held = PyList_AsTuple(images);
  kdl_writer *writer = held ? writer_from(held, format, with_digest) : NULL;
  kdl_status status = KDL_OK;
  if (writer) {
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS status = kdl_writer_save(writer, name);
    Py_END_ALLOW_THREADS kdl_writer_destroy(writer);
  }
  Py_XDECREF(held);
  Py_DECREF(path);
  if (!writer)
    return NULL;
  if (status != KDL_OK)
    return py_raise(status);
  Py_RETURN_NONE;
}

/* LLVM's number for the kind of the bytes, found by opening them. */
static PyObject *declared_kind(PyObject *module, PyObject *bytes) {
  (void)module;
  if (!PyBytes_Check(bytes)) {
    PyErr_SetString(PyExc_TypeError, "an image is bytes");
    return NULL;
  }
  kdl_library *library;
  kdl_image_info info = {.size = sizeof info};
  uint16_t kind = 0;
  if (kdl_open_memory(PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), NULL, &library) ==
      KDL_OK) {
    if (kdl_image_get(library, 0, &info) == KDL_OK)
      kind = kdl_llvm_image_kind(info.kind);
    kdl_close(library);
  }
  return PyLong_FromLong(kind);
}

static PyMethodDef functions[] = {
    {"pack", writer_pack, METH_VARARGS,
     "pack(images, format, with_digest, /)\n--\n\nThe bytes of an OffloadBinary."},
    {"save", writer_save, METH_VARARGS,
     "save(images, format, with_digest, path, /)\n--\n\nAn OffloadBinary as a file, which appears "
     "whole."},
    {"declared_kind", declared_kind, METH_O,
     "declared_kind(image, /)\n--\n\nLLVM's number for the kind of an image."},
    {NULL, NULL, 0, NULL},
};

int py_writer_init(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
