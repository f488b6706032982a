/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Named devices (lib/inspect/devices.h): the table, and the search for a name. */
#ifndef KDL_LIB_DEVICE_NAMED_DEVICES_H
#define KDL_LIB_DEVICE_NAMED_DEVICES_H

#include "lib/device/spec.h"

/* Arrays instead of pointers, so that the table needs no relocations. */
typedef struct kdl_named_device {
  char name[20];    /* "h200" */
  char product[44]; /* "NVIDIA H200" */
  char arch[28];
  uint8_t kind;         /* index of the properties shared by its kind: named_devices.c */
  bool is_typical;      /* a typical device of its architecture */
  uint16_t memory;      /* GB; 0 where boards of one name differ */
  uint16_t units;       /* 0 where boards of one name differ */
  uint16_t l1d_k, l2_k; /* KiB, of one core of a CPU */
} kdl_named_device;

/* The rows of the table; NULL after the last. */
const kdl_named_device *kdl_named_device_at(size_t index);

/* The device's spec, and those for the other drivers that its vendor ships. */
void kdl_named_device_describe(const kdl_named_device *row, kdl_device_routes *out_routes);

/* Whether both have the same target. */
bool kdl_named_device_same_target(const kdl_named_device *a, const kdl_named_device *b);

/* Finds the device of a name: the row's name, the product's name, or a part of that with a number
 * or several words ("a770", "Whiskey Lake") if all products with it have one architecture. Ignores
 * case, blanks, dashes and the words that drivers add ("NVIDIA A100-SXM4-80GB").
 *
 * KDL_BAD_CALL lists the candidates of an ambiguous name, or suggests one for a misspelled name; it
 * never suggests a name that may be of another architecture. */
kdl_status kdl_named_device_find(kdl_string name, const kdl_named_device **out_row);

#endif
