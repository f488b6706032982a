/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrix multiplication on the CPU: kdl.matmul and packed matrices, over <kdl/matmul.h>. The
 * package chooses the type and creates the result; this file checks shapes and elements. */
#include "sequence.h"

#include <kdl/matmul.h>
#include <stdlib.h>

static PyTypeObject *matmul_type, *packed_type;

typedef struct py_matmul {
  PyObject head;
  kdl_matmul matmul;
  kdl_device *host;
  PyObject *library; /* has the kernels */
} py_matmul;

typedef struct py_packed {
  PyObject head;
  py_matmul *matmul;
  void *data;
  uint32_t n, k;
} py_packed;

/* The buffer protocol's formats that an operand and a result may have. */
static const struct {
  const char *operand, *result, *name;
} elements[] = {
    [KDL_MATMUL_F32_BF16] = {"H", "f", "bf16 as uint16"},
    [KDL_MATMUL_S32_S8] = {"b", "il", "int8"},
    [KDL_MATMUL_F32_F32] = {"f", "f", "float32"},
    [KDL_MATMUL_F32_F16] = {"e", "f", "float16"},
};

/* A matrix of the caller, whose memory the view keeps alive. */
typedef struct operand {
  Py_buffer view; /* .obj is NULL if there is none */
  kdl_matmul_matrix matrix;
  uint32_t rows, columns;
} operand;

static void operand_end(operand *operand) {
  if (operand->view.obj)
    PyBuffer_Release(&operand->view);
}

static bool fail_operand(const char *name, const char *what) {
  PyErr_Format(PyExc_ValueError, "matmul: %s: %s", name, what);
  return false;
}

static bool is_operand_format(const Py_buffer *view, const char *letters) {
  const char *format = view->format ? view->format : "B";
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (!format[0] || format[1])
    return false;
  const char *letter = strchr(letters, format[0]);
  return letter && (*letter != 'l' || view->itemsize == 4);
}

static bool read_operand_shape(const char *name, operand *out) {
  const Py_buffer *view = &out->view;
  Py_ssize_t size = view->itemsize;
  if (view->ndim != 2)
    return fail_operand(name, "found another number of dimensions, expected 2");
  if ((uint64_t)view->shape[0] > UINT32_MAX || (uint64_t)view->shape[1] > UINT32_MAX)
    return fail_operand(name, "more than 4294967295 rows or columns");
  if (view->strides[0] % size || view->strides[1] % size)
    return fail_operand(name, "strides that are no multiples of an element");
  out->rows = (uint32_t)view->shape[0];
  out->columns = (uint32_t)view->shape[1];
  out->matrix = (kdl_matmul_matrix){view->buf, view->strides[0] / size, view->strides[1] / size};
  return true;
}

static bool operand_from(PyObject *object, const char *name, const char *letters, int flags,
                         operand *out) {
  if (PyObject_GetBuffer(object, &out->view, PyBUF_STRIDES | PyBUF_FORMAT | flags) < 0) {
    out->view.obj = NULL;
    return false;
  }
  if (!is_operand_format(&out->view, letters)) {
    PyErr_Format(PyExc_TypeError, "matmul: %s: found elements '%s', expected one of '%s'", name,
                 out->view.format ? out->view.format : "B", letters);
    return false;
  }
  return read_operand_shape(name, out);
}

/* Memory for a packed matrix; NULL with the exception set. */
static void *allocate_packed(kdl_matmul_type type, uint32_t n, uint32_t k) {
  size_t size = kdl_matmul_packed_size(type, n, k);
  bool is_lost = !size && n && k;
  void *data = is_lost ? NULL : aligned_alloc(64, (size + 64) / 64 * 64);
  if (!data)
    PyErr_NoMemory();
  return data;
}

/* What a product packs b into stays for the next one, since memory that is new costs a fault for
 * each page, as long as the packing itself. The GIL guards it; products that run at the same time
 * as another allocate their own. */
static const size_t scratch_most = (size_t)256 << 20;
static void *scratch_kept;
static size_t scratch_size;

static void *scratch_acquire(kdl_matmul_type type, uint32_t n, uint32_t k, size_t *out_size) {
  size_t size = kdl_matmul_packed_size(type, n, k);
  void *kept = scratch_kept;
  *out_size = scratch_size;
  scratch_kept = NULL;
  if (kept && size && size <= *out_size)
    return kept;
  free(kept);
  *out_size = size;
  return allocate_packed(type, n, k);
}

static void scratch_release(void *scratch, size_t size) {
  if (scratch_kept || size > scratch_most) {
    free(scratch);
    return;
  }
  scratch_kept = scratch;
  scratch_size = size;
}

/* ------------------------------------------------------------------------------------------ */
/* Multiplying                                                                                  */

