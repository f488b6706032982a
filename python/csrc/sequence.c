/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences: work given to a queue in a `with` block is recorded, and run again by one call. */
#include "sequence.h"

#include "array.h"
#include "dlpack.h"

#include <string.h>

/* An untyped pointer for each slot. */
static py_signature slot_signature;

/* ------------------------------------------------------------------------------------------ */
/* Lifetime                                                                                     */

static py_sequence *new_sequence(PyTypeObject *type) {
  py_sequence *self = PyObject_GC_New(py_sequence, type);
  if (self)
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
  return self;
}

/* Drops all that it holds: at its end, when it is collected, or if the recording failed. */
static void sequence_drop(py_sequence *self) {
  py_keepalive *holds = self->keepalives;
  PyObject *kept = self->retained;
  size_t count = self->keepalive_count;
  self->keepalives = NULL; /* before other code runs */
  self->retained = NULL;
  self->keepalive_count = self->keepalive_capacity = self->memory_count = self->memory_capacity = 0;
  PyMem_Free(self->memory);
  self->memory = NULL;
  for (size_t i = 0; i < count; ++i)
    py_keepalive_release(&holds[i]);
  PyMem_Free(holds);
  Py_XDECREF(kept);
}

/* Ends a recording that was left without its end, as by a dropped generator. */
static int sequence_clear(PyObject *object) {
  py_sequence *self = (py_sequence *)object;
  if (self->state == PY_SEQUENCE_RECORDING)
    py_recording_end(self);
  self->state = PY_SEQUENCE_FAILED;
  kdl_sequence_destroy(self->sequence);
  self->sequence = NULL;
  sequence_drop(self);
  for (size_t i = 0; i < self->slot_count; ++i) {
    PyObject *bound = self->bound[i];
    self->bound[i] = NULL;
    Py_XDECREF(bound);
  }
  self->slot_count = 0;
  Py_CLEAR(self->queue);
  return 0;
}

static int sequence_traverse(PyObject *object, visitproc visit, void *arg) {
  const py_sequence *self = (const py_sequence *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->retained);
  Py_VISIT(self->queue);
  for (size_t i = 0; i < self->slot_count; ++i)
    Py_VISIT(self->bound[i]);
  for (size_t i = 0; i < self->keepalive_count; ++i)
    if (self->keepalives[i].kind == PY_KEEPALIVE_VIEW)
      Py_VISIT(self->keepalives[i].of.view.obj);
  return 0;
}

static void sequence_destroy(PyObject *object) {
  PyObject_GC_UnTrack(object);
  sequence_clear(object);
  Py_XDECREF(((py_sequence *)object)->names);
  py_object_free(object);
}

