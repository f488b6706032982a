/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device memory. */
#include "sequence.h"
#include "view.h"

PyTypeObject *py_buffer_type;

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"device", "size", NULL};
  PyObject *where;
  uint64_t size;
  kdl_device *device;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO&:Buffer", names, &where, py_byte_count,
                                   &size) ||
      !py_device_from(where, &device))
    return NULL;
  py_buffer *self = PyObject_New(py_buffer, type);
  if (!self)
    return NULL;
  self->buffer = (kdl_buffer){0};
  self->is_freed = false;
  self->users = 0;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_alloc(device, size, &self->buffer);
  Py_END_ALLOW_THREADS if (status == KDL_OK) return (PyObject *)self;
  self->is_freed = true;
  Py_DECREF(self);
  return py_raise(status);
}

/* Waits for work on the device's own queue, which may still use the memory: its failure is reported
 * by the next call that waits. The caller must wait for work on other queues. */
static kdl_status buffer_release(py_buffer *self) {
  if (self->is_freed)
    return KDL_OK;
  self->is_freed = true;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS kdl_queue *queue;
  if (kdl_device_queue(self->buffer.device, &queue) == KDL_OK)
    kdl_sync(queue);
  status = kdl_free(&self->buffer);
  Py_END_ALLOW_THREADS return status;
}

static void buffer_destroy(PyObject *object) {
  buffer_release((py_buffer *)object);
  py_object_free(object);
}

static PyObject *buffer_free(PyObject *object, PyObject *unused) {
  (void)unused;
  if (((py_buffer *)object)->users) {
    PyErr_SetString(PyExc_RuntimeError, "the buffer is in use by a call that has not ended");
    return NULL;
  }
  return py_none_or_raise(buffer_release((py_buffer *)object));
}

static bool buffer_is_usable(const py_buffer *self) {
  if (self->is_freed)
    PyErr_SetString(PyExc_ValueError, "the buffer was freed");
  return !self->is_freed;
}

/* The given queue, or the device's own. Other code may run in between: check the buffer
 * afterwards. */
static bool buffer_queue(py_buffer *self, PyObject *object, kdl_queue **out_queue) {
  kdl_device *device = self->buffer.device;
  if (!buffer_is_usable(self) || !py_queue_from(object, device, out_queue))
    return false;
  kdl_status status = *out_queue ? KDL_OK : kdl_device_queue(device, out_queue);
  if (status != KDL_OK)
    py_raise(status);
  return status == KDL_OK && buffer_is_usable(self);
}

/* Copies between the buffer and Python's memory, and waits: the memory may be freed after the call.
 * On a queue that is being recorded waiting is refused, and nothing is recorded. */
static kdl_status buffer_transfer_now(py_buffer *self, kdl_queue *queue, uint64_t offset,
                                      const Py_buffer *view, bool is_write) {
  kdl_status status;
  py_queue_use use;
  if (py_recording_count && py_recording_of(self->buffer.device, queue))
    return kdl_sync(queue);
  py_queue_use_begin(&use, self->buffer.device, queue);
  ++self->users;
  Py_BEGIN_ALLOW_THREADS status =
      is_write ? kdl_write(queue, &self->buffer, offset, view->buf, (uint64_t)view->len)
               : kdl_read(queue, view->buf, &self->buffer, offset, (uint64_t)view->len);
  if (status == KDL_OK)
    status = kdl_sync(queue);
  Py_END_ALLOW_THREADS-- self->users;
  py_queue_use_end(&use);
  return status;
}

static PyObject *buffer_transfer(PyObject *object, PyObject *args, PyObject *keywords,
                                 bool is_write) {
  py_buffer *self = (py_buffer *)object;
  static char *names[] = {"data", "offset", "queue", NULL};
  PyObject *data, *queue_object = Py_None;
  uint64_t offset = 0;
  kdl_queue *queue;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, is_write ? "O|O&O:write" : "O|O&O:read", names,
                                   &data, py_byte_count, &offset, &queue_object))
    return NULL;
  Py_buffer view;
  if (py_get_view(data, &view, PyBUF_ANY_CONTIGUOUS | (is_write ? 0 : PyBUF_WRITABLE)) < 0)
    return NULL;
  py_sequence *recording;
  bool ok = buffer_queue(self, queue_object, &queue) &&
            py_recording_on_thread(self->buffer.device, queue, &recording);
  kdl_status status = ok ? buffer_transfer_now(self, queue, offset, &view, is_write) : KDL_OK;
  if (status != KDL_OK)
    py_raise(status);
  PyBuffer_Release(&view);
  if (!ok || status != KDL_OK)
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *buffer_write(PyObject *self, PyObject *args, PyObject *keywords) {
  return buffer_transfer(self, args, keywords, true);
}

static PyObject *buffer_read(PyObject *self, PyObject *args, PyObject *keywords) {
  return buffer_transfer(self, args, keywords, false);
}

