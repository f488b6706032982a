/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Peers in shared objects of their own: what only another compiler makes, or what would make every
 * program load libLLVM. */
#ifndef KDL_BENCH_SUITES_OBJECTS_H
#define KDL_BENCH_SUITES_OBJECTS_H

#include "peers/llvm.h"

#include <limits.h>
#include <stdbool.h>

/* kdl_peer_NAME.so: along KDL_BENCH_PEER_PATH, in the folder of the program, in ../lib and
 * ../lib/kdl from there. False where there is none; peer_error() says so. */
bool suite_object_find(const char *name, char out_path[PATH_MAX]);

/* LLVM's functions; NULL where the object is missing or cannot be loaded. */
const llvm_peer *suite_llvm(void);

#endif
