/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions of compiled models: shared objects of `kdl-mlir compile`. The package reads their
 * description; this file converts arguments that need no copy to MLIR's descriptors, calls, and
 * makes arrays of the results' memory. */
#include "array.h"
#include "dlpack.h"
#include "model_call.h"
#include "numpy_head.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

static PyTypeObject *function_type, *memory_type;
static PyObject *out_keyword;
/* The type that has DLPack's exchange: nearly always PyTorch's tensor. Both live as long as the
 * process. */
static PyTypeObject *tensor_type;
static const dl_exchange *tensor_exchange;

/* MLIR's descriptor of a memref; `layout` has the sizes, and then the strides. */
typedef struct descriptor {
  void *allocated, *aligned;
  int64_t offset;
  int64_t layout[];
} descriptor;

/* A parameter or a result as it is declared. */
typedef struct value {
  py_param param;  /* of the number, or of an element */
  bool is_truth;   /* i1 */
  int rank;        /* -1: a number */
  int64_t *shape;  /* -1: any size */
  PyObject *dtype; /* NumPy's, of the elements */
  size_t offset;   /* of a result, in the struct of results */
} value;

typedef struct function {
  PyObject head;
  vectorcallfunc call;
  PyObject *name, *convert, *store, *array_type;
  void (*code)(void);
  py_target target; /* for messages */
  bool returns_number;
  size_t argument_count, result_count;
  size_t argument_bytes, result_bytes; /* of the descriptors */
  value *arguments, *results;
} function;

static size_t descriptor_size(int rank) {
  return sizeof(descriptor) + 2 * (size_t)rank * sizeof(int64_t);
}

/* ------------------------------------------------------------------------------------------ */
/* Results                                                                                      */

/* The memory of a result, which the model's function allocated with malloc. */
typedef struct memory {
  PyObject head;
  void *allocated, *data;
  Py_ssize_t size;
} memory;

static int memory_view(PyObject *object, Py_buffer *view, int flags) {
  memory *self = (memory *)object;
  return PyBuffer_FillInfo(view, object, self->data, self->size, 0, flags);
}

static void memory_destroy(PyObject *object) {
  free(((memory *)object)->allocated);
  py_object_free(object);
}

/* How many elements there are from the first one to the last one, for strides from 0 on. */
static int64_t extent_of(const descriptor *result, int rank) {
  int64_t extent = 1;
  for (int i = 0; i < rank; ++i) {
    if (result->layout[i] == 0)
      return 0;
    extent += (result->layout[i] - 1) * result->layout[rank + i];
  }
  return extent;
}

static PyObject *numbers(const int64_t *from, int count, int64_t factor) {
  PyObject *tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; ++i) {
    PyObject *number = PyLong_FromLongLong(from[i] * factor);
    if (!number || PyTuple_SetItem(tuple, i, number) < 0)
      Py_CLEAR(tuple);
  }
  return tuple;
}

/* Takes the result's memory, also where it fails. */
static PyObject *array_of(const function *self, const value *result, const descriptor *from) {
  int64_t size = result->param.size;
  memory *owner = PyObject_New(memory, memory_type);
  if (!owner) {
    free(from->allocated);
    return NULL;
  }
  owner->allocated = from->allocated;
  owner->size = (Py_ssize_t)(extent_of(from, result->rank) * size);
  owner->data = owner->size ? (char *)from->aligned + from->offset * size : (char *)owner;
  PyObject *shape = numbers(from->layout, result->rank, 1);
  PyObject *strides = shape ? numbers(from->layout + result->rank, result->rank, size) : NULL;
  PyObject *args =
      strides ? Py_BuildValue("(OOOiO)", shape, result->dtype, owner, 0, strides) : NULL;
  PyObject *array = args ? PyObject_Call(self->array_type, args, NULL) : NULL;
  Py_XDECREF(args);
  Py_XDECREF(strides);
  Py_XDECREF(shape);
  Py_DECREF(owner);
  return array;
}

static double half_as_double(uint16_t bits, bool is_bfloat) {
  uint32_t wide = (uint32_t)bits << 16;
  if (!is_bfloat) {
    uint32_t sign = wide & 0x80000000U, magnitude = bits & 0x7fffU;
    if (magnitude < 0x400) /* below the normal numbers: steps of 2^-24 */
      return (sign ? -1.0 : 1.0) * magnitude / 16777216.0;
    wide = sign | (magnitude >= 0x7c00 ? 0x7f800000U | (magnitude & 0x3ff) << 13
                                       : (magnitude << 13) + (112U << 23));
  }
  float single;
  memcpy(&single, &wide, sizeof single);
  return (double)single;
}