/* A recorded call runs later, when temporary memory of this call is freed. */
static bool wait_if_not_recorded(const py_matmul *self) {
  return !py_recording_count || !py_recording_of(self->host, NULL) ||
         fail_operand("queue", "the host's own is being recorded, expected to compute at once");
}

static kdl_status run_packed(const py_matmul *self, const operand *a, const py_packed *b,
                             const operand *c) {
  kdl_status status;
  py_queue_use use;
  py_queue_use_begin(&use, self->host, NULL);
  Py_BEGIN_ALLOW_THREADS status = kdl_matmul_run(&self->matmul, NULL, a->matrix, b->data, c->matrix,
                                                 a->rows, b->n, b->k, KDL_MATMUL_SET);
  Py_END_ALLOW_THREADS py_queue_use_end(&use);
  return status;
}

static kdl_status run_plain(const py_matmul *self, const operand *a, const operand *b,
                            void *scratch, const operand *c) {
  kdl_status status;
  py_queue_use use;
  py_queue_use_begin(&use, self->host, NULL);
  Py_BEGIN_ALLOW_THREADS status =
      kdl_matmul_run_unpacked(&self->matmul, NULL, a->matrix, b->matrix, scratch, c->matrix,
                              a->rows, b->columns, a->columns, KDL_MATMUL_SET);
  Py_END_ALLOW_THREADS py_queue_use_end(&use);
  return status;
}

static bool check_shapes(const operand *a, uint32_t n, uint32_t k, const operand *c) {
  if (a->columns != k) {
    PyErr_Format(PyExc_ValueError, "matmul: a has %lu columns, b has %lu rows",
                 (unsigned long)a->columns, (unsigned long)k);
    return false;
  }
  if (c->rows == a->rows && c->columns == n)
    return true;
  PyErr_Format(PyExc_ValueError, "matmul: out is %lu by %lu, expected %lu by %lu",
               (unsigned long)c->rows, (unsigned long)c->columns, (unsigned long)a->rows,
               (unsigned long)n);
  return false;
}

/* The address range of an operand's elements, for strides of either sign. */
static void bounds_of(const operand *operand, uintptr_t *out_begin, uintptr_t *out_end) {
  const Py_buffer *view = &operand->view;
  *out_begin = (uintptr_t)view->buf;
  *out_end = *out_begin + (uintptr_t)view->itemsize;
  for (int i = 0; i < 2; ++i) {
    Py_ssize_t reach = (view->shape[i] - 1) * view->strides[i];
    *(reach < 0 ? out_begin : out_end) += (uintptr_t)reach;
  }
}

/* For operands with elements. A result that overlaps an operand would be wrong. */
static bool operands_overlap(const operand *a, const operand *c) {
  uintptr_t begin, end, out_begin, out_end;
  bounds_of(a, &begin, &end);
  bounds_of(c, &out_begin, &out_end);
  return begin < out_end && out_begin < end;
}

/* Launches nothing for an empty result, nor for K = 0, for which the package cleared the result. */
static bool run_matmul(const py_matmul *self, const operand *a, PyObject *right, const operand *b,
                       const operand *c) {
  const py_packed *packed = b->view.obj ? NULL : (const py_packed *)right;
  uint32_t n = packed ? packed->n : b->columns, k = packed ? packed->k : b->rows;
  if (!check_shapes(a, n, k, c))
    return false;
  if (!a->rows || !n || !k)
    return true;
  if (operands_overlap(a, c) || (!packed && operands_overlap(b, c)))
    return fail_operand("out", "it overlaps an operand");
  kdl_status status;
  if (packed) {
    status = run_packed(self, a, packed, c);
  } else {
    size_t size;
    void *scratch = scratch_acquire(self->matmul.type, n, k, &size);
    if (!scratch)
      return false;
    status = run_plain(self, a, b, scratch, c);
    scratch_release(scratch, size);
  }
  if (status != KDL_OK)
    py_raise_for(status, "matmul");
  return status == KDL_OK;
}

static PyObject *matmul_run(PyObject *object, PyObject *args) {
  py_matmul *self = (py_matmul *)object;
  PyObject *left, *right, *result;
  if (!PyArg_ParseTuple(args, "OOO:run", &left, &right, &result))
    return NULL;
  const char *letters = elements[self->matmul.type].operand;
  operand a = {.view.obj = NULL}, b = {.view.obj = NULL}, c = {.view.obj = NULL};
  bool is_packed = Py_TYPE(right) == packed_type;
  bool ok = true;
  if (is_packed && ((py_packed *)right)->matmul->matmul.type != self->matmul.type) {
    PyErr_Format(PyExc_TypeError, "matmul: b was packed from %s, a is %s",
                 elements[((py_packed *)right)->matmul->matmul.type].name,
                 elements[self->matmul.type].name);
    ok = false;
  }
  ok = ok && operand_from(left, "a", letters, 0, &a) &&
       (is_packed || operand_from(right, "b", letters, 0, &b)) &&
       operand_from(result, "out", elements[self->matmul.type].result, PyBUF_WRITABLE, &c) &&
       wait_if_not_recorded(self) && run_matmul(self, &a, right, &b, &c);
  operand_end(&a);
  operand_end(&b);
  operand_end(&c);
  if (!ok)
    return NULL;
  Py_RETURN_NONE;
}

