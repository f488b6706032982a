/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences: what is given to a queue inside a `with` is recorded, and run again by one call. */
#include "kdl_python.h"

#include <string.h>

enum { most_slots = 32 };

typedef enum state { state_new, state_recording, state_ready, state_failed } state;

typedef struct py_sequence {
  PyObject head;
  struct py_sequence *next; /* of those that are being recorded */
  PyObject *queue;          /* a Queue, or NULL: the device's own */
  kdl_device *device;
  kdl_sequence *sequence;
  state state;
  size_t slot_count;
  PyObject *kept;                /* a list of what it needs, or NULL: libraries, sequences */
  PyObject *names;               /* of the slots: a tuple of str */
  PyObject *buffers[most_slots]; /* what each slot is unless a run says otherwise */
  kdl_slot slots[most_slots];
} py_sequence;

/* ------------------------------------------------------------------------------------------ */
/* Those that are being recorded                                                                */

/* The interpreter's lock guards both. */
static py_sequence *recordings;
size_t py_recording_count;

static void begin_recording(py_sequence *self) {
  self->state = state_recording;
  self->next = recordings;
  recordings = self;
  ++py_recording_count;
}

static void end_recording(py_sequence *self) {
  py_sequence **link = &recordings;
  while (*link != self)
    link = &(*link)->next;
  *link = self->next;
  --py_recording_count;
  self->state = state_failed;
}

static bool keep(py_sequence *self, PyObject *object) {
  if (!self->kept && !(self->kept = PyList_New(0)))
    return false;
  for (Py_ssize_t i = PyList_Size(self->kept); i > 0; --i)
    if (PyList_GetItem(self->kept, i - 1) == object)
      return true;
  return PyList_Append(self->kept, object) == 0;
}

bool py_recordings_keep(PyObject *object) {
  for (py_sequence *at = recordings; at; at = at->next)
    if (!keep(at, object))
      return false;
  return true;
}

bool py_recordings_have(kdl_device *device) {
  const py_sequence *at = recordings;
  while (at && (at->queue || at->device != device))
    at = at->next;
  return at != NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* From its creation to its end                                                                 */

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
  if (self->state == state_recording) {
    end_recording(self);
    if (own_queue(self, &queue) == KDL_OK && kdl_capture_end(queue, &self->sequence) != KDL_OK)
      self->sequence = NULL;
  }
  kdl_sequence_destroy(self->sequence);
  Py_XDECREF(self->kept);
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
  begin_recording(self);
  for (size_t i = 0; i < self->slot_count; ++i) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(self->names, (Py_ssize_t)i), NULL);
    status = name ? kdl_capture_slot(queue, &buffers[i], name, &self->slots[i]) : KDL_OK;
    if (name && status == KDL_OK)
      continue;
    if (name)
      py_raise(status);
    end_recording(self);
    if (kdl_capture_end(queue, &self->sequence) != KDL_OK)
      self->sequence = NULL;
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
  end_recording(self);
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
  if (py_recording_count && !py_recordings_keep(object))
    return NULL;
  kdl_queue *queue;
  kdl_status status = KDL_OK;
  if (queue_object == Py_None)
    status = own_queue(self, &queue);
  else if (!py_queue_from(queue_object, self->device, &queue))
    return NULL;
  if (status == KDL_OK) {
    py_queue_hold(queue);
    Py_BEGIN_ALLOW_THREADS status =
        kdl_sequence_run(self->sequence, queue, bindings, self->slot_count);
    Py_END_ALLOW_THREADS py_queue_release(queue);
  }
  return py_done(status);
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

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

static PyObject *sequence_save(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"", "name", "alone", NULL};
  py_sequence *self = (py_sequence *)object;
  PyObject *path = NULL;
  kdl_sequence_save_opts opts = {.size = sizeof opts};
  int alone = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|zp:save", names, PyUnicode_FSConverter,
                                   &path, &opts.name, &alone))
    return NULL;
  kdl_status status = KDL_OK;
  opts.flags = alone ? KDL_SEQUENCE_ALONE : 0;
  if (is_ready(self))
    status = kdl_sequence_save(self->sequence, PyBytes_AsString(path), &opts);
  Py_DECREF(path);
  if (PyErr_Occurred())
    return NULL;
  return py_done(status);
}