static PyObject *number_of(const value *result, uint64_t word) {
  py_value bits = {.number = word};
  bool is_float = result->param.kind == PY_FLOAT || result->param.kind == PY_BFLOAT;
  if (result->is_truth)
    return PyBool_FromLong((long)(word & 1));
  if (is_float)
    return PyFloat_FromDouble(
        result->param.size == 8 ? bits.real
        : result->param.size == 4
            ? (double)bits.single
            : half_as_double((uint16_t)word, result->param.kind == PY_BFLOAT));
  unsigned unused = 64 - result->param.size * 8;
  return result->param.kind == PY_UNSIGNED
             ? PyLong_FromUnsignedLongLong(word << unused >> unused)
             : PyLong_FromLongLong((int64_t)(word << unused) >> unused);
}

/* All memory is taken, also where an object cannot be made. */
static PyObject *results_of(const function *self, const char *from, uint64_t number) {
  if (self->returns_number)
    return number_of(&self->results[0], number);
  PyObject *tuple = PyTuple_New((Py_ssize_t)self->result_count);
  bool ok = tuple;
  for (size_t i = 0; i < self->result_count; ++i) {
    const value *result = &self->results[i];
    uint64_t word = 0;
    if (result->rank < 0)
      memcpy(&word, from + result->offset, result->param.size);
    PyObject *made = result->rank < 0
                         ? number_of(result, word)
                         : array_of(self, result, (const descriptor *)(from + result->offset));
    if (made && tuple)
      ok = PyTuple_SetItem(tuple, (Py_ssize_t)i, made) == 0 && ok;
    else
      Py_XDECREF(made);
    ok = ok && made;
  }
  PyObject *returned = ok ? tuple : NULL;
  if (ok && self->result_count < 2)
    returned = self->result_count ? PyTuple_GetItem(tuple, 0) : Py_None;
  Py_XINCREF(returned);
  Py_XDECREF(tuple);
  return returned;
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

/* The layout that compiled code expects: C's order, which the strides then follow from. */
static void describe(const value *argument, void *data, const int64_t *shape, descriptor *out) {
  int64_t stride = 1;
  *out = (descriptor){data, data, 0};
  for (int i = argument->rank; i-- > 0;) {
    out->layout[i] = shape[i];
    out->layout[argument->rank + i] = stride;
    stride *= shape[i];
  }
}

static bool has_shape(const value *argument, int rank, const int64_t *shape) {
  bool has = rank == argument->rank;
  for (int i = 0; has && i < rank; ++i)
    has = argument->shape[i] < 0 || argument->shape[i] == shape[i];
  return has;
}

static bool describe_numpy(const value *argument, const py_numpy_array *array, descriptor *out) {
  enum { wanted = py_numpy_c_order | py_numpy_aligned };
  int64_t shape[64];
  if ((array->flags & wanted) != wanted || array->dimensions != argument->rank ||
      argument->rank > 64)
    return false;
  for (int i = 0; i < array->dimensions; ++i)
    shape[i] = array->shape[i];
  if (!has_shape(argument, array->dimensions, shape))
    return false;
  describe(argument, array->data, shape, out);
  return true;
}

static bool is_c_order(const dl_tensor *tensor) {
  int64_t stride = 1;
  for (int32_t i = tensor->dimensions; tensor->strides && i-- > 0;) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != stride)
      return false;
    stride *= tensor->shape[i];
  }
  return true;
}

static bool is_dl_element(const value *argument, const dl_tensor *tensor) {
  bool is_integer = tensor->code == dl_int || tensor->code == dl_uint;
  uint8_t kind = argument->param.kind;
  return tensor->lanes == 1 && tensor->bits == argument->param.size * 8 &&
         (argument->is_truth  ? tensor->code == dl_bool
          : kind == PY_FLOAT  ? tensor->code == dl_float
          : kind == PY_BFLOAT ? tensor->code == dl_bfloat
                              : is_integer);
}

/* Whether the tensor needs a gradient, which is then not computed, or cannot say. */
static bool needs_gradient(PyObject *object) {
  PyObject *said = PyObject_GetAttrString(object, "requires_grad");
  bool needs = said != Py_False;
  Py_XDECREF(said);
  PyErr_Clear();
  return needs;
}

