/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences that are being recorded, and the objects that they keep alive. */
#include "sequence.h"

/* The interpreter's lock guards both. */
static py_sequence *recordings;
size_t py_recording_count;

py_sequence *py_recording_of(kdl_device *device, const kdl_queue *queue) {
  py_sequence *at = recordings;
  while (at && (at->target.device != device || (queue ? at->recorded != queue : at->queue != NULL)))
    at = at->next;
  return at;
}

bool py_recording_on_thread(kdl_device *device, const kdl_queue *queue,
                            py_sequence **out_recording) {
  *out_recording = py_recording_count ? py_recording_of(device, queue) : NULL;
  if (!*out_recording || (*out_recording)->thread == PyThread_get_thread_ident())
    return true;
  PyErr_SetString(PyExc_RuntimeError, "queue: another thread records it as a sequence: give a "
                                      "kdl.Queue of this thread's own");
  return false;
}

bool py_recording_is_default_queue(kdl_device *device) {
  const py_sequence *own = py_recording_of(device, NULL);
  return own && own->thread == PyThread_get_thread_ident();
}

kdl_queue *py_recording_queue(kdl_device *device, void *native) {
  for (const py_sequence *at = recordings; at; at = at->next) {
    void *handle;
    if (at->target.device == device && kdl_queue_native(at->recorded, &handle) == KDL_OK &&
        handle == native)
      return at->recorded;
  }
  return NULL;
}

void py_recording_begin(py_sequence *self, kdl_queue *queue) {
  self->state = PY_SEQUENCE_RECORDING;
  self->thread = PyThread_get_thread_ident();
  self->recorded = queue;
  self->next = recordings;
  recordings = self;
  ++py_recording_count;
}

kdl_status py_recording_end(py_sequence *self) {
  py_sequence **link = &recordings;
  while (*link != self)
    link = &(*link)->next;
  *link = self->next;
  --py_recording_count;
  self->state = PY_SEQUENCE_FAILED;
  kdl_status status = kdl_capture_end(self->recorded, &self->sequence);
  if (status != KDL_OK)
    self->sequence = NULL;
  return status;
}

static void add_element(py_elements *slot, const py_param *param) {
  for (size_t i = 0; i < slot->count; ++i)
    if (slot->params[i].element_kind == param->element_kind &&
        slot->params[i].element_size == param->element_size)
      return;
  if (slot->count < py_max_elements)
    slot->params[slot->count++] = *param;
}

bool py_recording_learn_elements(py_sequence *self) {
  for (size_t i = 0; i < self->slot_count; ++i) {
    py_elements *slot = &self->elements[i];
    uint64_t at = 0;
    kdl_string type;
    kdl_status status;
    while ((status = kdl_sequence_slot_type(self->sequence, self->slots[i], &at, &type)) ==
               KDL_OK &&
           type.length) {
      py_param param;
      if (py_param_of(type.data, type.length, &param) && param.kind == PY_POINTER &&
          param.element_size)
        add_element(slot, &param);
    }
    if (status != KDL_OK)
      return py_raise(status) != NULL;
    slot->is_known = true;
  }
  return true;
}

/* The list with capacity for one more; NULL with the exception set. */
static void *grow_list(void *list, size_t count, size_t *room, size_t size) {
  if (count < *room)
    return list;
  size_t more = *room ? 2 * *room : 8;
  void *grown = PyMem_Realloc(list, more * size);
  if (grown)
    *room = more;
  else
    PyErr_NoMemory();
  return grown;
}

static bool is_slot(const py_sequence *self, const PyObject *object) {
  for (size_t i = 0; i < self->slot_count; ++i)
    if (self->bound[i] == object)
      return true;
  return false;
}

static bool add_buffer(py_sequence *self, py_buffer *buffer) {
  py_buffer **memory = (py_buffer **)grow_list((void *)self->memory, self->memory_count,
                                               &self->memory_capacity, sizeof *memory);
  if (!memory)
    return false;
  self->memory = memory;
  memory[self->memory_count++] = buffer;
  return true;
}

bool py_recording_retain(py_sequence *self, PyObject *object) {
  if (!self->retained && !(self->retained = PyDict_New()))
    return false;
  PyObject *key = PyLong_FromVoidPtr(object);
  bool is_known = key && PyDict_GetItemWithError(self->retained, key);
  bool ok = key && (is_known || PyDict_SetItem(self->retained, key, object) == 0);
  if (ok && !is_known && Py_TYPE(object) == py_buffer_type && !is_slot(self, object))
    ok = add_buffer(self, (py_buffer *)object);
  Py_XDECREF(key);
  return ok;
}

bool py_recording_retain_keepalives(py_sequence *self, py_arguments *arguments) {
  size_t left = 0;
  bool ok = true;
  for (size_t i = 0; i < arguments->keepalive_count; ++i) {
    py_keepalive hold = arguments->keepalives[i];
    py_keepalive *holds = hold.kind == PY_KEEPALIVE_BUFFER || !ok
                              ? NULL
                              : grow_list(self->keepalives, self->keepalive_count,
                                          &self->keepalive_capacity, sizeof *holds);
    if (holds) {
      self->keepalives = holds;
      holds[self->keepalive_count++] = hold;
    } else {
      ok = ok && hold.kind == PY_KEEPALIVE_BUFFER;
      arguments->keepalives[left++] = hold;
    }
  }
  arguments->keepalive_count = left;
  return ok;
}

bool py_recording_retain_arguments(py_sequence *self, PyObject *const *objects, size_t count,
                                   py_arguments *arguments) {
  for (size_t i = 0; i < count; ++i)
    if (!py_is_int(objects[i]) && !PyFloat_Check(objects[i]) && objects[i] != Py_None &&
        !py_recording_retain(self, objects[i]))
      return false;
  if (arguments->stream.from != PY_STREAM_NONE && !self->queue)
    self->stream = arguments->stream;
  return py_recording_retain_keepalives(self, arguments);
}
