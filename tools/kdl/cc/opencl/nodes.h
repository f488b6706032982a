/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Clang's -ast-dump of a text, as a list of nodes with their places in that text. */
#ifndef KDL_TOOL_CC_NODES_H
#define KDL_TOOL_CC_NODES_H

#include "base/arena.h"
#include "base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cc_node {
  unsigned level;    /* children follow, one level lower */
  kdl_string kind;   /* "BinaryOperator" */
  kdl_string name;   /* of a declaration; empty where it has none */
  kdl_string type;   /* without typedefs; empty where it has none */
  kdl_string rest;   /* behind the type: " '+'", " <FloatingCast>", " static cinit" */
  size_t begin, end; /* in the text; the same where it has no place there */
} cc_node;

typedef struct cc_nodes {
  cc_node *items;
  size_t count;
} cc_nodes;

/* `file` is what the dump calls the text's file. Strings lie in the dump. */
kdl_status cc_nodes_read(kdl_arena *arena, kdl_string dump, const char *file, kdl_string text,
                         cc_nodes *out_nodes);

/* The index of child `n` of a node; the count of nodes where it has none. */
size_t cc_nodes_child(const cc_nodes *nodes, size_t node, size_t n);

#endif