static bool describe_tensor(const value *argument, PyObject *object, descriptor *out) {
  dl_tensor tensor;
  PyTypeObject *type = Py_TYPE(object);
  if (type != tensor_type) {
    const dl_exchange *exchange = tensor_type ? NULL : py_exchange_of(type);
    if (!exchange)
      return false;
    Py_INCREF(type);
    tensor_type = type;
    tensor_exchange = exchange;
  }
  if (tensor_exchange->describe(object, &tensor) != 0) {
    PyErr_Clear(); /* the package's own way raises it again */
    return false;
  }
  char *data = (char *)tensor.data + tensor.byte_offset;
  if (tensor.device_type != dl_cpu || !tensor.data || !is_dl_element(argument, &tensor) ||
      !has_shape(argument, tensor.dimensions, tensor.shape) || !is_c_order(&tensor) ||
      (uintptr_t)data % argument->param.size || dl_may_be_negative(&tensor) ||
      needs_gradient(object))
    return false;
  describe(argument, data, tensor.shape, out);
  return true;
}

/* Fills the descriptor. Arrays that must be copied or refused go through the package; what it
 * returns is kept in *out_held until the call is done. */
static bool convert_array(const function *self, size_t index, PyObject *object, descriptor *out,
                          PyObject **out_held) {
  const value *argument = &self->arguments[index];
  const py_numpy_array *array = (const py_numpy_array *)object;
  bool is_array = (PyObject *)Py_TYPE(object) == self->array_type;
  if (is_array && array->dtype == argument->dtype && describe_numpy(argument, array, out))
    return true;
  if (!is_array && describe_tensor(argument, object, out))
    return true;
  *out_held = PyObject_CallFunction(self->convert, "OnO", self->name, (Py_ssize_t)index, object);
  if (!*out_held)
    return false;
  is_array = (PyObject *)Py_TYPE(*out_held) == self->array_type;
  return (is_array && describe_numpy(argument, (const py_numpy_array *)*out_held, out)) ||
         py_argument_error(&self->target, index, "its package does not describe it");
}

static bool convert_number(const function *self, size_t index, PyObject *object, uint64_t *out) {
  const value *argument = &self->arguments[index];
  py_value number = {.number = 0};
  if (!py_number_convert(&self->target, &argument->param, object, &number, index))
    return false;
  *out = number.number;
  return !argument->is_truth || number.number < 2 ||
         py_argument_error(&self->target, index, "found %R, expected a truth value", object);
}

/* A word of each argument, in the order of the parameters; false with the exception set. */
static bool convert_all(const function *self, PyObject *const *objects, char *descriptors,
                        uint64_t *out_words, PyObject **out_held) {
  for (size_t i = 0; i < self->argument_count; ++i) {
    const value *argument = &self->arguments[i];
    if (argument->rank < 0) {
      if (!convert_number(self, i, objects[i], &out_words[i]))
        return false;
      continue;
    }
    out_words[i] = (uint64_t)(uintptr_t)descriptors;
    if (!convert_array(self, i, objects[i], (descriptor *)descriptors, &out_held[i]))
      return false;
    descriptors += descriptor_size(argument->rank);
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Calls                                                                                        */

static bool is_float(const value *value) {
  return value->rank < 0 && (value->param.kind == PY_FLOAT || value->param.kind == PY_BFLOAT);
}

static uint64_t run(const function *self, const uint64_t *words, char *results) {
  py_model_frame frame;
  frame.integer_count = frame.float_count = frame.stack_count = 0;
  if (self->result_count && !self->returns_number)
    py_model_add(&frame, (uint64_t)(uintptr_t)results, false);
  for (size_t i = 0; i < self->argument_count; ++i)
    py_model_add(&frame, words[i], is_float(&self->arguments[i])); /* function_new counted them */
  uint64_t number;
  Py_BEGIN_ALLOW_THREADS number =
      py_model_run(self->code, &frame, self->returns_number && is_float(&self->results[0]));
  Py_END_ALLOW_THREADS return number;
}

/* `out` among the keywords, or NULL; false with the exception set. */
static bool keywords_of(const function *self, PyObject *names, PyObject *const *values,
                        PyObject **out_out) {
  static const char *const known[] = {"out", NULL};
  *out_out = NULL;
  for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); ++i) {
    if (PyTuple_GetItem(names, i) != out_keyword &&
        py_keyword(PyTuple_GetItem(names, i), known, self->target.kernel) < 0)
      return false;
    *out_out = values[i] == Py_None ? NULL : values[i];
  }
  return true;
}