static bool parse_slots(py_sequence *self, PyObject *keywords) {
  Py_ssize_t count = keywords ? PyDict_Size(keywords) : 0, at = 0;
  PyObject *name, *object;
  if (count > py_max_slots) {
    PyErr_Format(PyExc_ValueError, "Sequence(): more than %d slots", py_max_slots);
    return false;
  }
  self->names = PyTuple_New(count);
  while (self->names && keywords && PyDict_Next(keywords, &at, &name, &object)) {
    Py_INCREF(name);
    PyTuple_SetItem(self->names, (Py_ssize_t)self->slot_count, name);
    Py_INCREF(object);
    self->bound[self->slot_count++] = object;
  }
  self->target.names = self->names;
  return self->names != NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Values of slots                                                                              */

static const char expected_array[] = "found %R, expected a kdl.Buffer or an array";

/* A run omits a slot of a sequence from a file. */
static bool slot_is_missing(const py_sequence *self, PyObject *name) {
  PyObject *comma = PyUnicode_FromString(", ");
  PyObject *all = comma ? PyUnicode_Join(comma, self->names) : NULL;
  if (all)
    PyErr_Format(
        PyExc_TypeError,
        "run(): the slot '%U' is missing: expected a kdl.Buffer or an array for each of %U", name,
        all);
  Py_XDECREF(all);
  Py_XDECREF(comma);
  return false;
}

/* The bytes of an array that was converted. */
static bool array_size(const py_target *target, PyObject *object, const py_arguments *arguments,
                       size_t index, uint64_t *out_size) {
  for (size_t i = 0; i < arguments->keepalive_count; ++i) {
    const py_keepalive *hold = &arguments->keepalives[i];
    if (hold->index == index && hold->kind == PY_KEEPALIVE_VIEW) {
      *out_size = (uint64_t)hold->of.view.len;
      return true;
    }
    if (hold->index == index && hold->kind == PY_KEEPALIVE_BUFFER) {
      *out_size = hold->of.buffer->buffer.size;
      return true;
    }
  }
  PyObject *number = PyObject_GetAttrString(object, "nbytes");
  *out_size = number ? PyLong_AsUnsignedLongLong(number) : 0;
  Py_XDECREF(number);
  if (!PyErr_Occurred())
    return true;
  PyErr_Clear();
  return py_argument_error(target, index, "found %R without a size: it has no nbytes",
                           (PyObject *)Py_TYPE(object));
}

/* Converts the slots' values, and chooses the queue; call py_arguments_free in either case. */
static bool convert_bound_slots(py_sequence *self, const char *caller, PyObject *const *objects,
                                PyObject *queue_object, py_arguments *out_arguments,
                                kdl_queue **out_queue, kdl_buffer *out_buffers) {
  py_target target = self->target;
  target.kernel = caller;
  target.elements = self->elements;
  out_arguments->keepalive_count = 0;
  for (size_t i = 0; i < self->slot_count; ++i) {
    PyObject *name = PyTuple_GetItem(self->names, (Py_ssize_t)i);
    if (objects[i] == Py_None && self->state == PY_SEQUENCE_READY)
      return slot_is_missing(self, name);
    if (objects[i] == Py_None || py_is_int(objects[i]))
      return py_argument_error(&target, i, expected_array, (PyObject *)Py_TYPE(objects[i]));
    if (Py_TYPE(objects[i]) == py_buffer_type && ((const py_buffer *)objects[i])->is_freed) {
      PyErr_Format(PyExc_ValueError, "%U: the buffer was freed", name);
      return false;
    }
  }
  py_signature signature = slot_signature;
  signature.count = (int)self->slot_count;
  if (!py_arguments_convert_with_queue(&target, &signature, queue_object, objects, self->slot_count,
                                       out_arguments, out_queue))
    return false;
  for (size_t i = 0; i < self->slot_count; ++i) {
    uint64_t size;
    if (!array_size(&target, objects[i], out_arguments, i, &size))
      return false;
    out_buffers[i] = kdl_buffer_adopt(target.device, out_arguments->values[i].number, size);
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
  py_sequence *self = new_sequence(type);
  if (!self)
    return NULL;
  if (is_queue) {
    Py_INCREF(where);
    self->queue = where;
  }
  py_arguments arguments;
  arguments.keepalive_count = 0;
  kdl_buffer buffers[py_max_slots];
  kdl_queue *queue;
  bool ok = py_target_of(device, "Sequence()", &self->target) && parse_slots(self, keywords) &&
            convert_bound_slots(self, "Sequence()", self->bound, self->queue, &arguments, &queue,
                                buffers);
  py_arguments_free(&arguments);
  PyObject_GC_Track(self);
  if (!ok)
    Py_CLEAR(self);
  return (PyObject *)self;
}

static kdl_status sequence_default_queue(py_sequence *self, kdl_queue **out_queue) {
  if (!self->queue)
    return kdl_device_queue(self->target.device, out_queue);
  *out_queue = ((py_queue *)self->queue)->queue;
  return KDL_OK;
}

static bool declare_slots(py_sequence *self, kdl_queue *queue, const kdl_buffer *buffers) {
  for (size_t i = 0; i < self->slot_count; ++i) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(self->names, (Py_ssize_t)i), NULL);
    kdl_status status =
        name ? kdl_capture_add_slot(queue, &buffers[i], name, &self->slots[i]) : KDL_OK;
    if (status != KDL_OK)
      py_raise(status);
    if (!name || status != KDL_OK)
      return false;
  }
  return true;
}

/* Converting arrays and waiting let other code run, which may begin the same recording: so the
 * state is checked afterwards. */
static bool begin_recording(py_sequence *self, kdl_queue *queue, const kdl_buffer *buffers,
                            py_arguments *arguments) {
  if (!py_queue_wait(self->target.device, queue))
    return false;
  if (self->state != PY_SEQUENCE_NEW) {
    PyErr_SetString(PyExc_ValueError, "a sequence is recorded once");
    return false;
  }
  kdl_status status = kdl_capture_begin(queue);
  if (status != KDL_OK) {
    py_raise(status);
    return false;
  }
  py_recording_begin(self, queue);
  if (declare_slots(self, queue, buffers) && py_recording_retain_keepalives(self, arguments))
    return true;
  py_recording_end(self);
  sequence_drop(self);
  return false;
}

static PyObject *sequence_enter(PyObject *object, PyObject *unused) {
  (void)unused;
  py_sequence *self = (py_sequence *)object;
  py_arguments arguments;
  kdl_buffer buffers[py_max_slots];
  kdl_queue *queue, *recorded;
  bool ok = convert_bound_slots(self, "Sequence()", self->bound, self->queue, &arguments, &queue,
                                buffers);
  kdl_status status = ok ? sequence_default_queue(self, &recorded) : KDL_OK;
  if (status != KDL_OK)
    py_raise(status);
  ok = ok && status == KDL_OK && begin_recording(self, recorded, buffers, &arguments);
  py_arguments_free(&arguments);
  if (!ok)
    return NULL;
  Py_INCREF(object);
  return object;
}

