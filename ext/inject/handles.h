/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which load call a driver's handle (library, module, kernel, function) comes from. Any thread. */
#ifndef KDL_EXT_INJECT_HANDLES_H
#define KDL_EXT_INJECT_HANDLES_H

#include <stdint.h>

/* The number of a new load call, from 1 on. */
uint32_t kdl_load_number(void);

/* A handle that is used again belongs to the last call that made it. `name` is that of a kernel,
 * and is copied, or NULL. */
void kdl_handle_set(const void *handle, uint32_t load, const char *name);

/* 0 where it is unknown. */
uint32_t kdl_handle_load(const void *handle);

/* NULL where it has none. It stays valid. */
const char *kdl_handle_name(const void *handle);

#endif
