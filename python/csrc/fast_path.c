/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fast_path.h"

py_fast_layouts py_fast;

static bool has_number(PyObject *object, double number) {
  return object && PyFloat_AsDouble(object) == number &&
         ((const py_float_layout *)object)->number == number;
}

static bool has_digit(PyObject *object, uint32_t digit) {
  return object && ((const py_int_layout *)object)->digit == digit;
}

static size_t count_of(PyObject *object) {
  return ((const py_int_layout *)object)->count;
}

/* The word that counts digits is the same for all positive one-digit ints, and for no others. */
static void detect_int_layout(PyObject *const ints[7]) {
  size_t one = count_of(ints[0]);
  bool is_known = has_digit(ints[0], 1) && has_digit(ints[1], 4660) &&
                  has_digit(ints[2], (1U << 30) - 1) && count_of(ints[1]) == one &&
                  count_of(ints[2]) == one;
  for (int i = 3; i < 7; ++i)
    is_known = is_known && count_of(ints[i]) != one;
  if (is_known) {
    py_fast.one_digit = one;
    py_fast.int_type = &PyLong_Type;
  }
}

int py_fast_init(void) {
  PyObject *small = PyFloat_FromDouble(-0.625), *large = PyFloat_FromDouble(6e300);
  if (has_number(small, -0.625) && has_number(large, 6e300))
    py_fast.float_type = &PyFloat_Type;
  Py_XDECREF(small);
  Py_XDECREF(large);
  static const long long numbers[7] = {1, 4660, (1 << 30) - 1, 0, -1, 1LL << 30, -(1LL << 30) + 1};
  PyObject *ints[7] = {NULL};
  bool are_made = true;
  for (int i = 0; i < 7; ++i)
    are_made = (ints[i] = PyLong_FromLongLong(numbers[i])) && are_made;
  if (are_made)
    detect_int_layout(ints);
  for (int i = 0; i < 7; ++i)
    Py_XDECREF(ints[i]);
  return PyErr_Occurred() ? -1 : 0;
}