/* ------------------------------------------------------------------------------------------ */
/* Packing                                                                                      */

static bool pack_into(py_packed *self, const operand *b) {
  self->n = b->columns;
  self->k = b->rows;
  self->data = allocate_packed(self->matmul->matmul.type, self->n, self->k);
  if (!self->data)
    return false;
  if (!self->n || !self->k)
    return true;
  kdl_status status;
  py_queue_use use;
  py_queue_use_begin(&use, self->matmul->host, NULL);
  Py_BEGIN_ALLOW_THREADS status =
      kdl_matmul_pack(&self->matmul->matmul, NULL, b->matrix, self->data, self->n, self->k);
  Py_END_ALLOW_THREADS py_queue_use_end(&use);
  if (status != KDL_OK)
    py_raise_for(status, "matmul");
  return status == KDL_OK;
}

static PyObject *matmul_pack(PyObject *object, PyObject *right) {
  py_matmul *self = (py_matmul *)object;
  operand b = {.view.obj = NULL};
  py_packed *packed = NULL;
  bool ok = operand_from(right, "b", elements[self->matmul.type].operand, 0, &b) &&
            wait_if_not_recorded(self);
  if (ok)
    packed = PyObject_New(py_packed, packed_type);
  if (packed) {
    packed->data = NULL;
    packed->matmul = self;
    Py_INCREF(self);
    if (!pack_into(packed, &b))
      Py_CLEAR(packed);
  }
  operand_end(&b);
  return (PyObject *)packed;
}

static void packed_destroy(PyObject *object) {
  py_packed *self = (py_packed *)object;
  free(self->data);
  Py_DECREF(self->matmul);
  py_object_free(object);
}

static PyObject *packed_shape(PyObject *object, void *closure) {
  (void)closure;
  const py_packed *self = (py_packed *)object;
  return Py_BuildValue("(II)", self->k, self->n);
}

static PyGetSetDef packed_properties[] = {
    {"shape", packed_shape, NULL, "rows and columns", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot packed_slots[] = {
    {Py_tp_doc, "A matrix, packed for the right side of products on this CPU."},
    {Py_tp_new, py_no_new},
    {Py_tp_dealloc, packed_destroy},
    {Py_tp_getset, packed_properties},
    {0, NULL},
};

/* ------------------------------------------------------------------------------------------ */
/* The kernels of a type                                                                        */

static PyObject *matmul_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"library", "type", "threads", NULL};
  PyObject *library;
  int kind;
  unsigned threads;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!iI:Matmul", names, py_library_type, &library,
                                   &kind, &threads))
    return NULL;
  kdl_device *host;
  kdl_matmul matmul;
  kdl_status status;
  Py_BEGIN_ALLOW_THREADS status = kdl_device_find("host", &host);
  if (status == KDL_OK)
    status = kdl_matmul_find(((py_library *)library)->library, host, (kdl_matmul_type)kind, threads,
                             &matmul);
  Py_END_ALLOW_THREADS if (status != KDL_OK) return py_raise_for(status, "matmul");
  py_matmul *self = PyObject_New(py_matmul, type);
  if (!self) {
    kdl_matmul_free(&matmul);
    return NULL;
  }
  self->matmul = matmul;
  self->host = host;
  self->library = library;
  Py_INCREF(library);
  return (PyObject *)self;
}

static void matmul_destroy(PyObject *object) {
  kdl_matmul_free(&((py_matmul *)object)->matmul);
  Py_DECREF(((py_matmul *)object)->library);
  py_object_free(object);
}

static PyMethodDef matmul_methods[] = {
    {"run", matmul_run, METH_VARARGS,
     "run($self, a, b, out, /)\n--\n\nout = a b; b is a matrix, or one that pack() gave."},
    {"pack", matmul_pack, METH_O, "pack($self, b, /)\n--\n\nThe matrix b, packed."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot matmul_slots[] = {
    {Py_tp_doc, "Matmul(library, type, threads)\n--\n\nThe kernels for a type of elements."},
    {Py_tp_new, matmul_new},
    {Py_tp_dealloc, matmul_destroy},
    {Py_tp_methods, matmul_methods},
    {0, NULL},
};

int py_matmul_init(PyObject *module) {
  matmul_type = py_add_type(module, "kdl._kdl.Matmul", sizeof(py_matmul), 0, matmul_slots);
  packed_type = matmul_type
                    ? py_add_type(module, "kdl._kdl.Packed", sizeof(py_packed), 0, packed_slots)
                    : NULL;
  return packed_type ? 0 : -1;
}
