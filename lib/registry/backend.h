/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backends of this process: built-in ones, and plug-ins of KDL_BACKEND_PATH. */
#ifndef KDL_LIB_REGISTRY_BACKEND_H
#define KDL_LIB_REGISTRY_BACKEND_H

#include "lib/backends/common/built_in.h"
#include "lib/backends/common/services.h"

/* The built-in backends. */
extern const kdl_built_in *const kdl_built_ins[KDL_BACKEND_COUNT];

/* The table that serves a backend's devices, a plug-in's first; NULL, with the reason recorded,
 * where there is none. */
const kdl_backend_table *kdl_backend_table_for(kdl_backend backend);

/* The driver of a built-in table; NULL where there is none. */
const kdl_driver *kdl_backend_driver(const kdl_backend_table *table);

/* Calls `visit` with the spec of each device of a plug-in; false if one of them failed. */
bool kdl_backend_list_devices(void (*visit)(void *user, const char *spec), void *user);

/* In the child of a fork: calls after_fork of the backends that survive it. */
void kdl_backend_after_fork(void);

static inline bool kdl_backend_survives_fork(const kdl_backend_table *table) {
  return table->flags & KDL_BACKEND_SURVIVES_FORK;
}

#endif