static PyObject *function_call(PyObject *object, PyObject *const *objects, size_t flags,
                               PyObject *names) {
  const function *self = (const function *)object;
  size_t count = flags & ~((size_t)1 << (8 * sizeof(size_t) - 1));
  PyObject *out;
  if (!keywords_of(self, names, objects + count, &out))
    return NULL;
  if (count != self->argument_count)
    return PyErr_Format(PyExc_TypeError, "%s: found %zu arguments, expected %zu",
                        self->target.kernel, count, self->argument_count);
  /* The results, the descriptors, a word and an object for each argument. */
  uint64_t near[160];
  size_t words = (self->result_bytes + self->argument_bytes) / sizeof(uint64_t);
  size_t bytes = words * sizeof(uint64_t) + count * (sizeof(uint64_t) + sizeof(PyObject *));
  uint64_t *place = bytes <= sizeof near ? near : PyMem_Malloc(bytes);
  if (!place)
    return PyErr_NoMemory();
  char *descriptors = (char *)place + self->result_bytes;
  uint64_t *arguments = place + words;
  PyObject **held = (PyObject **)(arguments + count);
  memset(held, 0, count * sizeof(PyObject *));
  PyObject *made = NULL;
  if (convert_all(self, objects, descriptors, arguments, held)) {
    uint64_t number = run(self, arguments, (char *)place);
    made = results_of(self, (const char *)place, number);
  }
  for (size_t i = 0; i < count; ++i)
    Py_XDECREF(held[i]);
  if (place != near)
    PyMem_Free(place);
  if (!made || !out)
    return made;
  PyObject *stored = PyObject_CallFunctionObjArgs(self->store, self->name, made, out, NULL);
  Py_DECREF(made);
  return stored;
}

/* ------------------------------------------------------------------------------------------ */
/* Functions                                                                                    */

static void values_free(value *values, size_t count) {
  for (size_t i = 0; values && i < count; ++i) {
    PyMem_Free(values[i].shape);
    Py_XDECREF(values[i].dtype);
  }
  PyMem_Free(values);
}

static void function_destroy(PyObject *object) {
  function *self = (function *)object;
  values_free(self->arguments, self->argument_count);
  values_free(self->results, self->result_count);
  Py_XDECREF(self->name);
  Py_XDECREF(self->convert);
  Py_XDECREF(self->store);
  Py_XDECREF(self->array_type);
  py_object_free(object);
}

static bool read_shape(PyObject *shape, value *out) {
  Py_ssize_t rank = PyTuple_Size(shape);
  if (rank < 0)
    return false;
  out->shape = PyMem_Malloc(((size_t)rank + 1) * sizeof(int64_t));
  if (!out->shape)
    return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < rank; ++i)
    out->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
  out->rank = (int)rank;
  return !PyErr_Occurred();
}

/* (type, dtype, shape): "f32", NumPy's or None, a tuple or None for a number. */
static bool read_value(PyObject *from, value *out) {
  const char *type;
  PyObject *dtype, *shape;
  if (!PyArg_ParseTuple(from, "sOO", &type, &dtype, &shape))
    return false;
  out->is_truth = strcmp(type, "i1") == 0;
  out->rank = -1;
  Py_INCREF(dtype);
  out->dtype = dtype;
  bool is_known =
      py_param_of(out->is_truth ? "u8" : type, strlen(out->is_truth ? "u8" : type), &out->param) &&
      out->param.size <= 8;
  if (!is_known)
    PyErr_Format(PyExc_ValueError, "found the type '%s'", type);
  return is_known && (shape == Py_None || read_shape(shape, out));
}

static value *read_values(PyObject *tuple, size_t *out_count) {
  Py_ssize_t count = PyTuple_Size(tuple);
  value *values = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof(value));
  for (Py_ssize_t i = 0; values && i < count; ++i)
    if (!read_value(PyTuple_GetItem(tuple, i), &values[i])) {
      values_free(values, (size_t)count);
      return NULL;
    }
  *out_count = values ? (size_t)count : 0;
  return values;
}

/* Where each result is, as in C's struct of them, and how much the descriptors take. */
static void lay_out(function *self) {
  for (size_t i = 0; i < self->result_count; ++i) {
    value *result = &self->results[i];
    size_t alignment = result->rank < 0 ? result->param.size : sizeof(void *);
    result->offset = (self->result_bytes + alignment - 1) / alignment * alignment;
    self->result_bytes =
        result->offset + (result->rank < 0 ? result->param.size : descriptor_size(result->rank));
  }
  self->result_bytes = (self->result_bytes + 7) / 8 * 8;
  for (size_t i = 0; i < self->argument_count; ++i)
    if (self->arguments[i].rank >= 0)
      self->argument_bytes += descriptor_size(self->arguments[i].rank);
  self->returns_number = self->result_count == 1 && self->results[0].rank < 0;
}