/* What was opened has slots and nothing that they are unless a run says so. */
static bool take_opened(py_sequence *self) {
  kdl_sequence_info info = {.size = sizeof info};
  kdl_slot_desc desc = {.size = sizeof desc};
  if (kdl_sequence_get(self->sequence, &info) != KDL_OK)
    return py_raise(KDL_BAD_CALL) != NULL;
  if (info.slot_count > most_slots) {
    PyErr_Format(PyExc_ValueError, "open(): found %zu slots, expected at most %d", info.slot_count,
                 most_slots);
    return false;
  }
  self->names = PyTuple_New((Py_ssize_t)info.slot_count);
  for (size_t i = 0; self->names && i < info.slot_count; ++i) {
    kdl_status status = kdl_sequence_slot_get(self->sequence, (kdl_slot)(i + 1), &desc);
    if (status != KDL_OK)
      return py_raise(status) != NULL;
    if (desc.kind != KDL_SLOT_BUFFER || !*desc.name) {
      PyErr_Format(PyExc_ValueError, "open(): slot %zu (\"%s\"): expected a buffer with a name",
                   i + 1, desc.name);
      return false;
    }
    PyObject *name = PyUnicode_FromString(desc.name);
    if (!name)
      return false;
    PyTuple_SetItem(self->names, (Py_ssize_t)i, name);
    Py_INCREF(Py_None);
    self->buffers[self->slot_count++] = Py_None;
    self->slots[i] = (kdl_slot)(i + 1);
  }
  return self->names != NULL;
}

static PyObject *sequence_open(PyObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"", "device", "name", "kernels", NULL};
  PyObject *library, *where = Py_None, *kernels = Py_None;
  kdl_sequence_open_opts opts = {.size = sizeof opts};
  kdl_library *more;
  kdl_device *device = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|OzO:open", names, py_library_type, &library,
                                   &where, &opts.name, &kernels) ||
      (where != Py_None && !py_device_from(where, &device)))
    return NULL;
  if (kernels != Py_None && Py_TYPE(kernels) != py_library_type) {
    PyErr_Format(PyExc_TypeError, "open(): kernels: found %R, expected a library",
                 (PyObject *)Py_TYPE(kernels));
    return NULL;
  }
  if (kernels != Py_None) {
    more = ((py_library *)kernels)->library;
    opts.libraries = &more;
    opts.library_count = 1;
  }
  py_sequence *self = PyObject_New(py_sequence, (PyTypeObject *)type);
  if (!self)
    return NULL;
  memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status =
      kdl_sequence_open(((py_library *)library)->library, device, &opts, &self->sequence);
  Py_END_ALLOW_THREADS if (status == KDL_OK) status =
      kdl_sequence_device(self->sequence, &self->device);
  if (status != KDL_OK)
    py_raise(status);
  self->state = state_ready;
  if (status == KDL_OK && keep(self, library) && (kernels == Py_None || keep(self, kernels)) &&
      take_opened(self))
    return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static PyMethodDef methods[] = {
    {"__enter__", sequence_enter, METH_NOARGS, "__enter__($self)\n--\n\nBegins the recording."},
    {"__exit__", sequence_exit, METH_VARARGS,
     "__exit__($self, type, value, traceback, /)\n--\n\nEnds the recording."},
    {"run", (PyCFunction)(void (*)(void))sequence_run, METH_VARARGS | METH_KEYWORDS,
     "run($self, queue=None, /, **buffers)\n--\n\nRuns what was recorded, on the queue it was "
     "recorded on or another one of the device, with other buffers for slots."},
    {"save", (PyCFunction)(void (*)(void))sequence_save, METH_VARARGS | METH_KEYWORDS,
     "save($self, path, /, name=None, alone=False)\n--\n\nWrites it as a file that any device can "
     "open, with the images of its kernels unless alone. Buffers that it uses must be slots."},
    {"open", (PyCFunction)(void (*)(void))sequence_open, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "open($type, library, /, device=None, name=None, kernels=None)\n--\n\nThe recorded sequence "
     "in "
     "a library: Library.sequence calls it."},
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

int py_sequence_init(PyObject *module) {
  PyTypeObject *type = py_add_type(module, "kdl._kdl.Sequence", sizeof(py_sequence), 0, slots);
  Py_XDECREF((PyObject *)type); /* the module has it */
  return type ? 0 : -1;
}
