/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences: what is given to a queue inside a `with` is recorded, and run again by one call. */
#include "kdl_python.h"

#include <string.h>

enum { most_slots = 32 };

typedef enum state { state_new, state_recording, state_ready, state_failed } state;

typedef struct py_sequence {
  PyObject head;
  PyObject *queue; /* a Queue, or NULL: the device's own */
  kdl_device *device;
  kdl_sequence *sequence;
  state state;
  size_t slot_count;
  PyObject *names;               /* of the slots: a tuple of str */
  PyObject *buffers[most_slots]; /* what each slot is unless a run says otherwise */
  kdl_slot slots[most_slots];
} py_sequence;

static bool take_slots(py_sequence *self, PyObject *keywords) {
  self->names = PyTuple_New(keywords ? PyDict_Size(keywords) : 0);
  if (!self->names)
    return false;
  PyObject *name, *buffer;
  Py_ssize_t at = 0;
  while (keywords && PyDict_Next(keywords, &at, &name, &buffer)) {
    if (self->slot_count == most_slots) {
      PyErr_Format(PyExc_ValueError, "Sequence(): more than %d slots", most_slots);
      return false;
    }
    if (Py_TYPE(buffer) != py_buffer_type) {
      PyErr_Format(PyExc_TypeError, "Sequence(): %U: found %R, expected a kdl.Buffer", name,
                   (PyObject *)Py_TYPE(buffer));
      return false;
    }
    Py_INCREF(name);
    PyTuple_SetItem(self->names, (Py_ssize_t)self->slot_count, name);
    Py_INCREF(buffer);
    self->buffers[self->slot_count++] = buffer;
  }
  return true;
}

static PyObject *sequence_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *where;
  if (!PyArg_ParseTuple(args, "O:Sequence", &where))
    return NULL;
  bool is_queue = Py_TYPE(where) == py_queue_type;
  kdl_device *device = is_queue ? ((py_queue *)where)->device : NULL;
  if (!is_queue && !py_device_from(where, &device))
    return NULL;
  py_sequence *self = PyObject_New(py_sequence, type);
  if (!self)
    return NULL;
  memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
  self->device = device;
  if (is_queue) {
    Py_INCREF(where);
    self->queue = where;
  }
  if (take_slots(self, keywords))
    return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static kdl_status own_queue(py_sequence *self, kdl_queue **out_queue) {
  if (!self->queue)
    return kdl_device_queue(self->device, out_queue);
  *out_queue = ((py_queue *)self->queue)->queue;
  return KDL_OK;
}

/* A recording that is left without its end, as by a generator that is dropped, ends here. */
static void sequence_destroy(PyObject *object) {
  py_sequence *self = (py_sequence *)object;
  kdl_queue *queue;
  if (self->state == state_recording && own_queue(self, &queue) == KDL_OK &&
      kdl_capture_end(queue, &self->sequence) != KDL_OK)
    self->sequence = NULL;
  kdl_sequence_destroy(self->sequence);
  for (size_t i = 0; i < self->slot_count; ++i)
    Py_DECREF(self->buffers[i]);
  Py_XDECREF(self->names);
  Py_XDECREF(self->queue);
  py_object_free(object);
}

static bool take_buffer(const py_sequence *self, PyObject *object, size_t index,
                        kdl_buffer *out_buffer) {
  const py_buffer *buffer = (const py_buffer *)object;
  PyObject *name = PyTuple_GetItem(self->names, (Py_ssize_t)index);
  if (Py_TYPE(object) != py_buffer_type)
    PyErr_Format(PyExc_TypeError, "%U: found %R, expected a kdl.Buffer", name,
                 (PyObject *)Py_TYPE(object));
  else if (buffer->is_freed)
    PyErr_Format(PyExc_ValueError, "%U: the buffer was freed", name);
  else
    *out_buffer = buffer->buffer;
  return !PyErr_Occurred();
}

static PyObject *sequence_enter(PyObject *object, PyObject *unused) {
  (void)unused;
  py_sequence *self = (py_sequence *)object;
  kdl_buffer buffers[most_slots];
  kdl_queue *queue;
  if (self->state != state_new) {
    PyErr_SetString(PyExc_ValueError, "a sequence is recorded once");
    return NULL;
  }
  for (size_t i = 0; i < self->slot_count; ++i)
    if (!take_buffer(self, self->buffers[i], i, &buffers[i]))
      return NULL;
  kdl_status status = own_queue(self, &queue);
  if (status == KDL_OK)
    status = kdl_capture_begin(queue);
  if (status != KDL_OK)
    return py_raise(status);
  self->state = state_recording;
  for (size_t i = 0; i < self->slot_count; ++i) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(self->names, (Py_ssize_t)i), NULL);
    status = name ? kdl_capture_slot(queue, &buffers[i], name, &self->slots[i]) : KDL_OK;
    if (name && status == KDL_OK)
      continue;
    if (name)
      py_raise(status);
    if (kdl_capture_end(queue, &self->sequence) != KDL_OK)
      self->sequence = NULL;
    self->state = state_failed;
    return NULL;
  }
  Py_INCREF(object);
  return object;
}