/* If the block raised, nothing is kept, and the exception propagates. */
static PyObject *sequence_exit(PyObject *object, PyObject *args) {
  py_sequence *self = (py_sequence *)object;
  PyObject *type, *value, *trace;
  if (!PyArg_ParseTuple(args, "OOO:__exit__", &type, &value, &trace))
    return NULL;
  if (self->state != PY_SEQUENCE_RECORDING) {
    PyErr_SetString(PyExc_ValueError, "the sequence is not being recorded");
    return NULL;
  }
  kdl_status status = py_recording_end(self);
  if (status == KDL_OK && type == Py_None && py_recording_learn_elements(self)) {
    self->state = PY_SEQUENCE_READY;
    Py_RETURN_FALSE;
  }
  if (type == Py_None && status != KDL_OK)
    py_raise(status);
  kdl_sequence_destroy(self->sequence);
  self->sequence = NULL;
  sequence_drop(self);
  if (type == Py_None)
    return NULL;
  Py_RETURN_FALSE;
}

static bool is_ready(const py_sequence *self) {
  if (self->state != PY_SEQUENCE_READY)
    PyErr_SetString(PyExc_ValueError, self->state == PY_SEQUENCE_FAILED
                                          ? "the sequence was not recorded: its block failed"
                                          : "the sequence is not recorded yet");
  return self->state == PY_SEQUENCE_READY;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

/* The index of the slot of that name; -1 with the exception set. */
static Py_ssize_t find_slot(const py_sequence *self, PyObject *name) {
  for (size_t i = 0; i < self->slot_count; ++i)
    if (PyUnicode_Compare(PyTuple_GetItem(self->names, (Py_ssize_t)i), name) == 0)
      return (Py_ssize_t)i;
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_TypeError, "run(): the sequence has no slot '%U'", name);
  return -1;
}

/* Checks that the recorded buffers exist, and pins them until the run is submitted. */
static bool pin_memory(const py_sequence *self) {
  for (size_t i = 0; i < self->memory_count; ++i)
    if (self->memory[i]->is_freed) {
      PyErr_SetString(PyExc_ValueError, "run(): a buffer that was recorded was freed");
      return false;
    }
  for (size_t i = 0; i < self->memory_count; ++i)
    ++self->memory[i]->users;
  return true;
}

static void unpin_memory(const py_sequence *self) {
  for (size_t i = 0; i < self->memory_count; ++i)
    --self->memory[i]->users;
}

/* Records the run in another sequence, which then needs what this one does. */
static bool retain_in_recording(py_sequence *self, py_sequence *recording, PyObject *const *bound,
                                py_arguments *arguments) {
  bool ok = py_recording_retain(recording, (PyObject *)self);
  for (size_t i = 0; ok && i < self->memory_count; ++i)
    ok = py_recording_retain(recording, (PyObject *)self->memory[i]);
  if (self->stream.from != PY_STREAM_NONE && arguments->stream.from == PY_STREAM_NONE)
    arguments->stream = self->stream;
  return ok && py_recording_retain_arguments(recording, bound, self->slot_count, arguments);
}

static PyObject *submit_sequence(py_sequence *self, kdl_queue *queue, const kdl_buffer *buffers,
                                 bool is_recorded) {
  kdl_binding bindings[py_max_slots];
  kdl_status status;
  py_queue_use use;
  for (size_t i = 0; i < self->slot_count; ++i)
    bindings[i] = kdl_bind_buffer(self->slots[i], buffers[i]);
  if (!pin_memory(self))
    return NULL;
  if (is_recorded) {
    status = kdl_sequence_run(self->sequence, queue, bindings, self->slot_count);
  } else {
    py_queue_use_begin(&use, self->target.device, queue);
    Py_BEGIN_ALLOW_THREADS status =
        kdl_sequence_run(self->sequence, queue, bindings, self->slot_count);
    Py_END_ALLOW_THREADS py_queue_use_end(&use);
  }
  unpin_memory(self);
  return py_none_or_raise(status);
}

