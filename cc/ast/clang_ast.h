/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What Clang knows about a source: its kernels, and the nodes of its AST with their offsets.
 *
 * Both are parsed from the text of -ast-dump. Only this folder depends on that, so that a pass over
 * Clang's AST can replace it.
 */
#ifndef KDL_CC_AST_CLANG_AST_H
#define KDL_CC_AST_CLANG_AST_H

#include "cc/source/kernels.h"

/* The kernels of a dump. Strings are in the arena; file names of locations are in the dump. */
cc_kernels cc_ast_kernels(kdl_arena *arena, kdl_string dump);

typedef struct cc_node {
  unsigned level;     /* the level of its children is one higher */
  kdl_string kind;    /* "BinaryOperator" */
  kdl_string type;    /* without typedefs; empty if it has none */
  kdl_string details; /* what follows the type: " '+'", " <FloatingCast>", " static cinit" */
  size_t begin, end;  /* offsets in the text; equal if the node is not in the text */
} cc_node;

typedef struct cc_nodes {
  cc_node *items;
  size_t count;
} cc_nodes;

/* The nodes of the dump of a text. `file` is the name of the text's file in the dump. Strings point
 * into the dump. */
cc_nodes cc_ast_nodes(kdl_arena *arena, kdl_string dump, const char *file, kdl_string text);

/* The index of child `n` of a node; the count of nodes if there is none. */
size_t cc_ast_child(const cc_nodes *nodes, size_t node, size_t n);

/* ------------------------------------------------------------------------------------------ */
/* The lines of Clang's -ast-dump, for this folder                                              */

typedef struct cc_dump_locations {
  cc_location name;         /* of the node's name; of its begin if it has no name */
  cc_location first, final; /* where its first and its last token begin */
} cc_dump_locations;

/* The level of a node, from its indentation. Advances *line to the node's kind. */
unsigned cc_dump_level(kdl_string *line);

/* Parses the locations of a node, from its kind on; line 0 if it has none. The dump omits a file or
 * line that equals that of the location before, which is `last`: so call this for every node. */
cc_dump_locations cc_dump_read_locations(kdl_string node, cc_location *last);

#endif