/* Where the block raised, nothing is kept, and the exception goes on. */
static PyObject *sequence_exit(PyObject *object, PyObject *args) {
  py_sequence *self = (py_sequence *)object;
  PyObject *type, *value, *trace;
  kdl_queue *queue;
  if (!PyArg_ParseTuple(args, "OOO:__exit__", &type, &value, &trace))
    return NULL;
  if (self->state != state_recording) {
    PyErr_SetString(PyExc_ValueError, "the sequence is not being recorded");
    return NULL;
  }
  self->state = state_failed;
  kdl_status status = own_queue(self, &queue);
  if (status == KDL_OK)
    status = kdl_capture_end(queue, &self->sequence);
  if (status != KDL_OK)
    self->sequence = NULL;
  if (type != Py_None)
    Py_RETURN_FALSE;
  if (status != KDL_OK)
    return py_raise(status);
  self->state = state_ready;
  Py_RETURN_FALSE;
}

static bool is_ready(const py_sequence *self) {
  if (self->state != state_ready)
    PyErr_SetString(PyExc_ValueError, self->state == state_failed
                                          ? "the sequence was not recorded: its block failed"
                                          : "the sequence is not recorded yet");
  return self->state == state_ready;
}

/* The number of the slot of that name; -1 with the exception set. */
static Py_ssize_t slot_named(const py_sequence *self, PyObject *name) {
  for (size_t i = 0; i < self->slot_count; ++i) {
    int same = PyObject_RichCompareBool(PyTuple_GetItem(self->names, (Py_ssize_t)i), name, Py_EQ);
    if (same)
      return same < 0 ? -1 : (Py_ssize_t)i;
  }
  PyErr_Format(PyExc_TypeError, "run(): the sequence has no slot '%U'", name);
  return -1;
}

static PyObject *sequence_run(PyObject *object, PyObject *args, PyObject *keywords) {
  py_sequence *self = (py_sequence *)object;
  PyObject *queue_object = Py_None, *name, *value, *bound[most_slots];
  Py_ssize_t at = 0;
  if (!PyArg_ParseTuple(args, "|O:run", &queue_object) || !is_ready(self))
    return NULL;
  memcpy(bound, self->buffers, self->slot_count * sizeof *bound);
  while (keywords && PyDict_Next(keywords, &at, &name, &value)) {
    Py_ssize_t slot = slot_named(self, name);
    if (slot < 0)
      return NULL;
    bound[slot] = value;
  }
  kdl_binding bindings[most_slots];
  for (size_t i = 0; i < self->slot_count; ++i) {
    kdl_buffer buffer;
    if (!take_buffer(self, bound[i], i, &buffer))
      return NULL;
    bindings[i] = kdl_bind_buffer(self->slots[i], buffer);
  }
  kdl_queue *queue;
  kdl_status status = KDL_OK;
  if (queue_object == Py_None)
    status = own_queue(self, &queue);
  else if (!py_queue_from(queue_object, self->device, &queue))
    return NULL;
  if (status == KDL_OK) {
    Py_BEGIN_ALLOW_THREADS status =
        kdl_sequence_run(self->sequence, queue, bindings, self->slot_count);
    Py_END_ALLOW_THREADS
  }
  if (status != KDL_OK)
    return py_raise(status);
  Py_RETURN_NONE;
}

static PyObject *sequence_info(PyObject *object, PyObject *unused) {
  (void)unused;
  py_sequence *self = (py_sequence *)object;
  kdl_sequence_info info = {.size = sizeof info};
  if (!is_ready(self))
    return NULL;
  kdl_status status = kdl_sequence_get(self->sequence, &info);
  if (status != KDL_OK)
    return py_raise(status);
  return Py_BuildValue("{s:n,s:n,s:s,s:O}", "nodes", (Py_ssize_t)info.node_count, "launches",
                       (Py_ssize_t)info.launch_count, "replay", info.replay, "slots", self->names);
}

static PyMethodDef methods[] = {
    {"__enter__", sequence_enter, METH_NOARGS, "__enter__($self)\n--\n\nBegins the recording."},
    {"__exit__", sequence_exit, METH_VARARGS,
     "__exit__($self, type, value, traceback, /)\n--\n\nEnds the recording."},
    {"run", (PyCFunction)(void (*)(void))sequence_run, METH_VARARGS | METH_KEYWORDS,
     "run($self, queue=None, /, **buffers)\n--\n\nRuns what was recorded, on the queue it was "
     "recorded on or another one of the device, with other buffers for slots."},
    {"info", sequence_info, METH_NOARGS,
     "info($self)\n--\n\nHow much was recorded and how it runs, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Sequence(where, /, **slots)\n--\n\nWork that is given again and again: what a `with` block "
     "gives to a queue, or to a device's own, is recorded and not done, and run by run(). Buffers "
     "named as slots may be others in each run. What else was recorded must live as long."},
    {Py_tp_new, sequence_new},
    {Py_tp_dealloc, sequence_destroy},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"kdl._kdl.Sequence", sizeof(py_sequence), 0, Py_TPFLAGS_DEFAULT, slots};

int py_sequence_init(PyObject *module) {
  PyTypeObject *type = py_add_type(module, &spec);
  Py_XDECREF((PyObject *)type); /* the module has it */
  return type ? 0 : -1;
}
