/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backends of this process: those built in, and those that KDL_BACKEND_PATH brings. */
#ifndef KDL_REGISTRY_BACKEND_H
#define KDL_REGISTRY_BACKEND_H

#include "lib/backends/common/built_in.h"
#include "lib/backends/common/services.h"

/* Those that libkdl is built with. */
extern const kdl_built_in *const kdl_built_ins[KDL_BACKEND_COUNT];

/* The table that serves a backend's devices, those of KDL_BACKEND_PATH first; NULL, with the reason
 * recorded, where there is none. */
const kdl_backend_table *kdl_backend_table_for(kdl_backend backend);

/* The driver of a table that libkdl was built with; NULL where there is none. */
const kdl_driver *kdl_backend_driver(const kdl_backend_table *table);

/* Calls `visit` with the spec of each device that backends of KDL_BACKEND_PATH bring; false where
 * one of them failed. */
bool kdl_backend_list_devices(void (*visit)(void *user, const char *spec), void *user);

/* For the child of a fork: lets the backends that survive it repair themselves. */
void kdl_backend_after_fork(void);

static inline bool kdl_backend_survives_fork(const kdl_backend_table *table) {
  return table->flags & KDL_BACKEND_SURVIVES_FORK;
}

#endif