static PyObject *sequence_run(PyObject *object, PyObject *args, PyObject *keywords) {
  py_sequence *self = (py_sequence *)object;
  PyObject *queue_object = Py_None, *name, *value, *bound[py_max_slots], *result = NULL;
  Py_ssize_t at = 0;
  if (!PyArg_ParseTuple(args, "|O:run", &queue_object) || !is_ready(self))
    return NULL;
  memcpy(bound, self->bound, self->slot_count * sizeof *bound);
  while (keywords && PyDict_Next(keywords, &at, &name, &value)) {
    Py_ssize_t slot = find_slot(self, name);
    if (slot < 0)
      return NULL;
    if (value == Py_None) {
      py_argument_error(&self->target, (size_t)slot, expected_array, (PyObject *)Py_TYPE(value));
      return NULL;
    }
    bound[slot] = value;
  }
  py_arguments arguments;
  kdl_buffer buffers[py_max_slots];
  kdl_queue *queue;
  py_sequence *recording = NULL;
  bool ok = convert_bound_slots(self, "run()", bound,
                                queue_object == Py_None ? self->queue : queue_object, &arguments,
                                &queue, buffers);
  if (ok && !queue && self->stream.from != PY_STREAM_NONE)
    ok = py_stream_queue(&self->target, &self->stream, &queue);
  ok = ok && py_recording_on_thread(self->target.device, queue, &recording);
  if (ok && recording)
    ok = retain_in_recording(self, recording, bound, &arguments);
  if (ok && !queue) {
    kdl_status status = kdl_device_queue(self->target.device, &queue);
    if (status != KDL_OK)
      py_raise(status);
    ok = status == KDL_OK;
  }
  if (ok)
    result = submit_sequence(self, queue, buffers, recording);
  py_arguments_free(&arguments);
  return result;
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
  opts.flags = alone ? KDL_SEQUENCE_NO_IMAGES : 0;
  if (is_ready(self))
    status = kdl_sequence_save(self->sequence, PyBytes_AsString(path), &opts);
  Py_DECREF(path);
  if (PyErr_Occurred())
    return NULL;
  return py_none_or_raise(status);
}

/* A sequence from a file has slots without values, until a run sets them. */
static bool read_opened_slots(py_sequence *self) {
  kdl_sequence_info info = {.size = sizeof info};
  kdl_slot_desc desc = {.size = sizeof desc};
  if (kdl_sequence_get(self->sequence, &info) != KDL_OK)
    return py_raise(KDL_BAD_CALL) != NULL;
  if (info.slot_count > py_max_slots) {
    PyErr_Format(PyExc_ValueError, "open(): found %zu slots, expected at most %d", info.slot_count,
                 py_max_slots);
    return false;
  }
  self->names = PyTuple_New((Py_ssize_t)info.slot_count);
  self->target.names = self->names;
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
    self->bound[self->slot_count++] = Py_None;
    self->slots[i] = (kdl_slot)(i + 1);
  }
  return self->names && py_recording_learn_elements(self);
}

static bool open_sequence(py_sequence *self, PyObject *library, kdl_device *device,
                          const kdl_sequence_open_opts *opts) {
  kdl_library *opened = ((py_library *)library)->library;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_sequence_open(opened, device, opts, &self->sequence);
  Py_END_ALLOW_THREADS if (status == KDL_OK) status = kdl_sequence_device(self->sequence, &device);
  if (status != KDL_OK)
    py_raise(status);
  return status == KDL_OK && py_target_of(device, "run()", &self->target) &&
         read_opened_slots(self);
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
  py_sequence *self = new_sequence((PyTypeObject *)type);
  if (!self)
    return NULL;
  self->state = PY_SEQUENCE_READY;
  bool ok = py_recording_retain(self, library) &&
            (kernels == Py_None || py_recording_retain(self, kernels)) &&
            open_sequence(self, library, device, &opts);
  PyObject_GC_Track(self);
  if (!ok)
    Py_CLEAR(self);
  return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"__enter__", sequence_enter, METH_NOARGS, "__enter__($self)\n--\n\nBegins the recording."},
    {"__exit__", sequence_exit, METH_VARARGS,
     "__exit__($self, type, value, traceback, /)\n--\n\nEnds the recording."},
    {"run", (PyCFunction)(void (*)(void))sequence_run, METH_VARARGS | METH_KEYWORDS,
     "run($self, queue=None, /, **buffers)\n--\n\nRuns what was recorded, on the queue it was "
     "recorded on or another one of the device, with other buffers or arrays for slots."},
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
     "and arrays named as slots may be others in each run. What else was recorded is held."},
    {Py_tp_new, sequence_new},
    {Py_tp_dealloc, sequence_destroy},
    {Py_tp_traverse, sequence_traverse},
    {Py_tp_clear, sequence_clear},
    {Py_tp_methods, methods},
    {0, NULL},
};

int py_sequence_init(PyObject *module) {
  for (int i = 0; i < py_max_slots; ++i)
    slot_signature.params[i] = (py_param){.kind = PY_POINTER, .size = sizeof(void *)};
  PyTypeObject *type =
      py_add_type(module, "kdl._kdl.Sequence", sizeof(py_sequence), Py_TPFLAGS_HAVE_GC, slots);
  Py_XDECREF((PyObject *)type); /* the module holds it */
  return type ? 0 : -1;
}
