/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Conditions of variants: the field `when` of a kernel's key, compiled for evaluation at a launch.
 *
 *     names=a b c m n k; when=m<=16 & n%64==0 | items.x<256
 *
 * docs/metadata.md has the grammar. A comparison of a value that is not known is false, so that a
 * variant with a condition is used only where the condition is known to hold.
 */
#ifndef KDL_LIB_TARGET_CONDITION_H
#define KDL_LIB_TARGET_CONDITION_H

#include "lib/inspect/metadata.h"

enum { KDL_CONDITION_COMPARISONS = 16, KDL_CONDITION_FACTORS = 4 };

typedef enum kdl_comparison_op {
  KDL_COMPARE_LESS,
  KDL_COMPARE_LESS_EQUAL,
  KDL_COMPARE_GREATER,
  KDL_COMPARE_GREATER_EQUAL,
  KDL_COMPARE_EQUAL,
  KDL_COMPARE_NOT_EQUAL,
} kdl_comparison_op;

/* A parameter, or a direction of the launch's items. */
typedef struct kdl_condition_factor {
  uint16_t index; /* of the parameter, or of the direction */
  uint8_t size;   /* bytes of the parameter; 0: a direction */
  bool is_signed;
} kdl_condition_factor;

/* product of factors, modulus, op, number */
typedef struct kdl_comparison {
  kdl_condition_factor factors[KDL_CONDITION_FACTORS];
  uint8_t factor_count;
  uint8_t op;       /* kdl_comparison_op */
  bool is_last;     /* of those that '&' joins */
  uint32_t modulus; /* 0: none */
  int64_t number;
} kdl_comparison;

typedef struct kdl_condition {
  size_t count;
  kdl_comparison comparisons[KDL_CONDITION_COMPARISONS];
} kdl_condition;

/* The parameters that describe the size of a problem: the field `shape`. */
enum { KDL_SHAPE_PARAMS = 8 };

typedef struct kdl_shape {
  size_t count;
  kdl_condition_factor params[KDL_SHAPE_PARAMS];
} kdl_shape;

/* Compiles the shape of a key; empty where it has none. */
bool kdl_shape_compile(const kdl_kernel_key *key, kdl_shape *out_shape, kdl_parse_error *out_error);

/* Compiles the condition of a key that has one. The position of an error is in the key's text. */
bool kdl_condition_compile(const kdl_kernel_key *key, kdl_condition *out_condition,
                           kdl_parse_error *out_error);

bool kdl_condition_check(const kdl_kernel_key *key, kdl_parse_error *out_error);

/* `items` may be NULL, as may each pointer of `args`: such values are not known. */
bool kdl_condition_holds(const kdl_condition *condition, const kdl_extent *items,
                         const kdl_args *args);

#endif
