/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches whose arguments are converted once: kernel[items].prepare(arguments...). */
#include "array.h"
#include "kernel.h"
#include "sequence.h"

#include <structmember.h>

static PyTypeObject *prepared_type;

typedef struct py_prepared {
  PyObject head;
  vectorcallfunc call;
  py_kernel *kernel;
  kdl_queue *queue;          /* NULL: the device's own, or that of the stream of `arguments` */
  py_arguments *arguments;   /* their values do not change */
  PyObject *retained;        /* a tuple of the objects they come from, and the queue's object */
  bool has_freeable_buffers; /* they include buffers, which may be freed, or it is collected */
  py_shape shape;
} py_prepared;

/* Pins the buffers until the call ends. */
static bool pin_prepared_buffers(const py_prepared *self) {
  if (!self->retained) {
    PyErr_Format(PyExc_RuntimeError, "%s: the prepared launch was collected", self->kernel->name);
    return false;
  }
  return py_arguments_pin_buffers(&self->kernel->target, self->arguments);
}

/* A sequence that records the launch keeps it with its arguments, and checks its buffers in each
 * run. */
static bool retain_recorded_launch(py_prepared *self, py_sequence *recording) {
  bool ok = py_recording_retain(recording, (PyObject *)self);
  for (size_t i = 0; ok && i < self->arguments->keepalive_count; ++i)
    if (self->arguments->keepalives[i].kind == PY_KEEPALIVE_BUFFER_PER_CALL)
      ok = py_recording_retain(recording, (PyObject *)self->arguments->keepalives[i].of.buffer);
  return ok;
}

static PyObject *prepared_call(PyObject *object, PyObject *const *objects, size_t flagged_count,
                               PyObject *names) {
  (void)objects;
  py_prepared *self = (py_prepared *)object;
  const py_target *target = &self->kernel->target;
  kdl_queue *queue = self->queue;
  py_sequence *recording = NULL;
  if (flagged_count << 1 || names) {
    PyErr_Format(PyExc_TypeError, "%s: a prepared launch takes no arguments", self->kernel->name);
    return NULL;
  }
  if (self->arguments->stream.from != PY_STREAM_NONE &&
      !py_stream_queue(target, &self->arguments->stream, &queue))
    return NULL;
  if (py_recording_count && (!py_recording_on_thread(target->device, queue, &recording) ||
                             (recording && !retain_recorded_launch(self, recording))))
    return NULL;
  if (self->has_freeable_buffers && !pin_prepared_buffers(self))
    return NULL;
  kdl_status status =
      py_kernel_submit(self->kernel, queue, &self->shape, self->arguments, recording);
  py_arguments_unpin_buffers(self->arguments);
  if (status != KDL_OK)
    return py_raise_for(status, self->kernel->name);
  Py_RETURN_NONE;
}

static int prepared_traverse(PyObject *object, visitproc visit, void *arg) {
  const py_prepared *self = (const py_prepared *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->retained);
  for (size_t i = 0; i < self->arguments->keepalive_count; ++i)
    if (self->arguments->keepalives[i].kind == PY_KEEPALIVE_VIEW)
      Py_VISIT(self->arguments->keepalives[i].of.view.obj);
  return 0;
}

static int prepared_clear(PyObject *object) {
  py_prepared *self = (py_prepared *)object;
  PyObject *kept = self->retained;
  self->has_freeable_buffers = true; /* before other code runs, which might call it */
  self->retained = NULL;
  py_arguments_free(self->arguments);
  self->arguments->keepalive_count = 0;
  Py_XDECREF(kept);
  return 0;
}

static void prepared_destroy(PyObject *object) {
  py_prepared *self = (py_prepared *)object;
  PyObject_GC_UnTrack(object);
  py_arguments_free(self->arguments);
  PyMem_Free(self->arguments);
  Py_XDECREF(self->retained);
  Py_DECREF(self->kernel);
  py_object_free(object);
}

static bool prepared_retain(py_prepared *self, PyObject *queue_object, PyObject *const *objects,
                            size_t count) {
  self->retained = PyTuple_New((Py_ssize_t)count + 1);
  for (size_t i = 0; self->retained && i <= count; ++i) {
    PyObject *object = i < count ? objects[i] : queue_object ? queue_object : Py_None;
    Py_INCREF(object);
    PyTuple_SetItem(self->retained, (Py_ssize_t)i, object);
    self->has_freeable_buffers = self->has_freeable_buffers || Py_TYPE(object) == py_buffer_type;
  }
  return self->retained != NULL;
}

/* A queue for a stream that is not a kdl.Queue is in a table that may drop it, so each launch looks
 * it up. */
static bool resolve_queue(py_prepared *self, PyObject *queue_object, kdl_queue *queue) {
  self->queue = NULL;
  if (!queue || self->arguments->stream.from != PY_STREAM_NONE)
    return true;
  if (Py_TYPE(queue_object) == py_queue_type) {
    self->queue = queue;
    return true;
  }
  self->arguments->stream.from = PY_STREAM_FIXED;
  kdl_status status = kdl_queue_native(queue, &self->arguments->stream.handle);
  return status == KDL_OK || py_raise_for(status, self->kernel->name);
}

PyObject *py_prepared_new(py_kernel *kernel, const py_shape *shape, PyObject *queue_object,
                          PyObject *const *objects, size_t count) {
  py_arguments *arguments = PyMem_Malloc(sizeof *arguments);
  if (!arguments)
    return PyErr_NoMemory();
  py_prepared *self = PyObject_GC_New(py_prepared, prepared_type);
  if (!self) {
    PyMem_Free(arguments);
    return NULL;
  }
  self->call = prepared_call;
  self->kernel = kernel;
  Py_INCREF(kernel);
  self->shape = *shape;
  self->arguments = arguments;
  arguments->keepalive_count = 0;
  self->has_freeable_buffers = false;
  self->retained = NULL;
  kdl_queue *queue;
  bool ok = py_kernel_convert_arguments(kernel, queue_object, objects, count, arguments, &queue);
  py_arguments_pin_per_call(arguments);
  if (!ok || !prepared_retain(self, queue_object, objects, count) ||
      !resolve_queue(self, queue_object, queue))
    Py_CLEAR(self);
  else
    PyObject_GC_Track(self);
  return (PyObject *)self;
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(py_prepared, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A launch whose arguments are converted: call it, without arguments, often."},
    {Py_tp_new, py_no_new},
    {Py_tp_dealloc, prepared_destroy},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {Py_tp_traverse, prepared_traverse},
    {Py_tp_clear, prepared_clear},
    {0, NULL},
};

int py_prepared_init(PyObject *module) {
  prepared_type = py_add_type(module, "kdl._kdl.Prepared", sizeof(py_prepared),
                              Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC, slots);
  return prepared_type ? 0 : -1;
}