/* Whether this machine's convention of calls is known for the parameters. */
static bool check_frame(const function *self) {
  py_model_frame frame = {.integer_count = 1};
  bool fits = true, has_floats = self->returns_number && is_float(&self->results[0]);
  for (size_t i = 0; i < self->argument_count; ++i) {
    fits = fits && py_model_add(&frame, 0, is_float(&self->arguments[i]));
    has_floats = has_floats || is_float(&self->arguments[i]);
  }
  if (!fits)
    PyErr_Format(PyExc_ValueError, "found %zu arguments, expected %d at most", self->argument_count,
                 py_max_stack_words);
  else if (has_floats && !py_float_registers)
    PyErr_SetString(PyExc_ValueError, "found floats as numbers, expected tensors on this CPU");
  return !PyErr_Occurred();
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"name",    "code",  "arguments", "results",
                          "convert", "store", "example",   NULL};
  PyObject *name, *code, *arguments, *results, *convert, *store, *example;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "UOO!O!OOO:ModelFunction", names, &name, &code,
                                   &PyTuple_Type, &arguments, &PyTuple_Type, &results, &convert,
                                   &store, &example))
    return NULL;
  if (!py_numpy_head_agrees(example))
    return PyErr_Format(PyExc_ValueError, "this NumPy has another layout of arrays");
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  function *self = (function *)allocate(type, 0);
  if (!self)
    return NULL;
  self->call = function_call;
  self->code = (void (*)(void))(uintptr_t)PyLong_AsVoidPtr(code);
  self->target.is_host = true;
  self->target.kernel = PyUnicode_AsUTF8AndSize(name, NULL);
  PyObject *kept[] = {name, convert, store, (PyObject *)Py_TYPE(example)};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i)
    Py_INCREF(kept[i]);
  self->name = name;
  self->convert = convert;
  self->store = store;
  self->array_type = kept[3];
  self->arguments = read_values(arguments, &self->argument_count);
  self->results = self->arguments ? read_values(results, &self->result_count) : NULL;
  if (self->results)
    lay_out(self);
  if (self->results && self->target.kernel && !PyErr_Occurred() && check_frame(self))
    return (PyObject *)self;
  if (!PyErr_Occurred())
    PyErr_NoMemory();
  Py_DECREF(self);
  return NULL;
}

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(function, call), READONLY, NULL},
    {"name", T_OBJECT, offsetof(function, name), READONLY, "its name"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_doc, "A function of a compiled model: call it with arrays and numbers, and out=... ."},
    {Py_tp_new, function_new},
    {Py_tp_dealloc, function_destroy},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, function_members},
    {0, NULL},
};

/* The stable ABI has the number of this slot since 3.11; types had it before. */
#ifndef Py_bf_getbuffer
#define Py_bf_getbuffer 1
#endif
static PyType_Slot memory_slots[] = {
    {Py_tp_doc, "The memory of a model's result."},
    {Py_tp_new, py_no_new},
    {Py_tp_dealloc, memory_destroy},
    {Py_bf_getbuffer, memory_view},
    {0, NULL},
};

/* model_symbols(path, names): loads the shared object, which runs its constructors, and returns the
 * addresses of the symbols, or None where there is none. It stays loaded. */
PyObject *py_model_symbols(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *path, *names;
  if (!PyArg_ParseTuple(args, "O&O!:model_symbols", PyUnicode_FSConverter, &path, &PyTuple_Type,
                        &names))
    return NULL;
  void *library;
  Py_BEGIN_ALLOW_THREADS library = dlopen(PyBytes_AsString(path), RTLD_NOW | RTLD_LOCAL);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  if (!library) {
    PyObject *text = py_text(dlerror());
    PyErr_SetObject(PyExc_OSError, text);
    Py_XDECREF(text);
    return NULL;
  }
  Py_ssize_t count = PyTuple_Size(names);
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    void *address = name ? dlsym(library, name) : NULL;
    PyObject *number = !name ? NULL : address ? PyLong_FromVoidPtr(address) : Py_BuildValue("");
    if (!number || PyList_SetItem(list, i, number) < 0)
      Py_CLEAR(list);
  }
  return list;
}

PyObject *py_model_text(PyObject *module, PyObject *address) {
  (void)module;
  const char *text = PyLong_AsVoidPtr(address);
  return text ? py_text(text) : NULL;
}

int py_model_init(PyObject *module) {
  out_keyword = PyUnicode_InternFromString("out");
  function_type = out_keyword ? py_add_type(module, "kdl._kdl.ModelFunction", sizeof(function),
                                            Py_TPFLAGS_HAVE_VECTORCALL, function_slots)
                              : NULL;
  memory_type = function_type
                    ? py_add_type(module, "kdl._kdl.ModelMemory", sizeof(memory), 0, memory_slots)
                    : NULL;
  return memory_type ? 0 : -1;
}