static PyObject *buffer_copy(PyObject *object, PyObject *args, PyObject *keywords) {
  py_buffer *self = (py_buffer *)object;
  static char *names[] = {"source", "size", "offset", "source_offset", "queue", NULL};
  py_buffer *source;
  uint64_t size, offset = 0, source_offset = 0;
  PyObject *queue_object = Py_None;
  kdl_queue *queue;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O&|O&O&O:copy", names, py_buffer_type,
                                   &source, py_byte_count, &size, py_byte_count, &offset,
                                   py_byte_count, &source_offset, &queue_object) ||
      !buffer_queue(self, queue_object, &queue) || !buffer_is_usable(source))
    return NULL;
  py_sequence *recording;
  if (!py_recording_on_thread(self->buffer.device, queue, &recording))
    return NULL;
  if (recording)
    return py_recording_retain(recording, object) &&
                   py_recording_retain(recording, (PyObject *)source)
               ? py_none_or_raise(
                     kdl_copy(queue, &self->buffer, offset, &source->buffer, source_offset, size))
               : NULL;
  kdl_status status;
  py_queue_use use;
  py_queue_use_begin(&use, self->buffer.device, queue);
  ++self->users;
  ++source->users;
  Py_BEGIN_ALLOW_THREADS status =
      kdl_copy(queue, &self->buffer, offset, &source->buffer, source_offset, size);
  Py_END_ALLOW_THREADS-- source->users;
  --self->users;
  py_queue_use_end(&use);
  return py_none_or_raise(status);
}

typedef struct fill_pattern {
  size_t size;
  uint8_t bytes[16];
} fill_pattern;

/* For PyArg_Parse's "O&": a bytes-like object of at most 16 bytes, or one byte as a number. */
static int pattern_from(PyObject *object, void *out) {
  fill_pattern *pattern = out;
  Py_buffer view;
  if (py_is_int(object)) {
    long number = PyLong_AsLong(object);
    pattern->size = 1;
    pattern->bytes[0] = (uint8_t)number;
    if (number >= 0 && number <= UINT8_MAX)
      return 1;
    PyErr_Format(PyExc_OverflowError, "pattern: found %R, expected bytes, or one as 0 to 255",
                 object);
    return 0;
  }
  if (py_get_view(object, &view, PyBUF_SIMPLE) < 0) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) || PyObject_CheckBuffer(object))
      return 0;
    PyErr_Format(PyExc_TypeError, "pattern: found %R, expected bytes, or one as 0 to 255",
                 (PyObject *)Py_TYPE(object));
    return 0;
  }
  pattern->size = (size_t)view.len;
  memcpy(pattern->bytes, view.buf,
         pattern->size < sizeof pattern->bytes ? pattern->size : sizeof pattern->bytes);
  PyBuffer_Release(&view);
  return 1;
}

static PyObject *buffer_fill(PyObject *object, PyObject *args, PyObject *keywords) {
  py_buffer *self = (py_buffer *)object;
  static char *names[] = {"pattern", "offset", "size", "queue", NULL};
  fill_pattern pattern;
  uint64_t offset = 0, size = UINT64_MAX;
  PyObject *queue_object = Py_None;
  kdl_queue *queue;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|O&O&O:fill", names, pattern_from, &pattern,
                                   py_byte_count, &offset, py_byte_count, &size, &queue_object) ||
      !buffer_queue(self, queue_object, &queue))
    return NULL;
  py_sequence *recording;
  if (!py_recording_on_thread(self->buffer.device, queue, &recording) ||
      (recording && !py_recording_retain(recording, object)))
    return NULL;
  if (size == UINT64_MAX)
    size = offset < self->buffer.size ? self->buffer.size - offset : 0;
  return py_none_or_raise(
      kdl_fill(queue, &self->buffer, offset, size, pattern.bytes, pattern.size));
}

static PyObject *buffer_get_address(PyObject *self, void *closure) {
  (void)closure;
  return buffer_is_usable((py_buffer *)self)
             ? PyLong_FromUnsignedLongLong(((py_buffer *)self)->buffer.address)
             : NULL;
}

static PyObject *buffer_get_size(PyObject *self, void *closure) {
  (void)closure;
  return buffer_is_usable((py_buffer *)self)
             ? PyLong_FromUnsignedLongLong(((py_buffer *)self)->buffer.size)
             : NULL;
}

static PyObject *buffer_get_device(PyObject *self, void *closure) {
  (void)closure;
  return buffer_is_usable((py_buffer *)self) ? py_device_new(((py_buffer *)self)->buffer.device)
                                             : NULL;
}

static PyMethodDef methods[] = {
    {"write", (PyCFunction)(void (*)(void))buffer_write, METH_VARARGS | METH_KEYWORDS,
     "write($self, data, offset=0, queue=None)\n--\n\nCopies bytes, an array or the like into the "
     "buffer, and waits."},
    {"read", (PyCFunction)(void (*)(void))buffer_read, METH_VARARGS | METH_KEYWORDS,
     "read($self, data, offset=0, queue=None)\n--\n\nFills a bytearray, an array or the like from "
     "the buffer, and waits."},
    {"copy", (PyCFunction)(void (*)(void))buffer_copy, METH_VARARGS | METH_KEYWORDS,
     "copy($self, source, size, offset=0, source_offset=0, queue=None)\n--\n\nCopies from another "
     "buffer."},
    {"fill", (PyCFunction)(void (*)(void))buffer_fill, METH_VARARGS | METH_KEYWORDS,
     "fill($self, pattern, offset=0, size=..., queue=None)\n--\n\nRepeats 1, 2, 4, 8 or 16 bytes; "
     "a number from 0 to 255 is one."},
    {"free", buffer_free, METH_NOARGS,
     "free($self)\n--\n\nGives the memory back before the object goes."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"address", buffer_get_address, NULL, "on the device", NULL},
    {"size", buffer_get_size, NULL, "in bytes", NULL},
    {"device", buffer_get_device, NULL, "whose memory it is", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Buffer(device, size)\n--\n\nMemory of a device, freed with the object."},
    {Py_tp_new, buffer_new},
    {Py_tp_dealloc, buffer_destroy},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

int py_buffer_init(PyObject *module) {
  py_buffer_type = py_add_type(module, "kdl._kdl.Buffer", sizeof(py_buffer), 0, slots);
  return py_buffer_type ? 0 : -1;
}
