/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What Clang knows of a source: its kernels, and the nodes of its syntax with their offsets.
 *
 * Both are read from the text of -ast-dump. This header is all that others see of that, so that a
 * pass over Clang's own tree can take its place.
 */
#ifndef KDL_TOOL_CC_CLANG_AST_H
#define KDL_TOOL_CC_CLANG_AST_H

#include "cc/source/kernels.h"

/* The kernels of a dump. Strings lie in the arena, places in the dump. */
cc_kernels cc_ast_kernels(kdl_arena *arena, kdl_string dump);

typedef struct cc_node {
  unsigned level;     /* children follow, one level lower */
  kdl_string kind;    /* "BinaryOperator" */
  kdl_string type;    /* without typedefs; empty where it has none */
  kdl_string details; /* behind the type: " '+'", " <FloatingCast>", " static cinit" */
  size_t begin, end;  /* in the text; the same where it has no place there */
} cc_node;

typedef struct cc_nodes {
  cc_node *items;
  size_t count;
} cc_nodes;

/* The nodes of the dump of a text. `file` is what the dump calls the text's file. Strings lie in
 * the dump. */
cc_nodes cc_ast_nodes(kdl_arena *arena, kdl_string dump, const char *file, kdl_string text);

/* The index of child `n` of a node; the count of nodes where it has none. */
size_t cc_ast_child(const cc_nodes *nodes, size_t node, size_t n);

#endif
