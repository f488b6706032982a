/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices people know by name (lib/inspect/devices.h): what they are, and what a name means. */
#ifndef KDL_DEVICE_NAMED_DEVICES_H
#define KDL_DEVICE_NAMED_DEVICES_H

#include "lib/device/spec.h"

/* Texts and not pointers to them, so that the table needs no relocations. */
typedef struct kdl_named_device {
  char name[20];    /* "h200" */
  char product[44]; /* "NVIDIA H200" */
  char arch[28];
  uint8_t kind;         /* what it has in common with others: named.c */
  bool is_typical;      /* one of the few that stand for their architecture */
  uint16_t memory;      /* GB; 0 where boards of one name differ */
  uint16_t units;       /* likewise */
  uint16_t l1d_k, l2_k; /* KiB; of a CPU's core */
} kdl_named_device;

/* The rows of the table, NULL behind the last. */
const kdl_named_device *kdl_named_device_at(size_t index);

/* Its spec, and those of the other drivers that its vendor ships. */
void kdl_named_device_describe(const kdl_named_device *row, kdl_device_routes *out_routes);

/* Whether a program for one of them is right for the other. */
bool kdl_named_device_same_target(const kdl_named_device *a, const kdl_named_device *b);

/* The device that a name means: the row's own name, the name of the product, or a part of that with
 * a number or several words in it ("a770", "Whiskey Lake") where all that have it are of one
 * architecture. Case, blanks and dashes make no difference, and neither do the words that drivers
 * add ("NVIDIA A100-SXM4-80GB").
 * KDL_BAD_CALL with the names that were meant where there are several, or one that differs by a
 * slip of letters; a name that may be of another architecture is never suggested. */
kdl_status kdl_named_device_find(kdl_string name, const kdl_named_device **out_row);

#endif
